"""Add rounds to a plan until its intervals are narrow enough."""

from datetime import datetime

from benchmarks.models import Plan


def add_rounds(plan: Plan, now: datetime) -> bool:
    """Add the rounds that the widths ask for; return whether the plan goes on."""
    return False
