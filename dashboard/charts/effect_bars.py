"""Effects as bars around 1 on a log scale. PURE: factors in, places in percent out."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Final

from benchmarks.analysis.factor_effects.effects import Effect

LIMITS: Final = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
MIDDLE: Final = 50.0


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
