"""Charts of a cell: strip plot, run order, histogram and ECDF. PURE."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.intervals import MeanInterval
from dashboard.charts.chart import (
    VERTICAL_STROKE,
    Bars,
    Box,
    Chart,
    ChartAxis,
    ChartNote,
    HoverValue,
    LineStyle,
    Numbers,
    Panel,
    Points,
    ReferenceLine,
    series_symbol,
)
from dashboard.kit.formatting import (
    measurement,
    percent,
    with_percent_sign,
    with_unit,
)

MODE_COLORS: Final = ("series-4", "series-3")
MARKER_PX, MEAN_MARKER_PX, SMALL_MARKER_PX, OUTLIER_RING_PX = 9, 6, 4, 17
SMALL_MARKERS_FROM: Final = 40
MAX_HOVER_TEXTS: Final = 1_000
"""If there are more samples, all have the same hover template."""
MAX_PARTING_LINES: Final = 60
"""More lines between runs would hide the points."""

STRIP_PX, STRIP_FRAME_PX = 130, 90
ROW_SPREAD: Final = 0.5  # fraction of a row's height
MEAN_OFFSET: Final = 0.4

ORDER_PX, ORDER_FRAME_PX, ORDER_GAP = 230, 90, 0.14

HISTOGRAM_PX, HISTOGRAM_FRAME_PX, HISTOGRAM_GAP = 170, 100, 0.08
MIN_BINS, MAX_BINS = 8, 40
NEAR_LABELS_SHARE: Final = 0.35
"""If two labels are closer (as a fraction of the axis), one is next to its line."""

ECDF_PX: Final = 340
QUANTILES: Final = (0, 10, 25, 50, 75, 90, 100)


@dataclass(frozen=True)
class ChartRun:
    label: str
    session: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class SpeedMode:
    """One of two modes, with its label: "59 MB/s (64%)"."""

    label: str
    center: float
    count: int


@dataclass(frozen=True)
class SampleSeries:
    """The samples of a cell or of its baseline.

    ``values`` are run means or, for few runs, samples; ``outliers`` are indexes in
    them. ``period`` is the length of a pattern in the run order. ``box`` (minimum,
    quartiles, maximum) is None for few runs and for two modes.
    """

    name: str
    color: str
    unit: str
    runs: tuple[ChartRun, ...]
    values: tuple[float, ...]
    speeds: tuple[SpeedMode, ...] = ()
    outliers: tuple[int, ...] = ()
    period: int | None = None
    has_separate_first: bool = False
    box: tuple[float, float, float, float, float] | None = None
    mean: MeanInterval | None = None
    mean_label: str = "mean"
    is_faint: bool = False
    is_ordered: bool = True

    @property
    def is_of_run_means(self) -> bool:
        return len(self.values) == len(self.runs)

    @property
    def has_order(self) -> bool:
        return self.is_ordered and len(self.values) > 1

    @property
    def has_iterations(self) -> bool:
        return any(len(run.values) > 1 for run in self.runs)

    def run_end_positions(self) -> list[int]:
        total, ends = 0, []
        for run in self.runs:
            total += len(run.values)
            ends.append(total)
        return ends

    def sample_positions(self) -> list[float]:
        """Return each value's position; a run mean is in the middle of its samples."""
        if not self.is_of_run_means:
            return [float(position) for position in range(1, len(self.values) + 1)]
        ends = self.run_end_positions()
        return [
            (first + 1 + last) / 2
            for first, last in zip([0, *ends[:-1]], ends, strict=True)
        ]

    def mode_indexes(self) -> list[int]:
        if len(self.speeds) < 2:
            return [0] * len(self.values)
        # Modes do not overlap, so the lowest values belong to the lower mode.
        ranked = sorted(range(len(self.values)), key=self.values.__getitem__)
        lower = set(ranked[: self.speeds[0].count])
        return [0 if index in lower else 1 for index in range(len(self.values))]

    def mode_colors(self) -> tuple[str, ...]:
        return MODE_COLORS if len(self.speeds) > 1 else (self.color,)

    def hover_texts(self) -> list[str]:
        if not self.is_of_run_means:
            return self.sample_texts()
        points = zip(self.runs, self.values, strict=True)
        return [self.text(run.label, value) for run, value in points]

    def sample_texts(self) -> list[str]:
        return [
            self.text(
                f"{run.label}, {position}" if len(run.values) > 1 else run.label,
                value,
            )
            for run in self.runs
            for position, value in enumerate(run.values, start=1)
        ]

    def text(self, name: str, value: float) -> str:
        return f"{name}: {with_unit(measurement(value), self.unit)}"


