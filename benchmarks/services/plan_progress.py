"""What happens to a plan by itself: barriers time out, budgets end, plans are done.

Done by every agent's question and, for plans nobody asks about, by the sweeper.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from benchmarks.models import Plan, PlanPart, PlanStep
from benchmarks.services.plan_steps import break_attempt, silent_loads
from benchmarks.services.plan_widths import add_rounds
from benchmarks.services.plans import leave_undone

SILENT_AFTER = timedelta(seconds=30)


def proceed_plans() -> int:
    """Bring every open plan up to date that nobody has in hand; return how many."""
    open_plans = Plan.objects.filter(status=Plan.Status.OPEN).order_by("pk")
    return sum(_proceed(pk) for pk in open_plans.values_list("pk", flat=True))


@transaction.atomic
def _proceed(plan_id: int) -> bool:
    locked = Plan.objects.select_for_update(skip_locked=True)
    plan = locked.filter(pk=plan_id, status=Plan.Status.OPEN).first()
    if plan is None:
        return False
    advance(plan, timezone.now())
    return True


def advance(plan: Plan, now: datetime) -> None:
    """Do what is due; the caller holds the plan's lock."""
    if plan.status == Plan.Status.OPEN:
        _end_budget(plan, now)
    for step in plan.steps.filter(status__in=PlanStep.BUSY):
        _time_out(plan, step, now)
    if plan.status == Plan.Status.OPEN:
        _finish(plan, now)


def _end_budget(plan: Plan, now: datetime) -> None:
    if plan.ends_at and now >= plan.ends_at:
        leave_undone(
            plan, f"Not done: budget. The {plan.budget_s:,} s of the plan are used up."
        )


def _time_out(plan: Plan, step: PlanStep, now: datetime) -> None:
    if silent := silent_loads(step, now - SILENT_AFTER):
        names = _listed([str(part.seat) for part in silent])
        wait_s = SILENT_AFTER.total_seconds()
        reason = f"The load of {names} was not heard of for {wait_s:.0f} s."
        break_attempt(plan, step, reason, now)
    elif step.deadline and now > step.deadline:
        break_attempt(plan, step, _too_late(plan, step), now)


def _too_late(plan: Plan, step: PlanStep) -> str:
    parts = step.parts.select_related("seat").order_by("seat__number")
    if step.status == PlanStep.Status.GATHERING:
        missing = [p.seat for p in parts if p.status != PlanPart.Status.ARRIVED]
        joined = [seat for seat in missing if seat.joined_at]
        if len(joined) < len(missing):
            never = [str(seat) for seat in missing if not seat.joined_at]
            return f"{_listed(never)} never joined, for {plan.join_s} s."
        names = _listed([str(seat) for seat in missing])
        return f"{names} did not arrive within {plan.barrier_s} s."
    silent = [str(p.seat) for p in parts if p.status == PlanPart.Status.STARTED]
    return f"{_listed(silent)} began and did not report an end in time."


def _listed(names: list[str]) -> str:
    text = ", ".join(names)
    return text[:1].upper() + text[1:]


def _finish(plan: Plan, now: datetime) -> None:
    """Close a plan with nothing left, unless its widths ask for more rounds."""
    if plan.steps.filter(status__in=PlanStep.UNFINISHED).exists():
        return
    if add_rounds(plan, now):
        return
    plan.status, plan.finished_at = Plan.Status.DONE, now
    plan.save(update_fields=["status", "finished_at"])
