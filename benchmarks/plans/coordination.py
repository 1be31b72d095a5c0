"""Requests of guests that follow a plan: join, next part, barrier, result.

All are idempotent. Requests about an ended attempt are answered with "cancelled", and
the agent discards its results.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.plan_steps import LOAD, fits_budget
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    UnknownNameError,
    unconfirmed_native_error,
)
from benchmarks.hypervisor_names import is_unconfirmed_native
from benchmarks.models import Agent, Lab, Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans.automatic_progress import (
    PRESENCE_TIMEOUT,
    advance_or_record_error,
    begin_attempt,
    end_attempt,
    finish_step,
    has_finished_measuring,
    is_absent,
    limit_deadline,
    longest_durations_s,
    slot_name_capitalized,
    start_step,
)
from benchmarks.sentences import Sentence, join_sentences
from benchmarks.studies.systems import describe_system, hosts_by_slug

AGENT_POLL_S = 1.5
BARRIER_POLL_S = 0.3
LOCKED_POLL_S = 0.7
PLAN_IS_STUCK = "This plan could not continue automatically. See the page of its study."

PartStatus, StepStatus = PlanPart.Status, PlanStep.Status


@dataclass(frozen=True)
class Instruction:
    """The answer to a guest; it waits ``wait_s`` before it asks again.

    ``starts_at_us`` is the common start by the time server's clock.
    """

    action: str
    message: str = ""
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
    instance_id: str = "",
    platform: Mapping[str, Any] | None = None,
) -> PlanSlot:
    """Assign a slot to a guest; the same name always gets the same slot.

    Raise ConflictError if another guest (with another ``instance_id``) is active under
    the same name, and InvalidError if the server would refuse the runs.
    """
    plan = lock_plan(agent.lab, plan_id)
    slot = _slot_of(plan, system, name)
    if is_unconfirmed_native(slot.system.hypervisor, {"platform": platform}):
        raise unconfirmed_native_error().for_field("system")
    now = timezone.now()
    # Without instance IDs, equal names cannot be distinguished.
    is_other_guest = (
        slot.instance_id and instance_id and slot.instance_id != instance_id
    )
    if (
        is_other_guest
        and slot.last_seen_at
        and slot.last_seen_at > now - PRESENCE_TIMEOUT
    ):
        raise ConflictError(
            "slots_taken",
            'Another guest is already following this plan as "{name}". Choose '
            "another name for this guest (--as NAME), or wait {wait:.0f} s if it "
            "was this guest before a restart.",
            name=slot.name,
            wait=PRESENCE_TIMEOUT.total_seconds(),
        )
    slot.name, slot.agent = name, agent
    slot.last_seen_at, slot.instance_id = now, instance_id
    slot.joined_at = slot.joined_at or now
    slot.save()
    return slot


def lock_plan(lab: Lab, plan_id: int) -> Plan:
    plan = Plan.objects.select_for_update().filter(lab=lab, pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def _slot_of(plan: Plan, system: int | dict[str, Any], name: str) -> PlanSlot:
    if isinstance(system, dict):
        hosts = hosts_by_slug(plan.lab, [system["host"]])
        described = describe_system(plan.lab, hosts, system)
        registered = System.objects.filter(
            lab=plan.lab, fingerprint=described.fingerprint
        )
        # The id 0 does not exist, so the error below lists the plan's systems.
        system_id = registered.values_list("pk", flat=True).first() or 0
        system_name = Sentence("the described system")
    else:
        system_id = system
        if not System.objects.filter(lab=plan.lab, pk=system_id).exists():
            raise UnknownNameError("system", system_id)
    if system_id:
        system_name = Sentence("system {system}", system=system_id)
    slots = list(plan.slots.filter(system=system_id).order_by("number"))
    if not slots:
        systems = System.objects.filter(pk__in=plan.slots.values("system"))
        systems_text = "; ".join(
            f"{candidate.pk} ({candidate.label})"
            for candidate in systems.order_by("pk")
        )
        raise InvalidError(
            "invalid_plan",
            "This plan does not measure {which}. It measures: {known}. Select the "
            "system of this guest with --system.",
            which=system_name,
            known=systems_text,
        )
    free = [slot for slot in slots if slot.name == name] or [
        slot for slot in slots if not slot.name
    ]
    if not free:
        raise ConflictError(
            "slots_taken",
            "All {n} slots of this system are taken, by {taken}. To replace one of "
            "these guests, use its name for this guest.",
            n=len(slots),
            taken=", ".join(slot.name for slot in slots),
        )
    return free[0]


@transaction.atomic
def next_part(*, lab: Lab, plan_id: int, slot_id: int) -> Instruction:
    """Return the next part for a slot, or how long to wait.

    If the slot's program should be running, the guest was interrupted, and the attempt
    fails.
    """
    plan = lock_plan(lab, plan_id)
    slot = plan.slots.filter(pk=slot_id).select_related("system").first()
    if slot is None:
        raise NotFoundError(Sentence("slot"), slot_id)
    slot.last_seen_at = now = timezone.now()
    slot.save(update_fields=["last_seen_at"])
    advance_or_record_error(plan, now)
    parts = slot.parts.select_related("step__plan", "slot__system")
    # Read this after advancing the plan, which may end the attempt.
    active_parts = parts.filter(
        status__in=PlanPart.IN_PROGRESS, step__status__in=PlanStep.ACTIVE
    )
    active_part = active_parts.first()
    if active_part and active_part.status == PartStatus.STARTED:
        reason = Sentence(
            "{slot} was interrupted while its program ran.",
            slot=slot_name_capitalized(slot),
        )
        end_attempt(plan, active_part.step, reason, now)
        active_part = None
    if active_part:
        # A guest that asks has not arrived at the barrier.
        active_part.status = PartStatus.ASSIGNED
        active_part.save(update_fields=["status"])
        return Instruction("run", part=active_part)
    if plan.status != Plan.Status.OPEN:
        return Instruction("finished", f"The plan is {plan.status}.")
    return _next_instruction(plan, slot, now)


def read_part(part_id: int) -> PlanPart:
    return PlanPart.objects.select_related("step__plan", "slot__system").get(pk=part_id)


def _next_instruction(plan: Plan, slot: PlanSlot, now: datetime) -> Instruction:
    host_steps = plan.steps.filter(system__host=slot.system.host_id)
    # A host runs one step at a time, so that guests do not disturb each other.
    step = host_steps.filter(status__in=PlanStep.ACTIVE).first()
    if step is None:
        waiting = host_steps.filter(status=StepStatus.WAITING).order_by("position")
        if plan.ends_at is not None:
            _skip_too_long_steps(
                waiting, longest_durations_s(plan), (plan.ends_at - now).total_seconds()
            )
        absent = plan.slots.filter(
            Q(last_seen_at=None) | Q(last_seen_at__lt=now - PRESENCE_TIMEOUT)
        )
        complete = waiting.exclude(parts__slot__in=absent)
        step = complete.first() or waiting.filter(parts__slot=slot).first()
        if step is not None:
            begin_attempt(plan, step, now)
    if step is None:
        succeeded = advance_or_record_error(plan, timezone.now())
        if plan.status != Plan.Status.OPEN:
            return Instruction("finished", f"The plan is {plan.status}.")
        own_steps = plan.steps.filter(status__in=PlanStep.UNFINISHED, parts__slot=slot)
        # With a target width, rounds may be added.
        if plan.target_width_percent is None and not own_steps.exists():
            return Instruction("finished", f"Nothing is left for {slot}.")
        if not succeeded:
            return Instruction("wait", PLAN_IS_STUCK, AGENT_POLL_S)
        return Instruction("wait", "Nothing can be begun now.", AGENT_POLL_S)
    own_part = step.parts.filter(slot=slot, status=PartStatus.WAITING).first()
    if own_part is None or step.status != StepStatus.AT_BARRIER:
        return Instruction(
            "wait", f"Others are at step {step.position + 1}.", AGENT_POLL_S
        )
    own_part.status, own_part.last_seen_at = PartStatus.ASSIGNED, now
    own_part.save()
    return Instruction("run", part=read_part(own_part.pk))


def _skip_too_long_steps(
    waiting: QuerySet[PlanStep], longest: Mapping[int, float], left_s: float
) -> None:
    for number, needed_s in longest.items():
        if not fits_budget(needed_s, left_s):
            reason = Sentence(
                "Skipped: it needs about {needed:.0f} s, but only {left:.0f} s of "
                "the time budget were left.",
                needed=needed_s,
                left=max(left_s, 0),
            )
            late = waiting.filter(treatment=number)
            late.update(status=StepStatus.SKIPPED, reason=reason)


@transaction.atomic
def arrive_at_barrier(
    *,
    lab: Lab,
    part_id: int,
    attempt: int,
    timeout_s: float = 0.0,
    clock_id: str = "",
    now_us: int | None = None,
) -> Instruction:
    """Record that a part is at its step's barrier; return the agent's next action.

    Agents repeat this request until the start is known, and background loads until the
    load must stop. ``now_us`` is the time of the time server's clock ``clock_id``.
    """
    plan, part, now = _locked_part(lab, part_id)
    advance_or_record_error(plan, now)
    part.refresh_from_db()  # the attempt may have ended
    step = part.step
    if attempt != step.attempt or step.status not in PlanStep.ACTIVE:
        return Instruction("cancelled", step.reason or "This attempt has ended.")
    # Requests after the start must not change the part.
    if step.status == StepStatus.AT_BARRIER:
        if part.status == PartStatus.ARRIVED:
            _record_response(part, now)
        part.status = PartStatus.ARRIVED
        part.timeout_s = timeout_s
        part.clock = clock_id
        part.arrived_at = part.arrived_at or now
    part.last_seen_at = now
    part.save()
    if step.status == StepStatus.AT_BARRIER and (
        wait := _start_if_complete(plan, step, now_us, now)
    ):
        return wait
    if part.role == LOAD and has_finished_measuring(step):
        return Instruction("stop", "The measurement has ended.")
    return Instruction("start", starts_at_us=step.starts_at_us, wait_s=AGENT_POLL_S)


@transaction.atomic
def finish_part(
    *, lab: Lab, part_id: int, attempt: int, outcome: str, report: Mapping[str, Any]
) -> Instruction:
    """Store the end of a part; return whether the agent keeps its results.

    Late results are accepted for steps with one VM. The slots of a co-run wait for each
    other.
    """
    plan, part, now = _locked_part(lab, part_id)
    step = part.step
    # A slot at the barrier can report only a failure.
    is_current = attempt == step.attempt and (
        step.status == StepStatus.RUNNING
        or (step.status == StepStatus.AT_BARRIER and outcome != "done")
    )
    # In a step with one VM, no other slot is affected.
    is_open = step.status in (
        StepStatus.WAITING,
        StepStatus.FAILED,
        StepStatus.SKIPPED,
    )
    is_late = attempt == step.attempt > 0 and step.vms == 1 and is_open
    if is_current or (is_late and outcome == "done"):
        _record_end(plan, part, outcome, report, now)
    advance_or_record_error(plan, now)
    step.refresh_from_db()
    if attempt != step.attempt or step.status not in (
        StepStatus.RUNNING,
        StepStatus.DONE,
    ):
        return Instruction("discard", step.reason or "This attempt has ended.")
    if step.status == StepStatus.DONE:
        return Instruction("keep")
    return Instruction("pending", "The other slots have not ended yet.", LOCKED_POLL_S)


def _record_end(
    plan: Plan, part: PlanPart, outcome: str, report: Mapping[str, Any], now: datetime
) -> None:
    step = part.step
    if outcome == "done":
        for name, value in report.items():
            if name != "reason":
                setattr(part, name, value)
        part.status = PartStatus.DONE
        part.save()
        limit_deadline(step, now)
        finish_step(plan, step, now)
        return
    part.status = PartStatus.FAILED
    part.save()
    why = report.get("reason") or Sentence("it failed")
    reason = Sentence("{slot}: {why}", slot=slot_name_capitalized(part.slot), why=why)
    end_attempt(plan, step, reason, now, can_retry=outcome != "unsupported")


def _record_response(part: PlanPart, now: datetime) -> None:
    """Store the longest recent time between two requests of a waiting slot.

    A longer time counts at once; a shorter one halves the difference.
    """
    if part.last_seen_at is None:
        return
    gap_s = (now - part.last_seen_at).total_seconds()
    known_s = part.slot.response_s
    if known_s is not None and gap_s < known_s:
        gap_s = (gap_s + known_s) / 2
    PlanSlot.objects.filter(pk=part.slot_id).update(response_s=gap_s)


def _start_if_complete(
    plan: Plan, step: PlanStep, now_us: int | None, now: datetime
) -> Instruction | None:
    """Start the step if all slots have arrived, or fail it if their clocks differ.

    Return an instruction to wait or cancel, or None if the step starts.
    """
    parts = list(step.parts.select_related("slot").order_by("slot__number"))
    missing = [part.slot for part in parts if part.status != PartStatus.ARRIVED]
    if missing:
        message = f"Waiting for {', '.join(map(str, missing))}."
        if silent := [str(slot) for slot in missing if is_absent(slot, now)]:
            message += f" No agent is running in {', '.join(silent)}."
        return Instruction("wait", message, BARRIER_POLL_S)
    clocks = {part.clock for part in parts}
    # A common start needs a common clock. Retries would not help.
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
            "The slots do not all use the same time server ({servers}).",
            servers=join_sentences(servers, ", "),
        )
        end_attempt(plan, step, reason, now, can_retry=False)
        return Instruction("cancelled", step.reason)
    step.clock = parts[0].clock
    start_step(step, now_us, now)
    return None


def _locked_part(lab: Lab, part_id: int) -> tuple[Plan, PlanPart, datetime]:
    """Lock a part's plan, then read the part, which may have changed before."""
    plans = PlanPart.objects.filter(pk=part_id, step__plan__lab=lab)
    plan_id = plans.values_list("step__plan_id", flat=True).first()
    if plan_id is None:
        raise NotFoundError(Sentence("part"), part_id)
    plan = lock_plan(lab, plan_id)
    part, now = read_part(part_id), timezone.now()
    PlanSlot.objects.filter(pk=part.slot_id).update(last_seen_at=now)
    return plan, part, now
