"""A cell's charts: strip, run order, histogram, ECDF. PURE."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from benchmarks.analysis.intervals import MeanInterval
from benchmarks.analysis.speeds import MIN_RUNS
from dashboard.charts.chart import (
    STROKE,
    Axis,
    Bars,
    Box,
    Chart,
    Note,
    Numbers,
    Panel,
    Points,
    Reading,
    Rule,
    Stroke,
    symbol_at,
)
from dashboard.kit.figures import brief, number

SPEED_COLOURS: Final = ("series-4", "series-3")
# Sizes of marks; where a side has MANY points they are drawn smaller.
LARGE, MIDDLE, SMALL, RING = 9, 6, 4, 17
MANY: Final = 40
MOST_TEXTS: Final = 1_000  # of samples that are told one by one
MOST_LINES: Final = 60  # between runs: more would hide the points

STRIP_PX, STRIP_FRAME_PX = 130, 90
SPREAD: Final = 0.5  # the share of a row over which its runs are spread
MEAN_AT: Final = 0.4

ORDER_PX, ORDER_FRAME_PX, ORDER_GAP = 230, 90, 0.14

HISTOGRAM_PX, HISTOGRAM_FRAME_PX, HISTOGRAM_GAP = 170, 100, 0.08
FEWEST_BINS, MOST_BINS = 8, 40
# Of two labels nearer than this part of the axis one stands beside its line.
NEAR: Final = 0.35

ECDF_PX: Final = 340
QUANTILES: Final = (0, 10, 25, 50, 75, 90, 100)


@dataclass(frozen=True)
class Strand:
    """One run: its label ("run 12"), the session it belongs to, and its samples."""

    label: str
    session: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Speed:
    """One of two speeds: its label ("59 MB/s (64 %)"), centre and number of points."""

    label: str
    centre: float
    count: int


@dataclass(frozen=True)
class Side:
    """This cell, or its baseline; ``box`` needs enough runs of one speed.

    ``series`` is what the shape was found in; ``outliers`` are places in it.
    """

    name: str
    colour: str
    unit: str
    strands: tuple[Strand, ...]
    series: tuple[float, ...]
    speeds: tuple[Speed, ...] = ()
    outliers: tuple[int, ...] = ()
    period: int | None = None
    is_first_apart: bool = False
    box: tuple[float, float, float, float, float] | None = None
    mean: MeanInterval | None = None
    mean_label: str = "mean"
    is_faint: bool = False
    is_ordered: bool = True

    @property
    def is_of_run_means(self) -> bool:
        return len(self.series) == len(self.strands)

    @property
    def has_order(self) -> bool:
        return self.is_ordered and len(self.series) > 1

    @property
    def has_iterations(self) -> bool:
        return any(len(strand.values) > 1 for strand in self.strands)

    def ends(self) -> list[int]:
        """Return the number of samples up to the end of each run."""
        total, ends = 0, []
        for strand in self.strands:
            total += len(strand.values)
            ends.append(total)
        return ends

    def places(self) -> list[float]:
        """Return where each point stands in the sequence of samples, from 1."""
        if not self.is_of_run_means:
            return [float(place) for place in range(1, len(self.series) + 1)]
        ends = self.ends()
        return [
            (first + 1 + last) / 2
            for first, last in zip([0, *ends[:-1]], ends, strict=True)
        ]

    def speed_of(self) -> list[int]:
        """Return to which speed each point belongs; all to 0 where there is but one."""
        if len(self.speeds) < 2:
            return [0] * len(self.series)
        # Speeds do not overlap: the lower one has the lowest points.
        ranked = sorted(range(len(self.series)), key=self.series.__getitem__)
        lower = set(ranked[: self.speeds[0].count])
        return [0 if place in lower else 1 for place in range(len(self.series))]

    def speed_colours(self) -> tuple[str, ...]:
        """Return the colour of each speed; the side's own where there is but one."""
        return SPEED_COLOURS if len(self.speeds) > 1 else (self.colour,)

    def texts(self) -> list[str]:
        """Return the hover text of each point."""
        if not self.is_of_run_means:
            return self.sample_texts()
        points = zip(self.strands, self.series, strict=True)
        return [self.text(strand.label, value) for strand, value in points]

    def sample_texts(self) -> list[str]:
        """Return the hover text of each sample, run by run."""
        return [
            self.text(
                f"{strand.label}, {place}" if len(strand.values) > 1 else strand.label,
                value,
            )
            for strand in self.strands
            for place, value in enumerate(strand.values, start=1)
        ]

    def text(self, name: str, value: float) -> str:
        return f"{name}: {brief(value)} {self.unit}".rstrip()


