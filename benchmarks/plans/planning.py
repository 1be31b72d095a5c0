"""Creation, state and end of measurement plans."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch, QuerySet
from django.utils import timezone

from benchmarks.analysis.plan_steps import (
    PlanDesign,
    PlannedStep,
    PlannedSystem,
    PlannedWork,
    Scenario,
    expand_design,
    validate_options,
)
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    UnknownNameError,
)
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study, System
from benchmarks.plans.setting_variants import setting_variants
from benchmarks.sentences import Sentence
from benchmarks.studies.systems import register_system
from benchmarks.text_validation import clean_text
from benchmarks.viewer import Viewer

SEED_BITS = 32
STOPPED = Sentence("Skipped: the plan was stopped.")


@transaction.atomic
def create_plan(
    *,
    study: Study,
    actor: str,
    title: str,
    design: Mapping[str, Any],
    seed: int | None = None,
    **limits: Any,
) -> Plan:
    """Raise InvalidError if the plan cannot be run. ``limits`` are fields of `Plan`."""
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    # Store ids, because rounds added later must use the same systems.
    stored_design = {**design, "systems": _planned_systems(study, design["systems"])}
    planned = read_design(stored_design, seed)
    max_repetitions = limits.get("max_repetitions")
    if (limits.get("target_width_percent") is None) != (max_repetitions is None):
        raise InvalidError(
            "invalid_plan",
            "A target width of the intervals needs a maximum number of repetitions. "
            'Send both "target_width_percent" and "max_repetitions", or neither.',
        )
    if max_repetitions is not None and max_repetitions < planned.repetitions:
        raise InvalidError(
            "invalid_plan",
            '"max_repetitions" ({most}) is less than the {repetitions} planned '
            "repetitions.",
            most=max_repetitions,
            repetitions=planned.repetitions,
        )
    steps = expand_design(planned)
    plan = Plan.objects.create(
        lab=study.lab,
        study=study,
        created_by=actor,
        title=clean_text(title.strip(), label=Sentence("title")),
        design=stored_design,
        seed=seed,
        **limits,
    )
    PlanSlot.objects.bulk_create(
        PlanSlot(plan=plan, system_id=column.system, number=number)
        for column in planned.systems
        for number in range(1, column.slots + 1)
    )
    add_steps(plan, steps)
    return plan


def _planned_systems(
    study: Study, systems: Iterable[Mapping[str, Any]]
) -> list[dict[str, int]]:
    slots_by_system: dict[int, int] = {}
    for planned in systems:
        stated = planned["system"]
        if isinstance(stated, dict):
            system = register_system(lab=study.lab, description=stated)[0]
        else:
            own = System.objects.filter(lab=study.lab_id, pk=stated)
            found = own.select_related("host").first()
            if found is None:
                raise UnknownNameError("system", stated)
            system = found
        for pk in _setting_systems(system, planned.get("settings", ())):
            if pk in slots_by_system:
                raise InvalidError(
                    "invalid_plan",
                    "A system is in the plan twice. Include it once, with all its "
                    "slots.",
                )
            slots_by_system[pk] = planned.get("slots", 1)
    return [{"system": pk, "slots": slots} for pk, slots in slots_by_system.items()]


def _setting_systems(system: System, settings: Sequence[str]) -> Iterable[int]:
    """Return the system, or instead systems that differ in one setting each."""
    if not settings:
        return [system.pk]
    if system.is_native:
        raise InvalidError(
            "invalid_plan",
            "Bare metal has no settings of a hypervisor to compare. Choose a guest.",
        )
    stated = {"host": system.host.slug, **system.stated_fields}
    return [
        register_system(lab=system.lab, description={**stated, "options": options})[
            0
        ].pk
        for options in setting_variants(system.options, settings)
    ]


def read_design(design: Mapping[str, Any], seed: int) -> PlanDesign:
    scenarios = []
    for stated in design.get("scenarios", ({},)):
        kind, vms = stated.get("kind", "single"), stated.get("vms", 1)
        load = _work(stated["load"]) if "load" in stated else None
        combination = tuple(map(_work, stated.get("tools", ())))
        if kind not in ("single", "combined") and vms < 2:
            raise InvalidError(
                "invalid_plan",
                'The scenario "{kind}" needs "vms" of at least 2.',
                kind=kind,
            )
        if (kind == "under load") != (load is not None):
            raise InvalidError(
                "invalid_plan",
                'The scenario "under load" requires "load", and no '
                "other scenario accepts it.",
            )
        if (kind == "combined") != (len(combination) > 1):
            raise InvalidError(
                "invalid_plan",
                'The scenario "combined" requires its own "tools", at '
                "least 2, and no other scenario accepts them.",
            )
        # A combined scenario has one guest per tool, regardless of "vms".
        guests = len(combination) or (1 if kind == "single" else vms)
        scenarios.append(Scenario(kind, guests, load, combination))
    return PlanDesign(
        systems=tuple(PlannedSystem(**column) for column in design["systems"]),
        tools=tuple(map(_work, design.get("tools", ()))),
        scenarios=tuple(scenarios),
        repetitions=design.get("repetitions", 5),
        warm_up=design.get("warm_up_rounds", 1),
        order=design.get("order", "random"),
        seed=seed,
    )


def _work(document: Mapping[str, Any]) -> PlannedWork:
    options = validate_options(document.get("options", {}))
    return PlannedWork(document["tool"], options, tuple(document.get("programs", ())))


def add_steps(plan: Plan, planned: Iterable[PlannedStep]) -> None:
    treatments = [(planned_step, planned_step.treatment) for planned_step in planned]
    steps = PlanStep.objects.bulk_create(
        PlanStep(
            plan=plan,
            position=position,
            repetition=planned_step.repetition,
            system_id=treatment.system,
            treatment=planned_step.number,
            tool=treatment.parts[0].tool,
            program=treatment.parts[0].program,
            scenario=treatment.scenario,
            vms=treatment.vms,
            load=treatment.load,
        )
        for position, (planned_step, treatment) in enumerate(
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
    """Skip the waiting steps of a plan; running steps may finish."""
    locked = Plan.objects.select_for_update().get(pk=plan.pk)
    if locked.status != Plan.Status.OPEN:
        raise ConflictError(
            "plan_finished", 'The plan "{title}" has already ended.', title=locked.title
        )
    skip_waiting_steps(locked, STOPPED)
    locked.status, locked.finished_at = Plan.Status.STOPPED, timezone.now()
    locked.save(update_fields=["status", "finished_at"])
    return locked


def skip_waiting_steps(plan: Plan, reason: str) -> int:
    idle = (PlanStep.Status.WAITING, PlanStep.Status.AT_BARRIER)
    steps = plan.steps.filter(status__in=idle)
    return steps.update(status=PlanStep.Status.SKIPPED, reason=reason)


StepStatus, PartStatus = PlanStep.Status, PlanPart.Status


@dataclass(frozen=True)
class Barrier:
    step: PlanStep
    arrived: tuple[PlanSlot, ...]
    waiting_for: tuple[PlanSlot, ...]


@dataclass(frozen=True)
class PlanState:
    plan: Plan
    counts: dict[str, int]
    slots: tuple[PlanSlot, ...]
    active_steps: tuple[PlanStep, ...]
    barriers: tuple[Barrier, ...]
    spreads_us: tuple[int, ...]
    overlaps: tuple[float, ...]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended_count(self) -> int:
        return self.total - sum(
            self.counts.get(status, 0) for status in PlanStep.UNFINISHED
        )


def visible_plans(viewer: Viewer) -> QuerySet[Plan]:
    plans = Plan.objects.visible_to(viewer).select_related("study__lab")
    return plans.order_by("-pk")


def find_plan(viewer: Viewer, plan_id: int) -> Plan:
    plan = visible_plans(viewer).filter(pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def step_counts(plans: Sequence[Plan]) -> dict[int, dict[str, int]]:
    rows = PlanStep.objects.filter(plan__in=plans).order_by()
    counts = {plan.pk: dict.fromkeys(map(str, StepStatus.values), 0) for plan in plans}
    counted = rows.values_list("plan", "status").annotate(Count("pk"))
    for plan_id, status, number in counted:
        counts[plan_id][status] = number
    return counts


def plan_state(plan: Plan) -> PlanState:
    slots = plan.slots.select_related("system__host").order_by("system", "number")
    busy = tuple(plan_steps(plan).filter(status__in=PlanStep.ACTIVE))
    together = plan.steps.filter(vms__gt=1, status=StepStatus.DONE).order_by(
        "start_order"
    )
    measured = list(together.values_list("start_spread_us", "overlap"))
    barriers = []
    for step in busy:
        if step.status == StepStatus.AT_BARRIER:
            slots_by_arrival: dict[bool, list[PlanSlot]] = {True: [], False: []}
            # filter() would not use the prefetched parts.
            for part in step.parts.all():
                slots_by_arrival[part.status == PartStatus.ARRIVED].append(part.slot)
            barriers.append(
                Barrier(
                    step, tuple(slots_by_arrival[True]), tuple(slots_by_arrival[False])
                )
            )
    return PlanState(
        plan=plan,
        counts=step_counts([plan])[plan.pk],
        slots=tuple(slots),
        active_steps=busy,
        barriers=tuple(barriers),
        spreads_us=tuple(us for us, _ in measured if us is not None),
        overlaps=tuple(overlap for _, overlap in measured if overlap is not None),
    )


def plan_steps(plan: Plan) -> QuerySet[PlanStep]:
    parts = PlanPart.objects.select_related("slot").order_by("slot__number")
    steps = plan.steps.select_related("system", "plan")
    return steps.prefetch_related(Prefetch("parts", parts)).order_by("position")
