"""Rules about values that repeat too often, are 0, or are at the end of their scale."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import numpy as np

from benchmarks import units
from benchmarks.analysis.cell_statistics import display_step
from benchmarks.analysis.distribution_shape import DEFAULT_BAND, MIN_SHIFT_PART
from benchmarks.analysis.energy_ratio import RUN_TIME_METRICS
from benchmarks.plausibility.findings import Finding, cell_finding, name_and_more, rule
from benchmarks.plausibility.rules.pasted_values import (
    MAX_FALSE_FLAGS,
    MIN_NOISE_FRACTION,
    median_deviation,
)
from benchmarks.plausibility.study_facts import (
    BINARY_PREFIXES,
    MAD_TO_SD,
    CellFact,
    Id,
    StudyFacts,
    find_precision,
)
from benchmarks.sentences import Sentence, join_sentences, pluralized

TICKS_S: Final = (1.0, 1 / 18.2, 0.02, 1 / 60, 1 / 64, 0.01, 0.004, 0.001)
"""Clock ticks of DOS, Windows, and Linux (by its timer frequency)."""
MIN_READING: Final = 1e-50
"""Smaller values, and those above the reciprocal, are not times or rates."""
MIN_STEPS_PER_TICK: Final = 5
"""Any value is a multiple of a tick of fewer printed steps."""
MAX_TICKS: Final = 1e6
MAX_CHANCE: Final = 0.1
"""Largest distance from a whole number of ticks, in ticks."""
MIN_RUNS: Final = 5
MIN_SIBLINGS: Final = 3
FIXED_LENGTH_TOLERANCE: Final = 0.01
MIN_EQUAL_DIGITS: Final = 4
MAX_DISPLAY_GAP: Final = 2.01
"""Larger gaps between distinct values, in steps, are not those of a display."""
MIN_USUAL_SHARE: Final = 0.1
"""Rarer values are outliers; the steps of a display are those of the others."""
MANTISSA_ERROR: Final = 1e-3
HARMLESS_STEP: Final = MIN_SHIFT_PART * DEFAULT_BAND


@rule(
    "few-distinct-readings",
    "Too few distinct values",
    "implausible",
    family="repeats",
)
def few_distinct_readings(study: StudyFacts) -> Iterator[Finding]:
    """Flags a result of at least five runs with few distinct values (at most (n + 1) /
    3 for n runs), although the values were printed with enough digits. The step of the
    display comes from the result's own digits: it is the last digit, or a larger step
    of which all values are multiples (3400, 3366 and 3434 were rounded to 34). Equal
    values have the step of the other systems if that is larger, and need four digits.
    The common divisor of two values is not a step if it does not begin with 1, 2 or 5
    and other systems read values that are not multiples of it.
    Distinct values are harmless if they are neighboring steps of the display (in the
    median at most two steps apart, without values of less than a tenth of the runs), or
    closer than a quarter of the default equivalence
    margin, because the interval includes the rounding.

    The probability of so many equal values must be below 1 in 1,000. To calculate it,
    the standard deviation is taken as the larger of half the range of the result and a
    quarter of the typical deviation of such results. If three other systems ran the
    benchmark at least five times, the median of their median deviations is used if it
    is smaller, because a disk with two speeds repeats each of them.

    Two kinds of results are not flagged. The first are durations of whole tests, if at
    least two systems ran the test and the upper quartile of their durations is at most
    1% above the lower one: the duration was then requested, not measured. The second
    are times of whole clock ticks, and rates computed from such times for a fixed
    amount of work: they are coarse but not wrong.

    Why: values that repeat to the last digit were copied, or were read from a cache of
    results.

    Remedy: check the raw outputs. Repeat the runs.
    """
    lengths: dict[tuple[str, Id], dict[Id, float]] = defaultdict(dict)
    for cell in study.cells:
        if cell.metric in RUN_TIME_METRICS and cell.mean > 0:
            lengths[cell.tool, cell.case][cell.system] = cell.mean
    requested = set()
    for case, systems in lengths.items():
        low, high = np.quantile(list(systems.values()), [0.25, 0.75])
        # A single system may just be steady.
        if len(systems) > 1 and high / low - 1 <= FIXED_LENGTH_TOLERANCE:
            requested.add(case)
    for cell in study.cells:
        if cell.better == "neither" or len(cell.run_means) < MIN_RUNS or cell.mean <= 0:
            continue
        values = sorted(set(cell.run_means))
        few = len(values) * 3 <= len(cell.run_means) + 1
        if (cell.tool, cell.case) in requested or not few or _may_agree(cell, study):
            continue
        if _is_harmless(cell, values, study) or _are_clock_ticks(cell, values):
            continue
        written = [Sentence("{x:g}", x=x) for x in values]
        yield cell_finding(
            pluralized(
                "The {runs} runs of {name} have only {n} distinct value: {values}.",
                "The {runs} runs of {name} have only {n} distinct values: {values}.",
                runs=len(cell.run_means),
                name=cell.description,
                n=len(values),
                values=join_sentences(written, ", "),
            ),
            (cell,),
            distinct=len(values),
            runs=len(cell.run_means),
            readings=list(cell.run_means),
        )


def _may_agree(cell: CellFact, study: StudyFacts) -> bool:
    distinct = len(set(cell.run_means))
    step = _plausible_step(cell, study)
    if distinct == 1:
        # Equal values do not show the step of a converted display.
        step = max(
            step,
            *(
                _own_step(sibling) / sibling.mean * cell.mean
                for sibling in study.cells
                if sibling.sibling_key == cell.sibling_key and sibling.mean > 0
            ),
        )
    width = max(cell.run_means) - min(cell.run_means)
    deviation = max(
        width / 2, study.noise.kind_deviation(cell) * MIN_NOISE_FRACTION * cell.mean / 2
    )
    other_deviations = [
        median_deviation(neighbor.run_means)
        for neighbor in study.cells
        if neighbor.case == cell.case
        and neighbor.id != cell.id
        and len(neighbor.run_means) >= MIN_RUNS
    ]
    if len(other_deviations) >= MIN_SIBLINGS:
        deviation = min(deviation, MAD_TO_SD * float(np.median(other_deviations)))
    chance = min(
        1.0, distinct * step / (2 * math.sqrt(math.pi) * max(deviation, step / 6))
    )
    repeats = len(cell.run_means) - distinct
    return math.comb(len(cell.run_means), repeats) * chance**repeats > MAX_FALSE_FLAGS


def _is_harmless(cell: CellFact, values: Sequence[float], study: StudyFacts) -> bool:
    if len(values) == 1:
        # Also in the unit of the display, before a conversion from MiB to MB.
        printed = (
            float(f"{values[0] / unit:.12g}") for unit in (1.0, *BINARY_PREFIXES)
        )
        digits = min(find_precision([value]).digits for value in printed)
        return digits < MIN_EQUAL_DIGITS
    counts = Counter(cell.run_means)
    usual = [x for x in values if counts[x] >= MIN_USUAL_SHARE * len(cell.run_means)]
    gaps = [
        above - below for below, above in pairwise(usual if len(usual) > 1 else values)
    ]
    is_display = median(gaps) <= MAX_DISPLAY_GAP * _plausible_step(cell, study)
    return is_display or min(gaps) <= HARMLESS_STEP * cell.mean


def _own_step(cell: CellFact) -> float:
    last_digit = find_precision(cell.run_means, cell.decimals).step(cell.mean)
    return max(last_digit, display_step(cell.run_means, cell.decimals) or 0.0)


def _plausible_step(cell: CellFact, study: StudyFacts) -> float:
    if len(set(cell.run_means)) == 2 and _has_accidental_step(cell, study):
        return find_precision(cell.run_means, cell.decimals).step(cell.mean)
    return _own_step(cell)


def _has_accidental_step(cell: CellFact, study: StudyFacts) -> bool:
    """Return whether two values are multiples of their difference by chance.

    2.52 and 2.45 are multiples of 0.07, but no display has such a step if other systems
    read values between them.
    """
    step = _own_step(cell)
    for unit in (1.0, *BINARY_PREFIXES):
        mantissa = float(f"{step / unit:.6e}".partition("e")[0])
        if min(abs(mantissa - usual) for usual in (1, 2, 5, 10)) < MANTISSA_ERROR:
            return False
    others = [
        value
        for neighbor in study.cells
        if neighbor.case == cell.case and neighbor.id != cell.id
        for value in neighbor.run_means
    ]
    return any(abs(math.remainder(x, step)) > MAX_CHANCE * step for x in others)


def _are_clock_ticks(cell: CellFact, values: Sequence[float]) -> bool:
    """Return whether the values are times of whole clock ticks, or rates that were
    computed from such times.
    """
    # Squares of other values may overflow.
    if not MIN_READING <= min(values) <= max(values) <= 1 / MIN_READING:
        return False
    precision = find_precision(values, cell.decimals)
    unit = units.find_unit(cell.unit)
    if unit is not None and unit.dimension == "time":
        in_s = units.convert(1.0, cell.unit, "s")
        for tick in (tick / in_s for tick in TICKS_S):
            if values[-1] / tick > MAX_TICKS:
                continue
            misses = [abs(value - tick * round(value / tick)) for value in values]
            step = max(map(precision.step, values))
            if tick >= MIN_STEPS_PER_TICK * step and max(misses) <= 0.51 * step:
                return True
    is_time = cell.better == "lower"
    times = sorted(value if is_time else 1 / value for value in values)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    tick = min(gaps, default=0.0)
    if tick <= 0 or not times[-1] / tick <= MAX_TICKS:
        return False
    # In ticks of the longest time.
    rounding = max(precision.step(value) / value for value in values)
    slack = 2 * (times[-1] / tick) ** 2 * rounding
    ticks = [time / tick for time in times]
    misses = [abs(count - round(count)) for count in ticks]
    return slack <= MAX_CHANCE and max(misses) <= MAX_CHANCE


SATURATED_PERCENT: Final = 99.4
MIN_READABLE_PERCENT: Final = 0.5
CONSUMED_DIMENSIONS: Final = frozenset({"time", "CPU time per data", "energy", "power"})


FAILURE_CODES: Final = frozenset(
    [-1.0, *(2.0**bits - 1 for bits in (15, 16, 31, 32, 63, 64))]
    + [10.0**digits - 1 for digits in range(4, 13)]
)
"""Values that programs print for a failure: -1, the largest integers and 99999."""
MIN_CODE_FACTOR: Final = 5.0
"""A failure code is at least this far from the other runs."""


@rule("zero-reading", "Zero value in a working run", "impossible", family="readings")
def zero_reading(study: StudyFacts) -> Iterator[Finding]:
    """Flags a rate, time, energy or power of 0, in all runs or in some of them. Also
    flags a CPU utilization of 0% in all runs, unless other systems need less than 0.5%
    for the same benchmark (in the median). Moving data costs CPU time, so 0 means that
    it was not measured, for example because the counter of the guest does not advance.
    Counts, losses, shares of slow requests, jitter and waiting times may be 0.

    Codes of a failure in some runs are flagged in the same way: -1, 9999 and longer,
    and the largest integers of 16, 32 or 64 bits, if they differ from the other runs by
    at least a factor of 5.

    Why: a system that needs no CPU time would be infinitely efficient, and a false 0
    makes every mean over the result wrong.

    Remedy: treat the result as not measured. Measure the CPU utilization from the host.
    Upload failed runs as failed.
    """
    rows: dict[object, list[float]] = defaultdict(list)
    for cell in study.cells:
        rows[cell.case].append(cell.mean)
    zeros = []
    for cell in study.cells:
        is_rate = cell.unit != "%" and cell.better == "higher"
        can_be_zero = cell.zero_allowed or not is_rate
        if failed := _failed_readings(cell, can_be_zero=can_be_zero):
            yield _failed_runs(cell, failed)
        elif cell.mean == 0 and (
            cell.is_cpu_utilization or is_rate or _is_never_zero(cell)
        ):
            positive_means = [mean for mean in rows[cell.case] if mean > 0]
            # 0.4 % may be rounded down to 0 elsewhere.
            if (
                not positive_means
                or cell.unit != "%"
                or median(positive_means) >= MIN_READABLE_PERCENT
            ):
                zeros.append(cell)
    for cells in _grouped_cells(zeros):
        elsewhere = [mean for cell in cells for mean in rows[cell.case] if mean]
        yield cell_finding(
            Sentence(
                "{cases}: 0 {unit} in a run that did work. The value was not measured.",
                cases=name_and_more(cells[0].description, len(cells) - 1),
                unit=cells[0].unit,
            ),
            cells,
            reading=0,
            elsewhere=elsewhere[:20],
        )


def _failed_readings(cell: CellFact, *, can_be_zero: bool) -> list[float]:
    """Return the runs of a result, of which others worked, that are 0 or a code."""
    if cell.better == "neither" or len(set(cell.run_means)) < 2:
        return []
    failed = [value for value in cell.run_means if value in FAILURE_CODES]
    others = [value for value in cell.run_means if value > 0 and value not in failed]
    far = [value for value in failed if others and not _is_near(value, others)]
    if not can_be_zero or _is_never_zero(cell):
        far += [value for value in cell.run_means if value == 0]
    return far if others else []


def _is_near(value: float, others: Sequence[float]) -> bool:
    return any(
        other / MIN_CODE_FACTOR < value < other * MIN_CODE_FACTOR for other in others
    )


def _failed_runs(cell: CellFact, failed: Sequence[float]) -> Finding:
    return cell_finding(
        pluralized(
            "{name}: {n} of {runs} runs is {value:g} {unit}. Such a value marks a "
            "failure, but it counts as a result. Upload the run as failed.",
            "{name}: {n} of {runs} runs are {value:g} {unit}. Such a value marks a "
            "failure, but it counts as a result. Upload the runs as failed.",
            name=cell.description,
            n=len(failed),
            runs=len(cell.run_means),
            value=failed[0],
            unit=cell.unit,
        ),
        (cell,),
        failed=list(failed),
        readings=list(cell.run_means),
    )


@rule("saturated-reading", "CPU utilization of 100%", "implausible", family="readings")
def saturated_reading(study: StudyFacts) -> Iterator[Finding]:
    """Flags a CPU utilization of exactly 100% in every run of a test that is not
    designed to load the CPU. From 99.4% upwards, and for CPU tests with several runs of
    exactly 100%, the severity is only check. A utilization of more than 102% times the
    number of CPUs of the system is impossible. If the number of CPUs is not known,
    values above 100% are not assessed.

    Why: either the counter is stuck, or the CPU was the limit. The throughput then does
    not describe the network or the disk.

    Remedy: check the host's own counters. If the CPU was the limit, state this.
    """
    utilizations = [cell for cell in study.cells if cell.is_cpu_utilization]
    above_maximum = [
        cell
        for cell in utilizations
        if (cpus := cell.vcpus or cell.host_cores) is not None
        and cell.mean > 100 * cpus * 1.02
    ]
    for cells in _grouped_cells(above_maximum):
        yield cell_finding(
            Sentence(
                "{cases}: the CPU utilization is {mean:g}%, but the number of CPUs of "
                "the system is {cpus}.",
                cases=name_and_more(cells[0].description, len(cells) - 1),
                mean=cells[0].mean,
                cpus=cells[0].vcpus or cells[0].host_cores or 0,
            ),
            cells,
            severity="impossible",
            readings=[cell.mean for cell in cells],
        )
    full = [
        cell
        for cell in utilizations
        if (cell.component != "CPU" and SATURATED_PERCENT <= cell.mean <= 100)
        or (cell.component == "CPU" and cell.n > 1 and set(cell.run_means) == {100.0})
    ]
    for cells in _grouped_cells(full):
        stuck = any(cell.component != "CPU" and cell.mean == 100 for cell in cells)
        yield cell_finding(
            Sentence(
                "{cases}: the CPU utilization is {mean:g}%. Either its counter is "
                "stuck, or the CPU was the limit of this test.",
                cases=name_and_more(cells[0].description, len(cells) - 1),
                mean=cells[0].mean,
            ),
            cells,
            severity=None if stuck else "check",
            readings=[cell.mean for cell in cells],
        )


def _is_never_zero(cell: CellFact) -> bool:
    unit = units.find_unit(cell.unit)
    if (
        cell.better != "lower"
        or unit is None
        or unit.dimension not in CONSUMED_DIMENSIONS
    ):
        return False
    # Tools allow a CPU time of 0 for an idle guest.
    return not cell.zero_allowed or "cpu time" in cell.metric.casefold()


def _grouped_cells(cells: Iterable[CellFact]) -> Iterator[list[CellFact]]:
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cell in cells:
        groups[(*cell.column_key, *cell.sibling_key)].append(cell)
    return iter(groups.values())
