"""What a report is made of: sections of paragraphs and tables of texts. PURE.

Every word is a plain text. Whoever shows it, the print page or the typesetter, gets
the same document and decides how it looks; nothing of it is ever markup.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.charts.chart import Chart


@dataclass(frozen=True)
class Entry:
    """One entry of a table; ``shade`` is a step of the ratios' scale or empty.

    ``more`` is on pages alone: lines below ``sub``, on demand behind their first.
    """

    text: str
    sub: str = ""
    more: tuple[str, ...] = ()
    span: int = 1
    shade: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class Line:
    """One row; a heading spans the table and names the rows below it."""

    entries: tuple[Entry, ...]
    is_heading: bool = False


@dataclass(frozen=True)
class Table:
    """A table with ``width`` columns, the first of which is of words.

    ``lead`` stands above it and ``note`` below; ``weights`` are the relative widths of
    its columns (empty: as its contents want).
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
    """A chart of numbers that stand in tables of its section.

    ``alt`` is what it tells somebody who cannot see it. ``of`` are the places of its
    tables in the section (none: all of them); ``source`` names them once they are
    numbered.
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
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    is_wide: bool = False
    charts: tuple[Figure, ...] = ()

    @property
    def plates(self) -> list[Figure]:
        """The charts of the whole section."""
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
    """A whole report. ``facts`` are pairs of the title page: author, date, ..."""

    title: str
    byline: str
    language: str
    facts: tuple[tuple[str, str], ...]
    colophon: str
    sections: tuple[Section, ...]
    citation: str
    author: str = ""


def line(*texts: str, numbers_from: int = 1) -> Line:
    """Return a row of texts; from ``numbers_from`` on they stand as numbers do."""
    return Line(
        tuple(
            Entry(text, is_number=column >= numbers_from)
            for column, text in enumerate(texts)
        )
    )


def heading(text: str, width: int) -> Line:
    """Return a row that names those below it."""
    return Line((Entry(text, span=width),), is_heading=True)


def plain_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers_from: int = 99,
    weights: tuple[int, ...] = (),
) -> Table:
    """Return a table of texts under a line of headings (none if ``head`` is empty).

    Its columns stand as numbers do from ``numbers_from`` on: by default none does.
    """
    lines = tuple(line(*row, numbers_from=numbers_from) for row in rows)
    top = (line(*head, numbers_from=numbers_from),) if head else ()
    width = len(head) or max((len(row.entries) for row in lines), default=1)
    return Table(caption, top, lines, width, weights=weights)
