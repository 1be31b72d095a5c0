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
    row_px,
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
class EffectScale:
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


@dataclass(frozen=True)
class Ranked:
    """An effect with its name, what changed, and its factor in words."""

    name: str
    change: str
    factor: str
    effect: Effect


@dataclass(frozen=True)
class LevelMeans:
    """The means of one level, one for each place of the axis (None: no system)."""

    name: str
    means: Sequence[float | None]


@dataclass(frozen=True)
class Contrast:
    """A contrast: its size as a factor (1 = none), where chance would put it.

    ``text`` shows on hovering.
    """

    name: str
    factor: float
    quantile: float
    is_named: bool
    text: str


def effect_scale(effects: Sequence[Effect]) -> EffectScale:
    """Return the shortest axis that holds every effect."""
    farthest = exp(max((abs(effect.log_effect) for effect in effects), default=0.0))
    return EffectScale(
        next((limit for limit in LIMITS if limit >= farthest), LIMITS[-1])
    )


def ranking(rows: Sequence[Ranked], scale: EffectScale, ends: tuple[str, str]) -> Chart:
    """Return effects as bars from 1, the strongest first, with the bands of chance.

    What is clear is filled, what may be chance is open; ``ends`` are the words for the
    ends of the scale.
    """
    reach = [
        min(max(exp(row.effect.log_effect), 1 / scale.limit), scale.limit)
        for row in rows
    ]
    bars, factors, bands = [], [], []
    for is_clear in (True, False):
        places = [
            place
            for place, row in enumerate(rows)
            if (row.effect.strength == "clear") == is_clear
        ]
        if places:
            bars.append(
                Bars(
                    name="",
                    places=places,
                    values=[reach[place] for place in places],
                    colour=series_colour(0),
                    is_open=not is_clear,
                    base=1,
                )
            )
    for side in ("left", "right"):
        is_right = side == "right"
        places = [place for place, x in enumerate(reach) if (x > 1) == is_right]
        if places:
            factors.append(
                Points(
                    x=[reach[place] for place in places],
                    y=places,
                    names=[rows[place].factor for place in places],
                    side="right" if is_right else "left",
                )
            )
    for place, row in enumerate(rows):
        for margin in (row.effect.wide_margin, row.effect.margin):
            if margin is not None:
                low, high = exp(-margin), exp(margin)
                ends_of_row = (place - 0.42, place + 0.42)
                bands.append(Band(axis="x", low=low, high=high, ends=ends_of_row))
    end = scale.limit**LABELLED
    panel = Panel(
        x=Axis(
            scale="log",
            ends=(1 / end, end),
            ticks=((1 / scale.limit, ends[0]), (1, "1"), (scale.limit, ends[1])),
        ),
        y=row_axis([f"{row.name}\n{row.change}" for row in rows]),
        series=(*bars, *factors),
        bands=tuple(bands),
        rules=(Rule(at=1, axis="x", stroke=Stroke(width=1.5), is_above=True),),
    )
    height = FRAME_PX + row_px(panel.y, ROW_PX) * len(rows)
    return Chart(panels=(panel,), height=height, bars="stack")


def line_plot(
    places: Sequence[str],
    lines: Sequence[LevelMeans],
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
    upwards_ends = None
    rules = []
    if line_at is not None:
        low, high = min([*means, line_at]), max([*means, line_at])
        # With room for the marks on both sides.
        room = max((high / low) ** ROOM, 10**LEAST_ROOM)
        upwards_ends = (low / room, high * room)
        rules.append(
            Rule(at=line_at, axis="y", kind="native", ends=ends, is_above=True)
        )
    upwards = Axis(
        title=axis_title, scale="log", ends=upwards_ends, has_full_ticks=True
    )
    panel = Panel(
        x=Axis(
            scale="category",
            ends=ends,
            ticks=tuple((at, _on_lines(name, count)) for at, name in enumerate(places)),
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
        rules=tuple(rules),
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
    highest = max(contrast.quantile for contrast in contrasts)
    by_chance = Points(
        x=[1.0, chance**highest],
        y=[0.0, highest],
        colour=QUIET,
        line=Stroke(width=1.5, dash="dash"),
    )
    halves = []
    for is_named in (False, True):
        some = [contrast for contrast in contrasts if contrast.is_named == is_named]
        if some:
            halves.append(
                Points(
                    x=[contrast.factor for contrast in some],
                    y=[contrast.quantile for contrast in some],
                    names=[contrast.name for contrast in some],
                    side="left" if is_named else "",
                    texts=[contrast.text for contrast in some],
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
