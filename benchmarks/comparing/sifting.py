"""Filters and order of a comparison's rows by verdict, evidence and effect. PURE.

A row stays whole if one of its cells passes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, log1p
from typing import Final

from benchmarks.analysis.verdicts import EvidenceLevel
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import RowKey
from benchmarks.comparing.verdicts import VerdictMark

Rank = tuple[float, ...]

VERDICTS: Final = ("slower", "faster", "equivalent", "undetermined", "not_assessed")
ENERGY_VERDICTS: Final = ("more", "less", *VERDICTS[2:])
ROUNDING: Final = 1e-9
LEVELS: Final = tuple(level.name.lower() for level in EvidenceLevel)
"""From single runs upwards."""
PLACES: Final[Mapping[str, int]] = {
    **{name: at for at, name in enumerate(VERDICTS)},
    **{name: at for at, name in enumerate(ENERGY_VERDICTS)},
}


@dataclass(frozen=True)
class Sieve:
    """What one cell of a row must have; 25 percent lets 1.25 through, and 0.8."""

    verdict: str = ""
    evidence: str = ""
    effect_percent: float = 0.0

    @property
    def is_open(self) -> bool:
        return not (self.verdict or self.evidence or self.effect_percent)

    def holds(self, row: ComparisonRow, mark: VerdictMark | None) -> bool:
        """Whether one cell is what was asked for."""
        if not has_effect(row):
            return False
        if self.verdict and (mark is None or mark.verdict != self.verdict):
            return False
        level = mark.evidence if mark else LEVELS[0]
        if self.evidence and _level(level) < _level(self.evidence):
            return False
        # 0.8 is as far from 1 as 1.25, whatever their last bits say.
        least = log1p(self.effect_percent / 100) - ROUNDING
        return not self.effect_percent or effect(row) >= least


def has_effect(row: ComparisonRow) -> bool:
    """Whether a cell is compared with something that it may be compared with."""
    seen = row.shown
    if seen.light == "red":
        return False
    return seen.ratio is not None or seen.ratio_range is not None


def effect(row: ComparisonRow) -> float:
    """Return how far a cell's ratio is from 1, as |ln|; of a range its nearer end."""
    return abs(_log(row))


def _log(row: ComparisonRow) -> float:
    seen = row.shown
    if seen.ratio is not None:
        return log(seen.ratio) if seen.ratio > 0 else -inf
    low, high = seen.ratio_range or (1.0, 1.0)
    if low <= 1 <= high:
        return 0.0
    near = high if high < 1 else low
    return log(near) if near > 0 else -inf


def _level(name: str) -> int:
    """Return the place of a level; of one that nobody knows one above all."""
    return LEVELS.index(name) if name in LEVELS else len(LEVELS)


def mark_of(row: ComparisonRow, marks: Mapping[int, VerdictMark]) -> VerdictMark | None:
    """Return what may be said of a cell, judged in words or not."""
    judged = row.shown.judgement
    return VerdictMark.of(judged) if judged else marks.get(row.id)


def sifted(
    rows: Sequence[ComparisonRow], marks: Mapping[int, VerdictMark], sieve: Sieve
) -> list[ComparisonRow]:
    """Return the cells of those lines of a table of which one cell passes."""
    if sieve.is_open:
        return list(rows)
    places = {row.place for row in rows if sieve.holds(row, mark_of(row, marks))}
    return [row for row in rows if row.place in places]


def _by_verdict(row: ComparisonRow, mark: VerdictMark | None) -> Rank:
    last = len(VERDICTS)
    return (PLACES.get(mark.verdict, last) if mark else last, -effect(row))


def _by_evidence(row: ComparisonRow, mark: VerdictMark | None) -> Rank:
    return (-_level(mark.evidence) if mark else 0, -effect(row))


RANKS: Final[Mapping[str, Callable[[ComparisonRow, VerdictMark | None], Rank]]] = {
    "effect": lambda row, _mark: (-effect(row),),
    "-effect": lambda row, _mark: (effect(row),),
    "slowest": lambda row, _mark: (_log(row),),
    "fastest": lambda row, _mark: (-_log(row),),
    "verdict": _by_verdict,
    "evidence": _by_evidence,
}
"""How two cells are put in order, by the name of the order: the least comes first."""


def ranks(
    rows: Iterable[ComparisonRow],
    marks: Mapping[int, VerdictMark],
    sieve: Sieve,
    order: str,
) -> dict[RowKey, Rank]:
    """Return the rank of each row with a ratio: the least of its passing cells."""
    rank_of = RANKS[order]
    found: dict[RowKey, Rank] = {}
    for row in rows:
        mark = mark_of(row, marks)
        if has_effect(row) and sieve.holds(row, mark):
            rank = rank_of(row, mark)
            found[row.place] = min(found.get(row.place, rank), rank)
    return found
