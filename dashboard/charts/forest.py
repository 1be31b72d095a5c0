"""A forest plot: machines with intervals and weights, and what is pooled. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.utils.translation import gettext as _

from benchmarks.analysis.pooling import FEWEST_RANKED
from benchmarks.evidence.records import Record
from dashboard.charts.chart import (
    FAINT,
    FRAME_PX,
    Axis,
    Chart,
    Panel,
    Points,
    Rule,
    row_axis,
    row_px,
)
from dashboard.kit import figures
from dashboard.wording import NONE, evidence

MOST_MACHINES: Final = 40
"""Of more only those that weigh most are drawn: the API and the files have all."""
ROW_PX: Final = 28
SMALLEST_PX: Final = 6
LARGEST_PX: Final = 16
Kind = Literal["unit", "single", "pooled", "predicted"]
WIDEST: Final = (0.5, 1.25)
"""What the axis always shows, so that a small difference looks small."""
ROOM: Final = 1.05
TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    *(0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
FAR_TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
FAR: Final = 4
"""An axis to so many times its beginning has fewer ticks: a phone has no room."""
SYMBOLS: Final[dict[Kind, str]] = {
    "unit": "square",
    "single": "square-open",
    "pooled": "diamond",
    "predicted": "line-ns",
}


@dataclass(frozen=True)
class ForestMark:
    """A ratio in a row of its own; its interval may be missing.

    ``weight`` is its share of the pool, which its size shows.
    """

    name: str
    ratio: float
    low: float | None
    high: float | None
    weight: float
    kind: Kind
    ratio_text: str
    interval_text: str
    is_weighed: bool = False
    is_faint: bool = False
    """Of a pool of so few machines that it is indicative."""

    @property
    def numbers(self) -> str:
        """What stands beside its row on paper: ratio, interval, share of the pool."""
        interval = f" ({self.interval_text})" if self.interval_text != NONE else ""
        share = ""
        if self.kind in ("unit", "single") and self.is_weighed:
            share = f"  {figures.percent(self.weight)}"
        return f"{self.ratio_text}{interval}{share}"


def forest_marks(record: Record) -> list[ForestMark]:
    """Return the rows of a question's plot: machines, their pool, those of single runs.

    Of each kind the heaviest, in their own order.
    """
    marks = []
    for is_hollow, name in ((False, "pool"), (True, "single_runs")):
        own = [it for it in record["units"] if it["is_single_run"] == is_hollow]
        places = sorted(range(len(own)), key=lambda place: -own[place]["weight"])
        marks += [_unit_mark(own[place]) for place in sorted(places[:MOST_MACHINES])]
        marks += _pool_marks(record[name], is_hollow=is_hollow)
    return marks


def _unit_mark(unit: Record) -> ForestMark:
    low, high = unit["interval"] or (None, None)
    lab, year = unit["lab"], unit["year"]
    return ForestMark(
        name=", ".join(filter(None, (lab, year))),
        ratio=unit["ratio"],
        low=low,
        high=high,
        weight=unit["weight"],
        kind="single" if unit["is_single_run"] else "unit",
        ratio_text=figures.ratio(unit["ratio"], unit["interval"]),
        interval_text=evidence.pooled_interval(unit["interval"]),
        is_weighed=unit["is_pooled"],
    )


def _pool_marks(pool: Record, *, is_hollow: bool) -> list[ForestMark]:
    if pool["mean"] is None or pool["interval"] is None or pool["predicted"] is None:
        return []
    is_faint = pool["machines"] < FEWEST_RANKED
    mean, another = (
        (_("single runs pooled"), _("another lab's single runs"))
        if is_hollow
        else (_("pooled, indicative") if is_faint else _("pooled"), _("another lab"))
    )
    rows: tuple[tuple[str, Kind, Sequence[float]], ...] = (
        (mean, "pooled", pool["interval"]),
        (another, "predicted", pool["predicted"]),
    )
    return [
        ForestMark(
            name=name,
            ratio=pool["mean"],
            low=ends[0],
            high=ends[1],
            weight=1.0,
            kind=kind,
            ratio_text=figures.ratio(pool["mean"], pool["interval"]),
            interval_text=evidence.pooled_interval(ends),
            is_faint=is_faint,
        )
        for name, kind, ends in rows
    ]


def forest_chart(marks: Sequence[ForestMark], *, axis_title: str) -> Chart:
    """Return ratios on a logarithmic axis with native speed, one row each."""
    ends = [end for mark in marks for end in (mark.low, mark.high, mark.ratio) if end]
    low, high = min(*ends, WIDEST[0]) / ROOM, max(*ends, WIDEST[1]) * ROOM
    heaviest = max(mark.weight for mark in marks if mark.kind != "predicted")
    ticks = FAR_TICKS if high > FAR * low else TICKS
    panel = Panel(
        x=Axis(
            title=axis_title,
            scale="log",
            ends=(low, high),
            ticks=tuple((at, figures.number(at)) for at in ticks if low <= at <= high),
        ),
        y=row_axis([mark.name for mark in marks]),
        beside=tuple(mark.numbers for mark in marks),
        series=tuple(_points(row, mark, heaviest) for row, mark in enumerate(marks)),
        rules=(Rule(at=1, axis="x", ends=(-0.5, len(marks) - 0.5), is_above=True),),
    )
    height = FRAME_PX + row_px(panel.y, ROW_PX) * len(marks)
    return Chart(
        panels=(panel,),
        height=height,
        has_legend=False,
        has_outlines=False,
    )


def _points(row: int, mark: ForestMark, heaviest: float) -> Points:
    is_pool = mark.kind in ("pooled", "predicted")
    # A mark without an interval has no bar, not one of no length.
    low, high = ([], []) if mark.low is None else ([mark.low], [mark.high])
    share = mark.weight / heaviest if heaviest else 1.0
    size = SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * share**0.5
    return Points(
        x=[mark.ratio],
        y=[row],
        low=low,
        high=high,
        along="x",
        interval_width=4 if mark.kind == "predicted" else 1.5,
        colour="ink" if is_pool else "series-1",
        symbol=SYMBOLS[mark.kind],
        opacity=FAINT if mark.is_faint else 1,
        size=LARGEST_PX if is_pool else size,
        texts=[f"{mark.name}: {mark.ratio_text} ({mark.interval_text})"],
    )
