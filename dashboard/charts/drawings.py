"""A chart and its table twin: what is drawn can always be read."""

from dataclasses import dataclass
from typing import Final

from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.kit import figures

NONE: Final = wording.NONE


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


def in_unit(value: float | None, unit: str) -> str:
    return wording.quantity(value, unit) or NONE


def shown_ratio(value: float | None) -> str:
    return NONE if value is None else figures.ratio(value)
