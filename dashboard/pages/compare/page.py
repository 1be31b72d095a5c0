from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from statistics import median
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import (
    CaseGroup,
    Column,
    ComparisonTable,
    Fact,
    HeadLevel,
    Median,
    medians,
)
from benchmarks.comparison.filters_and_order import VERDICTS, cell_verdict
from benchmarks.comparison.reason_facts import clock_faults
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.study_verdicts import CellVerdict, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot, shortest_labels
from dashboard.kit import formatting
from dashboard.kit.comparison_form import (
    ALL_METRICS,
    ENERGY,
    NATIVE_BASELINE,
    ComparisonForm,
    matches_search,
    search_rows,
    toggle_pin,
)
from dashboard.kit.comparison_from_url import selected_table
from dashboard.kit.table_cells import (
    CellView,
    cell_sentence,
    cell_view,
    charted_rows,
    row_decimals,
    with_readable_units,
)
from dashboard.kit.url_parts import query_string
from dashboard.wording import verdicts
from dashboard.wording.comparability import comparability_legend
from dashboard.wording.evidence import percent_range
from dashboard.wording.verdicts import MEASURED_VALUE, OVERHEAD

NO_BASELINE_STATES = {"missing", "other_parameters", "unit_mismatch"}
REFERENCE_STATES = {"relative", "reference"}
"""States of cells that are compared with a reference system instead of native."""
MAX_CHART_CELLS = 2_000
MAX_ANSWER_PLATFORMS: Final = 5


