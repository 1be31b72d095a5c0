"""A cell's charts: strip, run order, histogram, ECDF. PURE.

Sides in; Plotly figures, and the numbers behind them for a table, out. Colours are
tokens of the style sheet. Longer than most modules: four pictures of one thing, a
`Side`, that are read and changed together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from benchmarks.analysis.intervals import MeanInterval
from benchmarks.analysis.shape import MIN_RUNS
from dashboard.charts.chart import SYMBOLS
from dashboard.charts.plotly import plain
from dashboard.kit.figures import brief, number

Figure: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]

SPEED_TOKENS: Final = ("--series-4", "--series-3")
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
NEAR, BESIDE_PX = 0.35, 10

DASHES: Final = ("solid", "dash")
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
    """This cell, or its baseline.

    ``series`` is what the shape was found in: run means, or the iterations of few
    runs; ``outliers`` are places in it. ``box`` is smallest, quartiles and largest of
    the run means; none for too few, or for two speeds.
    """

    name: str
    token: str
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

    @property
    def is_of_run_means(self) -> bool:
        """Whether each point of the series is a run."""
        return len(self.series) == len(self.strands)

    @property
    def has_iterations(self) -> bool:
        """Whether a run has more than one sample."""
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
        ranked = sorted(range(len(self.series)), key=self.series.__getitem__)
        lower = set(ranked[: self.speeds[0].count])
        return [0 if place in lower else 1 for place in range(len(self.series))]

    def speed_tokens(self) -> tuple[str, ...]:
        """Return the colour of each speed; the side's own where there is but one."""
        return SPEED_TOKENS if len(self.speeds) > 1 else (self.token,)

    def texts(self) -> list[str]:
        """Return what hovering over each point tells."""
        if not self.is_of_run_means:
            return self.sample_texts()
        points = zip(self.strands, self.series, strict=True)
        return [self.text(strand.label, value) for strand, value in points]

    def sample_texts(self) -> list[str]:
        """Return what hovering over each sample tells, run by run."""
        return [
            self.text(
                f"{strand.label}, {place}" if len(strand.values) > 1 else strand.label,
                value,
            )
            for strand in self.strands
            for place, value in enumerate(strand.values, start=1)
        ]

    def text(self, name: str, value: float) -> str:
        """Return a value under its name."""
        return plain(f"{name}: {brief(value)} {self.unit}".rstrip())


def strip(sides: Sequence[Side], axis_title: str) -> Figure | None:
    """Return every sample as a dot, one line a run, with box and mean of each side."""
    data = [
        trace
        for row, side in enumerate(sides)
        if side.strands
        for trace in _strip_of(side, row)
    ]
    yaxis = _axis(
        range=[len(sides) - 0.45, -0.55],
        tickvals=list(range(len(sides))),
        ticktext=[plain(side.name) for side in sides],
        automargin=True,
        showgrid=False,
    )
    height = STRIP_FRAME_PX + STRIP_PX * len(sides)
    return _figure(data, height, xaxis=_axis(axis_title), yaxis=yaxis)


def _strip_of(side: Side, row: int) -> Iterator[Trace]:
    """Yield what stands in the row of one side, the lowest layer first."""
    if side.box is not None:
        low, q1, median, q3, high = side.box
        yield {
            "type": "box",
            "orientation": "h",
            "y": [row],
            "q1": [q1],
            "median": [median],
            "q3": [q3],
            "lowerfence": [low],
            "upperfence": [high],
            "width": 0.62,
            "line": {"color": "--line-strong", "width": 1.5},
            "fillcolor": "--sunken",
            "hoverinfo": "skip",
        }
    if len(side.speeds) > 1:  # a tall line each, where no box may stand
        line = {"width": 3, "color": list(side.speed_tokens())}
        yield _points(
            [speed.centre for speed in side.speeds],
            [row for _speed in side.speeds],
            marker={"symbol": "line-ns", "size": 80, "line": line},
            **_hovering([plain(speed.label) for speed in side.speeds]),
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
    symbols = [
        SYMBOLS[run % len(SYMBOLS)] if side.has_iterations else "circle"
        for run, strand in enumerate(side.strands)
        for _value in strand.values
    ]
    yield _points(
        [value for strand in side.strands for value in strand.values],
        heights,
        marker={
            "symbol": symbols,
            "size": _size(len(heights)),
            "color": side.token,
            "opacity": 0.8,
        },
        **_sample_hover(side, "x"),
    )
    if side.outliers:
        points = lanes if side.is_of_run_means else heights
        yield _rings(
            side,
            x=[side.series[place] for place in side.outliers],
            y=[points[place] for place in side.outliers],
        )
    if side.mean is not None:
        yield _mean(side, side.mean, row + MEAN_AT)


def _mean(side: Side, mean: MeanInterval, height: float) -> Trace:
    return _points(
        [mean.mean],
        [height],
        opacity=0.45 if side.is_faint else 1,
        marker={"symbol": "diamond", "size": LARGE + 2, "color": "--ink"},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [mean.high - mean.mean],
            "arrayminus": [mean.mean - mean.low],
            "color": "--ink",
            "thickness": 2,
            "width": 6,
        },
        meta={"what": "mean"},
        **_hovering([side.text(side.mean_label, mean.mean)]),
    )


