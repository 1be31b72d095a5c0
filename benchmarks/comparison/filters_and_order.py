"""Filters and sort orders of comparison tables.

A table row stays complete if at least one of its cells matches.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, log1p
from typing import Final

from benchmarks.analysis.verdicts import EvidenceLevel
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import RowKey
from benchmarks.comparison.study_verdicts import CellVerdict

SortKey = tuple[float, ...]

VERDICTS: Final = ("slower", "faster", "equivalent", "undetermined", "not_assessed")
ENERGY_VERDICTS: Final = ("more", "less", *VERDICTS[2:])
TOLERANCE: Final = 1e-9
EVIDENCE_LEVELS: Final = tuple(level.name.lower() for level in EvidenceLevel)
VERDICT_ORDER: Final[Mapping[str, int]] = {
    **{name: index for index, name in enumerate(VERDICTS)},
    **{name: index for index, name in enumerate(ENERGY_VERDICTS)},
}


@dataclass(frozen=True)
class ResultFilter:
    """Conditions for one cell.

    An ``effect_percent`` of 25 matches ratios of at least 1.25 or at most 0.8.
    """

    verdict: str = ""
    evidence: str = ""
    effect_percent: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self.verdict or self.evidence or self.effect_percent)

    def matches(self, row: ComparisonRow, verdict: CellVerdict | None) -> bool:
        if not has_comparable_ratio(row):
            return False
        if self.verdict and (verdict is None or verdict.verdict != self.verdict):
            return False
        level = verdict.evidence_level if verdict else EVIDENCE_LEVELS[0]
        if self.evidence and _level(level) < _level(self.evidence):
            return False
        # 0.8 is as far from 1 as 1.25, except for rounding.
        least = log1p(self.effect_percent / 100) - TOLERANCE
        return not self.effect_percent or effect_size(row) >= least


def has_comparable_ratio(row: ComparisonRow) -> bool:
    result = row.result
    if result.comparability == "none":
        return False
    return result.ratio is not None or result.ratio_range is not None


def effect_size(row: ComparisonRow) -> float:
    """Return |ln(ratio)| of a cell; for a range, of the end nearest to 1."""
    return abs(_log(row))


def _log(row: ComparisonRow) -> float:
    result = row.result
    if result.ratio is not None:
        return log(result.ratio) if result.ratio > 0 else -inf
    low, high = result.ratio_range or (1.0, 1.0)
    if low <= 1 <= high:
        return 0.0
    near = high if high < 1 else low
    return log(near) if near > 0 else -inf


def _level(name: str) -> int:
    return (
        EVIDENCE_LEVELS.index(name) if name in EVIDENCE_LEVELS else len(EVIDENCE_LEVELS)
    )


def cell_verdict(
    row: ComparisonRow, verdicts: Mapping[int, CellVerdict]
) -> CellVerdict | None:
    assessment = row.result.assessment
    return (
        CellVerdict.from_assessment(assessment) if assessment else verdicts.get(row.id)
    )


def filter_rows(
    rows: Sequence[ComparisonRow],
    verdicts: Mapping[int, CellVerdict],
    result_filter: ResultFilter,
) -> list[ComparisonRow]:
    if result_filter.is_empty:
        return list(rows)
    keys = {
        row.key
        for row in rows
        if result_filter.matches(row, cell_verdict(row, verdicts))
    }
    return [row for row in rows if row.key in keys]


def _by_verdict(row: ComparisonRow, verdict: CellVerdict | None) -> SortKey:
    last = len(VERDICTS)
    return (
        VERDICT_ORDER.get(verdict.verdict, last) if verdict else last,
        -effect_size(row),
    )


def _by_evidence(row: ComparisonRow, verdict: CellVerdict | None) -> SortKey:
    return (-_level(verdict.evidence_level) if verdict else 0, -effect_size(row))


SORT_KEYS: Final[
    Mapping[str, Callable[[ComparisonRow, CellVerdict | None], SortKey]]
] = {
    "effect": lambda row, _verdict: (-effect_size(row),),
    "-effect": lambda row, _verdict: (effect_size(row),),
    "slowest": lambda row, _verdict: (_log(row),),
    "fastest": lambda row, _verdict: (-_log(row),),
    "verdict": _by_verdict,
    "evidence": _by_evidence,
}


def sort_keys(
    rows: Iterable[ComparisonRow],
    verdicts: Mapping[int, CellVerdict],
    result_filter: ResultFilter,
    order: str,
) -> dict[RowKey, SortKey]:
    """Return the sort key of each table row: the smallest key of its matching cells.

    Rows without matching comparable cells are missing.
    """
    rank_of = SORT_KEYS[order]
    ranks: dict[RowKey, SortKey] = {}
    for row in rows:
        verdict = cell_verdict(row, verdicts)
        if has_comparable_ratio(row) and result_filter.matches(row, verdict):
            rank = rank_of(row, verdict)
            ranks[row.key] = min(ranks.get(row.key, rank), rank)
    return ranks
