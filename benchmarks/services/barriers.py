"""What agents ask of a plan: a seat, the next step, the start in common, the end.

Every question can be asked again: the answer is the same. An attempt that ended
meanwhile answers "released", and its results are not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.planning import LOAD, PlanError, fits
from benchmarks.errors import BenchmarksError, NotFoundError, UnknownSystemError
from benchmarks.models import Agent, Lab, Plan, PlanPart, PlanSeat, PlanStep, System
from benchmarks.services.plan_progress import advance
from benchmarks.services.plan_steps import (
    break_attempt,
    gather,
    is_measured,
    longest_s,
    settle,
    start,
)
from benchmarks.services.systems import describe_system, hosts_by_slug

PRESENT_FOR = timedelta(seconds=15)
LOOK_AGAIN_S = 1.5
MEET_AGAIN_S = 0.3
HELD_AGAIN_S = 0.7

Part, Step = PlanPart.Status, PlanStep.Status


class SeatsTakenError(BenchmarksError):
    """All seats of a system have other guests."""

    code = "seats_taken"
    status = 409


@dataclass(frozen=True)
class Answer:
    """What an agent is to do: see `api.plan_agents` for the states."""

    state: str
    sentence: str = ""
    wait_s: float = 0.0
    part: PlanPart | None = None
    starts_at_us: int | None = None


@transaction.atomic
def join_plan(
    *, plan_id: int, agent: Agent, name: str, system: int | dict[str, Any]
) -> PlanSeat:
    """Give a guest its seat on its system, the same one whenever it asks."""
    plan = _locked(agent.lab, plan_id)
    system_id = _system(agent.lab, system)
    seats = list(plan.seats.filter(system=system_id).order_by("number"))
    if not seats:
        raise _not_of_plan(plan, system_id)
    own = next((seat for seat in seats if seat.name == name), None)
    seat = own or next((seat for seat in seats if not seat.name), None)
    if seat is None:
        taken = ", ".join(seat.name for seat in seats)
        raise SeatsTakenError(
            f"All {len(seats)} seats of this system are taken, by {taken}. Give this "
            "guest one of these names to take its place."
        )
    now = timezone.now()
    seat.name, seat.agent, seat.seen_at = name, agent, now
    seat.joined_at = seat.joined_at or now
    seat.save()
    return seat


@transaction.atomic
def next_part(*, lab: Lab, plan_id: int, seat_id: int) -> Answer:
    """Call a seat to its next step, or say how long to wait.

    A seat that asks while its program should run has lost it: the attempt is broken.
    """
    plan = _locked(lab, plan_id)
    seat, now = _seen(plan, seat_id), timezone.now()
    advance(plan, now)
    held = _at_work(seat)
    if held and held.status == Part.STARTED:
        reason = f"{_capital(seat)} was interrupted while its program ran."
        break_attempt(plan, held.step, reason, now)
        held = None
    if held:
        return _called_again(held)
    if plan.status != Plan.Status.OPEN:
        return Answer("over", f"The plan is {plan.status}.")
    return _turn(plan, seat, now)


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
    advance(plan, now)
    part.refresh_from_db()
    step = part.step
    if attempt != step.attempt or step.status not in PlanStep.BUSY:
        return Answer("released", step.reason or "This attempt has ended.")
    part.seen_at = now
    if step.status == Step.GATHERING:
        part.status, part.limit_s, part.clock = Part.ARRIVED, limit_s, clock
        part.arrived_at = part.arrived_at or now
    part.save()
    if step.status == Step.GATHERING and not _begin(plan, step, now_us, now):
        return _awaited(step)
    if part.role == LOAD and is_measured(step):
        return Answer("stop", "What was measured has ended.")
    return Answer("start", starts_at_us=step.starts_at_us, wait_s=LOOK_AGAIN_S)


@transaction.atomic
def finish(
    *, lab: Lab, part_id: int, attempt: int, outcome: str, report: Mapping[str, Any]
) -> Answer:
    """Take a seat's end; say whether to keep what it measured.

    What a seat alone measured counts however late it comes. Seats of a co-run wait for
    each other: kept is what all of them measured together.
    """
    plan, part, now = _part(lab, part_id)
    step = part.step
    is_current = attempt == step.attempt and step.status == Step.RUNNING
    is_late = attempt == step.attempt > 0 and step.vms == 1 and _is_open_to_late(step)
    if is_current or (is_late and outcome == "done"):
        _note_end(plan, part, outcome, report, now)
    advance(plan, now)
    step.refresh_from_db()
    if attempt != step.attempt or step.status not in (Step.RUNNING, Step.DONE):
        return Answer("discard", step.reason or "This attempt has ended.")
    if step.status == Step.DONE:
        return Answer("keep")
    return Answer("held", "The other seats have not ended yet.", HELD_AGAIN_S)


def _called_again(part: PlanPart) -> Answer:
    """Hand a part out again; who asks anew has not arrived, whatever it said before."""
    part.status = Part.CALLED
    part.save(update_fields=["status"])
    return Answer("run", part=part)


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
        settle(step, now)
        return
    part.status = Part.FAILED
    part.save()
    said = f"{_capital(part.seat)}: {report.get('reason') or 'it failed'}"
    break_attempt(plan, step, said, now, hopeless=outcome == "hopeless")


def _is_open_to_late(step: PlanStep) -> bool:
    return step.status in (Step.WAITING, Step.FAILED, Step.NOT_DONE)


def _begin(plan: Plan, step: PlanStep, now_us: int | None, now: datetime) -> bool:
    """Start a step whose seats have all arrived; refuse clocks that differ."""
    parts = list(step.parts.select_related("seat").order_by("seat__number"))
    if any(part.status != Part.ARRIVED for part in parts):
        return False
    clocks = {part.clock for part in parts}
    if step.vms > 1 and (len(clocks) > 1 or "" in clocks):
        told = ", ".join(f"{part.seat}: {part.clock or 'none'}" for part in parts)
        reason = f"The seats do not ask one and the same time server ({told})."
        break_attempt(plan, step, reason, now, hopeless=True)
        return False
    step.clock = parts[0].clock
    start(step, now_us, now)
    return True


def _awaited(step: PlanStep) -> Answer:
    if step.status != Step.GATHERING:
        return Answer("released", step.reason)
    missing = step.parts.exclude(status=Part.ARRIVED).select_related("seat")
    names = ", ".join(str(part.seat) for part in missing.order_by("seat__number"))
    return Answer("wait", f"Waiting for {names}.", MEET_AGAIN_S)


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
    return Answer("run", part=_read(own.pk))


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
                reason=f"Not done: budget. It needs about {needed_s:.0f} s, "
                f"{max(left_s, 0):.0f} s were left.",
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
    held = seat.parts.filter(status__in=PlanPart.AT_WORK)
    return held.select_related("step__plan", "seat__system").first()


def _read(part_id: int) -> PlanPart:
    return PlanPart.objects.select_related("step__plan", "seat__system").get(pk=part_id)


def _locked(lab: Lab, plan_id: int) -> Plan:
    plan = Plan.objects.select_for_update().filter(lab=lab, pk=plan_id).first()
    if plan is None:
        raise NotFoundError("plan", plan_id)
    return plan


def _seen(plan: Plan, seat_id: int) -> PlanSeat:
    seat = plan.seats.filter(pk=seat_id).select_related("system").first()
    if seat is None:
        raise NotFoundError("seat", seat_id)
    seat.seen_at = timezone.now()
    seat.save(update_fields=["seen_at"])
    return seat


def _part(lab: Lab, part_id: int) -> tuple[Plan, PlanPart, datetime]:
    """Lock the plan of a part, then read the part: it may have changed until then."""
    plans = PlanPart.objects.filter(pk=part_id, step__plan__lab=lab)
    plan_id = plans.values_list("step__plan_id", flat=True).first()
    if plan_id is None:
        raise NotFoundError("part", part_id)
    plan = _locked(lab, plan_id)
    part, now = _read(part_id), timezone.now()
    PlanSeat.objects.filter(pk=part.seat_id).update(seen_at=now)
    return plan, part, now


def _system(lab: Lab, said: int | dict[str, Any]) -> int:
    if isinstance(said, dict):
        hosts = hosts_by_slug(lab, [said["host"]])
        described = describe_system(lab, hosts, said)
        found = System.objects.filter(lab=lab, fingerprint=described.fingerprint)
        known = found.values_list("pk", flat=True).first()
        return known or 0
    if not System.objects.filter(lab=lab, pk=said).exists():
        raise UnknownSystemError(said)
    return said


def _not_of_plan(plan: Plan, system_id: int) -> PlanError:
    systems = System.objects.filter(pk__in=plan.seats.values("system"))
    known = "; ".join(f"{each.pk} ({each.label})" for each in systems.order_by("pk"))
    which = f"system {system_id}" if system_id else "the system that was described"
    return PlanError(
        f"This plan does not measure {which}. It measures: {known}. Say which one this "
        "guest is with --system."
    )


def _capital(seat: PlanSeat) -> str:
    text = str(seat)
    return text[:1].upper() + text[1:]
