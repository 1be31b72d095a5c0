"""Effects as bars from 1, the strongest first, with the bands of chance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.analysis.factor_effects.effects import Effect
from dashboard.charts.effects import Scale
from dashboard.charts.vector import pen

LABELS: Final = 190
ROW: Final = 22


@dataclass(frozen=True)
class Ranked:
    """An effect with its name, what changed, and its factor in words."""

    name: str
    change: str
    factor: str
    effect: Effect


def ranking(
    rows: Sequence[Ranked], scale: Scale, ends: tuple[str, str], alt: str
) -> str:
    """Return effects as an SVG document."""
    top, bottom = 14.0, 14.0 + len(rows) * ROW
    parts = [*_frame(scale, ends, top, bottom)]
    for at, each in enumerate(rows):
        parts += _row(each, scale, top + at * ROW)
    return pen.picture(bottom + 6, parts, alt)


def _x(scale: Scale, log_effect: float) -> float:
    width = pen.WIDTH - 60 - LABELS
    return LABELS + width * scale.place(log_effect) / 100


def _frame(
    scale: Scale, ends: tuple[str, str], top: float, bottom: float
) -> Iterator[str]:
    right = pen.WIDTH - 60
    one = _x(scale, 0.0)
    yield pen.words((LABELS, 9), ends[0])
    yield pen.words((one, 9), "1", anchor="middle")
    yield pen.words((right, 9), ends[1], anchor="end")
    for x in (LABELS, right):
        yield pen.stroke((x, top), (x, bottom), width=0.4, tone=0.3)
    yield pen.stroke((one, top - 2), (one, bottom), width=0.9)


def _row(each: Ranked, scale: Scale, top: float) -> Iterator[str]:
    effect, middle = each.effect, top + ROW / 2
    room = LABELS - 8
    name, change = (pen.folded(text, room, 1)[0] for text in (each.name, each.change))
    yield pen.words((LABELS - 6, middle - 1.5), name, anchor="end")
    yield pen.words((LABELS - 6, middle + 7.5), change, anchor="end", tone=0.65)
    for margin, tone in ((effect.wide_margin, 0.07), (effect.margin, 0.09)):
        if margin is not None:
            ends = _x(scale, -margin), _x(scale, margin)
            low, high = (ends[0], top + 2), (ends[1], top + ROW - 2)
            yield pen.box(low, high, tone=tone, is_framed=False)
    is_sure = effect.strength == "clear"
    start, end = _x(scale, 0.0), _x(scale, effect.log_effect)
    yield pen.box((start, middle - 4), (end, middle + 4), tone=0.85 if is_sure else 0.0)
    yield pen.words((pen.WIDTH - 54, middle + 2.7), each.factor)
