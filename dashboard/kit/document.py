"""The content of pages and reports: drawings, sections, tables of plain texts. PURE."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from dashboard.charts.chart import Chart

Row = Sequence[tuple[str, str]]
"""The texts of a row of a table, each after the heading of its column."""


@dataclass(frozen=True)
class Entry:
    """One cell of a table: ``shade`` is a step of the ratios' scale or empty.

    ``more``, on pages only, are lines below ``sub`` that are shown on demand.
    """

    text: str
    sub: str = ""
    more: tuple[str, ...] = ()
    span: int = 1
    shade: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class Line:
    """One row; a heading spans the table."""

    entries: tuple[Entry, ...]
    is_heading: bool = False


@dataclass(frozen=True)
class Table:
    """A table of ``width`` columns, the first of which has words.

    ``weights`` are the relative widths of its columns; empty: as its contents need.
    """

    caption: str
    head: tuple[Line, ...]
    lines: tuple[Line, ...]
    width: int
    note: str = ""
    lead: str = ""
    weights: tuple[int, ...] = ()
    number: int = 0


@dataclass(frozen=True)
class Figure:
    """A chart of numbers that are in tables of its section.

    ``of`` are the indexes of its tables (none: all); ``source`` names them.
    """

    caption: str
    alt: str
    chart: Chart
    of: tuple[int, ...] = ()
    number: int = 0
    source: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the report; ``is_wide``: its tables want a page on its side."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    is_wide: bool = False
    charts: Sequence[Figure] = ()

    @property
    def plates(self) -> list[Figure]:
        """The charts of the whole section, not of one of its tables."""
        return [chart for chart in self.charts if not chart.of]

    @property
    def blocks(self) -> list[tuple[list[Figure], Table]]:
        """Each table with the charts that draw it, which stand above it."""
        return [
            ([chart for chart in self.charts if place in chart.of], table)
            for place, table in enumerate(self.tables)
        ]


@dataclass(frozen=True)
class Document:
    """A whole report; ``facts`` are pairs of the title page."""

    title: str
    byline: str
    language: str
    facts: tuple[tuple[str, str], ...]
    colophon: str
    sections: tuple[Section, ...]
    citation: str
    author: str = ""


def line(*texts: str, numbers_from: int = 1) -> Line:
    """Return a row of texts; from ``numbers_from`` on they are aligned as numbers."""
    return Line(
        tuple(
            Entry(text, is_number=column >= numbers_from)
            for column, text in enumerate(texts)
        )
    )


def heading(text: str, width: int) -> Line:
    return Line((Entry(text, span=width),), is_heading=True)


def plain_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers_from: int = 99,
    weights: tuple[int, ...] = (),
) -> Table:
    """Return a table of texts; from ``numbers_from`` on columns align as numbers."""
    lines = tuple(line(*row, numbers_from=numbers_from) for row in rows)
    top = (line(*head, numbers_from=numbers_from),) if head else ()
    width = len(head) or max((len(row.entries) for row in lines), default=1)
    return Table(caption, top, lines, width, weights=weights)


@dataclass(frozen=True)
class Drawing:
    """A figure with its heading, a note how to read it, and the same as a table.

    The first column of ``rows`` names the row, the others are numbers in words; of
    very many rows the last are left out (``is_cut``).
    """

    slug: str
    title: str
    note: str
    figure: Chart
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_cut: bool = False


class Columns(TypedDict):
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def columns(rows: Sequence[Row]) -> Columns:
    """Return the head and the rows of a drawing."""
    return {
        "head": tuple(name for name, _text in rows[0]),
        "rows": tuple(tuple(text for _name, text in row) for row in rows),
    }
