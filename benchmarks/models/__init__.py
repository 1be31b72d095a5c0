"""The stored domain; docs/data.md draws it."""

from benchmarks.models.cell import Case, Cell, Efficiency
from benchmarks.models.flag import Decision, DueCheck, Flag
from benchmarks.models.lab import Agent, Deed, Invitation, Lab, Membership, Token
from benchmarks.models.reread import Reread
from benchmarks.models.run import OutboxItem, Run, RunOutput, Sample
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
    "Efficiency",
    "Flag",
    "Host",
    "Invitation",
    "Lab",
    "Membership",
    "OutboxItem",
    "Reread",
    "Run",
    "RunOutput",
    "Sample",
    "Session",
    "System",
    "Token",
]
