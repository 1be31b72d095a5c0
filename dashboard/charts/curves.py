"""The curves of a sweep or a trend, with their intervals. PURE."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.charts.chart import (
    Axis,
    Chart,
    Panel,
    Points,
    Rule,
    Stroke,
    series_colour,
    symbol_at,
)

HEIGHT_PX: Final = 400
MOST_TICKS: Final = 9


@dataclass(frozen=True)
class Mark:
    """A point with its interval (None: there is none) and what hovering tells."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class Curve:
    """The marks of one system; the native machine's is drawn dashed."""

    name: str
    series: int
    is_native: bool
    marks: Sequence[Mark]


def sweep_plot(
    curves: Sequence[Curve],
    ticks: Sequence[tuple[float, str]],
    *,
    titles: tuple[str, str],
    is_log: tuple[bool, bool],
    line_at: float | None = None,
) -> Chart:
    """Return lines over an axis; ``line_at`` is drawn across (1: native speed)."""
    every = -(-len(ticks) // MOST_TICKS) or 1
    across = Axis(
        title=titles[0],
        scale="log" if is_log[0] else "linear",
        ticks=tuple(ticks[::every]),
    )
    native = [] if line_at is None else [Rule(at=line_at, axis="y", kind="native")]
    return _plot(curves, across, titles[1], is_log=is_log[1], rules=native)


def trend_plot(
    curves: Sequence[Curve], changes: Sequence[tuple[float, str]], title: str
) -> Chart:
    """Return lines over time, and where a change was found, with its factor.

    Time is counted in milliseconds since 1970.
    """
    rules = [Rule(at=at, axis="x", kind="change", label=text) for at, text in changes]
    return _plot(curves, Axis(scale="date"), title, is_log=False, rules=rules)


def _plot(
    curves: Sequence[Curve],
    across: Axis,
    title: str,
    *,
    is_log: bool,
    rules: Sequence[Rule],
) -> Chart:
    # A linear axis begins at 0, or a small difference would look large.
    upwards = Axis(
        title=title,
        scale="log" if is_log else "linear",
        tick_step="1-2-5" if is_log else None,
        has_full_ticks=is_log,
        is_from_zero=not is_log,
    )
    panel = Panel(
        x=across,
        y=upwards,
        series=tuple(
            Points(
                name=curve.name,
                x=[mark.x for mark in curve.marks],
                y=[mark.y for mark in curve.marks],
                low=[mark.low for mark in curve.marks],
                high=[mark.high for mark in curve.marks],
                texts=[mark.text for mark in curve.marks],
                colour=series_colour(curve.series),
                symbol=symbol_at(curve.series),
                line=Stroke(dash="dash" if curve.is_native else ""),
            )
            for curve in curves
        ),
        rules=tuple(rules),
    )
    return Chart(panels=(panel,), height=HEIGHT_PX, legend="lines", has_legend=True)
