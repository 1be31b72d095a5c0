"""Make a plan and end it; agents follow it by `plan_turns` and `barriers`."""

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.analysis.planning import (
    Column,
    Design,
    PlanError,
    Planned,
    Scenario,
    Work,
    checked_options,
    expand,
)
from benchmarks.errors import BenchmarksError, UnknownSystemError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study, System
from benchmarks.sentences import Sentence
from benchmarks.studies.saving import register_system
from benchmarks.text import clean_text

SEED_BITS = 32
STOPPED = Sentence("Not done: the plan was stopped.")


class PlanOverError(BenchmarksError):
    """A plan that has ended already."""

    code = "plan_over"
    status = 409


@transaction.atomic
def create_plan(
    *,
    study: Study,
    who: str,
    title: str,
    design: Mapping[str, Any],
    seed: int | None = None,
    **limits: Any,
) -> Plan:
    """Store a plan with all its steps in their order.

    ``design`` has ``systems`` (each an id or a description, with its slots), ``tools``,
    ``scenarios``, ``repetitions``, ``warm_up`` and ``order``; ``limits`` are the plan's
    own fields. Raises PlanError if nobody could follow it.
    """
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    kept = {**design, "systems": _columns(study, design["systems"])}
    asked = read_design(kept, seed)
    most = limits.get("most_repetitions")
    if (limits.get("width_percent") is None) != (most is None):
        raise PlanError(
            Sentence(
                "A target width and a maximum belong together: send "
                '"width_percent" and "most_repetitions", or none of them.'
            )
        )
    if most is not None and most < asked.repetitions:
        raise PlanError(
            Sentence(
                '"most_repetitions" ({most}) is less than the {repetitions} '
                "repetitions that are planned anyway.",
                most=most,
                repetitions=asked.repetitions,
            )
        )
    steps = expand(asked)
    plan = Plan.objects.create(
        lab=study.lab,
        study=study,
        who=who,
        title=clean_text(title.strip(), what=Sentence("title")),
        design=kept,
        seed=seed,
        **limits,
    )
    PlanSlot.objects.bulk_create(
        PlanSlot(plan=plan, system_id=column.system, number=number)
        for column in asked.columns
        for number in range(1, column.slots + 1)
    )
    add_steps(plan, steps)
    return plan


def design_of(plan: Plan) -> Design:
    """Return what a plan asks for."""
    return read_design(plan.design, plan.seed)


def read_design(design: Mapping[str, Any], seed: int) -> Design:
    """Turn the words of a plan into a design; raise what is wrong with them."""
    return Design(
        columns=tuple(Column(**column) for column in design["systems"]),
        tools=tuple(map(_work, design.get("tools", ()))),
        scenarios=tuple(map(_scenario, design.get("scenarios", ({},)))),
        repetitions=design.get("repetitions", 5),
        warm_up=design.get("warm_up", 1),
        order=design.get("order", "random"),
        seed=seed,
    )


def add_steps(plan: Plan, planned: Iterable[Planned]) -> None:
    """Store further steps behind those that are there."""
    first = plan.steps.count()
    ordered = list(planned)
    steps = PlanStep.objects.bulk_create(
        _step(plan, position, each)
        for position, each in enumerate(ordered, start=first)
    )
    slots = {(slot.system_id, slot.number): slot for slot in plan.slots.all()}
    PlanPart.objects.bulk_create(
        PlanPart(
            step=step,
            slot=slots[step.system_id, part.slot],
            role=part.role,
            tool=part.tool,
            program=part.program,
            options=dict(part.options),
        )
        for step, each in zip(steps, ordered, strict=True)
        for part in each.treatment.parts
    )


@transaction.atomic
def stop_plan(*, plan: Plan) -> Plan:
    """End a plan: what waits is not done, what runs may go on to its end."""
    locked = Plan.objects.select_for_update().get(pk=plan.pk)
    if locked.status != Plan.Status.OPEN:
        raise PlanOverError(
            Sentence('The plan "{title}" has ended already.', title=locked.title)
        )
    leave_undone(locked, STOPPED)
    locked.status, locked.finished_at = Plan.Status.STOPPED, timezone.now()
    locked.save(update_fields=["status", "finished_at"])
    return locked


def leave_undone(plan: Plan, reason: str) -> int:
    """Say of all steps that have not started why they never will."""
    idle = (PlanStep.Status.WAITING, PlanStep.Status.GATHERING)
    left = plan.steps.filter(status__in=idle)
    return left.update(status=PlanStep.Status.NOT_DONE, reason=reason)


def _step(plan: Plan, position: int, planned: Planned) -> PlanStep:
    treatment = planned.treatment
    first = treatment.parts[0]
    return PlanStep(
        plan=plan,
        position=position,
        repetition=planned.repetition,
        system_id=treatment.system,
        treatment=planned.number,
        tool=first.tool,
        program=first.program,
        scenario=treatment.scenario,
        vms=treatment.vms,
        load=treatment.load,
    )


def _columns(
    study: Study, systems: Iterable[Mapping[str, Any]]
) -> list[dict[str, int]]:
    """Return the systems by their ids, those described registered; each once."""
    columns = [
        {"system": _system(study, each["system"]), "slots": each.get("slots", 1)}
        for each in systems
    ]
    ids = [column["system"] for column in columns]
    if len(set(ids)) < len(ids):
        raise PlanError(
            Sentence(
                "A system stands twice in the plan. Name it once, with all its slots."
            )
        )
    return columns


def _system(study: Study, described: int | dict[str, Any]) -> int:
    if isinstance(described, dict):
        return register_system(lab=study.lab, description=described)[0].pk
    if not System.objects.filter(lab=study.lab_id, pk=described).exists():
        raise UnknownSystemError(described)
    return described


def _work(said: Mapping[str, Any]) -> Work:
    options = checked_options(said.get("options", {}))
    return Work(said["tool"], options, tuple(said.get("programs", ())))


def _scenario(said: Mapping[str, Any]) -> Scenario:
    kind = said.get("kind", "single")
    load = _work(said["load"]) if "load" in said else None
    mix = tuple(map(_work, said.get("tools", ())))
    vms = said.get("vms", 1)
    if kind != "single" and kind != "combined" and vms < 2:
        raise PlanError(
            Sentence('The scenario "{kind}" needs "vms", at least 2.', kind=kind)
        )
    if (kind == "under load") != (load is not None):
        raise PlanError(
            Sentence('"load" belongs to the scenario "under load", which needs it.')
        )
    if (kind == "combined") != (len(mix) > 1):
        raise PlanError(
            Sentence('The scenario "combined" needs at least 2 "tools" of its own.')
        )
    return Scenario(kind, len(mix) or (1 if kind == "single" else vms), load, mix)
