"""Headings and rows of a LaTeX table: what stands between its rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.comparing.columns import Column
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow
from dashboard import wording
from dashboard.exports.escaping import tex
from dashboard.exports.latex_widths import (
    BOLD,
    COLUMN_PT,
    GAP_PT,
    ITALIC,
    LABEL_PT,
    SMALL,
    SMALL_ITALIC,
    breakable,
    table_pt,
    width_pt,
)
from dashboard.kit.table_cells import SILENT, both_ends, row_figure
from dashboard.wording import verdicts
from dashboard.wording.verdicts import VALUE, interval_ends, ratio_text

END = r" \\"
SIGNS = {"slower": r"$<$", "faster": r"$>$", "equivalent": "$=$", "undetermined": "?"}
SIGNS_OF_ENERGY = {
    "less": r"$<$",
    "more": r"$>$",
    "equivalent": "$=$",
    "undetermined": "?",
}
NOT_MEASURED = r"\textendash{}"
SMALLER = r"\virtlabsmall"
# A verdict's sign, and the letter of a note.
SIGN_PT, MARK_PT = 7.0, 5.0


def headings(columns: Sequence[Column], widths: Sequence[float]) -> list[str]:
    """Return the platforms and, below, each property by which the columns differ."""
    lines = [_heading("", [(column.platform,) for column in columns], widths)]
    for depth, fact in enumerate(columns[0].facts):
        paths = (
            (column.platform, *(each.value for each in column.facts[: depth + 1]))
            for column in columns
        )
        lines.append(_heading(fact.name, paths, widths))
    return lines


def _heading(
    name: str, paths: Iterable[tuple[str, ...]], widths: Sequence[float]
) -> str:
    """Write one line of the head; neighbours that agree so far share an entry."""
    said = wording.property_name(name) if name else ""
    cells, rules, at = [breakable(said, LABEL_PT)], [], 0
    for path, members in groupby(paths):
        count = len(list(members))
        room = sum(widths[at : at + count]) + GAP_PT * (count - 1)
        text = wording.property_value(name, path[-1])
        box = rf"\parbox[t]{{{room:.1f}pt}}{{\centering {breakable(text, room)}}}"
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{box}}}")
        if text and count > 1:
            rules.append(rf"\cmidrule(lr){{{at + 2}-{at + count + 1}}}")
        at += count
    return " & ".join(cells) + END + "".join(rules)


@dataclass(frozen=True)
class CellStyle:
    """What cells show, and the letters of what is explained below."""

    show: str
    marks: Mapping[str, str]


def column_widths(groups: Sequence[CaseGroup], show: str) -> list[float]:
    """Return what each column takes at most, in points."""
    rows = [row.cells for group in groups for row in group.rows]
    return [
        max((_cell_pt(cell, show) for cell in cells if cell), default=0.0)
        for cells in zip(*rows, strict=True)
    ]


def group_lines(
    group: CaseGroup,
    rows: Sequence[CaseRow],
    part: slice,
    style: CellStyle,
    widths: Sequence[float],
) -> Iterator[str]:
    """Return the rows of one tool and component under what they have in common."""
    whole = table_pt(widths)
    column = f"@{{}}p{{{whole:.1f}pt}}@{{}}"
    said = breakable(_group_text(group), whole, BOLD)
    bold = rf"\raggedright\textbf{{{said}}}"
    yield rf"\multicolumn{{{len(widths) + 1}}}{{{column}}}{{{bold}}}{END}"
    for row in rows:
        cells = (
            _cell(cell, style, room)
            for cell, room in zip(row.cells[part], widths, strict=True)
        )
        label = breakable(_label(row), LABEL_PT)
        yield " & ".join([rf"\raggedright {label}", *cells]) + END


def _group_text(group: CaseGroup) -> str:
    component = wording.component_name(group.component)
    better = str(wording.BETTER.get(group.better, ""))
    facts = (wording.fact_text(fact) for fact in group.facts)
    said = (f"{component}: {group.tool}", group.label, group.unit, better, *facts)
    return ", ".join(filter(None, said))


def _label(row: CaseRow) -> str:
    parts = (row.label, *(wording.fact_text(fact) for fact in row.facts), row.unit)
    return ", ".join(filter(None, parts))


def _cell_pt(row: ComparisonRow, show: str) -> float:
    """Return what `_cell` takes at most; the head wants some room in any case."""
    mark = MARK_PT * len(_noted(row))
    ratio = ratio_text(row, show)
    if ratio and show != VALUE:
        small = ", ".join(interval_ends(row, show) or ())
        wide = width_pt(ratio) + SIGN_PT + mark
        return max(COLUMN_PT, wide, width_pt(f"[{small}]", SMALL))
    ends = both_ends(row.shown) if row.shown.value is None else None
    if ends is None:
        return max(COLUMN_PT, width_pt(row_figure(row.shown), ITALIC) + mark)
    first, second = width_pt(ends[0], ITALIC), width_pt(ends[1], SMALL_ITALIC)
    return max(COLUMN_PT, first + mark, second + width_pt("| ", SMALL))


def _cell(row: ComparisonRow | None, style: CellStyle, room_pt: float) -> str:
    if row is None:
        return NOT_MEASURED
    letters = "".join(sorted(style.marks[it] for it in _noted(row)))
    mark = rf"\textsuperscript{{{letters}}}" if letters else ""
    ratio = ratio_text(row, style.show)
    if not ratio or style.show == VALUE:
        return _figure(row, mark, room_pt)
    signs = SIGNS_OF_ENERGY if row.shown.is_energy else SIGNS
    sign = signs.get(row.shown.judgement.verdict, "") if row.shown.judgement else ""
    text = f"{tex(ratio)}{sign}{mark}"
    ends = interval_ends(row, style.show)
    if ends is None:
        return text
    low, high = map(tex, ends)
    return _two_lines(text, f"[{low}, {high}]", room_pt)


def _two_lines(first: str, second: str, room_pt: float) -> str:
    """Return a cell whose first line stands beside those of its row."""
    lines = rf"\raggedleft {first}\\{{{SMALLER} {second}\strut}}"
    return rf"\parbox[t]{{{room_pt:.1f}pt}}{{{lines}}}"


def _figure(row: ComparisonRow, mark: str, room_pt: float) -> str:
    """Return a value; both speeds or a range in two lines, for they are wide."""
    ends = both_ends(row.shown) if row.shown.value is None else None
    if ends is None:
        said = tex(row_figure(row.shown))
        return rf"\textit{{{said}}}{mark}" if said else NOT_MEASURED + mark
    low, high = map(tex, ends)
    between = r"\textbar{}" if row.shown.speeds else NOT_MEASURED
    first = rf"\textit{{{low}}}{mark}"
    return _two_lines(first, rf"{between} \textit{{{high}}}", room_pt)


def marks_of(cells: Iterable[ComparisonRow | None]) -> dict[str, str]:
    """Return a letter for each thing that has to be explained below the table."""
    noted = sorted({it for cell in cells if cell is not None for it in _noted(cell)})
    return {it: chr(ord("a") + at) for at, it in enumerate(noted)}


def _noted(row: ComparisonRow) -> list[str]:
    """Return the state of a cell and what keeps the verdict from its number.

    Of what has no ratio a flag alone is told: a value stands for itself.
    """
    state = row.shown.full_state
    noted = [] if state in SILENT else [state]
    codes = verdicts.withheld(row.shown.judgement)
    return noted + [
        it for it in codes if row.shown.ratio is not None or it == "flagged"
    ]
