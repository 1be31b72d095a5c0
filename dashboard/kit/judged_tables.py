"""The table that a comparison's address chooses, judged or not.

Two pages need it: the one that shows it, and the one that hands it out as a file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.table import (
    ComparisonTable,
    comparison_table,
    rows_with_ratios,
)
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows, tested
from dashboard.kit.selections import ENERGY, Chooser, Selection, chooser, searched


@dataclass(frozen=True)
class JudgedTable:
    """A table with what may be said of each cell.

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
    choice = chooser(study, query)
    chosen, pinned = choice.selection, choice.pinned
    system, narrowed = choice.baseline, chosen.narrowed()
    if choice.is_direct:
        system = pinned[-1]
        narrowed["pin"] = ",".join(str(each.pk) for each in pinned)
    if chosen.show == ENERGY:
        energies = cell_energies(study, system)
        rows = energy_rows(chosen_rows(study, choice, system), energies)
        count = tested(energies)
    else:
        verdicts = study_verdicts(study, system)
        rows = chosen_rows(study, choice, system, verdicts=verdicts)
        count = verdicts.tested
    if choice.is_direct:
        both = {each.pk for each in pinned}
        rows = [row for row in rows if row.system.id in both]
    return JudgedTable(
        searched(table_of(rows, chosen), chosen.q),
        system or study.reference_system,
        chosen.show,
        count,
        narrowed,
    )


def chosen_rows(
    study: Study, choice: Chooser, system: System | None, **judged: Any
) -> list[ComparisonRow]:
    """Return the cells that were chosen, against native or a chosen system."""
    return comparison_rows(
        study,
        systems=choice.facets.systems,
        filters=choice.selection.filters(),
        reference=Reference.of(study, system) if system else None,
        **judged,
    )


def table_of(rows: Sequence[ComparisonRow], chosen: Selection) -> ComparisonTable:
    """Return rows as the table that was chosen."""
    shown = rows_with_ratios(rows) if chosen.only else rows
    return comparison_table(shown, group=chosen.group, order=chosen.order)
