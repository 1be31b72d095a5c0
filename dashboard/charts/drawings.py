"""A chart and its table twin: what is drawn can always be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.kit import figures

NONE: Final = wording.NONE
Row = Sequence[tuple[str, str]]
"""The texts of a row of a table, each after the heading of its column."""


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


class Table(TypedDict):
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table(rows: Sequence[Row]) -> Table:
    return {
        "head": tuple(name for name, _text in rows[0]),
        "rows": tuple(tuple(text for _name, text in row) for row in rows),
    }


def in_unit(value: float | None, unit: str) -> str:
    return wording.quantity(value, unit) or NONE


def shown_ratio(value: float | None) -> str:
    return NONE if value is None else figures.ratio(value)