def order(
    sides: Sequence[Side], axis_title: str, place_title: str, first_run: str
) -> Figure | None:
    """Return the values in the order they were measured, one panel a side.

    A period gives its positions marks of their own; sessions, and runs of several
    samples, are parted by lines; a first run that differs is named ``first_run``.
    """
    drawn = [side for side in sides if len(side.series) > 1]
    data, layout = [], {}
    lines: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for panel, (side, domain) in enumerate(_panels(drawn, ORDER_GAP)):
        suffix = str(panel + 1) if panel else ""
        layout[f"yaxis{suffix}"] = _axis(axis_title, domain=domain)
        layout[f"xaxis{suffix}"] = _axis(
            f"{side.name}: {place_title}", anchor=f"y{suffix}", showgrid=False
        )
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        within = {"xref": f"x{suffix}", "yref": f"y{suffix} domain"}
        data += [trace | axes for trace in _order_of(side)]
        lines += [line | within for line in _parting_lines(side)]
        notes += [note | within for note in _order_notes(side, first_run)]
    height = ORDER_FRAME_PX + ORDER_PX * len(drawn)
    return _figure(data, height, **layout, shapes=lines, annotations=notes)


def _order_of(side: Side) -> Iterator[Trace]:
    """Yield the samples behind run means, the path, its points, and outliers' rings."""
    places, texts = side.places(), side.texts()
    if side.is_of_run_means and side.has_iterations:
        values = [value for strand in side.strands for value in strand.values]
        yield _points(
            list(range(1, len(values) + 1)),
            values,
            marker={"size": SMALL, "color": side.token, "opacity": 0.5},
            showlegend=False,
            **_sample_hover(side, "y"),
        )
    yield {
        "type": "scatter",
        "mode": "lines",
        "x": places,
        "y": list(side.series),
        "line": {"color": "--line-strong", "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    has_speeds, speeds = len(side.speeds) > 1, side.speed_of()
    for speed, token in enumerate(side.speed_tokens()):
        members = [at for at, belongs_to in enumerate(speeds) if belongs_to == speed]
        yield _points(
            [places[at] for at in members],
            [side.series[at] for at in members],
            name=plain(side.speeds[speed].label if has_speeds else side.name),
            showlegend=has_speeds,
            marker={
                "symbol": [SYMBOLS[at % (side.period or 1)] for at in members],
                "size": _size(len(side.series)),
                "color": token,
            },
            **_hovering([texts[at] for at in members]),
        )
    if side.outliers:
        yield _rings(
            side,
            x=[places[at] for at in side.outliers],
            y=[side.series[at] for at in side.outliers],
            showlegend=False,
        )


def _parting_lines(side: Side) -> Iterator[dict[str, Any]]:
    """Yield lines between sessions, and between runs of several samples."""
    ends = side.ends()
    parts = list(zip(pairwise(side.strands), ends[:-1], strict=True))
    shows_runs = side.has_iterations and len(parts) < MOST_LINES
    for (before, after), end in parts:
        is_session = before.session != after.session
        if not (is_session or shows_runs):
            continue
        look = {"color": "--ink-2" if is_session else "--line", "width": 1}
        dash = {"dash": "4px,3px"} if is_session else {}
        place = {"x0": end + 0.5, "x1": end + 0.5, "y0": 0, "y1": 1}
        yield {"type": "line", "layer": "below", "line": look | dash, **place}


def _order_notes(side: Side, first_run: str) -> list[dict[str, Any]]:
    """Return the names of sessions where they begin, if there are several."""
    starts = [0, *side.ends()[:-1]]
    before: list[str | None] = [None, *(strand.session for strand in side.strands)]
    notes: list[dict[str, Any]] = [
        {"text": plain(strand.session), "x": start + 0.5}
        for strand, start, previous in zip(side.strands, starts, before, strict=False)
        if strand.session != previous
    ]
    if len(notes) == 1:
        notes = []
    if side.is_first_apart:
        notes.append({"text": plain(first_run), "x": side.places()[0]})
    look = {"y": 1, "yanchor": "bottom", "xanchor": "left", "showarrow": False}
    return [note | look for note in notes]


@dataclass(frozen=True)
class Bins:
    """Equal bins over both sides: their edges, and each side's number in each."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]


def described(sides: Sequence[Side]) -> list[Side]:
    """Return the sides that have runs, and points, enough for a distribution."""
    return [
        side for side in sides if len(side.strands) > 1 and len(side.series) >= MIN_RUNS
    ]


def bins_of(sides: Sequence[Side]) -> Bins:
    """Return equal bins over all sides, as fine as the narrowest of them needs.

    Each side's width is that of Freedman and Diaconis (1981): 2 IQR / n^(1/3).
    """
    values = np.concatenate([side.series for side in sides])
    quartiles = (np.percentile(side.series, [25, 75]) for side in sides)
    widths = (
        2 * (q3 - q1) / np.cbrt(len(side.series))
        for side, (q1, q3) in zip(sides, quartiles, strict=True)
    )
    finest = min(filter(None, widths), default=np.inf)
    wanted = np.clip(np.ptp(values) / finest, FEWEST_BINS, MOST_BINS)
    edges = np.histogram_bin_edges(values, bins=int(np.ceil(wanted)))
    counts = tuple(
        tuple(np.histogram(side.series, edges)[0].tolist()) for side in sides
    )
    return Bins(tuple(edges.tolist()), counts)


def spanned(low: float, high: float) -> str:
    """Return a bin's ends as a text."""
    return f"{brief(low)} \N{EN DASH} {brief(high)}"


def histogram(
    sides: Sequence[Side], axis_title: str, count_title: str
) -> Figure | None:
    """Return how many points lie where, one panel a side, speeds in their colours."""
    drawn = described(sides)
    if not drawn:
        return None
    edges = bins_of(drawn).edges
    ticks = round_numbers(edges[0], edges[-1])
    xaxis = _axis(axis_title, anchor="free", position=0, tickvals=ticks)
    layout: dict[str, Any] = {"xaxis": xaxis}
    data: list[Trace] = []
    notes: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for panel, (side, domain) in enumerate(_panels(drawn, HISTOGRAM_GAP)):
        suffix = str(panel + 1) if panel else ""
        layout[f"yaxis{suffix}"] = _axis(
            f"{side.name}, {count_title}", domain=domain, rangemode="tozero"
        )
        within = {"xref": "x", "yref": f"y{suffix} domain"}
        data += [bar | {"yaxis": f"y{suffix}"} for bar in _bars(side, edges)]
        notes += [note | within for note in _speed_labels(side, edges[0], edges[-1])]
        lines += [
            {
                "type": "line",
                "x0": speed.centre,
                "x1": speed.centre,
                "y0": 0,
                "y1": 1,
                "line": {"color": "--ink", "width": 1, "dash": "4px,3px"},
                **within,
            }
            for speed in side.speeds
        ]
    height = HISTOGRAM_FRAME_PX + HISTOGRAM_PX * len(drawn)
    layout |= {"barmode": "stack", "annotations": notes, "shapes": lines}
    return _figure(data, height, **layout)


def round_numbers(low: float, high: float) -> list[float]:
    """Return some 5 round numbers from low to high; Plotly would label each bar."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough)
    first, last = np.ceil(low / step), np.floor(high / step)
    return [float(f"{each * step:.12g}") for each in np.arange(first, last + 1)]


def _bars(side: Side, edges: Sequence[float]) -> Iterator[Trace]:
    values, speeds = np.array(side.series), np.array(side.speed_of())
    bins = list(pairwise(edges))
    for speed, token in enumerate(side.speed_tokens()):
        counts = np.histogram(values[speeds == speed], edges)[0].tolist()
        name = side.speeds[speed].label if len(side.speeds) > 1 else side.name
        yield {
            "type": "bar",
            "name": plain(name),
            "showlegend": False,
            "x": [(low + high) / 2 for low, high in bins],
            "y": counts,
            "width": [high - low for low, high in bins],
            "marker": {"color": token},
            "text": [
                f"{spanned(*ends)}: {count}" if count else ""
                for ends, count in zip(bins, counts, strict=True)
            ],
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
        }


def _speed_labels(side: Side, low: float, high: float) -> list[dict[str, Any]]:
    """Return the label of each speed above its bars, or beside where they are near."""
    look = {"y": 1, "yanchor": "bottom", "showarrow": False}
    labels = [
        {"text": plain(speed.label), "x": speed.centre, **look} for speed in side.speeds
    ]
    if len(labels) > 1:
        lower, upper = ((speed.centre - low) / (high - low) for speed in side.speeds)
        if upper - lower < NEAR:
            is_right = upper < 1 - NEAR
            moved, shift = (1, BESIDE_PX) if is_right else (0, -BESIDE_PX)
            anchor = "left" if is_right else "right"
            labels[moved] |= {"yanchor": "top", "xanchor": anchor, "xshift": shift}
    return labels


def ecdf(sides: Sequence[Side], axis_title: str, share_title: str) -> Figure | None:
    """Return which share of the points is at most as large as each value."""
    data = []
    for line, side in enumerate(described(sides)):
        values = sorted(side.series)
        shares = [100 * (rank + 1) / len(values) for rank in range(len(values))]
        texts = [
            side.text(f"{side.name}, {number(share, '.0f')} %", value)
            for share, value in zip(shares, values, strict=True)
        ]
        look = {"color": side.token, "width": 2, "dash": DASHES[line % len(DASHES)]}
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plain(side.name),
                "showlegend": True,
                "x": [values[0], *values],
                "y": [0.0, *shares],
                "line": {"shape": "hv", **look},
                "marker": {"size": 5, "color": side.token},
                **_hovering(["", *texts]),
            }
        )
    yaxis = _axis(share_title, range=[-2, 102], ticksuffix=" %")
    return _figure(data, 340, xaxis=_axis(axis_title), yaxis=yaxis)


def quantiles(side: Side) -> list[float]:
    """Return a side's quantiles, interpolated (Hyndman and Fan's type 7)."""
    found: list[float] = np.percentile(side.series, QUANTILES).tolist()
    return found


def _panels(
    sides: Sequence[Side], gap: float
) -> Iterator[tuple[Side, tuple[float, float]]]:
    """Yield each side with the part of the height its panel has, from the top."""
    share = (1 - gap * (len(sides) - 1)) / max(len(sides), 1)
    for panel, side in enumerate(sides):
        top = 1 - panel * (share + gap)
        yield side, (max(top - share, 0), top)


def _points(x: Sequence[float], y: Sequence[float], **more: Any) -> Trace:
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, **more}


def _rings(side: Side, *, x: Sequence[float], y: Sequence[float], **more: Any) -> Trace:
    """Return rings around outliers."""
    look = {"symbol": "circle-open", "size": RING, "color": "--bad"}
    name, meta = plain(side.name), {"what": "outliers"}
    return _points(x, y, hoverinfo="skip", marker=look, name=name, meta=meta, **more)


def _size(count: int) -> int:
    """Return the size of a mark among so many."""
    return MIDDLE if count > MANY else LARGE


def _hovering(texts: Sequence[str]) -> dict[str, Any]:
    """Return the part of a trace that shows these texts and nothing else."""
    return {"text": list(texts), "hovertemplate": "%{text}<extra></extra>"}


def _sample_hover(side: Side, value: str) -> dict[str, Any]:
    """Return what each sample tells; of very many, its value and unit alone."""
    if side.ends()[-1] > MOST_TEXTS:
        return {"hovertemplate": f"%{{{value}}} {plain(side.unit)}<extra></extra>"}
    return _hovering(side.sample_texts())


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis with a title, one that dragging does not move."""
    return {"title": {"text": plain(title)}, "fixedrange": True, **more}


def _figure(data: list[Trace], height: int, **layout: Any) -> Figure | None:
    """Return a figure whose colours are tokens; None when there is nothing to draw."""
    common = {
        "height": height,
        "hovermode": "closest",
        "meta": {"tokens": True},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "showlegend": any(trace.get("showlegend", False) for trace in data),
    }
    return {"data": data, "layout": {**common, **layout}} if data else None
