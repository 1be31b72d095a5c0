"""The comparison of a report: cases in rows, systems in columns, ratios in cells."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import (
    CaseRow,
    ComparisonTable,
    Fact,
    comparison_table,
    rank,
)
from benchmarks.models.run import SCENARIOS
from benchmarks.text import natural
from dashboard import wording
from dashboard.exports.report.charts import ratio_chart
from dashboard.exports.table_texts import (
    SLOT,
    group_text,
    guests_text,
    heading_lines,
    row_text,
)
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Section, Table, heading
from dashboard.kit.table_cells import SILENT, row_decimals, row_figure
from dashboard.wording import states, verdicts

ALONE = "single"
COLUMNS = 14
UPRIGHT_COLUMNS = 6
# More than this is for a program, not for paper.
MOST_CELLS = 3_000


def matrix(rows: Sequence[ComparisonRow]) -> Iterator[Section]:
    """Return all cells, a section a scenario, as many systems a table as fit a page."""
    if len(rows) > MOST_CELLS:
        text = _("%(n)s results are too many for paper: export them as CSV.")
        text %= {"n": f"{len(rows):,}"}
        yield Section("matrix-1", _("The matrix"), (text,))
        return
    texts = [
        _(
            "Ratios to the baseline of the same benchmark: 1 is its speed, more is "
            "better. "
            "Below a ratio its 95\N{NO-BREAK SPACE}% interval, or the value where "
            "there is none. Signs: "
            "▼ slower, ▲ faster, = equivalent, ? undetermined, * weak evidence, ⚑ "
            "flagged; a ratio without a sign is not assessed."
        )
    ]
    scenarios = sorted({row.scenario for row in rows}, key=lambda x: rank(SCENARIOS, x))
    for number, scenario in enumerate(scenarios, start=1):
        members = [row for row in rows if row.scenario == scenario]
        table = comparison_table(members)
        if scenario != ALONE:
            table = _slots_in_columns(table)
        facts = ", ".join(map(wording.fact_text, table.head.constants))
        if facts:
            texts.append(_("All systems have in common: %(facts)s.") % {"facts": facts})
        texts += guests_text(table.head)
        if table.is_single_run:
            texts.append(
                _(
                    "Every value is of a single run: there are no intervals, and no "
                    "verdict is possible."
                )
            )
        name = wording.scenario_name(scenario)
        yield Section(
            f"matrix-{number}",
            _("The matrix: %(scenario)s") % {"scenario": name},
            texts,
            tuple(_tables(table)),
            is_wide=len(table.head.columns) > UPRIGHT_COLUMNS,
            charts=ratio_chart(members),
        )
        texts = []


def _slots_in_columns(table: ComparisonTable) -> ComparisonTable:
    """Return the table with a column for each slot, if they fit a page."""
    # A row's key ends with its slot. VMs by number, then what is said of them all.
    slots = sorted(
        {str(row.key[-1]) for group in table.groups for row in group.rows},
        key=lambda slot: (not slot.isdigit(), natural(slot)),
    )
    systems = range(len(table.head.columns))
    if len(slots) < 2 or len(slots) * len(systems) > COLUMNS:
        return table

    def without_slot(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        return tuple(fact for fact in facts if fact.name != SLOT)

    groups = []
    for group in table.groups:
        # Rows that differ in their slot alone become one.
        joined: dict[tuple[object, ...], dict[str, CaseRow]] = {}
        for row in group.rows:
            joined.setdefault(row.key[:-1], {})[str(row.key[-1])] = row
        rows = []
        for by_slot in joined.values():
            cells = tuple(
                by_slot[slot].cells[at] if slot in by_slot else None
                for at in systems
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


def _tables(table: ComparisonTable) -> Iterator[Table]:
    """Part a table evenly into as many as its columns need."""
    count = len(table.head.columns)
    parts = -(-count // COLUMNS)
    size = -(-count // parts)
    for start in range(0, count, size):
        part = slice(start, start + size)
        columns = table.head.columns[part]
        rows = [row for group in table.groups for row in group.rows]
        cells = (cell for row in rows for cell in row.cells[part] if cell)
        shown = {cell.shown.full_state for cell in cells}
        # What is so of all cells stands in the note alone.
        silent = SILENT | shown if len(shown) == 1 else SILENT
        caption = _("Systems %(first)s to %(last)s of %(all)s") % {
            "first": start + 1,
            "last": start + len(columns),
            "all": count,
        }
        notes = (
            f"{states.state_name(state)}: {states.state_meaning(state)}"
            for state in sorted(shown - SILENT)
        )
        head = []
        for name, headings in heading_lines(columns):
            label = wording.property_heading(name) if name not in ("", SLOT) else ""
            entries = (Entry(text, span=n, is_number=True) for text, n in headings)
            head.append(Line((Entry(label), *entries)))
        yield Table(
            caption=caption if parts > 1 else _("Ratios and values of all systems"),
            head=tuple(head),
            lines=tuple(_lines(table, part, silent)),
            width=len(columns) + 1,
            note="; ".join(notes),
        )


def _lines(
    table: ComparisonTable, part: slice, silent: Collection[str]
) -> Iterator[Line]:
    for group in table.groups:
        rows = [row for row in group.rows if any(row.cells[part])]
        if rows:
            yield heading(group_text(group, " · "), len(rows[0].cells[part]) + 1)
        for row in rows:
            decimals = row_decimals(row.cells)
            cells = (_entry(cell, silent, decimals) for cell in row.cells[part])
            yield Line((Entry(row_text(row, " · ")), *cells))


def _entry(row: ComparisonRow | None, silent: Collection[str], decimals: int) -> Entry:
    if row is None:
        return Entry("", is_number=True)
    ratio, judgement = row.shown.ratio, row.shown.judgement
    value, state = row_figure(row.shown, decimals=decimals), row.shown.full_state
    sign = verdicts.paper_sign(judgement) if judgement else ""
    if ratio is None and row.shown.ratio_range is not None:
        ratios = f"{verdicts.ratio_range_text(row, '')} {sign}".rstrip()
        return Entry(ratios, sub=value, is_number=True)
    if ratio is None:
        sub = "" if state in silent else states.state_name(state)
        return Entry(value, sub=sub, is_number=True)
    interval = verdicts.interval_text(judgement) if judgement else ""
    return Entry(
        f"{verdicts.ratio_text(row, '')} {sign}".rstrip(),
        sub=interval or value,
        shade=figures.heat(ratio),
        is_number=True,
    )