@dataclass(frozen=True)
class ComparisonPage:
    form: ComparisonForm
    reference: System | None
    table: ComparisonTable
    cell_verdicts: Mapping[int, CellVerdict]
    verdict_scopes: str
    metric_count: int

    @cached_property
    def _found_table(self) -> ComparisonTable:
        return search_rows(self.table, self.form.selection.search)

    @cached_property
    def _medians_by_system(self) -> Mapping[int, Median]:
        return medians(
            cell
            for cell in self._found_table.cells
            if cell.id not in self._suspect_cells
        )

    @cached_property
    def _suspect_cells(self) -> frozenset[int]:
        return frozenset(
            pk
            for pk, verdict in self.cell_verdicts.items()
            if verdict.has_suspect_clock
        )

    @property
    def suspect_clocks(self) -> list[dict[str, Any]]:
        columns = {column.system_id: column for column in self.table.head.columns}
        cells = [cell for cell in self.table.cells if cell.id in self._suspect_cells]
        fault_by_cell = clock_faults([cell.id for cell in cells])
        faults: dict[int, list[str]] = {}
        for cell in cells:
            if fault := fault_by_cell.get(cell.id):
                faults.setdefault(cell.system.id, []).append(fault)
        return [
            {
                "system": wording.column_name(columns[pk]),
                "count": len(found),
                "fault": wording.translate_text(found[0]),
            }
            for pk, found in faults.items()
            if pk in columns
        ]

    @property
    def metrics_switch(self) -> dict[str, Any] | None:
        if self.form.selection.metrics == ALL_METRICS:
            return {"query": query_string(self.form.query, metrics=""), "count": 0}
        if _metric_count(self.table.cells) == self.metric_count:
            return None
        query = query_string(self.form.query, metrics=ALL_METRICS)
        return {"query": query, "count": self.metric_count}

    @property
    def column_actions(self) -> Iterator[dict[str, Any]]:
        query, selection = self.form.query, self.form.selection
        label, other_label = _("baseline"), _("compare")
        use, unuse = _("Use as baseline"), _("Compare with native again")
        pin, unpin = _("Compare directly"), _("Remove from direct comparison")
        for column in self.table.head.columns:
            key, name = str(column.system_id), wording.column_name(column)
            is_baseline, is_pinned = key == selection.baseline, key in selection.pins
            baseline = query_string(
                query, baseline=NATIVE_BASELINE if is_baseline else key
            )
            pinned = query_string(query, pin=toggle_pin(selection.pins, key))
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
        show, table = self.form.selection.quantity, self.table
        if not table.ratio_count or show == MEASURED_VALUE:
            return []
        write = formatting.overhead if show == OVERHEAD else formatting.ratio
        return [
            {"text": write(entry.ratio), "n": entry.n, "is_edge": column.is_edge}
            if (entry := self._medians_by_system.get(column.system_id))
            else {"n": 0, "is_edge": column.is_edge}
            for column in table.head.columns
        ]

    @property
    def answer(self) -> str:
        if self.is_energy:
            return ""
        by_platform: dict[str, list[float]] = {}
        for column in self.table.head.columns:
            if entry := self._medians_by_system.get(column.system_id):
                by_platform.setdefault(column.platform, []).append(entry.ratio)
        counts = Counter(verdict.verdict for verdict in self._charted_verdicts)
        reference = self.reference
        against = self.form.system_names.get(reference.pk, "") if reference else ""
        return answer_sentence(by_platform, counts, against)

    @property
    def shared_facts(self) -> list[str]:
        table, texts = self.table, []
        if table.run_count:
            runs = ngettext(
                "%(n)s run per result", "%(n)s runs per result", table.run_count
            )
            texts.append(runs % {"n": table.run_count})
        if table.scenario:
            scenario = wording.scenario_name(table.scenario)
            texts.append(_("scenario: %(scenario)s") % {"scenario": scenario})
        return [*texts, *map(wording.fact_text, table.head.constants)]

    @property
    def head_levels(self) -> tuple[HeadLevel, ...]:
        return (self.table.head.first_level, *self.table.head.levels)

    @property
    def has_native(self) -> bool:
        return any(column.is_native for column in self.table.head.columns)

    @property
    def has_no_baseline(self) -> bool:
        is_nothing = (
            not self.table.ratio_count and NO_BASELINE_STATES & self.table.states.keys()
        )
        return bool(is_nothing) and not self.is_energy

    @property
    def is_energy(self) -> bool:
        return self.form.selection.quantity == ENERGY

    @property
    def is_only_native(self) -> bool:
        columns = self.table.head.columns
        is_nothing = not self.table.ratio_count and not self.is_energy
        return is_nothing and all(column.is_native for column in columns)

    @property
    def comparability_legend(self) -> tuple[dict[str, Any], ...]:
        return comparability_legend(cell.result for cell in self.table.cells)

    @cached_property
    def _charted_verdicts(self) -> list[CellVerdict]:
        charted_ids = (cell.id for cell in self.table.cells if cell.result.is_chartable)
        return [
            self.cell_verdicts[pk] for pk in charted_ids if pk in self.cell_verdicts
        ]

    @property
    def weak_count(self) -> int:
        signs = verdicts.VERDICT_SIGNS
        return sum(
            verdict.is_weak and verdict.verdict in signs
            for verdict in self._charted_verdicts
        )

    @property
    def interval_style_notes(self) -> str:
        return verdicts.interval_style_notes(
            {verdict.interval_style for verdict in self._charted_verdicts}
        )

    @property
    def chart(self) -> Chart | None:
        if not 0 < self.table.ratio_count <= MAX_CHART_CELLS:
            return None
        return comparison_chart(
            self._found_table,
            self.form.selection.quantity,
            has_hover_texts=False,
            cell_verdicts=self.cell_verdicts,
        )

    @property
    def cell_url_parts(self) -> tuple[str, str]:
        query = self.form.cell_query(self.form.selection.baseline)
        return "../cells/", f"/{query}"


def answer_sentence(
    ratios: Mapping[str, Sequence[float]],
    verdict_counts: Mapping[str, int],
    against: str,
) -> str:
    """Return the range of the median ratios by platform, best first, and the verdicts.

    ``against`` is the baseline; "" for bare metal.
    """
    if not ratios:
        return ""
    ranked = sorted(ratios, key=lambda name: (-median(ratios[name]), name))
    texts = [
        f"{name} {percent_range(min(ratios[name]), max(ratios[name]))}"
        for name in ranked[:MAX_ANSWER_PLATFORMS]
    ]
    if more := len(ranked) - len(texts):
        texts.append(ngettext("%(n)s other", "%(n)s others", more) % {"n": more})
    against_text = (
        _("Median speed relative to %(system)s") % {"system": against}
        if against
        else _("Median speed relative to bare metal")
    )
    counts = [
        f"{formatting.number(count)} {verdicts.verdict_name(name)}"
        for name in VERDICTS
        if (count := verdict_counts.get(name))
    ]
    sentence = f"{against_text}: {', '.join(texts)}."
    if len(counts) > 1 or "not_assessed" not in verdict_counts:
        sentence += " " + _("Verdicts: %(counts)s.") % {"counts": ", ".join(counts)}
    return sentence


