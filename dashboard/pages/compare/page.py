"""What the compare page shows for a choice: the table, its columns' tools, a chart."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.sifting import mark_of
from benchmarks.comparing.table import (
    CaseGroup,
    Column,
    ComparisonTable,
    Fact,
    HeadLevel,
    medians,
)
from benchmarks.comparing.verdicts import VerdictMark, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dots import Dot, Series, dot_plot, short_labels
from dashboard.kit import figures
from dashboard.kit.addresses import address
from dashboard.kit.judged_tables import table_of
from dashboard.kit.selections import (
    ENERGY,
    NATIVE,
    Chooser,
    is_found,
    pin_toggled,
    searched,
)
from dashboard.kit.table_cells import (
    CellView,
    cell_view,
    drawn_rows,
    in_legible_units,
    row_decimals,
    sentence,
)
from dashboard.wording import verdicts
from dashboard.wording.comparability import light_words
from dashboard.wording.verdicts import OVERHEAD, VALUE

UNPAIRED = {"missing", "other_parameters", "unit_mismatch"}
"""States of cells that have nothing to be compared with."""
RELATIVE = {"relative", "reference"}
"""States of cells whose 1 is a system that was chosen, not the native machine."""
DRAWN_CELLS = 2_000


@dataclass(frozen=True)
class ComparisonPage:
    chooser: Chooser
    reference: System | None
    table: ComparisonTable
    marks: Mapping[int, VerdictMark]
    """What may be said of each cell, by the cell's id."""
    scopes: str
    """Of what the verdicts speak."""

    @property
    def tools(self) -> Iterator[dict[str, Any]]:
        """What can be done with each column; doing a thing again undoes it."""
        query, chosen = self.chooser.query, self.chooser.selection
        label, other_label = _("baseline"), _("compare")
        use, unuse = _("Use as baseline"), _("Compare with native again")
        pin, unpin = _("Compare directly"), _("Do not compare directly")
        for column in self.table.head.columns:
            key, name = str(column.system_id), wording.column_name(column)
            is_baseline, is_pinned = key == chosen.baseline, key in chosen.pins
            baseline = address(query, baseline=NATIVE if is_baseline else key)
            pinned = address(query, pin=pin_toggled(chosen.pins, key))
            title = f"{unuse if is_baseline else use}: {name}"
            other_title = f"{unpin if is_pinned else pin}: {name}"
            yield {
                "tools": (
                    (label, title, baseline, is_baseline),
                    (other_label, other_title, pinned, is_pinned),
                ),
                "is_edge": column.is_edge,
            }

    @property
    def medians(self) -> list[dict[str, Any]]:
        """The median of the shown ratios of each column, if there are any ratios."""
        show, table = self.chooser.selection.show, self.table
        if not table.ratio_count or show == VALUE:
            return []
        found = medians(searched(table, self.chooser.selection.q).cells)
        write = figures.overhead if show == OVERHEAD else figures.ratio
        return [
            {"text": write(it.ratio), "n": it.n, "is_edge": column.is_edge}
            if (it := found.get(column.system_id))
            else {"n": 0, "is_edge": column.is_edge}
            for column in table.head.columns
        ]

    @property
    def in_common(self) -> list[str]:
        table, texts = self.table, []
        if table.runs:
            runs = ngettext("%(n)s run per result", "%(n)s runs per result", table.runs)
            texts.append(runs % {"n": table.runs})
        if table.scenario:
            scenario = wording.scenario_name(table.scenario)
            texts.append(_("Scenario %(scenario)s") % {"scenario": scenario})
        return [*texts, *map(wording.fact_text, table.head.constants)]

    @property
    def head_levels(self) -> tuple[HeadLevel, ...]:
        return (self.table.head.lead, *self.table.head.levels)

    @property
    def has_native(self) -> bool:
        return any(column.is_native for column in self.table.head.columns)

    @property
    def has_no_baseline(self) -> bool:
        is_nothing = not self.table.ratio_count and UNPAIRED & self.table.states.keys()
        return bool(is_nothing) and not self.is_energy

    @property
    def is_energy(self) -> bool:
        return self.chooser.selection.show == ENERGY

    @property
    def is_only_native(self) -> bool:
        columns = self.table.head.columns
        is_nothing = not self.table.ratio_count and not self.is_energy
        return is_nothing and all(column.is_native for column in columns)

    @property
    def lights(self) -> tuple[dict[str, Any], ...]:
        return light_words(cell.shown for cell in self.table.cells)

    @cached_property
    def _shown_marks(self) -> list[VerdictMark]:
        drawn = (cell.id for cell in self.table.cells if cell.shown.is_drawn)
        return [self.marks[pk] for pk in drawn if pk in self.marks]

    @property
    def weak_count(self) -> int:
        signs = verdicts.SIGNS
        return sum(it.is_weak and it.verdict in signs for it in self._shown_marks)

    @property
    def strengths(self) -> str:
        return verdicts.strength_notes({mark.strength for mark in self._shown_marks})

    @property
    def chart(self) -> Chart | None:
        """The chart without hover texts; None if there is too much to read."""
        if not 0 < self.table.ratio_count <= DRAWN_CELLS:
            return None
        table = searched(self.table, self.chooser.selection.q)
        return comparison_chart(
            table, self.chooser.selection.show, is_told=False, marks=self.marks
        )

    @property
    def evidence_link(self) -> tuple[str, str]:
        """The relative address of a cell's page, before and after its id."""
        query = self.chooser.cell_query(self.chooser.selection.baseline)
        return "../cells/", f"/{query}"


