"""Guests join a plan, take turns, meet at the barrier of a step, and report its end.

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

from benchmarks.analysis.planning import LOAD, fits_budget
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    UnknownNameError,
)
from benchmarks.models import Agent, Lab, Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans.progress import (
    break_attempt,
    capital,
    expect_others,
    gather,
    is_measured,
    longest_s,
    settle,
    start,
    try_to_advance,
)
from benchmarks.sentences import Sentence, joined
from benchmarks.studies.systems import describe_system, hosts_by_slug

# A guest that waits asks every LOOK_AGAIN_S: so long a silence is an absence.
PRESENT_FOR = timedelta(seconds=15)

LOOK_AGAIN_S = 1.5
MEET_AGAIN_S = 0.3
HELD_AGAIN_S = 0.7
STUCK = "This plan could not go on by itself: the page of its study says why."

Part, Step = PlanPart.Status, PlanStep.Status


@dataclass(frozen=True)
class Answer:
    """What an agent is to do: see `api.plans` for the states."""

    state: str
    sentence: str = ""
    wait_s: float = 0.0
    part: PlanPart | None = None
    starts_at_us: int | None = None


@transaction.atomic
def join_plan(
    *,
    plan_id: int,
    agent: Agent,
    name: str,
    system: int | dict[str, Any],
    instance: str = "",
) -> PlanSlot:
    """Give a guest its slot on its system, the same one each time.

    A second guest of the same name (told apart by ``instance``) is refused while the
    first is active.
    """
    plan = locked_plan(agent.lab, plan_id)
    slot = _slot_of(plan, system, name)
    now = timezone.now()
    # Without an instance on both sides nothing tells two guests of one name apart.
    is_other = slot.instance and instance and slot.instance != instance
    if is_other and slot.seen_at and slot.seen_at > now - PRESENT_FOR:
        raise ConflictError(
            "slots_taken",
            'Another guest follows this plan as "{name}" at this moment. '
            "Give this one a name of its own (--as NAME), or wait "
            "{wait:.0f} s if that was this guest before it "
            "restarted.",
            name=slot.name,
            wait=PRESENT_FOR.total_seconds(),
        )
    slot.name, slot.agent, slot.seen_at, slot.instance = name, agent, now, instance
    slot.joined_at = slot.joined_at or now
    slot.save()
    return slot


def locked_plan(lab: Lab, plan_id: int) -> Plan:
    """Return a plan, locked until the transaction ends; raise NotFoundError."""
    plan = Plan.objects.select_for_update().filter(lab=lab, pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def _slot_of(plan: Plan, system: int | dict[str, Any], name: str) -> PlanSlot:
    """Return a guest's own slot of a system, else the first free one."""
    if isinstance(system, dict):
        hosts = hosts_by_slug(plan.lab, [system["host"]])
        described = describe_system(plan.lab, hosts, system)
        same = System.objects.filter(lab=plan.lab, fingerprint=described.fingerprint)
        # 0 is no system: it has no slots, and the error lists those that have.
        system_id = same.values_list("pk", flat=True).first() or 0
        which = Sentence("the system that was described")
    else:
        system_id = system
        if not System.objects.filter(lab=plan.lab, pk=system_id).exists():
            raise UnknownNameError("system", system_id)
    if system_id:
        which = Sentence("system {system}", system=system_id)
    slots = list(plan.slots.filter(system=system_id).order_by("number"))
    if not slots:
        systems = System.objects.filter(pk__in=plan.slots.values("system"))
        known = "; ".join(f"{one.pk} ({one.label})" for one in systems.order_by("pk"))
        raise InvalidError(
            "plan",
            "This plan does not measure {which}. It measures: {known}. Say "
            "which one this guest is with --system.",
            which=which,
            known=known,
        )
    free = [slot for slot in slots if slot.name == name] or [
        slot for slot in slots if not slot.name
    ]
    if not free:
        raise ConflictError(
            "slots_taken",
            "All {n} slots of this system are taken, by {taken}. Give "
            "this guest one of these names to take its place.",
            n=len(slots),
            taken=", ".join(slot.name for slot in slots),
        )
    return free[0]


