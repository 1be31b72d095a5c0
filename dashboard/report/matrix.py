"""The comparison of a report: cases in rows, systems in columns, ratios in cells."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks.selectors.comparison_columns import Column
from benchmarks.selectors.comparison_table import CaseGroup, CaseRow, ComparisonTable
from benchmarks.selectors.comparisons import ComparisonRow
from dashboard import figures, judging, wording
from dashboard.cells import SILENT, ratio_of
from dashboard.report.document import Entry, Line, Section, Table, heading

COLUMNS = 10


def matrix(table: ComparisonTable) -> Section:
    """Return all cells of a comparison, as many systems a table as fit a page."""
    count = len(table.head.columns)
    parts = -(-count // COLUMNS)
    size = -(-count // parts) if parts else 1
    slices = [slice(start, start + size) for start in range(0, count, size)]
    return Section(
        "matrix",
        _("The matrix"),
        tuple(_paragraphs(table)),
        tuple(_table(table, part, parts) for part in slices),
        is_wide=True,
    )


def _paragraphs(table: ComparisonTable) -> Iterator[str]:
    yield _(
        "Ratios to the baseline of the same case: 1 is its speed, more is better. Below "
        "a ratio its 95 % interval, or the value where there is none. Signs: ▼ slower, "
        "▲ faster, = equivalent, ? undetermined."
    )
    common = ", ".join(wording.fact_text(fact) for fact in table.head.constants)
    if common:
        yield _("All systems have in common: %(facts)s.") % {"facts": common}
    if table.is_single_run:
        yield _(
            "Every value is of a single run: there are no intervals, and no verdict is "
            "possible."
        )


def _table(table: ComparisonTable, part: slice, parts: int) -> Table:
    columns = table.head.columns[part]
    lines = [row for group in table.groups for row in _group_lines(group, part)]
    caption = _("Systems %(first)s to %(last)s of %(all)s") % {
        "first": part.start + 1,
        "last": part.start + len(columns),
        "all": len(table.head.columns),
    }
    return Table(
        caption=caption if parts > 1 else "",
        head=tuple(_head(columns)),
        lines=tuple(lines),
        width=len(columns) + 1,
        note=_states(table, part),
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
    entries = [Entry(wording.property_name(name) if name else "")]
    for path, members in groupby(paths):
        text = wording.property_value(name, path[-1])
        entries.append(Entry(text, span=len(list(members)), is_number=True))
    return Line(tuple(entries))


def _group_lines(group: CaseGroup, part: slice) -> Iterator[Line]:
    rows = [row for row in group.rows if any(row.cells[part])]
    if not rows:
        return
    better = str(wording.BETTER.get(group.better, ""))
    facts = (wording.fact_text(fact) for fact in group.facts)
    component = wording.component_name(group.component)
    said = (f"{component}: {group.tool}", group.label, group.unit, better, *facts)
    yield heading(" · ".join(filter(None, said)), len(rows[0].cells[part]) + 1)
    for row in rows:
        yield Line((Entry(_label(row)), *map(_entry, row.cells[part])))


def _label(row: CaseRow) -> str:
    facts = (wording.fact_text(fact) for fact in row.facts)
    return " · ".join(filter(None, (row.label, *facts, row.unit)))


def _entry(row: ComparisonRow | None) -> Entry:
    if row is None:
        return Entry("", is_number=True)
    ratio, judged = ratio_of(row), row.judgement
    value = "" if row.value is None else figures.brief(row.value)
    if ratio is None:
        state = "" if row.state in SILENT else wording.state_name(row.state)
        return Entry(value, sub=state, is_number=True)
    interval = judging.interval_text(judged) if judged else ""
    text = f"{figures.ratio(ratio)} {judging.verdict_sign(judged)}".rstrip()
    shade = figures.heat(ratio)
    return Entry(text, sub=interval or value, shade=shade, is_number=True)


def _states(table: ComparisonTable, part: slice) -> str:
    cells = (c for group in table.groups for row in group.rows for c in row.cells[part])
    states = sorted({cell.state for cell in cells if cell} - SILENT)
    said = (f"{wording.state_name(s)}: {wording.state_meaning(s)}" for s in states)
    return "; ".join(said)
