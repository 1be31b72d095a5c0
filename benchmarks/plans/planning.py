"""Make a plan and end it; agents follow it by `turns` and `barriers`."""

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.analysis.planning import (
    Design,
    Planned,
    PlannedSystem,
    PlannedWork,
    Scenario,
    checked_options,
    expand,
)
from benchmarks.errors import ConflictError, InvalidError, UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study, System
from benchmarks.sentences import Sentence
from benchmarks.studies.systems import register_system
from benchmarks.text import clean_text

SEED_BITS = 32
STOPPED = Sentence("Skipped: the plan was stopped.")


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
    own fields. Raises InvalidError if nobody could follow it.
    """
    # Kept with the plan, so that its order can be had again.
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    # By their ids: rounds added later must mean the very same systems.
    kept = {**design, "systems": _columns(study, design["systems"])}
    planned = read_design(kept, seed)
    most = limits.get("most_repetitions")
    if (limits.get("width_percent") is None) != (most is None):
        raise InvalidError(
            "plan",
            "A target width and a maximum belong together: send "
            '"width_percent" and "most_repetitions", or none of them.',
        )
    if most is not None and most < planned.repetitions:
        raise InvalidError(
            "plan",
            '"most_repetitions" ({most}) is less than the {repetitions} '
            "repetitions that are planned anyway.",
            most=most,
            repetitions=planned.repetitions,
        )
    steps = expand(planned)
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
        for column in planned.columns
        for number in range(1, column.slots + 1)
    )
    add_steps(plan, steps)
    return plan


def _columns(
    study: Study, systems: Iterable[Mapping[str, Any]]
) -> list[dict[str, int]]:
    """Return the systems by their ids, those described registered; each once."""
    columns: dict[int, int] = {}
    for column in systems:
        described = column["system"]
        if isinstance(described, dict):
            described = register_system(lab=study.lab, description=described)[0].pk
        elif not System.objects.filter(lab=study.lab_id, pk=described).exists():
            raise UnknownNameError("system", described)
        if described in columns:
            raise InvalidError(
                "plan",
                "A system is in the plan twice. Name it once, with all its slots.",
            )
        columns[described] = column.get("slots", 1)
    return [{"system": pk, "slots": slots} for pk, slots in columns.items()]


def read_design(design: Mapping[str, Any], seed: int) -> Design:
    """Turn the words of a plan into a design; raise what is wrong with them."""
    scenarios = []
    for stated in design.get("scenarios", ({},)):
        kind, vms = stated.get("kind", "single"), stated.get("vms", 1)
        load = _work(stated["load"]) if "load" in stated else None
        mix = tuple(map(_work, stated.get("tools", ())))
        if kind not in ("single", "combined") and vms < 2:
            raise InvalidError(
                "plan", 'The scenario "{kind}" needs "vms", at least 2.', kind=kind
            )
        if (kind == "under load") != (load is not None):
            raise InvalidError(
                "plan", '"load" belongs to the scenario "under load", which needs it.'
            )
        if (kind == "combined") != (len(mix) > 1):
            raise InvalidError(
                "plan", 'The scenario "combined" needs at least 2 "tools" of its own.'
            )
        # A combination has a guest for each of its tools, whatever "vms" says.
        guests = len(mix) or (1 if kind == "single" else vms)
        scenarios.append(Scenario(kind, guests, load, mix))
    return Design(
        columns=tuple(PlannedSystem(**column) for column in design["systems"]),
        tools=tuple(map(_work, design.get("tools", ()))),
        scenarios=tuple(scenarios),
        repetitions=design.get("repetitions", 5),
        warm_up=design.get("warm_up", 1),
        order=design.get("order", "random"),
        seed=seed,
    )


def _work(stated: Mapping[str, Any]) -> PlannedWork:
    options = checked_options(stated.get("options", {}))
    return PlannedWork(stated["tool"], options, tuple(stated.get("programs", ())))


def add_steps(plan: Plan, planned: Iterable[Planned]) -> None:
    """Store further steps behind those that are there."""
    treatments = [(one, one.treatment) for one in planned]
    steps = PlanStep.objects.bulk_create(
        PlanStep(
            plan=plan,
            position=position,
            repetition=one.repetition,
            system_id=treatment.system,
            treatment=one.number,
            tool=treatment.parts[0].tool,
            program=treatment.parts[0].program,
            scenario=treatment.scenario,
            vms=treatment.vms,
            load=treatment.load,
        )
        for position, (one, treatment) in enumerate(
            treatments, start=plan.steps.count()
        )
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
        for step, (_, treatment) in zip(steps, treatments, strict=True)
        for part in treatment.parts
    )


@transaction.atomic
def stop_plan(*, plan: Plan) -> Plan:
    """End a plan: what waits is not done, what runs may go on to its end."""
    locked = Plan.objects.select_for_update().get(pk=plan.pk)
    if locked.status != Plan.Status.OPEN:
        raise ConflictError(
            "plan_over", 'The plan "{title}" has ended already.', title=locked.title
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
