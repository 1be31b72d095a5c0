"""The signature of a guest clock that runs at another speed."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.plausibility.days import (
    BOUND_TO_CPU,
    OUTSIDE,
    day_of,
    log_efficiency,
    noise_of_cases,
    of_another_day,
    shifts,
)
from benchmarks.plausibility.facts import (
    LEAST_ERROR,
    NORMAL,
    CellFact,
    ColumnKey,
    StudyFacts,
    factor_of,
)
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, joined

ENOUGH: Final = math.log(1.03)
FOR_TWO: Final = math.log(1.08)
"""Two cases must be further ahead than three or more, for which 3 % are enough."""
FOR_QUIET: Final = math.log(1.05)
"""Two that are known to 1 % and differ by a fifth of the factor at most."""
QUIET: Final = 0.01
TELLING: Final = 0.05
"""A case whose ratio has a larger standard error tells no common factor of 8 %."""
CLEARLY: Final = 3.3


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """By what factor a system beats native in all its cases, and how alike they are."""

    factor: float
    spread: float
    standard_error: float


@rule(
    "common-clock-factor",
    "A guest clock that runs slow",
    "impossible",
    looks_beside=True,
)
def common_clock_factor(study: StudyFacts) -> Iterator[Doubt]:
    """A guest that beats the native machine by nearly one factor in all cases of
    CPU and memory that its own clock timed (caches and RAM, read and write; of all
    components where there are fewer than three): by more than 3 % (8 % where there are
    two, 5 % where both are known to 1 % and differ by a fifth of it at most) and 3.3
    standard errors, three of four cases ahead, with a spread no larger than the noise
    and half of the factor (all of it where every case is ahead). Noise is the scatter
    within the cells where these have five runs or more, and of single values that
    between four cases or more, where it is smaller; cases whose ratio is not known
    to 5 % do not count beside two that are. Where the guest is slower by more than its
    clock is, nothing can be seen.
    Results timed from outside are not looked at; where there are some, they stand
    beside it as a check. Where several guests are ahead of a native machine of another
    day it is that day (`native-of-another-day`).

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
    by_day = shifts(study)
    for column, cells in columns.items():
        if column in by_day:
            continue
        timed = [
            cell
            for cell in cells
            if cell.better != "neither" and not cell.is_share and not cell.is_start_up
        ]
        found = _found(timed, study)
        if found is None:
            continue
        guest, common = found
        logs = [_log_efficiency(cell, study) for cell in guest]
        outside = [
            factor_of(_log_efficiency(cell, study))
            for cell in timed
            if cell.component in BOUND_TO_CPU and cell.clock in OUTSIDE
        ]
        signature = Sentence(
            "{system} beats the native machine by {ahead:.1%} in all {cases} "
            "benchmarks "
            "that its own clock timed: the signature of a clock that runs slow.",
            system=guest[0].where,
            ahead=common.factor - 1,
            cases=len(guest),
        )
        if outside:
            best = max(outside)
            check = Sentence("Timed from outside it reaches {best:.3f}.", best=best)
            signature = joined([signature, check])
        natives = [native for cell in guest if (native := study.baseline(cell))]
        pairs = zip(guest, natives, strict=True)
        if all(of_another_day(cell, native) for cell, native in pairs):
            day = day_of(natives[0])
            other = Sentence(
                "Or the native machine, measured on another day ({day}), was slower "
                "then.",
                day=day,
            )
            signature = joined([signature, other])
        yield about_cells(
            signature,
            guest,
            factor=round(common.factor, 5),
            spread=round(common.spread, 5),
            standard_error=round(common.standard_error, 5),
            efficiencies=[round(factor_of(log), 5) for log in logs],
            outside=[round(factor, 5) for factor in outside],
        )


def _found(
    cells: Sequence[CellFact], study: StudyFacts
) -> tuple[list[CellFact], CommonFactor] | None:
    """Return the common factor of CPU and memory, or of all if these are under 3."""
    guest = [cell for cell in cells if cell.clock not in OUTSIDE]
    bound = [cell for cell in guest if cell.component in BOUND_TO_CPU]
    for chosen in (bound, guest) if len(bound) < 3 else (bound,):
        errors = [_error(cell, study) for cell in chosen]
        pairs = list(zip(chosen, errors, strict=True))
        telling = [pair for pair in pairs if pair[1] <= TELLING]
        told = telling if len(telling) >= 2 else pairs
        logs = [_log_efficiency(cell, study) for cell, _ in told]
        alike = noise_of_cases(logs)
        known = [min(e, alike) if cell.n == 1 else e for cell, e in told]
        common = common_factor(logs, known)
        if common is not None:
            return [cell for cell, _ in told], common
    return None


def _error(cell: CellFact, study: StudyFacts) -> float:
    native, noise = study.baseline(cell), study.noise
    return math.hypot(*(noise.at_least(each) for each in (cell, native) if each))


def common_factor(
    logs: Sequence[float], errors: Sequence[float]
) -> CommonFactor | None:
    """Return the factor that explains all log ratios, or None.

    The median must exceed 3 % (8 % for two ratios, 5 % for two precise ones) and 3.3 of
    its standard errors, three of four ratios lie above 1, and their robust spread stay
    within the noise plus half of the factor (all of it if every ratio is above 1).
    """
    if len(logs) < 2:
        return None
    middle = median(logs)
    spread = NORMAL * median(abs(log - middle) for log in logs)
    noise = math.sqrt(sum(error**2 for error in errors) / len(errors))
    # A median's standard error is sqrt(pi / 2) times that of a mean. Quiet cases hold
    # it even where others are noisy.
    weight = math.fsum(1 / max(error, LEAST_ERROR) ** 2 for error in errors)
    error = math.sqrt(math.pi / 2 / weight)
    ahead = sum(log > 0 for log in logs)
    enough = ENOUGH
    if len(logs) == 2:
        alike = max(errors) <= QUIET and max(logs) - min(logs) <= middle / 5
        enough = FOR_QUIET if alike else FOR_TWO
    if middle < max(enough, CLEARLY * error) or 4 * ahead < 3 * len(logs):
        return None
    allowed = middle if ahead == len(logs) else middle / 2
    if spread > math.hypot(noise, allowed):
        return None
    return CommonFactor(factor_of(middle), spread, error)


def _log_efficiency(cell: CellFact, study: StudyFacts) -> float:
    native = study.baseline(cell)
    if native is None or native.mean <= 0:
        return 0.0
    return log_efficiency(cell, native)
