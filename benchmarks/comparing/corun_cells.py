"""The cells that co-runs are made of, and the run means behind repeated ones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection

from benchmarks.comparing.cell_figures import READ, cell_figure
from benchmarks.comparing.corun_figures import (
    COMBINED,
    INTER_VM,
    MIXED,
    PARALLEL,
    SINGLE,
    UNDER_LOAD,
)
from benchmarks.models import Case, Cell, Efficiency, Study, System
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.models.study import NATIVE

TOGETHER = (PARALLEL, UNDER_LOAD, COMBINED, INTER_VM, MIXED)
TOTALS = ("sum", "mean")
ALONE = ("1", "", "mean")
OF_NATIVE = ("paired", "other_session", "stale", "scaling")

Rows = tuple[tuple[float, ...], ...]
GroupKey = tuple[Any, ...]
Groups = Mapping[GroupKey, Mapping[str, Cell]]
Singles = Mapping[tuple[int, int], Cell]
Means = Mapping[int, Mapping[int, float]]


def groups_of(
    study: Study, filters: Mapping[str, Any]
) -> dict[GroupKey, dict[str, Cell]]:
    """Return the cells of each co-run by their slots; an aggregate alone is none."""
    cells = Cell.objects.filter(study=study, scenario__in=TOGETHER, n__gt=0, **filters)
    found = list(cells.only(*READ).order_by("pk"))
    # Few, and shared by many cells: each is read once.
    cases = Case.objects.in_bulk({cell.case_id for cell in found})
    systems = System.objects.select_related("host")
    known = systems.in_bulk({cell.system_id for cell in found})
    groups: dict[GroupKey, dict[str, Cell]] = defaultdict(dict)
    for cell in found:
        cell.case, cell.system = cases[cell.case_id], known[cell.system_id]
        if is_slot(cell.slot) or cell.slot in TOTALS:
            key = (cell.system_id, cell.case_id, cell.scenario, cell.vms, cell.load)
            groups[key][cell.slot] = cell
    return dict(groups)


def is_slot(text: str) -> bool:
    """Whether a slot is one of the VMs: 1, 2, ... in plain digits."""
    return text.isascii() and text.isdigit()


def cells_of(groups: Mapping[GroupKey, Mapping[str, Cell]]) -> Iterable[Cell]:
    """Return the cells of all co-runs, slot by slot."""
    return (cell for slots in groups.values() for cell in slots.values())


def singles_of(
    study: Study, groups: Iterable[Mapping[str, Cell]]
) -> dict[tuple[int, int], Cell]:
    """Return what each system did with one VM alone, by system and case."""
    firsts = [next(iter(slots.values())) for slots in groups]
    cells = Cell.objects.filter(
        study=study,
        scenario=SINGLE,
        slot__in=ALONE,
        system__in={cell.system_id for cell in firsts},
        case__in={cell.case_id for cell in firsts},
        n__gt=0,
    )
    best = sorted(
        cells.only(*READ), key=lambda cell: ALONE.index(cell.slot), reverse=True
    )
    return {(cell.system_id, cell.case_id): cell for cell in best}


def natives_of(groups: Mapping[GroupKey, Mapping[str, Cell]]) -> dict[int, Cell]:
    """Return the cell of the bare machine that each cell is set against."""
    against = Efficiency.objects.filter(
        cell__in=[cell.pk for cell in cells_of(groups)],
        state__in=OF_NATIVE,
        baseline__system__hypervisor=NATIVE,
    )
    pairs = dict(against.values_list("cell", "baseline"))
    cells = Cell.objects.filter(pk__in=set(pairs.values())).only(*READ)
    natives = {cell.pk: cell for cell in cells}
    return {cell: natives[pk] for cell, pk in pairs.items() if pk in natives}


RUN_MEANS = f"""
    SELECT cell.id, coalesce(run.corun_id, -run.id), avg(sample.value)
    {CELL_SAMPLES}
    WHERE cell.study_id = %s AND cell.id = ANY(%s)
    GROUP BY cell.id, coalesce(run.corun_id, -run.id)
    ORDER BY 1, 2
"""


def run_means(study: Study, cells: Iterable[Cell]) -> dict[int, dict[int, float]]:
    """Return the means of those cells that were repeated, by the co-run they are of.

    A run of no co-run has the negative of its own id instead: it has no partners.
    """
    several = [cell.pk for cell in cells if cell.n > 1]
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [study.pk, several])
        means: dict[int, dict[int, float]] = defaultdict(dict)
        for cell_id, corun, mean in cursor.fetchall():
            means[cell_id][corun] = mean
    return dict(means)


def together(slots: Sequence[Cell], means: Means) -> Rows:
    """Return one row a co-run; the means of all runs where they name no co-runs.

    Every slot must be one figure.
    """
    each = [means.get(cell.pk, {}) for cell in slots]
    if not each:
        return ()
    shared = sorted(set(each[0]).intersection(*each[1:]))
    if len(shared) > 1:
        return tuple(tuple(of[key] for of in each) for key in shared)
    return (tuple(cell.mean or 0.0 for cell in slots),)


def mean_of(cell: Cell) -> float | None:
    """Return the mean of a cell; None where no single figure describes its runs."""
    return cell_figure(cell).value