@dataclass(frozen=True)
class Bins:
    """Equal bins over both sides: their edges, and each side's number in each."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


def strip(sides: Sequence[Side], axis_title: str) -> Chart | None:
    """Return every sample as a dot, one line a run, with box and mean of each side."""
    series = tuple(
        marks
        for row, side in enumerate(sides)
        if side.strands
        for marks in _strip_of(side, row)
    )
    rows = Axis(
        scale="category",
        ends=(len(sides) - 0.45, -0.55),
        ticks=tuple((row, side.name) for row, side in enumerate(sides)),
        has_grid=False,
    )
    panel = Panel(x=Axis(title=axis_title), y=rows, series=series)
    return _chart([panel], STRIP_FRAME_PX + STRIP_PX * len(sides))


def _strip_of(side: Side, row: int) -> Iterator[Points | Box]:
    if side.box is not None:
        yield Box(row, *side.box)
    if len(side.speeds) > 1:  # a tall line each, where no box may stand
        yield Points(
            x=[speed.centre for speed in side.speeds],
            y=[row for _speed in side.speeds],
            colour=side.speed_colours(),
            symbol=STROKE,
            size=80,
            texts=[speed.label for speed in side.speeds],
        )

    most = len(side.strands) - 1
    lanes = [  # the height of each run's line, the first one on top
        row + (SPREAD * (run / most - 0.5) if most else 0.0) for run in range(most + 1)
    ]
    heights = [
        lane
        for strand, lane in zip(side.strands, lanes, strict=True)
        for _value in strand.values
    ]
    texts, reading = _sample_hover(side, "x")
    yield Points(
        x=[value for strand in side.strands for value in strand.values],
        y=heights,
        colour=side.colour,
        symbol=tuple(
            symbol_at(run if side.has_iterations else 0)
            for run, strand in enumerate(side.strands)
            for _value in strand.values
        ),
        size=_size(len(heights)),
        opacity=0.8,
        texts=texts,
        reading=reading,
    )
    if side.outliers:
        points = lanes if side.is_of_run_means else heights
        yield _rings(
            side,
            x=[side.series[place] for place in side.outliers],
            y=[points[place] for place in side.outliers],
        )
    if side.mean is not None:
        yield Points(
            x=[side.mean.mean],
            y=[row + MEAN_AT],
            low=[side.mean.low],
            high=[side.mean.high],
            along="x",
            interval_width=2,
            symbol="diamond",
            size=LARGE + 2,
            opacity=0.45 if side.is_faint else 1,
            texts=[side.text(side.mean_label, side.mean.mean)],
        )


def order(
    sides: Sequence[Side], axis_title: str, place_title: str, first_run: str
) -> Chart | None:
    """Return the values in the order they were measured, one panel a side."""
    panels = [
        Panel(
            x=Axis(title=f"{side.name}: {place_title}", has_grid=False),
            y=Axis(title=axis_title),
            series=tuple(_order_of(side)),
            rules=tuple(_parting_lines(side)),
            notes=tuple(_order_notes(side, first_run)),
        )
        for side in sides
        if side.has_order
    ]
    return _chart(panels, ORDER_FRAME_PX + ORDER_PX * len(panels), gap=ORDER_GAP)


def _order_of(side: Side) -> Iterator[Points]:
    """Yield the samples behind run means, the path, its points, and outliers' rings."""
    places, all_texts = side.places(), side.texts()
    if side.is_of_run_means and side.has_iterations:
        values = [value for strand in side.strands for value in strand.values]
        texts, reading = _sample_hover(side, "y")
        yield Points(
            x=range(1, len(values) + 1),
            y=values,
            colour=side.colour,
            symbol="circle",
            size=SMALL,
            opacity=0.5,
            texts=texts,
            reading=reading,
            is_listed=False,
        )
    path = Stroke(width=1.5, colour="line-strong")
    yield Points(x=places, y=side.series, line=path, is_listed=False)
    has_speeds, speeds = len(side.speeds) > 1, side.speed_of()
    for speed, colour in enumerate(side.speed_colours()):
        points = [point for point, own in enumerate(speeds) if own == speed]
        yield Points(
            name=side.speeds[speed].label if has_speeds else side.name,
            x=[places[point] for point in points],
            y=[side.series[point] for point in points],
            colour=colour,
            symbol=tuple(symbol_at(point % (side.period or 1)) for point in points),
            size=_size(len(side.series)),
            texts=[all_texts[point] for point in points],
            is_listed=has_speeds,
        )
    if side.outliers:
        yield _rings(
            side,
            x=[places[point] for point in side.outliers],
            y=[side.series[point] for point in side.outliers],
        )


