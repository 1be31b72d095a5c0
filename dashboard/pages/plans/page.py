"""What the page of a plan shows: its state now, every round, a page of its steps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from statistics import median

from django.core.paginator import Page, Paginator
from django.utils import timezone

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Run
from benchmarks.plans.lists import PlanState, state_of, steps_of
from dashboard import wording
from dashboard.wording.plans import round_name, share, step_title

STEPS_A_PAGE = 50
MAPPED_AT_MOST = 1_000
SHORT_ROUND = 4

# An agent asks every 1.5 s or so (docs/agents.md): ten questions are missing.
SILENT_S = 15

# Slots that begin farther apart are tried again (docs/method.md).
LIMIT_MS = 100.0
LEFT, RIGHT = 1.0, 99.0
"""The ends of the strip of starts, in percent of its width."""


@dataclass(frozen=True)
class StartStrip:
    """Spreads in ms with their places on a strip from 0 to ``end``."""

    dots: tuple[str, ...]
    median_at: str
    limit_at: str
    end: str
    median: str
    most: str
    n: int
    beyond: int
    least_overlap: str
    few_overlaps: int
    overlaps: int


@dataclass(frozen=True)
class Square:
    """One step on the map of a plan."""

    status: str
    title: str


@dataclass(frozen=True)
class Round:
    """The steps of one repetition."""

    name: str
    squares: tuple[Square, ...]


@dataclass(frozen=True)
class SlotNow:
    """A slot and what its guest is doing."""

    slot: PlanSlot
    part: PlanPart | None
    is_silent: bool


@dataclass(frozen=True)
class ShownStep:
    """A step of the table with the runs that came of it."""

    step: PlanStep
    parts: Sequence[PlanPart]
    runs: tuple[int, ...]


@dataclass(frozen=True)
class PlanPage:
    """One plan."""

    plan: Plan
    state: PlanState
    is_live: bool
    left_s: float | None
    slots: tuple[SlotNow, ...]
    rounds: tuple[Round, ...]
    starts: StartStrip | None
    chosen: str
    page: Page[PlanStep]
    steps: tuple[ShownStep, ...]

    @cached_property
    def names(self) -> Mapping[int, str]:
        """What the systems are called, by their ids."""
        return wording.system_names(now.slot.system for now in self.slots)

    @property
    def has_several_systems(self) -> bool:
        """Whether a table needs to say of each step which system it is of."""
        return len({now.slot.system_id for now in self.slots}) > 1

    @property
    def has_short_rounds(self) -> bool:
        """Whether several rounds fit beside each other."""
        return max((len(it.squares) for it in self.rounds), default=0) <= SHORT_ROUND

    @property
    def failures(self) -> int:
        counts = self.state.counts
        return counts["failed"] + counts["not done"]


def plan_page(plan: Plan, query: Mapping[str, str]) -> PlanPage:
    """Return what one plan's page shows, in a fixed number of queries."""
    state, now = state_of(plan), timezone.now()
    chosen = query.get("state", "")
    chosen = chosen if chosen in PlanStep.Status.values else ""
    rows = steps_of(plan)
    page = Paginator(rows.filter(status=chosen) if chosen else rows, STEPS_A_PAGE)
    shown = page.get_page(query.get("page"))
    return PlanPage(
        plan=plan,
        state=state,
        # What runs goes on to its end after a plan was stopped.
        is_live=plan.status == Plan.Status.OPEN or bool(state.busy),
        left_s=max(0.0, (plan.ends_at - now).total_seconds()) if plan.ends_at else None,
        slots=_slots(state, now),
        rounds=_rounds(plan),
        starts=starts_of(state.spreads_us, state.overlaps),
        chosen=chosen,
        page=shown,
        steps=_shown_steps(plan, shown.object_list),
    )


def _slots(state: PlanState, now: datetime) -> tuple[SlotNow, ...]:
    at_work = {
        part.slot_id: part
        for step in state.busy
        for part in step.parts.all()
        if part.status in PlanPart.AT_WORK
    }
    slots = []
    for slot in state.slots:
        part, is_silent = at_work.get(slot.pk), False
        # A guest whose program runs need not ask; nor one that has not joined.
        if part is None and slot.seen_at is not None:
            is_silent = (now - slot.seen_at).total_seconds() > SILENT_S
        slots.append(SlotNow(slot, part, is_silent))
    return tuple(slots)


def _rounds(plan: Plan) -> tuple[Round, ...]:
    steps = list(plan.steps.order_by("position")[: MAPPED_AT_MOST + 1])
    if len(steps) > MAPPED_AT_MOST:
        return ()
    rounds = []
    for repetition, members in groupby(steps, key=lambda step: step.repetition):
        squares = tuple(
            # The style sheet has a class for each status; a class holds no space.
            Square(step.status.replace(" ", "-"), step_title(step))
            for step in members
        )
        rounds.append(Round(round_name(repetition), squares))
    return tuple(rounds)


def _shown_steps(plan: Plan, steps: Iterable[PlanStep]) -> tuple[ShownStep, ...]:
    parts_of = [(step, list(step.parts.all())) for step in steps]
    keys = {key for _, parts in parts_of for part in parts for key in part.keys}
    # All runs of one upload have its key: the first stands for them.
    runs = Run.objects.filter(lab=plan.lab_id, key__in=keys, part=1)
    ids = {str(key): pk for key, pk in runs.values_list("key", "pk")}
    return tuple(
        ShownStep(
            step,
            parts,
            tuple(ids[key] for part in parts for key in part.keys if key in ids),
        )
        for step, parts in parts_of
    )


def starts_of(
    spreads_us: Sequence[int], overlaps: Sequence[float]
) -> StartStrip | None:
    """Return the strip; None while no co-run is done."""
    spreads = sorted(microseconds / 1000 for microseconds in spreads_us)
    if not spreads:
        return None
    end = max(LIMIT_MS * 1.25, spreads[-1] * 1.05)
    return StartStrip(
        dots=tuple(_place(spread, end) for spread in spreads),
        median_at=_place(median(spreads), end),
        limit_at=_place(LIMIT_MS, end),
        end=f"{end:.0f}",
        median=_ms(median(spreads)),
        most=_ms(spreads[-1]),
        n=len(spreads),
        beyond=sum(spread > LIMIT_MS for spread in spreads),
        least_overlap=share(min(overlaps)) if overlaps else "",
        few_overlaps=sum(overlap < MIN_OVERLAP for overlap in overlaps),
        overlaps=len(overlaps),
    )


def _place(value: float, end: float) -> str:
    return f"{LEFT + (RIGHT - LEFT) * value / end:.2f}"


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
