"""Elements of reports and pages: tables, figures and sections. PURE."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from dashboard.charts.chart import Chart

TextRow = Sequence[tuple[str, str]]
"""Cells of a row, each as (heading of the column, text)."""


@dataclass(frozen=True)
class TableCell:
    """Table cell; ``details`` are lines that a page shows on demand."""

    text: str
    subtext: str = ""
    details: tuple[str, ...] = ()
    span: int = 1
    shade: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class TableRow:
    cells: tuple[TableCell, ...]
    is_heading: bool = False


@dataclass(frozen=True)
class ReportTable:
    """Table whose first column is text; ``column_weights`` are relative widths."""

    caption: str
    header_rows: tuple[TableRow, ...]
    rows: tuple[TableRow, ...]
    column_count: int
    note: str = ""
    introduction: str = ""
    column_weights: tuple[int, ...] = ()
    number: int = 0


@dataclass(frozen=True)
class ReportFigure:
    """Chart of the numbers in some tables of its section, by default all."""

    caption: str
    alt: str
    chart: Chart
    table_indexes: tuple[int, ...] = ()
    number: int = 0
    source: str = ""


@dataclass(frozen=True)
class ReportSection:
    name: str
    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[ReportTable] = ()
    is_landscape: bool = False
    figures: Sequence[ReportFigure] = ()

    @property
    def section_figures(self) -> list[ReportFigure]:
        return [chart for chart in self.figures if not chart.table_indexes]

    @property
    def tables_with_figures(self) -> list[tuple[list[ReportFigure], ReportTable]]:
        return [
            ([chart for chart in self.figures if index in chart.table_indexes], table)
            for index, table in enumerate(self.tables)
        ]


@dataclass(frozen=True)
class ReportDocument:
    title: str
    byline: str
    language: str
    facts: tuple[tuple[str, str], ...]
    colophon: str
    sections: tuple[ReportSection, ...]
    citation: str
    author: str = ""


def table_row(*texts: str, first_number_column: int = 1) -> TableRow:
    return TableRow(
        tuple(
            TableCell(text, is_number=column >= first_number_column)
            for column, text in enumerate(texts)
        )
    )


def heading_row(text: str, width: int) -> TableRow:
    return TableRow((TableCell(text, span=width),), is_heading=True)


def plain_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers_from: int = 99,
    weights: tuple[int, ...] = (),
) -> ReportTable:
    lines = tuple(table_row(*row, first_number_column=numbers_from) for row in rows)
    top = (table_row(*head, first_number_column=numbers_from),) if head else ()
    width = len(head) or max((len(row.cells) for row in lines), default=1)
    return ReportTable(caption, top, lines, width, column_weights=weights)


@dataclass(frozen=True)
class ChartWithTable:
    """Chart, and a table of the same numbers; rows start with their names."""

    slug: str
    title: str
    note: str
    chart: Chart
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_truncated: bool = False


class TableColumns(TypedDict):
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table_columns(rows: Sequence[TextRow]) -> TableColumns:
    return {
        "header": tuple(name for name, _text in rows[0]),
        "rows": tuple(tuple(text for _name, text in row) for row in rows),
    }
