"""Headings and rows of a LaTeX table: what stands between its rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.selectors.comparison_columns import Column
from benchmarks.selectors.comparison_row import ComparisonRow
from benchmarks.selectors.comparison_table import CaseGroup, CaseRow
from benchmarks.selectors.energy_rows import EnergyRow
from dashboard import wording
from dashboard.cells import SILENT, both_ends, row_figure
from dashboard.exports.escaping import tex
from dashboard.ratio_words import VALUE, interval_ends, ratio_text

END = r" \\"
LABEL_CM = 3.2
COLUMN_CM = 1.55
SIGNS = {"slower": r"$<$", "faster": r"$>$", "equivalent": "$=$", "undetermined": "?"}
SIGNS_OF_ENERGY = {
    "less": r"$<$",
    "more": r"$>$",
    "equivalent": "$=$",
    "undetermined": "?",
}
NOT_MEASURED = r"\textendash{}"


def headings(columns: Sequence[Column]) -> list[str]:
    """Return the platforms and, below, each property by which the columns differ."""
    lines = [_heading("", [(column.platform,) for column in columns])]
    for depth, fact in enumerate(columns[0].facts):
        paths = (
            (column.platform, *(each.value for each in column.facts[: depth + 1]))
            for column in columns
        )
        lines.append(_heading(fact.name, paths))
    return lines


def _heading(name: str, paths: Iterable[tuple[str, ...]]) -> str:
    """Write one line of the head; neighbours that agree so far share an entry."""
    cells, rules, at = [tex(wording.property_name(name)) if name else ""], [], 2
    for path, members in groupby(paths):
        width = len(list(members))
        text = wording.property_value(name, path[-1])
        cells.append(_spanning(width, tex(text)))
        if text and width > 1:
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return " & ".join(cells) + END + "".join(rules)


def _spanning(width: int, text: str) -> str:
    box = rf"\parbox[t]{{{width * COLUMN_CM:.2f}cm}}{{\centering {text}}}"
    return rf"\multicolumn{{{width}}}{{c}}{{{box}}}"


@dataclass(frozen=True)
class CellStyle:
    """What cells show, and the letters of the states that are explained below."""

    show: str
    marks: Mapping[str, str]


def group_lines(
    group: CaseGroup, rows: Sequence[CaseRow], part: slice, style: CellStyle
) -> Iterator[str]:
    """Return the rows of one tool and component under what they have in common."""
    width = len(rows[0].cells[part])
    room = f"@{{}}p{{{width * COLUMN_CM + LABEL_CM:.2f}cm}}@{{}}"
    said = rf"\raggedright\textbf{{{tex(_group_text(group))}}}"
    yield rf"\multicolumn{{{width + 1}}}{{{room}}}{{{said}}}{END}"
    for row in rows:
        cells = (_cell(cell, style) for cell in row.cells[part])
        yield " & ".join([rf"\raggedright {_label(row)}", *cells]) + END


def _group_text(group: CaseGroup) -> str:
    component = wording.component_name(group.component)
    better = str(wording.BETTER.get(group.better, ""))
    facts = (wording.fact_text(fact) for fact in group.facts)
    said = (f"{component}: {group.tool}", group.label, group.unit, better, *facts)
    return ", ".join(filter(None, said))


def _label(row: CaseRow) -> str:
    parts = (row.label, *(wording.fact_text(fact) for fact in row.facts), row.unit)
    return tex(", ".join(filter(None, parts)))


def _cell(row: ComparisonRow | None, style: CellStyle) -> str:
    if row is None:
        return NOT_MEASURED
    marks, state, judged = style.marks, row.shown_state, row.judgement
    mark = rf"\textsuperscript{{{marks[state]}}}" if state in marks else ""
    ratio = ratio_text(row, style.show)
    if not ratio or style.show == VALUE:
        return _figure(row, mark)
    signs = SIGNS_OF_ENERGY if isinstance(row, EnergyRow) else SIGNS
    sign = signs.get(judged.verdict, "") if judged else ""
    text = f"{tex(ratio)}{sign}{mark}"
    ends = interval_ends(row, style.show)
    if ends is None:
        return text
    low, high = map(tex, ends)
    return rf"\shortstack[r]{{\strut {text}\\{{\tiny [{low}, {high}]}}}}"


def _figure(row: ComparisonRow, mark: str) -> str:
    """Return a value; both speeds or a range in two lines, for they are wide."""
    ends = both_ends(row) if row.value is None else None
    if ends is None:
        said = tex(row_figure(row))
        return rf"\textit{{{said}}}{mark}" if said else NOT_MEASURED + mark
    low, high = map(tex, ends)
    between = r"\textbar{}" if row.speeds else NOT_MEASURED
    first = rf"\strut \textit{{{low}}}{mark}"
    return rf"\shortstack[r]{{{first}\\{{\tiny {between} \textit{{{high}}}}}}}"


def marks_of(cells: Iterable[ComparisonRow | None]) -> dict[str, str]:
    """Return a letter for each state that has to be explained below the table."""
    states = sorted({cell.shown_state for cell in cells if cell is not None} - SILENT)
    return {state: chr(ord("a") + at) for at, state in enumerate(states)}
