"""Rule that detects guest clocks that run too slowly."""

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
MIN_LOG_FACTOR_PRECISE: Final = math.log(1.05)
"""Minimum for two cases known to 1 % that differ by at most a fifth of the factor."""
PRECISE_ERROR: Final = 0.01
MAX_ERROR: Final = 0.05
"""Cases with a larger relative error cannot resolve a common factor of 8 %."""
MIN_STANDARD_ERRORS: Final = 3.3


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """The factor by which a guest is faster than native in all cases.

    ``spread`` (robust, between the cases) and ``standard_error`` (of the median) are of
    the factor's logarithm.
    """

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
    all CPU and memory benchmarks (caches and RAM, reads and writes) that the guest's
    own clock timed. If there are fewer than three such benchmarks and they share no
    factor, the benchmarks of all components are tested. All of the following must hold:
    - The guest is faster by at least 3% in the median. With only two benchmarks, it
      must be 8%, or 5% if both are known to within 1% and differ by at most a fifth of
      the lead.
    - The median is at least 3.3 times its standard error.
    - The guest is faster in at least three of four benchmarks.
    - The spread of the factors does not exceed the noise combined with half of the
      lead, or with the whole lead if the guest is faster in all benchmarks.

    For results of five or more runs, noise is the scatter of these runs. For single
    values, it is the scatter between the benchmarks if there are at least four and this
    is smaller. Benchmarks whose ratio is not known to within 5% are ignored if at least
    two others are. A slow clock cannot be detected if the hypervisor slows the guest
    down by more than its clock hides. Results timed by an external clock are not
    tested; the finding quotes the fastest of them for comparison. If several guests are
    faster than a native machine that was measured on another day,
    `native-of-another-day` reports this instead.

    Why: unrelated benchmarks cannot all become faster by the same factor, but they
    appear to if the guest's clock loses ticks.

    Remedy: time the runs from outside the guest, or measure the speed of its clock and
    correct the results. Until then, the results do not measure speed.
    """
    columns: dict[ColumnKey, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        # Several slots together may beat one machine.
        is_single = cell.slot not in {"sum", "mean"}
        baseline = study.baseline(cell)
        # A system may really be faster than the reference system of its study.
        has_native = baseline is not None and baseline.is_native
        if is_single and not cell.is_native and has_native and cell.mean > 0:
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
            "{system} is faster than native by nearly the same factor (median: "
            "{ahead:.1%}) in {cases} benchmarks that its own clock timed. A slow "
            "guest clock has this effect.",
            system=guest[0].system_phrase,
            ahead=common.factor - 1,
            cases=len(guest),
        )
        if external:
            fastest = max(external)
            check = Sentence(
                "Timed by an external clock, it reaches at most {best:.1%} of native "
                "speed.",
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
    """Return the factor that explains all log ratios to native, or None."""
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