def _parting_lines(side: Side) -> Iterator[Rule]:
    ends = side.ends()
    parts = list(zip(pairwise(side.strands), ends[:-1], strict=True))
    shows_runs = side.has_iterations and len(parts) < MOST_LINES
    for (before, after), end in parts:
        if before.session != after.session:
            look = Stroke(width=1, colour="ink-2", dash="dash")
        elif shows_runs:
            look = Stroke(width=1, colour="line")
        else:
            continue
        yield Rule(at=end + 0.5, axis="x", stroke=look)


def _order_notes(side: Side, first_run: str) -> list[Note]:
    starts = [0, *side.ends()[:-1]]
    before: list[str | None] = [None, *(strand.session for strand in side.strands)]
    notes = [
        Note(text=strand.session, x=start + 0.5, anchor="left")
        for strand, start, previous in zip(side.strands, starts, before, strict=False)
        if strand.session != previous
    ]
    if len(notes) == 1:
        notes = []
    if side.is_first_apart:
        notes.append(Note(text=first_run, x=side.places()[0], anchor="left"))
    return notes


def histogram(sides: Sequence[Side], axis_title: str, count_title: str) -> Chart | None:
    """Return how many points lie where, one panel a side, speeds in their colours."""
    drawn = described(sides)
    if not drawn:
        return None
    edges = bins_of(drawn).edges
    ticks = tuple((tick, "") for tick in round_numbers(edges[0], edges[-1]))
    centre = Stroke(width=1, colour="ink", dash="dash")
    panels = [
        Panel(
            x=Axis(title=axis_title, ticks=ticks),
            y=Axis(title=f"{side.name}, {count_title}", is_from_zero=True),
            series=tuple(_bars(side, edges)),
            rules=tuple(
                Rule(at=speed.centre, axis="x", stroke=centre, is_above=True)
                for speed in side.speeds
            ),
            notes=tuple(_speed_labels(side, edges[0], edges[-1])),
        )
        for side in drawn
    ]
    height = HISTOGRAM_FRAME_PX + HISTOGRAM_PX * len(drawn)
    return _chart(panels, height, gap=HISTOGRAM_GAP, bars="stack", shares_x=True)


def described(sides: Sequence[Side]) -> list[Side]:
    """Return the sides that have runs, and points, enough for a distribution."""
    return [
        side for side in sides if len(side.strands) > 1 and len(side.series) >= MIN_RUNS
    ]


def bins_of(sides: Sequence[Side]) -> Bins:
    """Return equal bins over all sides, 2 IQR / n^(1/3) of the narrowest.

    Freedman and Diaconis (1981).
    """
    values = np.concatenate([side.series for side in sides])
    quartiles = (np.percentile(side.series, [25, 75]) for side in sides)
    widths = (
        2 * (q3 - q1) / np.cbrt(len(side.series))
        for side, (q1, q3) in zip(sides, quartiles, strict=True)
    )
    # Of a side whose quartiles are alike the rule knows no width.
    finest = min(filter(None, widths), default=np.inf)
    wanted = np.clip(np.ptp(values) / finest, FEWEST_BINS, MOST_BINS)
    edges = np.histogram_bin_edges(values, bins=int(np.ceil(wanted)))
    counts = tuple(
        tuple(np.histogram(side.series, edges)[0].tolist()) for side in sides
    )
    return Bins(tuple(edges.tolist()), counts)