def comparison_page(study: Study, form: ComparisonForm) -> ComparisonPage:
    system, selection = form.baseline, form.selection
    is_energy = selection.quantity == ENERGY
    assessed = None if is_energy else study_verdicts(study, system)
    # The table shows only ratios and verdict symbols; cards show full assessments.
    rows = comparison_rows(
        study,
        systems=form.facets.systems,
        filters=selection.cell_lookups(),
        reference=ReferenceCells.load(study, system) if system else None,
        table_ratios=assessed.table_ratios() if assessed else None,
        includes_failed=not is_energy,
    )
    if is_energy:
        rows = energy_rows(rows, cell_energies(study, system))
    if assessed:
        cell_verdicts = assessed.cell_verdicts()
    else:
        # Verdict symbols mean slower or faster, so energies have no symbols.
        cell_verdicts = {
            row.id: CellVerdict(
                "", is_flagged=False, interval_style=assessment.interval_style
            )
            for row in rows
            if (assessment := row.result.assessment)
        }
    table = selected_table(rows, selection, cell_verdicts, has_guests_first=True)
    if assessed:
        scopes = assessed.count_scopes(cell.id for cell in table.cells)
    else:
        scopes = verdicts.count_verdict_scopes(
            cell.result.assessment for cell in table.cells
        )
    return ComparisonPage(
        form=form,
        reference=system or study.reference_system,
        table=table,
        cell_verdicts=cell_verdicts,
        verdict_scopes=verdicts.verdict_scopes_text(scopes),
        metric_count=_metric_count(rows),
    )


def _metric_count(rows: Iterable[ComparisonRow]) -> int:
    return len({(row.case.tool, row.case.metric) for row in rows})


# Column widths for which the style sheet has a class.
COLUMN_WIDTHS_REM: Final = (5, 6, 7, 8, 9, 10)
CELL_PADDING_REM: Final = 1.0
LARGE_CHARACTER_REM: Final = 0.52
SMALL_CHARACTER_REM: Final = 0.385
INITIAL_ROWS: Final = 12
"""Rows that fit in a window. A script adds the others later."""
MAX_INITIAL_TABLE: Final = 5_000
"""Of tables with more cells, only `INITIAL_CELLS` are sent at first."""
INITIAL_CELLS: Final = 600
MAX_PRINT_COLUMNS: Final = 20
"""Columns that fit on a sheet of paper at a readable size."""


@dataclass(frozen=True)
class GroupRows:
    group: CaseGroup
    first: list[dict[str, Any]]
    deferred: list[dict[str, Any]]
    has_matches: bool


@dataclass(frozen=True)
class GridRows:
    """Rows of the table by group; ``width`` is the CSS class of the columns."""

    groups: tuple[GroupRows, ...]
    width: str
    is_too_wide_for_paper: bool
    hidden_count: int = 0

    @property
    def is_found(self) -> bool:
        return any(group.has_matches for group in self.groups)


@formatting.cached_number_format()
def grid_rows(page: ComparisonPage, *, includes_all: bool = True) -> GridRows:
    """Return the rows; without ``includes_all``, the first ones of a large table."""
    selection, table = page.form.selection, page.table
    shows_n = table.run_count is None
    sent_groups, omitted_count = list(table.groups), 0
    if not includes_all and table.cell_count > MAX_INITIAL_TABLE:
        sent_groups, omitted_count = _first_rows(page)
    edges = [" edge" if column.is_edge else "" for column in table.head.columns]
    before, after = page.cell_url_parts
    groups, remaining, longest = [], INITIAL_ROWS, 0.0
    for group in map(with_readable_units, sent_groups):
        matches = [matches_search(selection.search, group, row) for row in group.rows]
        rows = []
        for row, is_shown in zip(group.rows, matches, strict=True):
            decimals = row_decimals(row.cells)
            views = [
                cell
                and cell_view(
                    cell,
                    page.cell_verdicts.get(cell.id),
                    selection.quantity,
                    shows_n=shows_n,
                    decimals=decimals,
                )
                for cell in row.cells
            ]
            longest = max([longest, *(_wanted_rem(view) for view in views if view)])
            texts = [row.unit or group.unit, *map(wording.fact_text, row.facts)]
            texts += [str(wording.DIRECTION_NAMES.get(row.better, ""))]
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
        ends = (end for end, is_shown in enumerate(matches, start=1) if is_shown)
        initial_count = max(islice(ends, max(remaining, 0)), default=0)
        remaining -= sum(matches)
        groups.append(
            GroupRows(group, rows[:initial_count], rows[initial_count:], any(matches))
        )
    needed_width = longest + CELL_PADDING_REM
    width = next(
        (rem for rem in COLUMN_WIDTHS_REM if rem >= needed_width), COLUMN_WIDTHS_REM[-1]
    )
    return GridRows(
        tuple(groups),
        width=f"cells-{width}",
        is_too_wide_for_paper=len(table.head.columns) > MAX_PRINT_COLUMNS,
        hidden_count=omitted_count,
    )


