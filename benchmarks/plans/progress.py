"""What happens to a plan by itself: barriers time out, budgets end, plans are done.

Done by every agent's question and, for plans nobody asks about, by the sweeper.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.plans.further_rounds import add_rounds
from benchmarks.plans.planning import leave_undone
from benchmarks.plans.steps import break_attempt, capital, silent_loads
from benchmarks.sentences import Sentence, joined

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
            plan,
            Sentence(
                "Not done: budget. The {budget:,} s of the plan are used up.",
                budget=plan.budget_s,
            ),
        )


def _time_out(plan: Plan, step: PlanStep, now: datetime) -> None:
    if silent := silent_loads(step, now - SILENT_AFTER):
        names = joined([str(part.slot) for part in silent], ", ")
        wait_s = SILENT_AFTER.total_seconds()
        reason = Sentence(
            "The load of {names} was not heard of for {wait:.0f} s.",
            names=names,
            wait=wait_s,
        )
        break_attempt(plan, step, reason, now)
    elif step.deadline and now > step.deadline:
        break_attempt(plan, step, _too_late(plan, step), now)


def _too_late(plan: Plan, step: PlanStep) -> str:
    parts = step.parts.select_related("slot").order_by("slot__number")
    if step.status == PlanStep.Status.GATHERING:
        missing = [p.slot for p in parts if p.status != PlanPart.Status.ARRIVED]
        if not all(slot.joined_at for slot in missing):
            never = _listed([slot for slot in missing if not slot.joined_at])
            return Sentence(
                "{slots} never joined, for {wait} s.", slots=never, wait=plan.join_s
            )
        return Sentence(
            "{slots} did not arrive within {wait} s.",
            slots=_listed(missing),
            wait=plan.barrier_s,
        )
    silent = [p.slot for p in parts if p.status == PlanPart.Status.STARTED]
    return Sentence(
        "{slots} began and did not report an end in time.", slots=_listed(silent)
    )


def _listed(slots: list[PlanSlot]) -> str:
    first, *others = slots
    return joined([capital(first), *map(str, others)], ", ")


def _finish(plan: Plan, now: datetime) -> None:
    """Close a plan with nothing left, unless its widths ask for more rounds."""
    if plan.steps.filter(status__in=PlanStep.UNFINISHED).exists():
        return
    if add_rounds(plan, now):
        return
    plan.status, plan.finished_at = Plan.Status.DONE, now
    plan.save(update_fields=["status", "finished_at"])
