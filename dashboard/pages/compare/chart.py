"""The chart of the ratios of a comparison."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from benchmarks.comparing.sifting import mark_of
from benchmarks.comparing.table import (
    Column,
    ComparisonTable,
    Fact,
)
from benchmarks.comparing.verdicts import VerdictMark
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dots import Dot, Series, dot_plot, short_labels
from dashboard.kit.table_cells import sentence
from dashboard.wording.verdicts import ENERGY

RELATIVE = {"relative", "reference"}
"""States of cells whose 1 is a system that was chosen, not the native machine."""
DRAWN_CELLS = 2_000


def comparison_chart(
    table: ComparisonTable,
    show: str,
    *,
    is_told: bool = True,
    marks: Mapping[int, VerdictMark] | None = None,
) -> Chart | None:
    """Return the table's ratios as dots; None if it has none, or too many.

    ``is_told`` adds hover sentences; ``marks`` are of cells without a judgement.
    """
    if table.ratio_count > DRAWN_CELLS:
        return None
    columns = table.head.columns
    rows = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(cell and cell.shown.is_drawn for cell in row.cells)
    ]

    # As many properties, beside the platform, as it takes to see two colours.
    drawn = [
        column
        for place, column in enumerate(columns)
        if any((it := row.cells[place]) and it.shown.is_drawn for _group, row in rows)
    ]
    most = len(drawn[0].facts) if drawn else 0
    depths = (
        depth
        for depth in range(most)
        if len({_colour_group(column, depth) for column in drawn}) > 1
    )
    depth = next(depths, most)
    series = [
        Series(
            ", ".join(_brief(column.facts[depth:])) or _colour_group(column, depth),
            _colour_group(column, depth),
        )
        for column in columns
    ]

    names = [wording.column_name(column) for column in columns]
    dots = [
        Dot(
            line,
            place,
            ratio,
            names[place],
            sentence(cell) if is_told else "",
            mark.strength if (mark := mark_of(cell, marks or {})) else "",
            cell.shown.interval,
        )
        for line, (_group, row) in enumerate(rows)
        for place, cell in enumerate(row.cells)
        if cell and cell.shown.is_drawn
        if (ratio := cell.shown.written_ratio) is not None
    ]
    labels = short_labels(
        [
            [
                f"{group.tool}: {row.label}" if group.tool else row.label,
                *map(wording.fact_text, row.facts),
            ]
            for group, row in rows
        ]
    )
    return dot_plot(labels, series, dots, axis_title=_axis_title(table, show))


def _axis_title(table: ComparisonTable, show: str) -> str:
    is_relative = bool(RELATIVE & table.states.keys())
    if show == ENERGY and is_relative:
        return _("Energy for the same work, 1 = the reference system (log scale)")
    if show == ENERGY:
        return _("Energy for the same work, 1 = the baseline (log scale)")
    if "slowdown" in table.states:
        return _("Ratio, 1 = one VM alone, of a sum one machine alone (log scale)")
    if is_relative:
        return _("Ratio to the reference system, 1 = as fast (log scale)")
    return _("Ratio to the baseline, 1 = as fast (log scale)")


def _colour_group(column: Column, depth: int) -> str:
    return ", ".join([column.platform, *_brief(column.facts[:depth])])


def _brief(facts: Iterable[Fact]) -> list[str]:
    return [wording.fact_in_brief(fact) for fact in facts if fact.value]
