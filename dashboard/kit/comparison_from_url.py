"""The comparison table, with verdicts, that a URL's query selects."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import (
    ComparisonTable,
    comparison_table,
    drop_rows_without_ratios,
)
from benchmarks.comparison.filters_and_order import filter_rows, sort_keys
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.study_verdicts import (
    CellVerdict,
    primary_rows,
    study_verdicts,
)
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows, tested_count
from dashboard.kit.comparison_form import (
    ALL_METRICS,
    ENERGY,
    ComparisonSelection,
    comparison_form,
    search_rows,
)


@dataclass(frozen=True)
class AssessedTable:
    """Comparison table with its selection.

    ``reference`` is the selected baseline, or else the study's reference system.
    Verdicts are corrected for ``tested_count`` tests.
    """

    table: ComparisonTable
    reference: System | None
    quantity: str
    tested_count: int
    active_filters: Mapping[str, str]
    system_names: Mapping[int, str]
    """By ID."""
    selection: ComparisonSelection


def assessed_table(
    study: Study, query: Mapping[str, str], *, has_guests_first: bool = False
) -> AssessedTable:
    form = comparison_form(study, query)
    selection, pinned = form.selection, form.pinned
    baseline, active_filters = form.baseline, selection.active_filters()
    if form.is_pair:
        baseline = pinned[-1]
        active_filters["pin"] = ",".join(str(system.pk) for system in pinned)
    rows, count = assessed_rows(
        study,
        baseline,
        selection.quantity,
        systems=form.facets.systems,
        filters=selection.cell_lookups(),
    )
    if form.is_pair:
        pinned_ids = {system.pk for system in pinned}
        rows = [row for row in rows if row.system.id in pinned_ids]
    table = selected_table(rows, selection, {}, has_guests_first=has_guests_first)
    return AssessedTable(
        search_rows(table, selection.search),
        baseline or study.reference_system,
        selection.quantity,
        count,
        active_filters,
        form.system_names,
        selection,
    )


def table_subset(
    assessed: AssessedTable, cases: Collection[int], systems: Collection[int]
) -> AssessedTable:
    """Return the table with only these cases and systems; no IDs means all."""
    cells = [
        cell
        for cell in assessed.table.cells
        if not cases or cell.case.id in cases
        if not systems or cell.system.id in systems
    ]
    table = search_rows(
        selected_table(cells, assessed.selection, {}), assessed.selection.search
    )
    return replace(assessed, table=table)


def assessed_rows(
    study: Study,
    baseline: System | None,
    show: str,
    *,
    systems: Iterable[System],
    filters: Mapping[str, Any],
) -> tuple[list[ComparisonRow], int]:
    load_rows = partial(
        comparison_rows,
        study,
        systems=systems,
        filters=filters,
        reference=ReferenceCells.load(study, baseline) if baseline else None,
    )
    if show == ENERGY:
        energies = cell_energies(study, baseline)
        return energy_rows(load_rows(), energies), tested_count(energies)
    verdicts = study_verdicts(study, baseline)
    rows = load_rows(verdicts=verdicts, includes_failed=True)
    return rows, verdicts.tested_count


def selected_table(
    rows: Sequence[ComparisonRow],
    selection: ComparisonSelection,
    cell_verdicts: Mapping[int, CellVerdict],
    *,
    has_guests_first: bool = False,
) -> ComparisonTable:
    """Return the selected rows as a table.

    ``cell_verdicts`` are by cell ID, for rows without an assessment.
    """
    result_filter = selection.result_filter
    if selection.metrics != ALL_METRICS and selection.quantity != ENERGY:
        rows = primary_rows(rows)
    filtered = filter_rows(
        drop_rows_without_ratios(rows) if selection.ratio_filter else rows,
        cell_verdicts,
        result_filter,
    )
    ranks = (
        sort_keys(filtered, cell_verdicts, result_filter, selection.sort)
        if selection.sort
        else None
    )
    arrange = partial(
        comparison_table,
        filtered,
        group=selection.group,
        order=selection.order,
        ranks=ranks,
        has_guests_first=has_guests_first,
    )
    table = arrange()
    if not (selection.search and selection.order):
        return table
    return arrange(order_rows=search_rows(table, selection.search).cells)
