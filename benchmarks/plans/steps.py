"""What becomes of a plan's step: gathered, started, settled, broken.

All of it under the lock of the plan's row, which whoever calls holds: no two agents
change a plan at the same moment.
"""

from datetime import datetime, timedelta

from django.db.models import F, Max

from benchmarks.analysis.planning import LOAD, MEASURED, shared_part, spread_us
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.sentences import Sentence

# From the last arrival to the start: every agent asks several times in it.
LEAD_S = 3.0
# What a program may take beyond its own limit, for stamps and a slow connection.
GRACE_S = 60.0

# Who begins farther apart did not start together.
MOST_SPREAD_US = 100_000

Part, Step = PlanPart.Status, PlanStep.Status


def gather(plan: Plan, step: PlanStep, now: datetime) -> None:
    """Begin an attempt: every slot is to arrive until the deadline."""
    parts = list(step.parts.select_related("slot"))
    is_known = all(part.slot.joined_at for part in parts)
    patience_s = plan.barrier_s if is_known else max(plan.join_s, plan.barrier_s)
    step.status, step.attempt = Step.GATHERING, step.attempt + 1
    step.deadline = now + timedelta(seconds=patience_s)
    step.clock, step.starts_at_us, step.began_at = "", None, None
    if step.sequence is None:
        last = plan.steps.aggregate(last=Max("sequence"))["last"]
        step.sequence = (last or 0) + 1
    step.save()
    step.parts.update(
        status=Part.WAITING,
        attempt=step.attempt,
        clock="",
        arrived_at=None,
        began_us=None,
        ended_us=None,
        bound_us=None,
        rounds=None,
        keys=[],
    )
    if plan.started_at is None:
        plan.started_at = now
        plan.save(update_fields=["started_at"])


def start(step: PlanStep, now_us: int | None, now: datetime) -> None:
    """Let all slots begin at one moment; a slot alone begins at once.

    ``now_us`` is what the time server's clock shows at this moment.
    """
    alone = step.vms == 1
    limits = step.parts.aggregate(longest=Max("limit_s"))
    allowed_s = (limits["longest"] or 0.0) + GRACE_S + (0 if alone else LEAD_S)
    step.status, step.began_at = Step.RUNNING, now
    step.deadline = now + timedelta(seconds=allowed_s)
    if not alone and now_us is not None:
        step.starts_at_us = now_us + round(LEAD_S * 1e6)
    step.save()
    step.parts.update(status=Part.STARTED, seen_at=now)


def expect_others(step: PlanStep, now: datetime) -> None:
    """Give the other slots as long again as the first to end took, and no longer.

    Who took more than that did not share half of the time: it would be no co-run.
    """
    if step.began_at is None or step.deadline is None:
        return
    again = now + (now - step.began_at) + timedelta(seconds=GRACE_S)
    if again < step.deadline:
        step.deadline = again
        step.save(update_fields=["deadline"])


def settle(plan: Plan, step: PlanStep, now: datetime) -> None:
    """End a step when all its slots have: with the spread of their starts.

    Slots that began too far apart try again; what the last attempt gave is kept, and
    its spread says what it is.
    """
    parts = list(step.parts.all())
    if any(part.status != Part.DONE for part in parts):
        return
    measured = [part for part in parts if part.role == MEASURED]
    spread = spread_us([part.began_us for part in parts])
    if (spread or 0) > MOST_SPREAD_US and step.attempt < plan.most_attempts:
        said = Sentence(
            "The slots began {apart:.0f} ms apart; {limit:.0f} ms are allowed.",
            apart=(spread or 0) / 1000,
            limit=MOST_SPREAD_US / 1000,
        )
        break_attempt(plan, step, said, now)
        return
    step.status, step.ended_at, step.reason = Step.DONE, now, ""
    step.spread_us = spread
    step.overlap = shared_part([(part.began_us, part.ended_us) for part in measured])
    step.deadline = None
    step.save()


def capital(slot: PlanSlot) -> Sentence:
    """Name a slot where a sentence begins."""
    if slot.name:
        return Sentence("Slot {n} ({name})", n=slot.number, name=slot.name)
    return Sentence("Slot {n}", n=slot.number)


def break_attempt(
    plan: Plan, step: PlanStep, reason: str, now: datetime, *, hopeless: bool = False
) -> None:
    """End an attempt that came to nothing; the step waits again, or has failed."""
    is_last = hopeless or step.attempt >= plan.most_attempts
    step.status = Step.FAILED if is_last else Step.WAITING
    step.reason, step.deadline = reason, None
    step.ended_at = now if is_last else None
    step.save()
    step.parts.exclude(status=Part.FAILED).update(status=Part.WAITING)


def is_measured(step: PlanStep) -> bool:
    """Whether all that is measured has ended: the load beside it may stop."""
    measured = step.parts.filter(role=MEASURED)
    return not measured.exclude(status=Part.DONE).exists()


def longest_s(plan: Plan) -> dict[int, float]:
    """Return how long each treatment took at most until now, in seconds."""
    done = plan.steps.filter(status=Step.DONE).order_by()
    took = Max(F("ended_at") - F("began_at"))
    rows = done.values_list("treatment").annotate(took=took)
    return {number: took.total_seconds() for number, took in rows if took}


def silent_loads(step: PlanStep, since: datetime) -> list[PlanPart]:
    """Return the load companions that have not been heard of for too long."""
    loads = step.parts.filter(role=LOAD, status=Part.STARTED, seen_at__lt=since)
    return list(loads.select_related("slot"))
