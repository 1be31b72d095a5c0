"""Whose turn it is: the next step of a seat, or how long to wait for it."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.planning import fits
from benchmarks.errors import NotFoundError
from benchmarks.models import Lab, Plan, PlanPart, PlanSeat, PlanStep
from benchmarks.plans.progress import advance
from benchmarks.plans.slots import PRESENT_FOR, locked_plan
from benchmarks.plans.steps import break_attempt, capital, gather, longest_s
from benchmarks.sentences import Sentence

LOOK_AGAIN_S = 1.5

Part, Step = PlanPart.Status, PlanStep.Status


@dataclass(frozen=True)
class Answer:
    """What an agent is to do: see `api.plan_agents` for the states."""

    state: str
    sentence: str = ""
    wait_s: float = 0.0
    part: PlanPart | None = None
    starts_at_us: int | None = None


@transaction.atomic
def next_part(*, lab: Lab, plan_id: int, seat_id: int) -> Answer:
    """Call a seat to its next step, or say how long to wait.

    A seat that asks while its program should run has lost it: the attempt is broken.
    """
    plan = locked_plan(lab, plan_id)
    seat, now = _seen(plan, seat_id), timezone.now()
    advance(plan, now)
    held = _at_work(seat)
    if held and held.status == Part.STARTED:
        reason = Sentence(
            "{seat} was interrupted while its program ran.", seat=capital(seat)
        )
        break_attempt(plan, held.step, reason, now)
        held = None
    if held:
        return _called_again(held)
    if plan.status != Plan.Status.OPEN:
        return Answer("over", f"The plan is {plan.status}.")
    return _turn(plan, seat, now)


def read_part(part_id: int) -> PlanPart:
    """Return a part with all that an answer says of it, in one query."""
    return PlanPart.objects.select_related("step__plan", "seat__system").get(pk=part_id)


def _called_again(part: PlanPart) -> Answer:
    """Hand a part out again; who asks anew has not arrived, whatever it said before."""
    part.status = Part.CALLED
    part.save(update_fields=["status"])
    return Answer("run", part=part)


def _turn(plan: Plan, seat: PlanSeat, now: datetime) -> Answer:
    here = plan.steps.filter(system__host=seat.system.host_id)
    busy = here.filter(status__in=PlanStep.BUSY).first()
    if busy is None:
        busy = _chosen(plan, here, seat, now)
        if busy is not None:
            gather(plan, busy, now)
    if busy is None:
        return _idle(plan, seat)
    own = busy.parts.filter(seat=seat, status=Part.WAITING).first()
    if own is None or busy.status != Step.GATHERING:
        return Answer("wait", f"Others are at step {busy.position + 1}.", LOOK_AGAIN_S)
    own.status, own.seen_at = Part.CALLED, now
    own.save()
    return Answer("run", part=read_part(own.pk))


def _chosen(
    plan: Plan, here: QuerySet[PlanStep], seat: PlanSeat, now: datetime
) -> PlanStep | None:
    """Return the first step that all of its seats are there for, else one of ours.

    Steps that no longer fit into the budget are given up on the way.
    """
    waiting = here.filter(status=Step.WAITING).order_by("position")
    _give_up(plan, waiting, now)
    absent = plan.seats.filter(Q(seen_at=None) | Q(seen_at__lt=now - PRESENT_FOR))
    ready = waiting.exclude(parts__seat__in=absent)
    return ready.first() or waiting.filter(parts__seat=seat).first()


def _give_up(plan: Plan, waiting: QuerySet[PlanStep], now: datetime) -> None:
    if plan.ends_at is None:
        return
    left_s = (plan.ends_at - now).total_seconds()
    for number, needed_s in longest_s(plan).items():
        if not fits(needed_s, left_s):
            waiting.filter(treatment=number).update(
                status=Step.NOT_DONE,
                reason=Sentence(
                    "Not done: budget. It needs about {needed:.0f} s, {left:.0f} s "
                    "were left.",
                    needed=needed_s,
                    left=max(left_s, 0),
                ),
            )


def _idle(plan: Plan, seat: PlanSeat) -> Answer:
    advance(plan, timezone.now())
    if plan.status != Plan.Status.OPEN:
        return Answer("over", f"The plan is {plan.status}.")
    unfinished = plan.steps.filter(status__in=PlanStep.UNFINISHED)
    if plan.width_percent is None and not unfinished.filter(parts__seat=seat).exists():
        return Answer("over", f"Nothing is left for {seat}.")
    return Answer("wait", "Nothing can be begun now.", LOOK_AGAIN_S)


def _at_work(seat: PlanSeat) -> PlanPart | None:
    held = seat.parts.filter(
        status__in=PlanPart.AT_WORK, step__status__in=PlanStep.BUSY
    )
    return held.select_related("step__plan", "seat__system").first()


def _seen(plan: Plan, seat_id: int) -> PlanSeat:
    seat = plan.seats.filter(pk=seat_id).select_related("system").first()
    if seat is None:
        raise NotFoundError(Sentence("seat"), seat_id)
    seat.seen_at = timezone.now()
    seat.save(update_fields=["seen_at"])
    return seat
