"""The stored domain; docs/data.md draws it."""

from benchmarks.models.cell import Case, Cell, Efficiency
from benchmarks.models.flag import Decision, DueCheck, Flag
from benchmarks.models.lab import Agent, Lab, Membership, Token
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
    "DueCheck",
    "Efficiency",
    "Flag",
    "Host",
    "Lab",
    "Membership",
    "OutboxItem",
    "Report",
    "Reread",
    "Run",
    "RunOutput",
    "Sample",
    "Session",
    "Signature",
    "Snapshot",
    "SnapshotFile",
    "System",
    "Token",
]
