"""The barrier of a step: slots arrive, start at one moment, and report their ends.

Every question can be asked again: the answer is the same. An attempt that ended
meanwhile answers "released", and its results are not kept.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.analysis.planning import LOAD
from benchmarks.errors import NotFoundError
from benchmarks.models import Lab, Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.plans.progress import (
    break_attempt,
    capital,
    expect_others,
    is_measured,
    settle,
    start,
    try_to_advance,
)
from benchmarks.plans.turns import LOOK_AGAIN_S, Answer, locked_plan, read_part
from benchmarks.sentences import Sentence, joined

MEET_AGAIN_S = 0.3
HELD_AGAIN_S = 0.7

Part, Step = PlanPart.Status, PlanStep.Status


@transaction.atomic
def meet(
    *,
    lab: Lab,
    part_id: int,
    attempt: int,
    limit_s: float = 0.0,
    clock: str = "",
    now_us: int | None = None,
) -> Answer:
    """Arrive at a step's barrier; told again and again until the start is known.

    ``now_us`` is what the time server's clock called ``clock`` shows at the agent. A
    load companion goes on asking: it is told to stop when what is measured has ended.
    """
    plan, part, now = _part(lab, part_id)
    try_to_advance(plan, now)
    part.refresh_from_db()  # what was due may have ended this very attempt
    step = part.step
    if attempt != step.attempt or step.status not in PlanStep.BUSY:
        return Answer("released", step.reason or "This attempt has ended.")
    part.seen_at = now
    # After the start it changes nothing that the start was made of.
    if step.status == Step.GATHERING:
        part.status, part.limit_s, part.clock = Part.ARRIVED, limit_s, clock
        # Slots ask again and again; only the first time is the arrival.
        part.arrived_at = part.arrived_at or now
    part.save()
    if step.status == Step.GATHERING and (wait := _begin(plan, step, now_us, now)):
        return wait
    if part.role == LOAD and is_measured(step):
        return Answer("stop", "What was measured has ended.")
    return Answer("start", starts_at_us=step.starts_at_us, wait_s=LOOK_AGAIN_S)


@transaction.atomic
def finish(
    *, lab: Lab, part_id: int, attempt: int, outcome: str, report: Mapping[str, Any]
) -> Answer:
    """Take a slot's end; say whether to keep what it measured.

    What a slot alone measured counts however late it comes. Slots of a co-run wait for
    each other: kept is what all of them measured together.
    """
    plan, part, now = _part(lab, part_id)
    step = part.step
    # A slot at the barrier has not started: all it can report is a failure.
    is_current = attempt == step.attempt and (
        step.status == Step.RUNNING
        or (step.status == Step.GATHERING and outcome != "done")
    )
    # Given up meanwhile, perhaps: no other slot depends on one that measured alone.
    is_open = step.status in (Step.WAITING, Step.FAILED, Step.NOT_DONE)
    is_late = attempt == step.attempt > 0 and step.vms == 1 and is_open
    if is_current or (is_late and outcome == "done"):
        _note_end(plan, part, outcome, report, now)
    try_to_advance(plan, now)
    step.refresh_from_db()
    if attempt != step.attempt or step.status not in (Step.RUNNING, Step.DONE):
        return Answer("discard", step.reason or "This attempt has ended.")
    if step.status == Step.DONE:
        return Answer("keep")
    return Answer("held", "The other slots have not ended yet.", HELD_AGAIN_S)


def _note_end(
    plan: Plan, part: PlanPart, outcome: str, report: Mapping[str, Any], now: datetime
) -> None:
    step = part.step
    if outcome == "done":
        for name, value in report.items():
            if name != "reason":
                setattr(part, name, value)
        part.status = Part.DONE
        part.save()
        expect_others(step, now)
        settle(plan, step, now)
        return
    part.status = Part.FAILED
    part.save()
    why = report.get("reason") or Sentence("it failed")
    reason = Sentence("{slot}: {why}", slot=capital(part.slot), why=why)
    break_attempt(plan, step, reason, now, hopeless=outcome == "hopeless")


def _begin(
    plan: Plan, step: PlanStep, now_us: int | None, now: datetime
) -> Answer | None:
    """Start a step whose slots have all arrived; refuse clocks that differ."""
    parts = list(step.parts.select_related("slot").order_by("slot__number"))
    missing = [str(part.slot) for part in parts if part.status != Part.ARRIVED]
    if missing:
        return Answer("wait", f"Waiting for {', '.join(missing)}.", MEET_AGAIN_S)
    clocks = {part.clock for part in parts}
    # A common start is a moment on one clock; trying again would find the same clocks.
    if step.vms > 1 and (len(clocks) > 1 or "" in clocks):
        servers = [
            Sentence(
                "{slot}: {clock}",
                slot=str(part.slot),
                clock=part.clock or Sentence("none"),
            )
            for part in parts
        ]
        reason = Sentence(
            "The slots do not ask one and the same time server ({told}).",
            told=joined(servers, ", "),
        )
        break_attempt(plan, step, reason, now, hopeless=True)
        return Answer("released", step.reason)
    step.clock = parts[0].clock
    start(step, now_us, now)
    return None


def _part(lab: Lab, part_id: int) -> tuple[Plan, PlanPart, datetime]:
    """Lock the plan of a part, then read the part: it may have changed until then."""
    plans = PlanPart.objects.filter(pk=part_id, step__plan__lab=lab)
    plan_id = plans.values_list("step__plan_id", flat=True).first()
    if plan_id is None:
        raise NotFoundError(Sentence("part"), part_id)
    plan = locked_plan(lab, plan_id)
    part, now = read_part(part_id), timezone.now()
    PlanSlot.objects.filter(pk=part.slot_id).update(seen_at=now)
    return plan, part, now
