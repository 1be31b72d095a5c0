"""Create and stop plans; plans as lists, pages and agents see them."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Prefetch, QuerySet
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
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    UnknownNameError,
)
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study, System
from benchmarks.sentences import Sentence
from benchmarks.studies.systems import register_system
from benchmarks.text import clean_text
from benchmarks.viewer import Viewer

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
    """Store a plan with all its steps; raises InvalidError if it cannot be followed.

    ``design`` has ``systems`` (id or description, and slots), ``tools``, ``scenarios``,
    ``repetitions``, ``warm_up`` and ``order``; ``limits`` are fields of the plan.
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


Step, Part = PlanStep.Status, PlanPart.Status


@dataclass(frozen=True)
class Barrier:
    """A step at which slots wait for each other."""

    step: PlanStep
    arrived: tuple[PlanSlot, ...]
    awaited: tuple[PlanSlot, ...]


@dataclass(frozen=True)
class PlanState:
    """How far a plan is; ``counts`` are of its steps, by their state."""

    plan: Plan
    counts: dict[str, int]
    slots: tuple[PlanSlot, ...]
    busy: tuple[PlanStep, ...]
    barriers: tuple[Barrier, ...]
    spreads_us: tuple[int, ...]
    overlaps: tuple[float, ...]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many steps need nothing more, however they ended."""
        return self.total - sum(
            self.counts.get(status, 0) for status in PlanStep.UNFINISHED
        )


def visible_plans(viewer: Viewer) -> QuerySet[Plan]:
    """Return the plans of studies that a viewer may see, the newest first."""
    plans = Plan.objects.visible_to(viewer).select_related("study__lab")
    return plans.order_by("-pk")


def find_plan(viewer: Viewer, plan_id: int) -> Plan:
    """Return one plan or raise NotFoundError."""
    plan = visible_plans(viewer).filter(pk=plan_id).first()
    if plan is None:
        raise NotFoundError(Sentence("plan"), plan_id)
    return plan


def step_counts(plans: Sequence[Plan]) -> dict[int, dict[str, int]]:
    """Return how many steps of each state plans have, in one query."""
    rows = PlanStep.objects.filter(plan__in=plans).order_by()
    counts = {plan.pk: dict.fromkeys(map(str, Step.values), 0) for plan in plans}
    counted = rows.values_list("plan", "status").annotate(Count("pk"))
    for plan_id, status, number in counted:
        counts[plan_id][status] = number
    return counts


def state_of(plan: Plan) -> PlanState:
    """Return how far a plan is, in a fixed number of queries."""
    slots = plan.slots.select_related("system__host").order_by("system", "number")
    busy = tuple(steps_of(plan).filter(status__in=PlanStep.BUSY))
    together = plan.steps.filter(vms__gt=1, status=Step.DONE).order_by("sequence")
    measured = list(together.values_list("spread_us", "overlap"))
    barriers = []
    for step in busy:
        if step.status == Step.GATHERING:
            there: dict[bool, list[PlanSlot]] = {True: [], False: []}
            # Told apart here: a filter would ask again, past the prefetched parts.
            for part in step.parts.all():
                there[part.status == Part.ARRIVED].append(part.slot)
            barriers.append(Barrier(step, tuple(there[True]), tuple(there[False])))
    return PlanState(
        plan=plan,
        counts=step_counts([plan])[plan.pk],
        slots=tuple(slots),
        busy=busy,
        barriers=tuple(barriers),
        spreads_us=tuple(us for us, _ in measured if us is not None),
        overlaps=tuple(share for _, share in measured if share is not None),
    )


def steps_of(plan: Plan) -> QuerySet[PlanStep]:
    """Return the steps of a plan with their parts, in the planned order."""
    parts = PlanPart.objects.select_related("slot").order_by("slot__number")
    steps = plan.steps.select_related("system", "plan")
    return steps.prefetch_related(Prefetch("parts", parts)).order_by("position")
