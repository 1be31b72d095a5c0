"""Who takes part in a plan: each guest has its seat, under its name."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.analysis.planning import PlanError
from benchmarks.errors import BenchmarksError, NotFoundError, UnknownSystemError
from benchmarks.models import Agent, Lab, Plan, PlanSeat, System
from benchmarks.sentences import Sentence
from benchmarks.studies.systems import describe_system, hosts_by_slug

PRESENT_FOR = timedelta(seconds=15)


class SeatsTakenError(BenchmarksError):
    """All seats of a system, or the one that was asked for, have other guests."""

    code = "seats_taken"
    status = 409


@transaction.atomic
def join_plan(
    *,
    plan_id: int,
    agent: Agent,
    name: str,
    system: int | dict[str, Any],
    instance: str = "",
) -> PlanSeat:
    """Give a guest its seat on its system, the same one whenever it asks.

    Another guest of the same name, told by its ``instance``, is refused while the
    first one is heard of.
    """
    plan = locked_plan(agent.lab, plan_id)
    system_id = _system(agent.lab, system)
    seats = list(plan.seats.filter(system=system_id).order_by("number"))
    if not seats:
        raise _not_of_plan(plan, system_id)
    seat = _seat_for(name, seats)
    now = timezone.now()
    _check_instance(seat, instance, now)
    seat.name, seat.agent, seat.seen_at, seat.instance = name, agent, now, instance
    seat.joined_at = seat.joined_at or now
    seat.save()
    return seat


def locked_plan(lab: Lab, plan_id: int) -> Plan:
    """Return a plan that nobody else changes until the transaction ends.

    Raises NotFoundError, also for another lab's.
    """
    plan = Plan.objects.select_for_update().filter(lab=lab, pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def _seat_for(name: str, seats: Sequence[PlanSeat]) -> PlanSeat:
    """Return a guest's own seat, else the first free one."""
    own = next((seat for seat in seats if seat.name == name), None)
    seat = own or next((seat for seat in seats if not seat.name), None)
    if seat is None:
        taken = ", ".join(seat.name for seat in seats)
        raise SeatsTakenError(
            Sentence(
                "All {n} seats of this system are taken, by {taken}. Give "
                "this guest one of these names to take its place.",
                n=len(seats),
                taken=taken,
            )
        )
    return seat


def _check_instance(seat: PlanSeat, instance: str, now: datetime) -> None:
    is_other = seat.instance and instance and seat.instance != instance
    if is_other and seat.seen_at and seat.seen_at > now - PRESENT_FOR:
        wait_s = PRESENT_FOR.total_seconds()
        raise SeatsTakenError(
            Sentence(
                'Another guest follows this plan as "{name}" at this moment. '
                "Give this one a name of its own (--as NAME), or wait "
                "{wait:.0f} s if that was this guest before it was started "
                "anew.",
                name=seat.name,
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
    systems = System.objects.filter(pk__in=plan.seats.values("system"))
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