def _first_rows(page: ComparisonPage) -> tuple[list[CaseGroup], int]:
    q, table = page.form.selection.search, page.table
    remaining = max(INITIAL_ROWS, INITIAL_CELLS // len(table.head.columns))
    groups, omitted_count = [], 0
    for group in table.groups:
        rows = [row for row in group.rows if matches_search(q, group, row)]
        if first := rows[:remaining]:
            groups.append(replace(group, rows=tuple(first)))
        remaining -= len(first)
        omitted_count += len(rows) - len(first)
    return groups, omitted_count


def _wanted_rem(view: CellView) -> float:
    small_characters = len(view.n) + 1 + 2 * len(view.verdict_sign)
    # The values of two modes, or of a range, may be on two lines.
    parts = view.main.split() if view.kind == "plain" else [view.main]
    large = (
        LARGE_CHARACTER_REM * max(map(len, parts), default=0)
        + SMALL_CHARACTER_REM * small_characters
    )
    small = max(map(len, (view.interval, view.subtext, view.state)))
    return max(large, SMALL_CHARACTER_REM * small)


def comparison_chart(
    table: ComparisonTable,
    show: str,
    *,
    has_hover_texts: bool = True,
    cell_verdicts: Mapping[int, CellVerdict] | None = None,
) -> Chart | None:
    """Return a dot plot of a table's ratios; None if there are none or too many."""
    if table.ratio_count > MAX_CHART_CELLS:
        return None
    columns = table.head.columns
    rows, column_indexes = charted_rows(table)
    # Colors distinguish platforms and, if all are equal, as many facts as necessary.
    charted_columns = [columns[index] for index in column_indexes]
    max_depth = len(charted_columns[0].facts) if charted_columns else 0
    depths = (
        depth
        for depth in range(max_depth)
        if len({_color_group(column, depth) for column in charted_columns}) > 1
    )
    depth = next(depths, max_depth)
    series = [
        DotSeries(
            ", ".join(_fact_texts(column.facts[depth:])) or _color_group(column, depth),
            _color_group(column, depth),
        )
        for column in columns
    ]

    names = [wording.column_name(column) for column in columns]
    dots = [
        Dot(
            line,
            index,
            ratio,
            names[index],
            cell_sentence(cell) if has_hover_texts else "",
            verdict.interval_style
            if (verdict := cell_verdict(cell, cell_verdicts or {}))
            else "",
            cell.result.interval,
        )
        for line, (_group, row) in enumerate(rows)
        for index, cell in enumerate(row.cells)
        if cell and cell.result.is_chartable
        if (ratio := cell.result.displayed_ratio) is not None
    ]
    labels = shortest_labels(
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
    is_relative = bool(REFERENCE_STATES & table.states.keys())
    if show == ENERGY and is_relative:
        return _("Energy for the same work (reference system = 1, log scale)")
    if show == ENERGY:
        return _("Energy for the same work (baseline = 1, log scale)")
    if "slowdown" in table.states:
        return _("Ratio (one VM alone = 1, for sums one machine alone = 1, log scale)")
    if is_relative:
        return _("Ratio to the reference system (1 = same speed, log scale)")
    return _("Ratio to the baseline (log scale, 1 = same speed)")


def _color_group(column: Column, depth: int) -> str:
    return ", ".join(
        [wording.platform_name(column.platform), *_fact_texts(column.facts[:depth])]
    )


def _fact_texts(facts: Iterable[Fact]) -> list[str]:
    return [wording.short_fact_text(fact) for fact in facts if fact.value]
