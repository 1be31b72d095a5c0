"""The chart of the chosen ratios for a paper, and the archive of all its files."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, Final, Literal

from django.utils.translation import gettext as _

from benchmarks.comparing.table import (
    PART,
    CaseGroup,
    CaseRow,
    Column,
    ComparisonTable,
)
from dashboard import wording
from dashboard.charts.chart import FRAME_PX, SYMBOLS, Chart
from dashboard.charts.dots import Dot, Series, dot_plot, short_labels
from dashboard.kit.selections import ENERGY

WIDTHS: Final = ("3.33", "7")
"""Inches: of a column, and of a page of two columns."""
MOST_SYSTEMS: Final = len(SYMBOLS)
"""A mark for each: paper has no colours."""
MOST_ROWS: Final = 40
ROW_PX: Final = 18
LANE_PX: Final = 3


def chart_values(table: ComparisonTable, show: str) -> dict[str, Any] | None:
    rows = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(cell and cell.shown.is_drawn for cell in row.cells)
    ]
    places = [
        place
        for place in range(len(table.head.columns))
        if any((it := row.cells[place]) and it.shown.is_drawn for _group, row in rows)
    ]
    if not rows:
        return None
    dots = [
        [
            line,
            lane,
            cell.shown.written_ratio,
            cell.shown.judgement.strength if cell.shown.judgement else "",
            cell.shown.interval,
        ]
        for line, (_group, row) in enumerate(rows)
        for lane, place in enumerate(places)
        if (cell := row.cells[place]) and cell.shown.is_drawn
    ]
    return {
        "kind": "ratios",
        "rows": short_labels([list(_label_parts(*row)) for row in rows]),
        "systems": _system_names([table.head.columns[at] for at in places]),
        "dots": dots,
        "axis_title": _axis_title(table, show),
    }


def too_much(values: Mapping[str, Any]) -> str:
    """Say what keeps a chart from a page of paper; nothing where it can be drawn."""
    if len(values["systems"]) > MOST_SYSTEMS:
        text = _("A chart tells %(most)s systems apart; %(n)s are chosen.")
        return text % {"most": MOST_SYSTEMS, "n": len(values["systems"])}
    if len(values["rows"]) > MOST_ROWS:
        text = _("A page has room for a chart of %(most)s rows; %(n)s are chosen.")
        return text % {"most": MOST_ROWS, "n": len(values["rows"])}
    return ""


def chart_of(values: Mapping[str, Any]) -> Chart:
    dots = [
        Dot(row, system, ratio, "", "", strength, tuple(interval) if interval else None)
        for row, system, ratio, strength, interval in values["dots"]
    ]
    series = [Series(name, "") for name in values["systems"]]
    chart = dot_plot(values["rows"], series, dots, axis_title=values["axis_title"])
    if chart is None:
        raise ValueError("Nothing is drawn.")
    tall = len(values["rows"]) * (ROW_PX + LANE_PX * len(series))
    return replace(chart, height=FRAME_PX + tall)


def _axis_title(table: ComparisonTable, show: str) -> str:
    is_relative = bool({"relative", "other_host"} & table.states.keys())
    if show == ENERGY:
        return _("energy for the same work (baseline = 1)")
    if is_relative:
        return _("performance (reference = 1)")
    return _("relative performance (baseline = 1)")


def _system_names(columns: Sequence[Column]) -> list[str]:
    platforms = {column.platform for column in columns}
    names = []
    for column in columns:
        facts = [wording.fact_in_brief(fact) for fact in column.facts if fact.value]
        is_told = len(platforms) > 1 or not facts
        names.append(", ".join([column.platform, *facts] if is_told else facts))
    return names


def _label_parts(group: CaseGroup, row: CaseRow) -> Iterator[str]:
    parts = [*row.label.split(PART), *group.label.split(PART)]
    # "random write, randwrite": an option of a tool says again what its name says.
    yield ", ".join(_unlike(parts[: 1 + row.label.count(PART)]))
    yield from map(wording.fact_text, row.facts)
    yield group.label
    yield group.tool
    yield wording.component_name(group.component)


def _unlike(parts: Sequence[str]) -> Iterator[str]:
    said = ""
    for part in parts:
        letters = "".join(filter(str.isalnum, part.casefold()))
        if letters not in said:
            yield part
            said += letters


ChartForm = Literal["pdf", "svg", "pgf"]
CHART_FORMS: Final[tuple[ChartForm, ...]] = ("pdf", "svg", "pgf")
POINTS_AN_INCH: Final = 72
# The same numbers are the same archive.
LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
EXAMPLE: Final = r"""\documentclass[twocolumn]{article}
% IEEEtran, acmart: the same. Each file says which packages it needs.
\usepackage[T1]{fontenc}
\usepackage{textcomp,array,booktabs,siunitx,graphicx,pgf,url}
\begin{document}
\input{methods}
\input{table}
%s\nocite{*}
\bibliographystyle{plain}
\bibliography{study}
\end{document}
"""
EXAMPLE_FIGURE: Final = r"""\begin{figure}[htbp]\centering
\includegraphics[width=\columnwidth]{chart-3.33in.pdf}% or \input{chart-3.33in.pgf}
\caption{Relative performance of the systems of the table.}
\end{figure}
"""


def drawn_chart(values: Mapping[str, Any], form: ChartForm, inches: str) -> bytes:
    """Return a chart as a file. For workers alone: it imports matplotlib."""
    from dashboard.charts.paper import paper

    return paper(chart_of(values), form, width=float(inches) * POINTS_AN_INCH)


def archive(texts: Mapping[str, str], values: Mapping[str, Any] | None) -> bytes:
    """Return all files of a paper as a zip. For workers alone."""
    files = {name: text.encode() for name, text in texts.items()}
    figure = ""
    if values:
        figure = EXAMPLE_FIGURE
        for inches in WIDTHS:
            for form in CHART_FORMS:
                name = f"chart-{inches}in.{form}"
                files[name] = drawn_chart(values, form, inches)
    files["example.tex"] = EXAMPLE.replace("%s", figure).encode()
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, each in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name, LONG_AGO), each, zipfile.ZIP_DEFLATED)
    return content.getvalue()
