"""What is shown of runs: the mean, or what stands in its place where none may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.analysis.shape import Shape
from benchmarks.models import Cell
from benchmarks.sentences import Sentence, in_unit, kept_words

KEPT = ("shape", "shape_codes", "minimum", "maximum")
"""What of a cell tells whether one figure describes its runs."""
READ = ("system", "case", "scenario", "vms", "slot", "load", "n", "mean", *KEPT)
"""What of a cell is read for its figure and its place; the rest is long."""


class Shown(Protocol):
    """Whatever is shown as a mean, or as what stands in its place."""

    @property
    def value(self) -> float | None: ...
    @property
    def speeds(self) -> tuple[float, ...]: ...
    @property
    def range(self) -> tuple[float, float] | None: ...


@dataclass(frozen=True)
class CellFigure:
    """The mean of runs as ``value``; None where no single figure describes them.

    ``doubts`` then has the codes and ``reason`` the sentence of why, ``speeds`` both
    speeds where there are two, ``range`` the least and the greatest run.
    """

    value: float | None
    doubts: tuple[str, ...] = ()
    reason: str = ""
    speeds: tuple[float, ...] = ()
    range: tuple[float, float] | None = None


def cell_figure(cell: Cell, unit: str = "") -> CellFigure:
    """Return what is shown of a cell, whose speeds are told in that unit."""
    if not cell.shape_codes:
        return CellFigure(cell.mean)
    parts = instead_of_mean({name: getattr(cell, name) for name in KEPT})
    shape = in_unit(parts.pop("shape"), unit)
    return CellFigure(None, reason=no_single_figure(shape), **parts)


def shape_figure(shape: Shape, means: Sequence[float]) -> CellFigure:
    """Return what is shown of runs of that shape."""
    if shape.has_single_figure:
        return CellFigure(sum(means) / len(means))
    return CellFigure(
        None,
        doubts=shape.doubts,
        reason=no_single_figure(shape.sentence),
        speeds=_speeds([mode.centre for mode in shape.modes]),
        range=(min(means), max(means)),
    )


def instead_of_mean(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a cell, given by `KEPT`, instead of its mean."""
    shape: Mapping[str, Any] = own["shape"] or {}
    ends = (own["minimum"], own["maximum"])
    return {
        "doubts": codes_of(own["shape_codes"]),
        "shape": shape_sentence(shape),
        "speeds": _speeds([each["centre"] for each in shape.get("modes", ())]),
        "range": ends if own["shape_codes"] and None not in ends else None,
    }


def _speeds(centres: Sequence[float]) -> tuple[float, ...]:
    return tuple(centres) if len(centres) > 1 else ()


def codes_of(doubts: str) -> tuple[str, ...]:
    """Return the codes of doubts as a cell keeps them: "bimodal,periodic"."""
    return tuple(filter(None, doubts.split(",")))


def no_single_figure(shape: str) -> Sentence:
    """Return why there is no mean."""
    return Sentence("No single figure: {shape}.", shape=shape)


def shape_sentence(shape: Mapping[str, Any]) -> str:
    """Return what was found in a cell's runs; "two speeds, 59 (64 %) and ..."."""
    return kept_words(shape)