@dataclass(frozen=True)
class Bins:
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


def strip_plot(sides: Sequence[SampleSeries], axis_title: str) -> Chart | None:
    """Return samples as dots, a line of dots per run, with a box and mean per side."""
    series = tuple(
        marks
        for row, side in enumerate(sides)
        if side.runs
        for marks in _strip_points(side, row)
    )
    rows = ChartAxis(
        scale="category",
        limits=(len(sides) - 0.45, -0.55),
        ticks=tuple((row, side.name) for row, side in enumerate(sides)),
        has_grid=False,
    )
    panel = Panel(x=ChartAxis(title=axis_title), y=rows, series=series)
    return _chart([panel], STRIP_FRAME_PX + STRIP_PX * len(sides))


def _strip_points(side: SampleSeries, row: int) -> Iterator[Points | Box]:
    if side.box is not None:
        yield Box(row, *side.box)
    if len(side.speeds) > 1:
        yield Points(
            x=[speed.center for speed in side.speeds],
            y=[row for _speed in side.speeds],
            color=side.mode_colors(),
            symbol=VERTICAL_STROKE,
            size=80,
            hover_texts=[speed.label for speed in side.speeds],
        )

    last = len(side.runs) - 1
    lanes = [
        row + (ROW_SPREAD * (index / last - 0.5) if last else 0.0)
        for index in range(last + 1)
    ]
    heights = [
        lane
        for run, lane in zip(side.runs, lanes, strict=True)
        for _value in run.values
    ]
    texts, hover_value = _sample_hover(side, "x")
    yield Points(
        x=[value for run in side.runs for value in run.values],
        y=heights,
        color=side.color,
        symbol=tuple(
            series_symbol(index if side.has_iterations else 0)
            for index, run in enumerate(side.runs)
            for _value in run.values
        ),
        size=_size(len(heights)),
        opacity=0.8,
        hover_texts=texts,
        hover_value=hover_value,
    )
    if side.outliers:
        points = lanes if side.is_of_run_means else heights
        yield _rings(
            side,
            x=[side.values[index] for index in side.outliers],
            y=[points[index] for index in side.outliers],
        )
    if side.mean is not None:
        yield Points(
            x=[side.mean.mean],
            y=[row + MEAN_OFFSET],
            low=[side.mean.low],
            high=[side.mean.high],
            interval_axis="x",
            interval_width=2,
            symbol="diamond",
            size=MARKER_PX + 2,
            opacity=0.45 if side.is_faint else 1,
            hover_texts=[side.text(side.mean_label, side.mean.mean)],
        )


def run_order_plot(
    sides: Sequence[SampleSeries], axis_title: str, position_title: str, first_run: str
) -> Chart | None:
    panels = [
        Panel(
            x=ChartAxis(title=f"{side.name}: {position_title}", has_grid=False),
            y=ChartAxis(title=axis_title),
            series=tuple(_order_points(side)),
            reference_lines=tuple(_parting_lines(side)),
            notes=tuple(_order_notes(side, first_run)),
        )
        for side in sides
        if side.has_order
    ]
    return _chart(panels, ORDER_FRAME_PX + ORDER_PX * len(panels), gap=ORDER_GAP)


def _order_points(side: SampleSeries) -> Iterator[Points]:
    positions, all_texts = side.sample_positions(), side.hover_texts()
    if side.is_of_run_means and side.has_iterations:
        values = [value for run in side.runs for value in run.values]
        texts, hover_value = _sample_hover(side, "y")
        yield Points(
            x=range(1, len(values) + 1),
            y=values,
            color=side.color,
            symbol="circle",
            size=SMALL_MARKER_PX,
            opacity=0.5,
            hover_texts=texts,
            hover_value=hover_value,
            is_in_legend=False,
        )
    path = LineStyle(width=1.5, color="line-strong")
    yield Points(x=positions, y=side.values, line=path, is_in_legend=False)
    has_speeds, speeds = len(side.speeds) > 1, side.mode_indexes()
    for speed, color in enumerate(side.mode_colors()):
        points = [point for point, own in enumerate(speeds) if own == speed]
        yield Points(
            name=side.speeds[speed].label if has_speeds else side.name,
            x=[positions[point] for point in points],
            y=[side.values[point] for point in points],
            color=color,
            symbol=tuple(series_symbol(point % (side.period or 1)) for point in points),
            size=_size(len(side.values)),
            hover_texts=[all_texts[point] for point in points],
            is_in_legend=has_speeds,
        )
    if side.outliers:
        yield _rings(
            side,
            x=[positions[point] for point in side.outliers],
            y=[side.values[point] for point in side.outliers],
        )


