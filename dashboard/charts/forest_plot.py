"""Forest plot of machines' ratios and pooled ratios. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.utils.translation import gettext as _

from benchmarks.analysis.meta_analysis import MIN_STRONG_LABS
from benchmarks.evidence.json_records import Record
from benchmarks.evidence.synthesis import MAX_LISTED_CONFIGURATIONS
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    FAINT_OPACITY,
    Chart,
    ChartAxis,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    row_height_px,
)
from dashboard.kit import formatting
from dashboard.wording import DASH, evidence

MAX_MACHINES: Final = 40
"""Only the machines with the largest weights are drawn."""
ROW_PX: Final = 28
SMALLEST_PX: Final = 6
LARGEST_PX: Final = 16
ForestKind = Literal["unit", "single", "pooled", "predicted"]
ALWAYS_SHOWN_RANGE: Final = (0.5, 1.25)
"""The axis always includes this range, so that small differences look small."""
RANGE_MARGIN: Final = 1.05
TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    *(0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
WIDE_RANGE_TICKS: Final = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
WIDE_RANGE_FROM: Final = 4
"""Above this ratio of the axis limits, the axis has `WIDE_RANGE_TICKS`."""
FOREST_SYMBOLS: Final[dict[ForestKind, str]] = {
    "unit": "square",
    "single": "square-open",
    "pooled": "diamond",
    "predicted": "line-ns",
}


@dataclass(frozen=True)
class ForestRow:
    """Row of a forest plot; ``weight`` is a fraction of the pool's total weight."""

    name: str
    ratio: float
    low: float | None
    high: float | None
    weight: float
    kind: ForestKind
    ratio_text: str
    interval_text: str
    is_weighted: bool = False
    is_faint: bool = False
    """Whether the pool has too few labs for more than an indication."""

    @property
    def paper_texts(self) -> str:
        interval = f" ({self.interval_text})" if self.interval_text != DASH else ""
        weight = ""
        if self.kind in ("unit", "single") and self.is_weighted:
            weight = f"  {formatting.percent(self.weight)}"
        return f"{self.ratio_text}{interval}{weight}"


def forest_rows(record: Record) -> list[ForestRow]:
    """Return the rows of machines and their pool, then those of single runs."""
    rows = []
    for is_hollow, name in ((False, "pool"), (True, "single_runs")):
        units = [unit for unit in record["units"] if unit["is_single_run"] == is_hollow]
        indexes = sorted(range(len(units)), key=lambda index: -units[index]["weight"])
        for index in sorted(indexes[:MAX_MACHINES]):
            # Old reviews list no configurations.
            parts = units[index].get("configurations", ())
            is_listed = 0 < len(parts) <= MAX_LISTED_CONFIGURATIONS
            rows += [
                _unit_row({**units[index], **part})
                for part in (parts if is_listed else ({},))
            ]
        rows += _pool_rows(record[name], is_hollow=is_hollow)
    return rows


def _unit_row(unit: Record) -> ForestRow:
    low, high = unit["interval"] or (None, None)
    lab, year = unit["lab"], unit["year"]
    return ForestRow(
        name=", ".join(filter(None, (lab, year))),
        ratio=unit["ratio"],
        low=low,
        high=high,
        weight=unit["weight"],
        kind="single" if unit["is_single_run"] else "unit",
        ratio_text=formatting.ratio(unit["ratio"], unit["interval"]),
        interval_text=evidence.pooled_interval(unit["interval"]),
        is_weighted=unit["is_pooled"],
    )


def _pool_rows(pool: Record, *, is_hollow: bool) -> list[ForestRow]:
    if pool["mean"] is None or pool["interval"] is None or pool["predicted"] is None:
        return []
    is_faint = pool["labs"] < MIN_STRONG_LABS
    mean = _("pooled, indicative") if is_faint else _("pooled")
    prediction = _("another lab")
    if pool.get("is_one_lab"):
        prediction = _("another machine, same lab")
    if is_hollow:
        mean = _("pooled, single runs")
        prediction = _("%(prediction)s, single runs") % {"prediction": prediction}
    rows: tuple[tuple[str, ForestKind, Sequence[float]], ...] = (
        (mean, "pooled", pool["interval"]),
        (prediction, "predicted", pool["predicted"]),
    )
    return [
        ForestRow(
            name=name,
            ratio=pool["mean"],
            low=ends[0],
            high=ends[1],
            weight=1.0,
            kind=kind,
            ratio_text=formatting.ratio(pool["mean"], pool["interval"]),
            interval_text=evidence.pooled_interval(ends),
            is_faint=is_faint,
        )
        for name, kind, ends in rows
    ]


def forest_chart(rows: Sequence[ForestRow], *, axis_title: str) -> Chart:
    ends = [end for row in rows for end in (row.low, row.high, row.ratio) if end]
    low, high = (
        min(*ends, ALWAYS_SHOWN_RANGE[0]) / RANGE_MARGIN,
        max(*ends, ALWAYS_SHOWN_RANGE[1]) * RANGE_MARGIN,
    )
    heaviest = max(row.weight for row in rows if row.kind != "predicted")
    ticks = WIDE_RANGE_TICKS if high > WIDE_RANGE_FROM * low else TICKS
    panel = Panel(
        x=ChartAxis(
            title=axis_title,
            scale="log",
            limits=(low, high),
            ticks=tuple(
                (tick, formatting.number(tick)) for tick in ticks if low <= tick <= high
            ),
        ),
        y=row_axis([row.name for row in rows]),
        row_texts=tuple(row.paper_texts for row in rows),
        series=tuple(_points(index, row, heaviest) for index, row in enumerate(rows)),
        reference_lines=(
            ReferenceLine(
                value=1, axis="x", ends=(-0.5, len(rows) - 0.5), is_above=True
            ),
        ),
    )
    height = AXES_HEIGHT_PX + row_height_px(panel.y, ROW_PX) * len(rows)
    return Chart(
        panels=(panel,),
        height=height,
        has_legend=False,
        has_outlines=False,
    )


def _points(row_index: int, row: ForestRow, heaviest: float) -> Points:
    is_pool = row.kind in ("pooled", "predicted")
    low, high = ([], []) if row.low is None else ([row.low], [row.high])
    relative_weight = row.weight / heaviest if heaviest else 1.0
    size = SMALLEST_PX + (LARGEST_PX - SMALLEST_PX) * relative_weight**0.5
    return Points(
        x=[row.ratio],
        y=[row_index],
        low=low,
        high=high,
        interval_axis="x",
        interval_width=4 if row.kind == "predicted" else 1.5,
        color="ink" if is_pool else "series-1",
        symbol=FOREST_SYMBOLS[row.kind],
        opacity=FAINT_OPACITY if row.is_faint else 1,
        size=LARGEST_PX if is_pool else size,
        hover_texts=[f"{row.name}: {row.ratio_text} ({row.interval_text})"],
    )
