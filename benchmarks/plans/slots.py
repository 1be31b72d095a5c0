"""Who takes part in a plan: each guest has its slot, under its name."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.analysis.planning import PlanError
from benchmarks.errors import BenchmarksError, NotFoundError, UnknownSystemError
from benchmarks.models import Agent, Lab, Plan, PlanSlot, System
from benchmarks.sentences import Sentence
from benchmarks.studies.systems import describe_system, hosts_by_slug

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
    _check_instance(slot, instance, now)
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


def _check_instance(slot: PlanSlot, instance: str, now: datetime) -> None:
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
