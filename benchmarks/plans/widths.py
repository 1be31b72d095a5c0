"""How narrow the intervals of a plan's cells are, and how many runs would do."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from benchmarks.analysis.intervals import WELCH_RUNS, Rollups
from benchmarks.analysis.planning import MEASURED
from benchmarks.analysis.verdicts import runs_for_mean, runs_for_width, width_sentence
from benchmarks.models import Cell, Plan, PlanPart, PlanStep, Run
from benchmarks.models.run import CELL_SAMPLES

PLANNED_CELLS = f"""
    SELECT DISTINCT cell.id, run.key::text {CELL_SAMPLES}
    WHERE cell.study_id = %s AND run.lab_id = %s AND run.key = ANY(%s::uuid[])
"""


@dataclass(frozen=True)
class Width:
    """The widest interval of one treatment; ``wanted`` runs of ``runs`` would do.

    0 wanted: no number of runs that anybody does makes it narrow enough.
    """

    treatment: int
    case: str
    runs: int
    wanted: int
    sentence: str

    @property
    def more(self) -> int:
        return max(0, self.wanted - self.runs)


def kept_keys(plan: Plan) -> dict[str, int]:
    """Return the keys of what the plan measured and kept, with their treatments."""
    parts = PlanPart.objects.filter(
        step__plan=plan,
        step__status=PlanStep.Status.DONE,
        step__repetition__gt=0,
        role=MEASURED,
    )
    rows = parts.values_list("keys", "step__treatment")
    return {key: treatment for keys, treatment in rows for key in keys}


def are_processed(plan: Plan, keys: Iterable[str]) -> bool:
    """Whether all these uploads have arrived and been read."""
    wanted = set(keys)
    arrived = Run.objects.filter(lab=plan.lab_id, key__in=wanted, part=1)
    return arrived.exclude(status=Run.Status.RECEIVED).count() == len(wanted)


def widths_of(plan: Plan, keys: Mapping[str, int]) -> dict[int, Width]:
    """Return the widest interval of each treatment, in two queries.

    Of a ratio where the cell has a baseline, else of its mean. A baseline asks for
    what those need that lean on it.
    """
    treatments = _treatments(plan, keys)
    related = ("case", "system", "efficiency__baseline__case")
    directed = Cell.objects.filter(Q(pk__in=treatments), ~Q(case__better="neither"))
    pairs = [(cell, _baseline(cell)) for cell in directed.select_related(*related)]
    leaned_on = {baseline.pk for _, baseline in pairs if baseline}
    half_width = (plan.width_percent or 0.0) / 100
    found: dict[int, list[Width]] = defaultdict(list)
    for cell, baseline in pairs:
        if baseline is None and cell.pk in leaned_on:
            continue
        wanted = _wanted(cell, baseline, half_width)
        for each in (cell, baseline):
            if each is not None and each.pk in treatments:
                width = _width(treatments[each.pk], each, wanted, half_width, baseline)
                found[width.treatment].append(width)
    return {number: max(each, key=_need) for number, each in sorted(found.items())}


def _wanted(cell: Cell, baseline: Cell | None, half_width: float) -> int:
    """Return how many runs are needed; a spread that is not known needs some first."""
    if cell.n < 2 or (baseline is not None and baseline.n < 2):
        return WELCH_RUNS
    own = _rollups(cell)
    if baseline is None:
        return int(runs_for_mean(own, half_width)[0])
    return int(runs_for_width(own, _rollups(baseline), half_width)[0])


def _need(width: Width) -> int:
    return width.more if width.wanted else 1_000_000


def _treatments(plan: Plan, keys: Mapping[str, int]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(PLANNED_CELLS, [plan.study_id, plan.lab_id, list(keys)])
        return {cell_id: keys[key] for cell_id, key in cursor.fetchall()}


def _baseline(cell: Cell) -> Cell | None:
    against = getattr(cell, "efficiency", None)
    baseline = against.baseline if against else None
    return None if baseline is None or baseline.pk == cell.pk else baseline


def _rollups(cell: Cell) -> Rollups:
    digits = float("nan") if cell.resolution is None else cell.resolution
    mean, m2 = cell.mean or 0.0, cell.m2 or 0.0  # null only in a cell without runs
    return Rollups.of([cell.n], [mean], [m2], [digits])


def _width(
    number: int, cell: Cell, wanted: int, half_width: float, baseline: Cell | None
) -> Width:
    sides = 2 if baseline else 1
    sentence = width_sentence(cell.n, wanted, half_width, sides=sides)
    return Width(number, cell.case.label, cell.n, wanted, sentence)