def round_numbers(low: float, high: float) -> list[float]:
    """Return some 5 round numbers from low to high; Plotly would label each bar."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = np.ceil(low / step), np.floor(high / step)
    # Without the noise of the product: 0.3, not 0.30000000000000004.
    return [float(f"{count * step:.12g}") for count in np.arange(first, last + 1)]


def _bars(side: Side, edges: Sequence[float]) -> Iterator[Bars]:
    values, speeds = np.array(side.series), np.array(side.speed_of())
    bins = list(pairwise(edges))
    for speed, colour in enumerate(side.speed_colours()):
        counts = np.histogram(values[speeds == speed], edges)[0].tolist()
        yield Bars(
            name=side.speeds[speed].label if len(side.speeds) > 1 else side.name,
            places=[(low + high) / 2 for low, high in bins],
            widths=[high - low for low, high in bins],
            values=counts,
            colour=colour,
            is_upright=True,
            texts=[
                f"{spanned(*ends)}: {count}" if count else ""
                for ends, count in zip(bins, counts, strict=True)
            ],
            is_listed=False,
        )


def spanned(low: float, high: float) -> str:
    """Return the ends of a bin as a text."""
    return f"{brief(low)} \N{EN DASH} {brief(high)}"


def _speed_labels(side: Side, low: float, high: float) -> list[Note]:
    """Return the label of each speed above its bars, or beside where they are near."""
    beside: list[Literal["", "left", "right"]] = ["" for _speed in side.speeds]
    if len(side.speeds) > 1:
        lower, upper = ((speed.centre - low) / (high - low) for speed in side.speeds)
        if upper - lower < NEAR:
            is_right = upper < 1 - NEAR
            beside = ["", "right"] if is_right else ["left", ""]
    return [
        Note(text=speed.label, x=speed.centre, beside=place)
        for speed, place in zip(side.speeds, beside, strict=True)
    ]


def ecdf(sides: Sequence[Side], axis_title: str, share_title: str) -> Chart | None:
    """Return which share of the points is at most as large as each value."""
    series = []
    for line, side in enumerate(described(sides)):
        values = sorted(side.series)
        shares = [100 * (rank + 1) / len(values) for rank in range(len(values))]
        texts = [
            side.text(f"{side.name}, {number(share, '.0f')} %", value)
            for share, value in zip(shares, values, strict=True)
        ]
        series.append(
            Points(
                name=side.name,
                x=[values[0], *values],
                y=[0.0, *shares],
                colour=side.colour,
                symbol="circle",
                size=5,
                line=Stroke(dash="dash" if line % 2 else "", is_stepped=True),
                texts=["", *texts],
            )
        )
    panel = Panel(
        x=Axis(title=axis_title),
        y=Axis(title=share_title, ends=(-2, 102), suffix=" %"),
        series=tuple(series),
    )
    return _chart([panel], ECDF_PX)


def quantiles(side: Side) -> list[float]:
    """Return a side's quantiles, interpolated (Hyndman and Fan's type 7)."""
    values: list[float] = np.percentile(side.series, QUANTILES).tolist()
    return values


def _rings(side: Side, *, x: Numbers, y: Numbers) -> Points:
    return Points(
        name=side.name,
        x=x,
        y=y,
        colour="bad",
        symbol="circle-open",
        size=RING,
        is_listed=False,
    )


def _size(count: int) -> int:
    return MIDDLE if count > MANY else LARGE


def _sample_hover(
    side: Side, axis: Literal["x", "y"]
) -> tuple[list[str], Reading | None]:
    """Return what each sample tells; of very many, its value and unit alone."""
    if side.ends()[-1] > MOST_TEXTS:
        return [], Reading(axis, unit=side.unit)
    return side.sample_texts(), None


def _chart(
    panels: Sequence[Panel],
    height: int,
    *,
    gap: float = 0,
    bars: Literal["", "stack"] = "",
    shares_x: bool = False,
) -> Chart | None:
    """Return a chart whose marks name their colours; None: there is nothing to draw."""
    chart = Chart(
        panels=tuple(panels),
        height=height,
        bars=bars,
        legend="above",
        has_outlines=False,
        names_above=False,
        gap=gap,
        shares_x=shares_x,
    )
    if not any(chart.series):
        return None
    has_legend = any(
        not isinstance(marks, Box) and marks.name and marks.is_listed
        for marks in chart.series
    )
    return replace(chart, has_legend=has_legend)
