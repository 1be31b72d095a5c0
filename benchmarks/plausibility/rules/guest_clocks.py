"""Guest clocks that run at another speed."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.plausibility.day_effects import (
    CPU_BOUND_COMPONENTS,
    EXTERNAL_CLOCKS,
    case_scatter,
    day_shifts,
    is_other_day,
    log_efficiency,
    measurement_day,
)
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    MIN_MEAN_ERROR,
    CellFact,
    ColumnKey,
    StudyFacts,
    factor_from_log,
)
from benchmarks.sentences import Sentence, join_sentences

MIN_LOG_FACTOR: Final = math.log(1.03)
MIN_LOG_FACTOR_TWO_CASES: Final = math.log(1.08)
"""Three or more cases need only 3 %."""
MIN_LOG_FACTOR_PRECISE: Final = math.log(1.05)
"""For two cases known to 1 % that differ by at most a fifth of the factor."""
PRECISE_ERROR: Final = 0.01
MAX_ERROR: Final = 0.05
"""Larger errors cannot resolve a common factor of 8 %."""
MIN_STANDARD_ERRORS: Final = 3.3


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """The factor by which a system beats native in all cases."""

    factor: float
    spread: float
    standard_error: float


@rule(
    "common-clock-factor",
    "Slow guest clock",
    "impossible",
    uses_other_studies=True,
)
def common_clock_factor(study: StudyFacts) -> Iterator[Finding]:
    """Flags a guest that is faster than the native machine by nearly the same factor in
    all CPU and memory benchmarks that were timed by its own clock (caches and RAM,
    reads and writes). If there are fewer than three, benchmarks of all components are
    used. All of the following must hold:
    - The median factor is at least 3%: 8% for two benchmarks, or 5% for two benchmarks
      that are both known to within 1% and differ by at most a fifth of the factor.
    - The median factor is at least 3.3 standard errors.
    - At least three of four benchmarks are faster.
    - The spread does not exceed the noise combined with half of the factor, or with the
      whole factor if all benchmarks are faster.
    Noise is the scatter within results of five or more runs. For single values, it is
    the scatter between at least four benchmarks if that is smaller. Benchmarks whose
    ratio is not known to within 5% are ignored if at least two others are. A slow clock
    cannot be detected if the guest is slowed down by more than its clock is. Results
    timed by an external clock are not tested but are reported for comparison. If
    several guests are faster than a native machine that was measured on another day,
    `native-of-another-day` reports it instead.

    Why: unrelated benchmarks cannot all become faster by the same factor, but a clock
    that loses ticks has this effect. For example, 64-bit Windows on Xen 3.3 appears 8%
    to 12% faster than native in every cache, and is slower by the clock of the time
    server.

    Remedy: time the runs from outside the guest, or measure its clock and correct
    the results. Until then, the results do not measure speed.
    """
    columns: dict[ColumnKey, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        # Several slots together may beat one machine.
        is_single = cell.slot not in {"sum", "mean"}
        if is_single and not cell.is_native and study.baseline(cell) and cell.mean > 0:
            columns[cell.column_key].append(cell)
    shifts = day_shifts(study)
    for column, cells in columns.items():
        if column in shifts:
            continue
        timed = [
            cell
            for cell in cells
            if cell.better != "neither"
            and not cell.is_cpu_utilization
            and not cell.is_start_up
        ]
        result = _find_common_factor(timed, study)
        if result is None:
            continue
        guest, common = result
        logs = [_log_efficiency(cell, study) for cell in guest]
        external = [
            factor_from_log(_log_efficiency(cell, study))
            for cell in timed
            if cell.component in CPU_BOUND_COMPONENTS and cell.clock in EXTERNAL_CLOCKS
        ]
        sentence = Sentence(
            "{system} is {ahead:.1%} faster than native in all {cases} benchmarks "
            "that were timed by its own clock. This pattern indicates a slow clock.",
            system=guest[0].system_phrase,
            ahead=common.factor - 1,
            cases=len(guest),
        )
        if external:
            fastest = max(external)
            check = Sentence(
                "Timed by an external clock, it reaches at most {best:.1%} of native.",
                best=fastest,
            )
            sentence = join_sentences([sentence, check])
        natives = [native for cell in guest if (native := study.baseline(cell))]
        pairs = zip(guest, natives, strict=True)
        if all(is_other_day(cell, native) for cell, native in pairs):
            day = measurement_day(natives[0])
            other_cause = Sentence(
                "Alternatively, the native machine was slower when it was measured "
                "on another day ({day}).",
                day=day,
            )
            sentence = join_sentences([sentence, other_cause])
        yield cell_finding(
            sentence,
            guest,
            factor=round(common.factor, 5),
            spread=round(common.spread, 5),
            standard_error=round(common.standard_error, 5),
            efficiencies=[round(factor_from_log(log), 5) for log in logs],
            outside=[round(factor, 5) for factor in external],
        )


def _find_common_factor(
    cells: Sequence[CellFact], study: StudyFacts
) -> tuple[list[CellFact], CommonFactor] | None:
    """Use CPU and memory cells, or all if there are fewer than 3."""
    guest = [cell for cell in cells if cell.clock not in EXTERNAL_CLOCKS]
    cpu_bound = [cell for cell in guest if cell.component in CPU_BOUND_COMPONENTS]
    for candidates in (cpu_bound, guest) if len(cpu_bound) < 3 else (cpu_bound,):
        errors = [_error(cell, study) for cell in candidates]
        pairs = list(zip(candidates, errors, strict=True))
        precise = [pair for pair in pairs if pair[1] <= MAX_ERROR]
        used = precise if len(precise) >= 2 else pairs
        logs = [_log_efficiency(cell, study) for cell, _ in used]
        scatter = case_scatter(logs)
        case_errors = [min(e, scatter) if cell.n == 1 else e for cell, e in used]
        common = common_factor(logs, case_errors)
        if common is not None:
            return [cell for cell, _ in used], common
    return None


def _error(cell: CellFact, study: StudyFacts) -> float:
    native, noise = study.baseline(cell), study.noise
    return math.hypot(
        *(noise.conservative_mean_error(member) for member in (cell, native) if member)
    )


def common_factor(
    logs: Sequence[float], errors: Sequence[float]
) -> CommonFactor | None:
    """Return the factor that explains all log ratios, or None.

    The median must exceed 3 % (8 % for two ratios, 5 % for two precise ones) and 3.3 of
    its standard errors. Three of four ratios must be above 1. Their robust spread must
    be within the noise plus half of the factor (all of it if every ratio is above 1).
    """
    if len(logs) < 2:
        return None
    middle = median(logs)
    spread = MAD_TO_SD * median(abs(log - middle) for log in logs)
    noise = math.sqrt(sum(error**2 for error in errors) / len(errors))
    # A median's standard error is sqrt(pi / 2) times that of a mean.
    weight = math.fsum(1 / max(error, MIN_MEAN_ERROR) ** 2 for error in errors)
    error = math.sqrt(math.pi / 2 / weight)
    ahead = sum(log > 0 for log in logs)
    threshold = MIN_LOG_FACTOR
    if len(logs) == 2:
        is_precise = (
            max(errors) <= PRECISE_ERROR and max(logs) - min(logs) <= middle / 5
        )
        threshold = MIN_LOG_FACTOR_PRECISE if is_precise else MIN_LOG_FACTOR_TWO_CASES
    if middle < max(threshold, MIN_STANDARD_ERRORS * error) or 4 * ahead < 3 * len(
        logs
    ):
        return None
    allowed = middle if ahead == len(logs) else middle / 2
    if spread > math.hypot(noise, allowed):
        return None
    return CommonFactor(factor_from_log(middle), spread, error)


def _log_efficiency(cell: CellFact, study: StudyFacts) -> float:
    native = study.baseline(cell)
    if native is None or native.mean <= 0:
        return 0.0
    return log_efficiency(cell, native)
