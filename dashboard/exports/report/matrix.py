"""The comparison of a report: cases in rows, systems in columns, ratios in cells."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks.comparing.columns import Column
from benchmarks.comparing.ordering import SCENARIOS, rank
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import (
    CaseGroup,
    CaseRow,
    ComparisonTable,
    comparison_table,
)
from dashboard import wording
from dashboard.exports.report.charts import ratio_chart
from dashboard.exports.report.slots import SLOT, slots_in_columns
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Section, Table, heading
from dashboard.kit.table_cells import SILENT, row_figure
from dashboard.wording import states as state_words
from dashboard.wording import verdicts

ALONE = "single"
COLUMNS = 14
UPRIGHT_COLUMNS = 6
# More than this is for a program, not for paper.
MOST_CELLS = 3_000


def matrix(rows: Sequence[ComparisonRow]) -> Iterator[Section]:
    """Return all cells, a section a scenario, as many systems a table as fit a page."""
    if len(rows) > MOST_CELLS:
        yield _too_large(len(rows))
        return
    scenarios = sorted({row.scenario for row in rows}, key=lambda x: rank(SCENARIOS, x))
    for at, scenario in enumerate(scenarios):
        members = [row for row in rows if row.scenario == scenario]
        table = comparison_table(members)
        if scenario != ALONE:
            table = slots_in_columns(table, COLUMNS)
        title = _("The matrix: %(scenario)s") % {
            "scenario": wording.scenario_name(scenario)
        }
        how = [] if at else [_how_to_read()]
        yield Section(
            f"matrix-{at + 1}",
            title,
            (*how, *_paragraphs(table)),
            tuple(_tables(table)),
            is_wide=len(table.head.columns) > UPRIGHT_COLUMNS,
            charts=ratio_chart(members),
        )


def _too_large(count: int) -> Section:
    text = _("It has %(n)s cells: they are to be had as CSV.") % {"n": f"{count:,}"}
    return Section("matrix-1", _("The matrix"), (text,))


def _tables(table: ComparisonTable) -> Iterator[Table]:
    count = len(table.head.columns)
    parts = -(-count // COLUMNS)
    size = -(-count // parts)
    for start in range(0, count, size):
        yield _table(table, slice(start, start + size), parts)


def _how_to_read() -> str:
    return _(
        "Ratios to the baseline of the same case: 1 is its speed, more is better. "
        "Below a ratio its 95 % interval, or the value where there is none. Signs: "
        "▼ slower, ▲ faster, = equivalent, ? undetermined, ⚑ doubted by a flag; a "
        "ratio without a sign has no verdict."
    )


def _paragraphs(table: ComparisonTable) -> Iterator[str]:
    common = ", ".join(wording.fact_text(fact) for fact in table.head.constants)
    if common:
        yield _("All systems have in common: %(facts)s.") % {"facts": common}
    if guests := ", ".join(map(wording.fact_text, table.head.of_guests)):
        yield _("All but native: %(facts)s.") % {"facts": guests}
    if table.is_single_run:
        yield _(
            "Every value is of a single run: there are no intervals, and no verdict is "
            "possible."
        )


def _table(table: ComparisonTable, part: slice, parts: int) -> Table:
    columns, states = table.head.columns[part], _states(table, part)
    # What is so of all cells stands in the note alone.
    silent = SILENT | states if len(states) == 1 else SILENT
    lines = [row for group in table.groups for row in _group_lines(group, part, silent)]
    caption = _("Systems %(first)s to %(last)s of %(all)s") % {
        "first": part.start + 1,
        "last": part.start + len(columns),
        "all": len(table.head.columns),
    }
    return Table(
        caption=caption if parts > 1 else _("Ratios and values of all systems"),
        head=tuple(_head(columns)),
        lines=tuple(lines),
        width=len(columns) + 1,
        note=_note(states - SILENT),
    )


def _head(columns: Sequence[Column]) -> Iterator[Line]:
    yield _spans("", [(column.platform,) for column in columns])
    for depth, fact in enumerate(columns[0].facts):
        paths = [
            (column.platform, *(each.value for each in column.facts[: depth + 1]))
            for column in columns
        ]
        yield _spans(fact.name, paths)


def _spans(name: str, paths: Sequence[tuple[str, ...]]) -> Line:
    is_named = name not in ("", SLOT)
    entries = [Entry(wording.property_heading(name) if is_named else "")]
    for path, members in groupby(paths):
        text = _level(name, path[-1])
        entries.append(Entry(text, span=len(list(members)), is_number=True))
    return Line(tuple(entries))


def _level(name: str, value: str) -> str:
    if name == SLOT and value:
        return wording.slot_text(value)
    return wording.property_value(name, value)


def _group_lines(
    group: CaseGroup, part: slice, silent: Collection[str]
) -> Iterator[Line]:
    rows = [row for row in group.rows if any(row.cells[part])]
    if not rows:
        return
    better = str(wording.BETTER.get(group.better, ""))
    facts = (wording.fact_text(fact) for fact in group.facts)
    component = wording.component_name(group.component)
    said = (f"{component}: {group.tool}", group.label, group.unit, better, *facts)
    yield heading(" · ".join(filter(None, said)), len(rows[0].cells[part]) + 1)
    for row in rows:
        cells = (_entry(cell, silent) for cell in row.cells[part])
        yield Line((Entry(_label(row)), *cells))


def _label(row: CaseRow) -> str:
    facts = (wording.fact_text(fact) for fact in row.facts)
    return " · ".join(filter(None, (row.label, *facts, row.unit)))


def _entry(row: ComparisonRow | None, silent: Collection[str]) -> Entry:
    if row is None:
        return Entry("", is_number=True)
    ratio, judged = row.shown.ratio, row.shown.judgement
    value, state = row_figure(row.shown), row.shown.full_state
    if ratio is None:
        state = "" if state in silent else state_words.state_name(state)
        return Entry(value, sub=state, is_number=True)
    interval = verdicts.interval_text(judged) if judged else ""
    sign = verdicts.paper_sign(judged) if judged else ""
    text = f"{figures.ratio(ratio)} {sign}".rstrip()
    shade = figures.heat(ratio)
    return Entry(text, sub=interval or value, shade=shade, is_number=True)


def _states(table: ComparisonTable, part: slice) -> set[str]:
    cells = (c for group in table.groups for row in group.rows for c in row.cells[part])
    return {cell.shown.full_state for cell in cells if cell}


def _note(states: Iterable[str]) -> str:
    said = (
        f"{state_words.state_name(s)}: {state_words.state_meaning(s)}"
        for s in sorted(states)
    )
    return "; ".join(said)