def _parting_lines(side: SampleSeries) -> Iterator[ReferenceLine]:
    ends = side.run_end_positions()
    parts = list(zip(pairwise(side.runs), ends[:-1], strict=True))
    shows_runs = side.has_iterations and len(parts) < MAX_PARTING_LINES
    for (before, after), end in parts:
        if before.session != after.session:
            style = LineStyle(width=1, color="ink-2", dash="dash")
        elif shows_runs:
            style = LineStyle(width=1, color="line")
        else:
            continue
        yield ReferenceLine(value=end + 0.5, axis="x", stroke=style)


def _order_notes(side: SampleSeries, first_run: str) -> list[ChartNote]:
    starts = [0, *side.run_end_positions()[:-1]]
    before: list[str | None] = [None, *(run.session for run in side.runs)]
    notes = [
        ChartNote(text=run.session, x=start + 0.5, anchor="left")
        for run, start, previous in zip(side.runs, starts, before, strict=False)
        if run.session != previous
    ]
    if len(notes) == 1:
        notes = []
    if side.has_separate_first:
        notes.append(
            ChartNote(text=first_run, x=side.sample_positions()[0], anchor="left")
        )
    return notes


def histogram_chart(
    sides: Sequence[SampleSeries], axis_title: str, count_title: str
) -> Chart | None:
    shown_sides = with_distribution(sides)
    if not shown_sides:
        return None
    edges = shared_bins(shown_sides).edges
    ticks = tuple((tick, "") for tick in round_numbers(edges[0], edges[-1]))
    median_style = LineStyle(width=1, color="ink", dash="dash")
    panels = [
        Panel(
            x=ChartAxis(title=axis_title, ticks=ticks),
            y=ChartAxis(title=f"{side.name}, {count_title}", is_from_zero=True),
            series=tuple(_bars(side, edges)),
            reference_lines=tuple(
                ReferenceLine(
                    value=speed.center, axis="x", stroke=median_style, is_above=True
                )
                for speed in side.speeds
            ),
            notes=tuple(_speed_labels(side, edges[0], edges[-1])),
        )
        for side in shown_sides
    ]
    height = HISTOGRAM_FRAME_PX + HISTOGRAM_PX * len(shown_sides)
    return _chart(panels, height, gap=HISTOGRAM_GAP, bars="stack", shares_x=True)


def with_distribution(sides: Sequence[SampleSeries]) -> list[SampleSeries]:
    return [
        side for side in sides if len(side.runs) > 1 and len(side.values) >= MIN_RUNS
    ]


def shared_bins(sides: Sequence[SampleSeries]) -> Bins:
    """Return bins of equal width for all sides.

    The width is the smallest 2 IQR / n^(1/3) of a side (Freedman and Diaconis, 1981),
    unless this gives less than `MIN_BINS` or more than `MAX_BINS`.
    """
    values = np.concatenate([side.values for side in sides])
    quartiles = (np.percentile(side.values, [25, 75]) for side in sides)
    widths = (
        2 * (q3 - q1) / np.cbrt(len(side.values))
        for side, (q1, q3) in zip(sides, quartiles, strict=True)
    )
    # A side with equal quartiles has a width of 0, which is ignored.
    finest = min(filter(None, widths), default=np.inf)
    bin_count = np.clip(np.ptp(values) / finest, MIN_BINS, MAX_BINS)
    edges = np.histogram_bin_edges(values, bins=int(np.ceil(bin_count)))
    counts = tuple(
        tuple(np.histogram(side.values, edges)[0].tolist()) for side in sides
    )
    return Bins(tuple(edges.tolist()), counts)


