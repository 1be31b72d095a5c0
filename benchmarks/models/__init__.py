"""The stored domain; docs/data.md draws it."""

from benchmarks.models.cell import Case, Cell, Efficiency
from benchmarks.models.flag import Decision, DueCheck, Flag
from benchmarks.models.freezing import Freezing
from benchmarks.models.lab import Agent, Deed, Invitation, Lab, Membership, Token
from benchmarks.models.made import Made
from benchmarks.models.plan import Plan, PlanPart, PlanSeat, PlanStep
from benchmarks.models.power import (
    DueEnergy,
    Meter,
    PowerChunk,
    RunEnergy,
    RunWindow,
)
from benchmarks.models.report import Report
from benchmarks.models.reread import Reread
from benchmarks.models.run import OutboxItem, Run, RunOutput, Sample
from benchmarks.models.snapshot import Signature, Snapshot, SnapshotFile
from benchmarks.models.study import Campaign, CoRun, Host, Session, System

__all__ = [
    "Agent",
    "Campaign",
    "Case",
    "Cell",
    "CoRun",
    "Decision",
    "Deed",
    "DueCheck",
    "DueEnergy",
    "Efficiency",
    "Flag",
    "Freezing",
    "Host",
    "Invitation",
    "Lab",
    "Made",
    "Membership",
    "Meter",
    "OutboxItem",
    "Plan",
    "PlanPart",
    "PlanSeat",
    "PlanStep",
    "PowerChunk",
    "Report",
    "Reread",
    "Run",
    "RunEnergy",
    "RunOutput",
    "RunWindow",
    "Sample",
    "Session",
    "Signature",
    "Snapshot",
    "SnapshotFile",
    "System",
    "Token",
]