@transaction.atomic
def next_part(*, lab: Lab, plan_id: int, slot_id: int) -> Answer:
    """Call a slot to its next step, or say how long to wait.

    A slot that asks while its program should run has lost it: the attempt is broken.
    """
    plan = locked_plan(lab, plan_id)
    slot = plan.slots.filter(pk=slot_id).select_related("system").first()
    if slot is None:
        raise NotFoundError(Sentence("slot"), slot_id)
    slot.seen_at = now = timezone.now()
    slot.save(update_fields=["seen_at"])
    try_to_advance(plan, now)
    parts = slot.parts.select_related("step__plan", "slot__system")
    # Asked after `advance`: what is due may have ended the attempt that the slot is in.
    at_work = parts.filter(status__in=PlanPart.AT_WORK, step__status__in=PlanStep.BUSY)
    held = at_work.first()
    if held and held.status == Part.STARTED:
        reason = Sentence(
            "{slot} was interrupted while its program ran.", slot=capital(slot)
        )
        break_attempt(plan, held.step, reason, now)
        held = None
    if held:
        # Hand a part out again; who asks anew has not arrived, whatever it said before.
        held.status = Part.CALLED
        held.save(update_fields=["status"])
        return Answer("run", part=held)
    if plan.status != Plan.Status.OPEN:
        return Answer("over", f"The plan is {plan.status}.")
    return _turn(plan, slot, now)


def read_part(part_id: int) -> PlanPart:
    """Return a part with all that an answer says of it, in one query."""
    return PlanPart.objects.select_related("step__plan", "slot__system").get(pk=part_id)


def _turn(plan: Plan, slot: PlanSlot, now: datetime) -> Answer:
    here = plan.steps.filter(system__host=slot.system.host_id)
    # One step at a time on a host: its guests would disturb each other.
    busy = here.filter(status__in=PlanStep.BUSY).first()
    if busy is None:
        waiting = here.filter(status=Step.WAITING).order_by("position")
        if plan.ends_at is not None:
            _give_up(waiting, longest_s(plan), (plan.ends_at - now).total_seconds())
        absent = plan.slots.filter(Q(seen_at=None) | Q(seen_at__lt=now - PRESENT_FOR))
        # Prefer steps whose guests are all here, but begin the asker's own anyway.
        ready = waiting.exclude(parts__slot__in=absent)
        busy = ready.first() or waiting.filter(parts__slot=slot).first()
        if busy is not None:
            gather(plan, busy, now)
    if busy is None:
        # What was given up may have been the last of the plan.
        went_on = try_to_advance(plan, timezone.now())
        if plan.status != Plan.Status.OPEN:
            return Answer("over", f"The plan is {plan.status}.")
        left = plan.steps.filter(status__in=PlanStep.UNFINISHED, parts__slot=slot)
        # With a target width further rounds may still come.
        if plan.width_percent is None and not left.exists():
            return Answer("over", f"Nothing is left for {slot}.")
        if not went_on:
            return Answer("wait", STUCK, LOOK_AGAIN_S)
        return Answer("wait", "Nothing can be begun now.", LOOK_AGAIN_S)
    own = busy.parts.filter(slot=slot, status=Part.WAITING).first()
    if own is None or busy.status != Step.GATHERING:
        return Answer("wait", f"Others are at step {busy.position + 1}.", LOOK_AGAIN_S)
    own.status, own.seen_at = Part.CALLED, now
    own.save()
    return Answer("run", part=read_part(own.pk))


def _give_up(
    waiting: QuerySet[PlanStep], longest: Mapping[int, float], left_s: float
) -> None:
    """Say of the steps that need longer than the budget lasts that they never will."""
    for number, needed_s in longest.items():
        if not fits_budget(needed_s, left_s):
            reason = Sentence(
                "Skipped: it needs about {needed:.0f} s, and {left:.0f} s of the "
                "time budget were left.",
                needed=needed_s,
                left=max(left_s, 0),
            )
            late = waiting.filter(treatment=number)
            late.update(status=Step.NOT_DONE, reason=reason)


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
    """Arrive at a step's barrier; repeated until the start is known.

    ``now_us`` is the time of the time server's ``clock`` at the agent. A load companion
    asks until it is told to stop.
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
    """Store a slot's end; say whether to keep its results.

    Results of a slot alone count however late they come. Slots of a co-run wait for
    each other.
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
