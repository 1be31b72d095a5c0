"""The signature of a guest clock that runs at another speed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.plausibility.facts import NORMAL, CellFact, ColumnKey, StudyFacts
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, joined

OUTSIDE: Final = frozenset({"external", "client", "meter", "host"})
"""Clocks that no guest can slow down."""
BOUND_TO_CPU: Final = frozenset({"CPU", "memory"})
"""Components in which a guest comes near to native speed and never beats it."""
LEAST: Final = {2: math.log(1.08)}
"""Two cases must be further ahead than three or more, for which 3 % are enough."""
ENOUGH: Final = math.log(1.03)
CLEARLY: Final = 3.3


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """By what factor a system beats native in all its cases, and how alike they are."""

    factor: float
    spread: float
    standard_error: float


@rule("common-clock-factor", "A guest clock that runs slow", "impossible")
def common_clock_factor(study: StudyFacts) -> Iterator[Doubt]:
    """A guest that beats the native machine by nearly one factor in all cases of
    CPU and memory that its own clock timed (caches and RAM, read and write; of all
    components where there is only one): by more than 3 % (8 % where there are two) and
    3.3 standard errors, three of four cases ahead, with a spread no larger than the
    noise and half of the factor (all of it where every case is ahead).
    Results timed from outside are not looked at; where there are some, they stand
    beside it as a check.

    Why: unrelated cases cannot become faster by the same factor; a clock that loses
    ticks does just that. It is what 64-bit Windows on Xen 3.3 shows: 8 to 12 % faster
    than native in every cache, and slower by the time server's clock.

    What to do: time the runs from outside the guest, or measure its clock and correct
    the results; until then they say nothing about speed.
    """
    columns: dict[ColumnKey, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        # Several slots together may be ahead of one machine without any slow clock.
        alone = cell.slot not in {"sum", "mean"}
        if alone and not cell.is_native and study.baseline(cell) and cell.mean > 0:
            columns[cell.column].append(cell)
    for cells in columns.values():
        timed = [c for c in cells if c.better != "neither" and not c.is_share]
        guest = _timed_by_guest(timed)
        noise = study.noise
        errors = [
            math.hypot(noise.of_mean(cell), noise.of_mean(native))
            for cell in guest
            if (native := study.baseline(cell))
        ]
        logs = [_log_efficiency(cell, study) for cell in guest]
        common = common_factor(logs, errors)
        if common is None:
            continue
        outside = [
            math.exp(_log_efficiency(cell, study))
            for cell in timed
            if cell.component in BOUND_TO_CPU and cell.clock in OUTSIDE
        ]
        signature = Sentence(
            "{system} beats the native machine by {ahead:.1%} in all {cases} cases "
            "that its own clock timed: the signature of a clock that runs slow.",
            system=guest[0].where,
            ahead=common.factor - 1,
            cases=len(guest),
        )
        if outside:
            best = max(outside)
            check = Sentence("Timed from outside it reaches {best:.3f}.", best=best)
            signature = joined([signature, check])
        yield about_cells(
            signature,
            guest,
            factor=round(common.factor, 5),
            spread=round(common.spread, 5),
            standard_error=round(common.standard_error, 5),
            efficiencies=[round(math.exp(log), 5) for log in logs],
            outside=[round(factor, 5) for factor in outside],
        )


def _timed_by_guest(cells: Sequence[CellFact]) -> list[CellFact]:
    """What the guest's own clock timed, of CPU and memory if these are enough to tell.

    A disk or a network may well be faster in a guest.
    """
    guest = [cell for cell in cells if cell.clock not in OUTSIDE]
    bound = [cell for cell in guest if cell.component in BOUND_TO_CPU]
    return bound if len(bound) >= 2 else guest


def common_factor(
    logs: Sequence[float], errors: Sequence[float]
) -> CommonFactor | None:
    """The factor that explains all log ratios, or None if there is none.

    There is one if the median is above 3 % (8 % for two ratios) and above 3.3 of its
    standard errors, three of four ratios are above 1, and their robust spread is at
    most that of the noise, with a half of the factor itself beside it, or all of it if
    every ratio is above 1: guests are slower than native by amounts that differ.
    """
    if len(logs) < 2:
        return None
    middle = median(logs)
    spread = NORMAL * median(abs(log - middle) for log in logs)
    noise = math.sqrt(sum(error**2 for error in errors) / len(errors))
    # A median's standard error is sqrt(pi / 2) times that of a mean.
    error = math.sqrt(math.pi / 2) * noise / math.sqrt(len(logs))
    ahead = sum(log > 0 for log in logs)
    least = max(LEAST.get(len(logs), ENOUGH), CLEARLY * error)
    if middle < least or 4 * ahead < 3 * len(logs):
        return None
    allowed = middle if ahead == len(logs) else middle / 2
    if spread > math.hypot(noise, allowed):
        return None
    return CommonFactor(math.exp(middle), spread, error)


def _log_efficiency(cell: CellFact, study: StudyFacts) -> float:
    native = study.baseline(cell)
    if native is None or native.mean <= 0:
        return 0.0
    log = math.log(cell.mean / native.mean)
    return log if cell.better == "higher" else -log
