"""Result matrix of a report: benchmarks in rows, systems in columns."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import (
    CaseRow,
    ComparisonTable,
    Fact,
    comparison_table,
    rank_by_order,
)
from benchmarks.models.run import SCENARIOS
from benchmarks.natural_sort import natural_sort_key
from dashboard import wording
from dashboard.exports.report.charts import ratio_chart
from dashboard.exports.table_headings import (
    SLOT,
    group_text,
    heading_lines,
    row_text,
    shared_guest_facts,
)
from dashboard.kit import formatting
from dashboard.kit.report_elements import (
    ReportSection,
    ReportTable,
    TableCell,
    TableRow,
    heading_row,
)
from dashboard.kit.table_cells import UNLABELLED_STATES, row_decimals, value_text
from dashboard.wording import state_names, verdicts

SINGLE_SCENARIO = "single"
MAX_REPORT_COLUMNS = 14
PORTRAIT_COLUMNS = 6
MAX_REPORT_CELLS = 3_000


def result_sections(rows: Sequence[ComparisonRow]) -> Iterator[ReportSection]:
    if len(rows) > MAX_REPORT_CELLS:
        text = _("%(n)s results are too many to print. Export them as CSV.")
        text %= {"n": f"{len(rows):,}"}
        yield ReportSection("matrix-1", _("Result matrix"), (text,))
        return
    texts = [
        _(
            "The table shows ratios to the baseline of the same benchmark: 1 is the "
            "same speed, higher is better. Below each ratio is its 95% confidence "
            "interval or, without an interval, the measured value. Signs: ▼ slower, "
            "▲ faster, = equivalent, ? undetermined, * weak evidence, ⚑ flagged; a "
            "ratio without a sign is not assessed."
        )
    ]
    scenarios = sorted(
        {row.scenario for row in rows}, key=lambda x: rank_by_order(SCENARIOS, x)
    )
    for number, scenario in enumerate(scenarios, start=1):
        members = [row for row in rows if row.scenario == scenario]
        table = comparison_table(members)
        if scenario != SINGLE_SCENARIO:
            table = _slots_in_columns(table)
        facts = ", ".join(map(wording.fact_text, table.head.constants))
        if facts:
            texts.append(_("Common to all systems: %(facts)s.") % {"facts": facts})
        texts += shared_guest_facts(table.head)
        if table.is_single_run:
            texts.append(
                _(
                    "All values come from single runs: they have no intervals, and "
                    "verdicts are not possible."
                )
            )
        name = wording.scenario_name(scenario)
        yield ReportSection(
            f"matrix-{number}",
            _("Result matrix: %(scenario)s") % {"scenario": name},
            texts,
            tuple(_tables(table)),
            is_landscape=len(table.head.columns) > PORTRAIT_COLUMNS,
            figures=ratio_chart(members),
        )
        texts = []


def _slots_in_columns(table: ComparisonTable) -> ComparisonTable:
    """Return the table with a column per system and VM slot, if they fit."""
    # The last part of a row's key is its slot. Sort VMs before aggregates.
    slots = sorted(
        {str(row.key[-1]) for group in table.groups for row in group.rows},
        key=lambda slot: (not slot.isdigit(), natural_sort_key(slot)),
    )
    systems = range(len(table.head.columns))
    if len(slots) < 2 or len(slots) * len(systems) > MAX_REPORT_COLUMNS:
        return table

    def without_slot(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        return tuple(fact for fact in facts if fact.name != SLOT)

    groups = []
    for group in table.groups:
        rows_by_slot: dict[tuple[object, ...], dict[str, CaseRow]] = {}
        for row in group.rows:
            rows_by_slot.setdefault(row.key[:-1], {})[str(row.key[-1])] = row
        rows = []
        for by_slot in rows_by_slot.values():
            cells = tuple(
                by_slot[slot].cells[index] if slot in by_slot else None
                for index in systems
                for slot in slots
            )
            first = next(iter(by_slot.values()))
            rows.append(replace(first, facts=without_slot(first.facts), cells=cells))
        facts = without_slot(group.facts)
        groups.append(replace(group, facts=facts, rows=tuple(rows)))
    columns = tuple(
        replace(column, facts=(*column.facts, Fact(SLOT, slot)))
        for column in table.head.columns
        for slot in slots
    )
    return replace(
        table, head=replace(table.head, columns=columns), groups=tuple(groups)
    )


def _tables(table: ComparisonTable) -> Iterator[ReportTable]:
    count = len(table.head.columns)
    parts = -(-count // MAX_REPORT_COLUMNS)
    size = -(-count // parts)
    for start in range(0, count, size):
        part = slice(start, start + size)
        columns = table.head.columns[part]
        rows = [row for group in table.groups for row in group.rows]
        cells = (cell for row in rows for cell in row.cells[part] if cell)
        displayed_states = {cell.result.display_state for cell in cells}
        unlabeled_states = (
            UNLABELLED_STATES | displayed_states
            if len(displayed_states) == 1
            else UNLABELLED_STATES
        )
        caption = _("Systems %(first)s to %(last)s of %(all)s") % {
            "first": start + 1,
            "last": start + len(columns),
            "all": count,
        }
        notes = (
            f"{state_names.state_name(state)}: {state_names.state_meaning(state)}"
            for state in sorted(displayed_states - UNLABELLED_STATES)
        )
        header = []
        for name, headings in heading_lines(columns):
            label = wording.property_heading(name) if name not in ("", SLOT) else ""
            entries = (TableCell(text, span=n, is_number=True) for text, n in headings)
            header.append(TableRow((TableCell(label), *entries)))
        yield ReportTable(
            caption=caption if parts > 1 else _("Ratios and values of all systems"),
            header_rows=tuple(header),
            rows=tuple(_table_rows(table, part, unlabeled_states)),
            column_count=len(columns) + 1,
            note="; ".join(notes),
        )


def _table_rows(
    table: ComparisonTable, part: slice, unlabeled_states: Collection[str]
) -> Iterator[TableRow]:
    for group in table.groups:
        rows = [row for row in group.rows if any(row.cells[part])]
        if rows:
            yield heading_row(group_text(group, " · "), len(rows[0].cells[part]) + 1)
        for row in rows:
            decimals = row_decimals(row.cells)
            cells = (
                _cell(cell, unlabeled_states, decimals) for cell in row.cells[part]
            )
            yield TableRow((TableCell(row_text(row, " · ")), *cells))


def _cell(
    row: ComparisonRow | None, unlabeled_states: Collection[str], decimals: int
) -> TableCell:
    if row is None:
        return TableCell("", is_number=True)
    ratio, assessment = row.result.ratio, row.result.assessment
    value, state = value_text(row.result, decimals=decimals), row.result.display_state
    sign = verdicts.print_sign(assessment) if assessment else ""
    if ratio is None and row.result.ratio_range is not None:
        ratios = f"{verdicts.ratio_range_text(row, '')} {sign}".rstrip()
        return TableCell(ratios, subtext=value, is_number=True)
    if ratio is None:
        subtext = "" if state in unlabeled_states else state_names.state_name(state)
        return TableCell(value, subtext=subtext, is_number=True)
    interval = verdicts.interval_text(assessment) if assessment else ""
    return TableCell(
        f"{verdicts.ratio_text(row, '')} {sign}".rstrip(),
        subtext=interval or value,
        shade=formatting.ratio_shade(ratio),
        is_number=True,
    )
