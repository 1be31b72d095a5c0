"""Whose turn it is: the next step of a slot, or how long to wait for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.planning import PlanError, fits
from benchmarks.errors import BenchmarksError, NotFoundError, UnknownSystemError
from benchmarks.models import Agent, Lab, Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans.progress import advance, break_attempt, capital, gather, longest_s
from benchmarks.sentences import Sentence
from benchmarks.studies.saving import describe_system, hosts_by_slug

PRESENT_FOR = timedelta(seconds=15)


class SlotsTakenError(BenchmarksError):
    """All slots of a system, or the one that was asked for, have other guests."""

    code = "slots_taken"
    status = 409


@transaction.atomic
def join_plan(
    *,
    plan_id: int,
    agent: Agent,
    name: str,
    system: int | dict[str, Any],
    instance: str = "",
) -> PlanSlot:
    """Give a guest its slot on its system, the same one whenever it asks.

    Another guest of the same name, told by its ``instance``, is refused while the
    first one is heard of.
    """
    plan = locked_plan(agent.lab, plan_id)
    system_id = _system(agent.lab, system)
    slots = list(plan.slots.filter(system=system_id).order_by("number"))
    if not slots:
        raise _not_of_plan(plan, system_id)
    slot = _slot_for(name, slots)
    now = timezone.now()
    is_other = slot.instance and instance and slot.instance != instance
    if is_other and slot.seen_at and slot.seen_at > now - PRESENT_FOR:
        wait_s = PRESENT_FOR.total_seconds()
        raise SlotsTakenError(
            Sentence(
                'Another guest follows this plan as "{name}" at this moment. '
                "Give this one a name of its own (--as NAME), or wait "
                "{wait:.0f} s if that was this guest before it was started "
                "anew.",
                name=slot.name,
                wait=wait_s,
            )
        )
    slot.name, slot.agent, slot.seen_at, slot.instance = name, agent, now, instance
    slot.joined_at = slot.joined_at or now
    slot.save()
    return slot


def locked_plan(lab: Lab, plan_id: int) -> Plan:
    """Return a plan that nobody else changes until the transaction ends.

    Raises NotFoundError, also for another lab's.
    """
    plan = Plan.objects.select_for_update().filter(lab=lab, pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def _slot_for(name: str, slots: Sequence[PlanSlot]) -> PlanSlot:
    """Return a guest's own slot, else the first free one."""
    own = next((slot for slot in slots if slot.name == name), None)
    slot = own or next((slot for slot in slots if not slot.name), None)
    if slot is None:
        taken = ", ".join(slot.name for slot in slots)
        raise SlotsTakenError(
            Sentence(
                "All {n} slots of this system are taken, by {taken}. Give "
                "this guest one of these names to take its place.",
                n=len(slots),
                taken=taken,
            )
        )
    return slot


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
    systems = System.objects.filter(pk__in=plan.slots.values("system"))
    known = "; ".join(f"{each.pk} ({each.label})" for each in systems.order_by("pk"))
    which = (
        Sentence("system {system}", system=system_id)
        if system_id
        else Sentence("the system that was described")
    )
    return PlanError(
        Sentence(
            "This plan does not measure {which}. It measures: {known}. Say "
            "which one this guest is with --system.",
            which=which,
            known=known,
        )
    )


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
def next_part(*, lab: Lab, plan_id: int, slot_id: int) -> Answer:
    """Call a slot to its next step, or say how long to wait.

    A slot that asks while its program should run has lost it: the attempt is broken.
    """
    plan = locked_plan(lab, plan_id)
    slot, now = _seen(plan, slot_id), timezone.now()
    advance(plan, now)
    held = _at_work(slot)
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
    busy = here.filter(status__in=PlanStep.BUSY).first()
    if busy is None:
        waiting = here.filter(status=Step.WAITING).order_by("position")
        _give_up(plan, waiting, now)
        absent = plan.slots.filter(Q(seen_at=None) | Q(seen_at__lt=now - PRESENT_FOR))
        ready = waiting.exclude(parts__slot__in=absent)
        busy = ready.first() or waiting.filter(parts__slot=slot).first()
        if busy is not None:
            gather(plan, busy, now)
    if busy is None:
        return _idle(plan, slot)
    own = busy.parts.filter(slot=slot, status=Part.WAITING).first()
    if own is None or busy.status != Step.GATHERING:
        return Answer("wait", f"Others are at step {busy.position + 1}.", LOOK_AGAIN_S)
    own.status, own.seen_at = Part.CALLED, now
    own.save()
    return Answer("run", part=read_part(own.pk))


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


def _idle(plan: Plan, slot: PlanSlot) -> Answer:
    advance(plan, timezone.now())
    if plan.status != Plan.Status.OPEN:
        return Answer("over", f"The plan is {plan.status}.")
    unfinished = plan.steps.filter(status__in=PlanStep.UNFINISHED)
    if plan.width_percent is None and not unfinished.filter(parts__slot=slot).exists():
        return Answer("over", f"Nothing is left for {slot}.")
    return Answer("wait", "Nothing can be begun now.", LOOK_AGAIN_S)


def _at_work(slot: PlanSlot) -> PlanPart | None:
    held = slot.parts.filter(
        status__in=PlanPart.AT_WORK, step__status__in=PlanStep.BUSY
    )
    return held.select_related("step__plan", "slot__system").first()


def _seen(plan: Plan, slot_id: int) -> PlanSlot:
    slot = plan.slots.filter(pk=slot_id).select_related("system").first()
    if slot is None:
        raise NotFoundError(Sentence("slot"), slot_id)
    slot.seen_at = timezone.now()
    slot.save(update_fields=["seen_at"])
    return slot