def round_numbers(low: float, high: float) -> list[float]:
    """Return about 5 ticks, because Plotly would label each bar."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = np.ceil(low / step), np.floor(high / step)
    return [float(f"{count * step:.12g}") for count in np.arange(first, last + 1)]


def _bars(side: SampleSeries, edges: Sequence[float]) -> Iterator[Bars]:
    values, speeds = np.array(side.values), np.array(side.mode_indexes())
    bins = list(pairwise(edges))
    for speed, color in enumerate(side.mode_colors()):
        counts = np.histogram(values[speeds == speed], edges)[0].tolist()
        yield Bars(
            name=side.speeds[speed].label if len(side.speeds) > 1 else side.name,
            positions=[(low + high) / 2 for low, high in bins],
            widths=[high - low for low, high in bins],
            values=counts,
            color=color,
            is_upright=True,
            texts=[
                f"{bin_range_text(*ends)}: {count}" if count else ""
                for ends, count in zip(bins, counts, strict=True)
            ],
            is_in_legend=False,
        )


def bin_range_text(low: float, high: float) -> str:
    return f"{measurement(low)} \N{EN DASH} {measurement(high)}"


def _speed_labels(side: SampleSeries, low: float, high: float) -> list[ChartNote]:
    line_sides: list[Literal["", "left", "right"]] = ["" for _speed in side.speeds]
    if len(side.speeds) > 1:
        lower, upper = ((speed.center - low) / (high - low) for speed in side.speeds)
        if upper - lower < NEAR_LABELS_SHARE:
            is_right = upper < 1 - NEAR_LABELS_SHARE
            line_sides = ["", "right"] if is_right else ["left", ""]
    return [
        ChartNote(text=speed.label, x=speed.center, line_side=line_side)
        for speed, line_side in zip(side.speeds, line_sides, strict=True)
    ]


def ecdf_chart(
    sides: Sequence[SampleSeries], axis_title: str, share_title: str
) -> Chart | None:
    series = []
    for line, side in enumerate(with_distribution(sides)):
        values = sorted(side.values)
        shares = [100 * (rank + 1) / len(values) for rank in range(len(values))]
        texts = [
            side.text(f"{side.name}, {percent(fraction / 100)}", value)
            for fraction, value in zip(shares, values, strict=True)
        ]
        series.append(
            Points(
                name=side.name,
                x=[values[0], *values],
                y=[0.0, *shares],
                color=side.color,
                symbol="circle",
                size=5,
                line=LineStyle(dash="dash" if line % 2 else "", is_stepped=True),
                hover_texts=["", *texts],
            )
        )
    panel = Panel(
        x=ChartAxis(title=axis_title),
        y=ChartAxis(title=share_title, limits=(-2, 102), suffix=with_percent_sign("")),
        series=tuple(series),
    )
    return _chart([panel], ECDF_PX)


def quantiles(side: SampleSeries) -> list[float]:
    """Return a side's quantiles (Hyndman and Fan's type 7)."""
    values: list[float] = np.percentile(side.values, QUANTILES).tolist()
    return values


def _rings(side: SampleSeries, *, x: Numbers, y: Numbers) -> Points:
    return Points(
        name=side.name,
        x=x,
        y=y,
        color="bad",
        symbol="circle-open",
        size=OUTLIER_RING_PX,
        is_in_legend=False,
    )


def _size(count: int) -> int:
    return MEAN_MARKER_PX if count > SMALL_MARKERS_FROM else MARKER_PX


def _sample_hover(
    side: SampleSeries, axis: Literal["x", "y"]
) -> tuple[list[str], HoverValue | None]:
    if side.run_end_positions()[-1] > MAX_HOVER_TEXTS:
        return [], HoverValue(axis, unit=side.unit)
    return side.sample_texts(), None


def _chart(
    panels: Sequence[Panel],
    height: int,
    *,
    gap: float = 0,
    bars: Literal["", "stack"] = "",
    shares_x: bool = False,
) -> Chart | None:
    chart = Chart(
        panels=tuple(panels),
        height=height,
        bars=bars,
        legend="above",
        has_outlines=False,
        has_names_above=False,
        gap=gap,
        shares_x_axis=shares_x,
    )
    if not any(chart.series):
        return None
    has_legend = any(
        not isinstance(marks, Box) and marks.name and marks.is_in_legend
        for marks in chart.series
    )
    return replace(chart, has_legend=has_legend)
