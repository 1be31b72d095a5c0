"""The compare page's table with what may be said of each cell: for files and charts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Facets, facets
from benchmarks.comparing.table import ComparisonTable
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows, tested
from dashboard.kit.selections import ENERGY, PINS, Selection, selection
from dashboard.pages.compare.figure import comparison_figure
from dashboard.pages.compare.finding import searched
from dashboard.pages.compare.page import DRAWN_CELLS, rows_of, shaped


@dataclass(frozen=True)
class JudgedTable:
    """A table with what may be said of each cell, as a file takes it along.

    ``show`` is what its cells show; ``reference`` None: native. ``tested`` is of how
    many cells together the verdicts were corrected for, ``narrowed`` what is left of
    the study, by the names of the page's query.
    """

    table: ComparisonTable
    reference: System | None
    show: str
    tested: int
    narrowed: Mapping[str, str]


def judged_table(study: Study, query: Mapping[str, str]) -> JudgedTable:
    """Return what the page shows for a query, with the judgement of each cell.

    Of two pinned systems the second is the baseline of the first; rows in which the
    words of a search do not stand are left out.
    """
    found = facets(study)
    chosen = selection(query, found)
    pinned = chosen.pinned(found)
    is_direct = len(pinned) == PINS
    system = pinned[-1] if is_direct else chosen.reference(found)
    rows, count = _judged(study, chosen, found, system)
    if is_direct:
        rows = [row for row in rows if row.system.id in {each.pk for each in pinned}]
    narrowed = chosen.narrowed()
    if is_direct:
        narrowed["pin"] = ",".join(str(each.pk) for each in pinned)
    return JudgedTable(
        searched(shaped(rows, chosen), chosen.q),
        system or study.reference_system,
        chosen.show,
        count,
        narrowed,
    )


def _judged(
    study: Study, chosen: Selection, found: Facets, system: System | None
) -> tuple[list[ComparisonRow], int]:
    """Return the cells that were chosen, and among how many they were tested."""
    if chosen.show == ENERGY:
        energies = cell_energies(study, system)
        rows = rows_of(study, chosen, found, system)
        return energy_rows(rows, energies), tested(energies)
    verdicts = study_verdicts(study, system)
    rows = rows_of(study, chosen, found, system, verdicts=verdicts)
    return rows, verdicts.tested


def figure_of(study: Study, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the same table's ratios as a chart, each judged in words."""
    judged = judged_table(study, query)
    is_readable = judged.table.ratio_count <= DRAWN_CELLS
    is_energy = judged.show == ENERGY
    return comparison_figure(judged.table, is_energy) if is_readable else None