def comparison_page(study: Study, choice: Chooser) -> ComparisonPage:
    system, chosen = choice.baseline, choice.selection
    is_energy = chosen.show == ENERGY
    judged = None if is_energy else study_verdicts(study, system)
    # Not judged in words, a sentence a cell: the table shows signs, cards the rest.
    rows = comparison_rows(
        study,
        systems=choice.facets.systems,
        filters=chosen.filters(),
        reference=Reference.of(study, system) if system else None,
        told=judged.ratios() if judged else None,
    )
    if is_energy:
        rows = energy_rows(rows, cell_energies(study, system))
    if judged:
        marks = judged.marks()
    else:
        # The table's signs are those of speeds: of energies only the chart has marks.
        marks = {
            row.id: VerdictMark("", is_flagged=False, strength=it.strength)
            for row in rows
            if (it := row.shown.judgement)
        }
    table = table_of(rows, chosen, marks)
    if judged:
        scopes = judged.scopes(cell.id for cell in table.cells)
    else:
        scopes = verdicts.judged_scopes(cell.shown.judgement for cell in table.cells)
    return ComparisonPage(
        chooser=choice,
        reference=system or study.reference_system,
        table=table,
        marks=marks,
        scopes=verdicts.scopes_text(scopes),
    )


# The widths of columns that the style sheet knows, and how wide texts are, in rem.
WIDTHS: Final = (5, 6, 7, 8, 9, 10)
PADDING: Final = 1.0
LARGE: Final = 0.52
SMALL: Final = 0.385
# As many rows as a window shows: those a browser is given at once.
FIRST_ROWS: Final = 12
# A larger table is not sent whole before somebody asks for it; of such a one as many
# cells come as fill a few windows.
WIDE_CELLS: Final = 5_000
CELLS_AT_FIRST: Final = 1_200
# As many columns as are printed on a sheet, at the size that can be read.
PAPER_COLUMNS: Final = 20


@dataclass(frozen=True)
class GroupRows:
    """One group's rows: those of the first window, and the rest."""

    group: CaseGroup
    first: list[dict[str, Any]]
    later: list[dict[str, Any]]
    is_found: bool


@dataclass(frozen=True)
class GridRows:
    """All rows, and the class of the width in which every cell has room."""

    groups: tuple[GroupRows, ...]
    width: str
    is_too_wide_for_paper: bool
    left_out: int = 0
    """Number of rows that match the search and are not sent."""

    @property
    def is_found(self) -> bool:
        return any(group.is_found for group in self.groups)


@figures.asked_once()
def grid_rows(page: ComparisonPage, *, is_whole: bool = True) -> GridRows:
    """Return the rows of a comparison; of a large one only the first by default."""
    chosen, table = page.chooser.selection, page.table
    is_n_told = table.runs is None
    sent, left_out = list(table.groups), 0
    if not is_whole and table.cell_count > WIDE_CELLS:
        sent, left_out = _first_rows(page)
    edges = [" edge" if column.is_edge else "" for column in table.head.columns]
    before, after = page.evidence_link
    groups, left, longest = [], FIRST_ROWS, 0.0
    for group in map(in_legible_units, sent):
        are_found = [is_found(chosen.q, group, row) for row in group.rows]
        rows = []
        for row, is_shown in zip(group.rows, are_found, strict=True):
            decimals = row_decimals(row.cells)
            views = [
                cell
                and cell_view(
                    cell,
                    page.marks.get(cell.id),
                    chosen.show,
                    is_n_told=is_n_told,
                    decimals=decimals,
                )
                for cell in row.cells
            ]
            longest = max([longest, *(_wanted_rem(view) for view in views if view)])
            texts = [row.unit or group.unit, *map(wording.fact_text, row.facts)]
            texts += [str(wording.BETTER.get(row.better, ""))]
            rows.append(
                {
                    "label": row.label,
                    "more": " · ".join(filter(None, texts)),
                    "is_shown": is_shown,
                    "cells": [
                        (edge, view, view and f"{before}{view.id}{after}")
                        for edge, view in zip(edges, views, strict=True)
                    ],
                }
            )
        ends = (end for end, is_shown in enumerate(are_found, start=1) if is_shown)
        first = max(islice(ends, max(left, 0)), default=0)
        left -= sum(are_found)
        groups.append(GroupRows(group, rows[:first], rows[first:], any(are_found)))
    # The least width for the longest text: all columns are of one width.
    wanted = longest + PADDING
    width = next((rem for rem in WIDTHS if rem >= wanted), WIDTHS[-1])
    return GridRows(
        tuple(groups),
        width=f"cells-{width}",
        is_too_wide_for_paper=len(table.head.columns) > PAPER_COLUMNS,
        left_out=left_out,
    )


def _first_rows(page: ComparisonPage) -> tuple[list[CaseGroup], int]:
    q, table = page.chooser.selection.q, page.table
    most = max(FIRST_ROWS, CELLS_AT_FIRST // len(table.head.columns))
    groups, left_out = [], 0
    for group in table.groups:
        rows = [row for row in group.rows if is_found(q, group, row)]
        if first := rows[:most]:
            groups.append(replace(group, rows=tuple(first)))
        most -= len(first)
        left_out += len(rows) - len(first)
    return groups, left_out


def _wanted_rem(view: CellView) -> float:
    beside = len(view.n) + 1 + 2 * len(view.sign)
    # Two speeds or a range may stand in two lines.
    parts = view.main.split() if view.kind == "plain" else [view.main]
    large = LARGE * max(map(len, parts), default=0) + SMALL * beside
    small = max(map(len, (view.interval, view.sub, view.state)))
    return max(large, SMALL * small)


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
    rows, places = drawn_rows(table)
    # As many properties, beside the platform, as it takes to see two colours.
    drawn = [columns[place] for place in places]
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
