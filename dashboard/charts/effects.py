"""Effects of parameters: around 1, at each level, against chance. PURE.

Factors in; charts, and places in percent for the bars of a table, out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from textwrap import wrap
from typing import Final

from benchmarks.analysis.factor_effects.effects import Effect
from dashboard.charts.chart import (
    FLAT_PX,
    FRAME_PX,
    SERIES,
    Axis,
    Band,
    Bars,
    Chart,
    Panel,
    Points,
    Reading,
    Rule,
    Stroke,
    row_axis,
    series_colour,
    symbol_at,
)

LIMITS: Final = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
MIDDLE: Final = 50.0
ROOM: Final = 0.06
LEAST_ROOM: Final = 0.005  # as a power of ten
TICK_LETTERS: Final = {1: 24, 2: 18, 3: 12}
FEWEST_TICK_LETTERS: Final = 8
QUIET: Final = series_colour(SERIES - 1)
ROW_PX: Final = 33
LABELLED: Final = 1.3
"""How much longer than its limit the axis is, for the factor beside a bar's end."""


@dataclass(frozen=True)
class Span:
    """A stretch of the strip: its left end and its width, in percent."""

    x: str
    width: str


@dataclass(frozen=True)
class Bar:
    """An effect: its bar, and the bands in which chance alone would leave it."""

    side: str
    bar: Span
    margin: Span | None
    wide: Span | None


@dataclass(frozen=True)
class Scale:
    """A log axis from 1 / limit to limit."""

    limit: float

    def place(self, log_effect: float) -> float:
        """Return where an effect stands, 0 to 100, clamped."""
        share = log_effect / log(self.limit)
        return MIDDLE + MIDDLE * min(max(share, -1.0), 1.0)

    def bar(self, effect: Effect) -> Bar:
        """Return an effect's bar and bands."""
        return Bar(
            side="above" if effect.log_effect > 0 else "below",
            bar=self._span(0.0, effect.log_effect),
            margin=self._band(effect.margin),
            wide=self._band(effect.wide_margin),
        )

    def _band(self, margin: float | None) -> Span | None:
        return None if margin is None else self._span(-margin, margin)

    def _span(self, one: float, other: float) -> Span:
        low, high = sorted((self.place(one), self.place(other)))
        return Span(f"{low:.2f}%", f"{high - low:.2f}%")


def scale_of(effects: Sequence[Effect]) -> Scale:
    """Return the shortest axis that holds every effect."""
    farthest = exp(max((abs(each.log_effect) for each in effects), default=0.0))
    return Scale(next((limit for limit in LIMITS if limit >= farthest), LIMITS[-1]))


@dataclass(frozen=True)
class Ranked:
    """An effect with its name, what changed, and its factor in words."""

    name: str
    change: str
    factor: str
    effect: Effect


def ranking(rows: Sequence[Ranked], scale: Scale, ends: tuple[str, str]) -> Chart:
    """Return effects as bars from 1, the strongest first, with the bands of chance.

    What is clear is filled, what may be chance is open; ``ends`` are the words for the
    ends of the scale.
    """
    reach = {
        at: min(max(exp(each.effect.log_effect), 1 / scale.limit), scale.limit)
        for at, each in enumerate(rows)
    }
    bars, factors, bands = [], [], []
    for is_clear in (True, False):
        some = [
            at
            for at, each in enumerate(rows)
            if (each.effect.strength == "clear") == is_clear
        ]
        if some:
            bars.append(
                Bars(
                    name="",
                    places=some,
                    values=[reach[at] for at in some],
                    colour=series_colour(0),
                    is_open=not is_clear,
                    base=1,
                )
            )
    for side in ("left", "right"):
        some = [at for at, x in reach.items() if (x > 1) == (side == "right")]
        if some:
            factors.append(
                Points(
                    x=[reach[at] for at in some],
                    y=some,
                    names=[rows[at].factor for at in some],
                    side="right" if side == "right" else "left",
                )
            )
    for at, each in enumerate(rows):
        for margin in (each.effect.wide_margin, each.effect.margin):
            if margin is not None:
                low, high = exp(-margin), exp(margin)
                ends_of_row = (at - 0.42, at + 0.42)
                bands.append(Band(axis="x", low=low, high=high, ends=ends_of_row))
    end = scale.limit**LABELLED
    panel = Panel(
        x=Axis(
            scale="log",
            ends=(1 / end, end),
            ticks=((1 / scale.limit, ends[0]), (1, "1"), (scale.limit, ends[1])),
        ),
        y=row_axis([f"{each.name}\n{each.change}" for each in rows]),
        series=(*bars, *factors),
        bands=tuple(bands),
        rules=(Rule(at=1, axis="x", stroke=Stroke(width=1.5), is_above=True),),
    )
    return Chart(panels=(panel,), height=FRAME_PX + ROW_PX * len(rows), bars="stack")


