"""The compare page's chart: the ratios of its table as dots."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ComparisonTable
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dots import Dot, Series, dot_plot
from dashboard.kit.table_cells import sentence
from dashboard.wording.verdicts import told_ratio

RELATIVE = {"relative", "reference"}
"""States of cells whose 1 is a system that was chosen, not the native machine."""


def comparison_figure(
    table: ComparisonTable, is_energy: bool = False, *, is_told: bool = True
) -> Chart | None:
    """Return the table's ratios as a chart; None if it has not one.

    ``is_told``: each dot has the sentence that hovering tells.
    """
    rows = [
        (group, row) for group in table.groups for row in group.rows if _has_ratio(row)
    ]
    columns = table.head.columns
    drawn = _columns_with_ratios(row for _group, row in rows)
    depth = _colour_depth([columns[at] for at in drawn])
    series = [
        Series(_name(column, depth), _colour_group(column, depth)) for column in columns
    ]
    return dot_plot(
        [_row_name(group, row) for group, row in rows],
        series,
        list(_dots([row for _group, row in rows], columns, is_told)),
        axis_title=_axis_title(bool(RELATIVE & table.states.keys()), is_energy),
    )


def _axis_title(is_relative: bool, is_energy: bool) -> str:
    """Return what 1 stands for: a study without native runs has a reference."""
    if is_energy and is_relative:
        return _("Energy for the same work, 1 = the reference system (log scale)")
    if is_energy:
        return _("Energy for the same work, 1 = the baseline (log scale)")
    if is_relative:
        return _("Ratio to the reference system, 1 = as fast (log scale)")
    return _("Ratio to the baseline, 1 = as fast (log scale)")


def _has_ratio(row: CaseRow) -> bool:
    return any(cell is not None and cell.shown.ratio is not None for cell in row.cells)


def _columns_with_ratios(rows: Iterator[CaseRow]) -> list[int]:
    found = {
        at
        for row in rows
        for at, cell in enumerate(row.cells)
        if cell is not None and cell.shown.ratio is not None
    }
    return sorted(found)


def _dots(
    rows: Sequence[CaseRow], columns: Sequence[Column], is_told: bool
) -> Iterator[Dot]:
    names = [column_name(column) for column in columns]
    for line, row in enumerate(rows):
        for at, cell in enumerate(row.cells):
            if cell is not None and (ratio := told_ratio(cell)) is not None:
                text = sentence(cell) if is_told else ""
                yield Dot(line, at, ratio, names[at], text)


def column_name(column: Column) -> str:
    """Return a column's platform and all that tells it from the others."""
    return ", ".join([column.platform, *_facts(column, 0)]).strip()


def _colour_depth(columns: Sequence[Column]) -> int:
    """Return how many properties, beside the platform, it takes to see two colours."""
    most = len(columns[0].facts) if columns else 0
    for depth in range(most):
        if len({_colour_group(column, depth) for column in columns}) > 1:
            return depth
    return most


def _colour_group(column: Column, depth: int) -> str:
    said = [wording.fact_in_brief(fact) for fact in column.facts[:depth] if fact.value]
    return ", ".join([column.platform, *said])


def _facts(column: Column, since: int) -> list[str]:
    return [wording.fact_in_brief(fact) for fact in column.facts[since:] if fact.value]


def _name(column: Column, depth: int) -> str:
    """Return what tells a column from the others of its colour."""
    return ", ".join(_facts(column, depth)) or column.platform


def _row_name(group: CaseGroup, row: CaseRow) -> str:
    facts = (wording.fact_text(fact) for fact in row.facts)
    return ", ".join([f"{group.tool}: {row.label}", *facts])
