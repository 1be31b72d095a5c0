"""Plans as lists, pages and agents see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Prefetch, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

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