@dataclass(frozen=True)
class Line:
    """The means of one level, one for each place of the axis (None: no system)."""

    name: str
    means: Sequence[float | None]


@dataclass(frozen=True)
class Contrast:
    """A contrast: its size as a factor (1 = none), where chance would put it.

    ``told`` is what hovering says of it.
    """

    name: str
    factor: float
    quantile: float
    is_named: bool
    told: str


def line_plot(
    places: Sequence[str],
    lines: Sequence[Line],
    *,
    axis_title: str,
    line_at: float | None = None,
) -> Chart:
    """Return means on a log axis; lines that are not parallel interact.

    ``line_at`` is drawn across and always in sight (1: native speed).
    """
    count = len(places)
    ends = (-0.4, count - 0.6)
    means = [mean for line in lines for mean in line.means if mean is not None]
    upwards = Axis(
        title=axis_title,
        scale="log",
        ends=None if line_at is None else _held([*means, line_at]),
        has_full_ticks=True,
    )
    native = [] if line_at is None else [line_at]
    panel = Panel(
        x=Axis(
            scale="category",
            ends=ends,
            ticks=tuple(
                (at, _on_lines(place, count)) for at, place in enumerate(places)
            ),
        ),
        y=upwards,
        series=tuple(
            Points(
                name=line.name,
                x=range(len(line.means)),
                y=line.means,
                colour=series_colour(at),
                symbol=symbol_at(at),
                line=Stroke(),
                texts=[line.name] * len(line.means),
                reading=Reading("y", ".3g"),
            )
            for at, line in enumerate(lines)
        ),
        rules=tuple(
            Rule(at=each, axis="y", kind="native", ends=ends, is_above=True)
            for each in native
        ),
    )
    return Chart(panels=(panel,), height=FLAT_PX, legend="above")


def _on_lines(place: str, count: int) -> str:
    """Break a place's name into lines that fit between its neighbours on a phone."""
    letters = TICK_LETTERS.get(count, FEWEST_TICK_LETTERS)
    return "\n".join(
        line
        for part in place.split(", ")
        for line in wrap(part, letters, break_long_words=False)
    )


def _held(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a log axis that holds values, with room for their marks."""
    low, high = min(values), max(values)
    room = max((high / low) ** ROOM, 10**LEAST_ROOM)
    return low / room, high * room


def half_normal_plot(
    contrasts: Sequence[Contrast],
    *,
    chance: float,
    margins: Sequence[float],
    axis_title: str,
    other_title: str,
) -> Chart:
    """Return contrasts against the sizes that chance alone would give them.

    ``chance`` is the factor of one standard error: chance alone lies on the line
    through 1 and it, which is straight on the log axis. ``margins`` are factors, drawn
    as vertical lines.
    """
    highest = max(each.quantile for each in contrasts)
    by_chance = Points(
        x=[1.0, chance**highest],
        y=[0.0, highest],
        colour=QUIET,
        line=Stroke(width=1.5, dash="dash"),
    )
    halves = []
    for is_named in (False, True):
        some = [each for each in contrasts if each.is_named == is_named]
        if some:
            halves.append(
                Points(
                    x=[each.factor for each in some],
                    y=[each.quantile for each in some],
                    names=[each.name for each in some],
                    side="left" if is_named else "",
                    texts=[each.told for each in some],
                    colour=series_colour(0) if is_named else QUIET,
                    symbol="circle" if is_named else "circle-open",
                )
            )
    panel = Panel(
        x=Axis(title=axis_title, scale="log"),
        y=Axis(title=other_title),
        series=(by_chance, *halves),
        rules=tuple(Rule(at=factor, axis="x", kind="margin") for factor in margins),
    )
    return Chart(panels=(panel,), height=FLAT_PX, has_legend=False)
