"""How the runs of a cell are distributed: histogram and ECDF. PURE.

Sides in; Plotly figures, and the numbers behind them for a table, out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from benchmarks.analysis.shape import MIN_RUNS
from dashboard.charts.figures import plain
from dashboard.kit.figures import brief, number
from dashboard.pages.cell.side import Side, axis, figure, hovering

FEWEST_BINS, MOST_BINS = 8, 40
PANEL_PX, FRAME_PX = 170, 100
GAP: Final = 0.08
# Of two labels nearer than this part of the axis one stands beside its line.
NEAR, BESIDE_PX = 0.35, 10
DASHES: Final = ("solid", "dash")
QUANTILES: Final = (0, 10, 25, 50, 75, 90, 100)


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
    """Return equal bins over all sides, as fine as the narrowest of them needs."""
    values = np.concatenate([side.series for side in sides])
    finest = min((width for side in sides if (width := _width(side))), default=np.inf)
    wanted = np.clip(np.ptp(values) / finest, FEWEST_BINS, MOST_BINS)
    edges = np.histogram_bin_edges(values, bins=int(np.ceil(wanted)))
    counts = tuple(
        tuple(np.histogram(side.series, edges)[0].tolist()) for side in sides
    )
    return Bins(tuple(edges.tolist()), counts)


def spanned(low: float, high: float) -> str:
    """Return a bin's ends as a text."""
    return f"{brief(low)} \N{EN DASH} {brief(high)}"


def _width(side: Side) -> float:
    """Return the width of bins after Freedman and Diaconis (1981): 2 IQR / n^(1/3)."""
    q1, q3 = np.percentile(side.series, [25, 75])
    return float(2 * (q3 - q1) / np.cbrt(len(side.series)))


def histogram(
    sides: Sequence[Side], axis_title: str, count_title: str
) -> dict[str, Any] | None:
    """Return how many points lie where, one panel a side, speeds in their colours."""
    drawn = described(sides)
    if not drawn:
        return None
    edges = np.array(bins_of(drawn).edges)
    share = (1 - GAP * (len(drawn) - 1)) / len(drawn)
    data: list[dict[str, Any]] = []
    ticks = round_numbers(edges[0], edges[-1])
    xaxis = axis(axis_title, anchor="free", position=0, tickvals=ticks)
    layout: dict[str, Any] = {"xaxis": xaxis}
    notes: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for at, side in enumerate(drawn):
        name = f"y{at + 1 if at else ''}"
        top = 1 - at * (share + GAP)
        domain = [max(top - share, 0), top]
        key = name.replace("y", "yaxis")
        title = f"{side.name}, {count_title}"
        layout[key] = axis(title, domain=domain, rangemode="tozero")
        data += [bar | {"yaxis": name} for bar in _bars(side, edges)]
        ends = float(edges[0]), float(edges[-1])
        notes += [note | {"yref": f"{name} domain"} for note in _labels(side, ends)]
        lines += [line | {"yref": f"{name} domain"} for line in _centres(side)]
    height = FRAME_PX + PANEL_PX * len(drawn)
    layout |= {"barmode": "stack", "annotations": notes, "shapes": lines}
    return figure(data, height, **layout)


def round_numbers(low: float, high: float) -> list[float]:
    """Return some 5 round numbers from low to high; Plotly would label each bar."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough)
    first, last = np.ceil(low / step), np.floor(high / step)
    return [float(f"{each * step:.12g}") for each in np.arange(first, last + 1)]


def _bars(side: Side, edges: "np.ndarray[Any, Any]") -> Iterator[dict[str, Any]]:
    values, speeds = np.array(side.series), np.array(side.speed_of())
    middles, widths = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    labels = [spanned(low, high) for low, high in pairwise(edges.tolist())]
    for speed, token in enumerate(side.speed_tokens()):
        counts = np.histogram(values[speeds == speed], edges)[0]
        name = side.speeds[speed].label if len(side.speeds) > 1 else side.name
        yield {
            "type": "bar",
            "name": plain(name),
            "showlegend": False,
            "x": middles.tolist(),
            "y": counts.tolist(),
            "width": widths.tolist(),
            "marker": {"color": token},
            "text": [
                f"{label}: {count}" if count else ""
                for label, count in zip(labels, counts.tolist(), strict=True)
            ],
            "textposition": "none",
            "hovertemplate": "%{text}<extra></extra>",
        }


def _labels(side: Side, ends: tuple[float, float]) -> list[dict[str, Any]]:
    """Return the label of each speed above its bars, or beside where they are near."""
    look = {"y": 1, "yanchor": "bottom", "showarrow": False, "xref": "x"}
    labels = [
        {"text": plain(each.label), "x": each.centre, **look} for each in side.speeds
    ]
    if len(labels) > 1:
        low, high = (
            (each.centre - ends[0]) / (ends[1] - ends[0]) for each in side.speeds
        )
        if high - low < NEAR:
            is_right = high < 1 - NEAR
            at, shift = (1, BESIDE_PX) if is_right else (0, -BESIDE_PX)
            beside = {"yanchor": "top", "xanchor": "left" if is_right else "right"}
            labels[at] |= beside | {"xshift": shift}
    return labels


def _centres(side: Side) -> list[dict[str, Any]]:
    """Return a line at each speed's centre."""
    look = {"type": "line", "y0": 0, "y1": 1, "xref": "x"}
    return [
        look
        | {"x0": each.centre, "x1": each.centre}
        | {"line": {"color": "--ink", "width": 1, "dash": "4px,3px"}}
        for each in side.speeds
    ]


def ecdf(
    sides: Sequence[Side], axis_title: str, share_title: str
) -> dict[str, Any] | None:
    """Return which share of the points is at most as large as each value."""
    data = [
        _steps(side, DASHES[at % len(DASHES)])
        for at, side in enumerate(described(sides))
    ]
    yaxis = axis(share_title, range=[-2, 102], ticksuffix=" %")
    return figure(data, 340, xaxis=axis(axis_title), yaxis=yaxis)


def _steps(side: Side, dash: str) -> dict[str, Any]:
    values = sorted(side.series)
    shares = [100 * (at + 1) / len(values) for at in range(len(values))]
    texts = [
        side.said(f"{side.name}, {number(share, '.0f')} %", value)
        for share, value in zip(shares, values, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(side.name),
        "showlegend": True,
        "x": [values[0], *values],
        "y": [0.0, *shares],
        "line": {"shape": "hv", "color": side.token, "width": 2, "dash": dash},
        "marker": {"size": 5, "color": side.token},
        **hovering(["", *texts]),
    }


def quantiles(side: Side) -> list[float]:
    """Return a side's quantiles, interpolated (Hyndman and Fan's type 7)."""
    found: list[float] = np.percentile(side.series, QUANTILES).tolist()
    return found
