"""Factors between units, and runs in another unit than the other runs of their cell."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median, variance
from typing import Final

from benchmarks import units
from benchmarks.plausibility.findings import Finding, cell_finding
from benchmarks.plausibility.study_facts import (
    PRIOR_DF,
    CellFact,
    Id,
    StudyFacts,
    factor_from_log,
    find_precision,
)
from benchmarks.sentences import Sentence

DATA_FACTORS: Final[Mapping[str, float]] = {
    Sentence("8, as between bits and bytes"): 8,
    "10": 10,
    "100": 100,
    "1000": 1000,
    "1024": 1024,
    Sentence("8000, as between kbit and MB"): 8000,
    "10^6": 1e6,
    "1024^2": 1024**2,
}
TIME_FACTORS: Final[Mapping[str, float]] = {
    "10": 10,
    Sentence("60, as between seconds and minutes"): 60,
    "100": 100,
    "1000": 1000,
    Sentence("3600, as between seconds and hours"): 3600,
    "10^6": 1e6,
    "10^9": 1e9,
}
COUNT_FACTORS: Final[Mapping[str, float]] = {
    "10": 10,
    "100": 100,
    "1000": 1000,
    "10^6": 1e6,
}
UTILIZATION_FACTORS: Final[Mapping[str, float]] = {"100": 100, "1000": 1000}
"""CPU utilization may differ tenfold between two systems."""
RECIPROCAL_SCALES: Final[Mapping[str, float]] = {"ms": 1e3, "us": 1e6, "ns": 1e9}
"""A time in this unit is this number divided by the rate per second."""
MIN_LOG_FACTOR: Final = math.log(5)
"""Smaller differences are often the effect of a setting."""
MIN_DEVIATIONS: Final = 3
"""In standard deviations of the predictions."""
FACTOR_TOLERANCE: Final = 0.3
MAX_FACTOR_TOLERANCE: Final = 0.5
"""``FACTOR_TOLERANCE`` (35 %) and ``MAX_FACTOR_TOLERANCE`` (65 %) are log distances.
With 0.9, four of five differences between 5 and 2000 would match some factor.
"""
MIN_PREDICTION_TOLERANCE: Final = 0.1
"""Precise predictions leave this log distance (11 %): 7.67 is not near 10."""
MAX_RUN_TOLERANCE: Final = 0.2
"""Half of all real differences between runs are within 35 % of some factor."""
TIME_AND_ENERGY_UNITS: Final = frozenset(
    {"s", "ms", "us", "ns", "min", "h", "J", "Wh", "kWh"}
)
MIN_LOG_SHIFT: Final = math.log(2)
"""Noise does not change a cell by a factor of 2."""
# PostgreSQL computes the run means of a cell, Python those here: last bits differ.
TOLERANCE: Final = 1e-9
MIN_RUNS: Final = 3
MIN_FACTOR_TOLERANCE: Final = 0.05
"""Runs vary by some percent, and 1000 may also have been confused with 1024 (a log
distance of 0.024).
"""


def nearest_factor(cell: CellFact, log_difference: float, tolerance: float) -> str:
    name, miss = nearest_factor_distance(cell, log_difference)
    return name if miss <= tolerance else ""


def prediction_tolerance(deviation: float, largest: float = FACTOR_TOLERANCE) -> float:
    """Return the tolerance of a factor for the deviation of the predictions (logs)."""
    return min(max(MIN_PREDICTION_TOLERANCE, MIN_DEVIATIONS * deviation), largest)


def nearest_factor_distance(cell: CellFact, log_difference: float) -> tuple[str, float]:
    """Return the name of the unit factor nearest to a difference, and its log distance
    from the difference.
    """
    factors = unit_factors(cell)
    misses = {
        name: abs(abs(log_difference) - math.log(factor))
        for name, factor in factors.items()
    }
    name = min(misses, key=misses.__getitem__)
    return name, misses[name]


def reciprocal_distance(cell: CellFact, expected: float) -> float:
    """Return the log distance of a cell from the reciprocal of its expected value.

    In ms, us or ns, the expected value may also be a rate per second. ``expected`` is
    its log.
    """
    scale = RECIPROCAL_SCALES.get(cell.unit, 1.0)
    log = math.log(cell.mean)
    return min(abs(log + expected - math.log(factor)) for factor in {1.0, scale})


def unit_factors(cell: CellFact) -> Mapping[str, float]:
    if cell.is_cpu_utilization:
        return UTILIZATION_FACTORS
    if cell.unit in TIME_AND_ENERGY_UNITS:
        return TIME_FACTORS
    unit = units.find_unit(cell.unit)
    is_data = unit is None or unit.dimension in {"data", "data rate"}
    return DATA_FACTORS if is_data else COUNT_FACTORS


def min_comparable_shift(log_difference: float) -> float:
    """Return the smallest log change of another value that counts as a change, too."""
    return max(MIN_LOG_SHIFT, abs(log_difference) / 2)


@dataclass(frozen=True)
class RunReadings:
    study: StudyFacts

    def ran_at_other_speed(
        self, cell: CellFact, run: int, log_difference: float, tolerance: float
    ) -> bool:
        """Return whether a run also differs from other runs in other cells.

        ``run`` is the index in ``cell.run_means``. Return False for a unit error of the
        whole run: only cells in the same unit differ, all by the same factor.
        """
        shifts = list(self._other_cell_shifts(cell, cell.run_means[run]))
        far = [
            sibling
            for sibling, shift in shifts
            if abs(shift) >= min_comparable_shift(log_difference)
        ]
        has_same_shift = [
            abs(shift - log_difference) <= tolerance
            for sibling, shift in shifts
            if sibling.unit == cell.unit
        ]
        is_unit_error = all(has_same_shift) and all(
            sibling.unit == cell.unit for sibling in far
        )
        return bool(far) and not is_unit_error

    def _other_cell_shifts(
        self, cell: CellFact, value: float
    ) -> Iterator[tuple[CellFact, float]]:
        """Yield the other cells of the run that measured ``value``, each with the log
        ratio of the run to its median over the other runs.
        """
        for run_id, mean in self._means_by_cell.get(cell.id, {}).items():
            # Cells do not store the ids of their runs.
            if abs(mean - value) > TOLERANCE * abs(value):
                continue
            for sibling in self._cells_by_run[run_id]:
                if sibling.id != cell.id and not sibling.is_extreme:
                    means = self._means_by_cell[sibling.id]
                    other_means = [mean for run, mean in means.items() if run != run_id]
                    # With a single other run, either may have moved.
                    middle = median(other_means) if len(other_means) > 1 else 0.0
                    positive = means[run_id] > 0 and middle > 0
                    yield sibling, math.log(means[run_id] / middle) if positive else 0.0

    @cached_property
    def _means_by_cell(self) -> Mapping[Id, Mapping[Id, float]]:
        samples: dict[tuple[Id, Id], list[float]] = defaultdict(list)
        for run in self.study.runs:
            for sample in run.samples:
                if sample.cell is not None:
                    samples[sample.cell, run.id].append(sample.value)
        means: dict[Id, dict[Id, float]] = defaultdict(dict)
        for (cell, run_id), values in samples.items():
            means[cell][run_id] = fmean(values)
        return means

    @cached_property
    def _cells_by_run(self) -> Mapping[Id, list[CellFact]]:
        cells_by_id = {cell.id: cell for cell in self.study.cells}
        cells_by_run: dict[Id, list[CellFact]] = defaultdict(list)
        for cell, runs in self._means_by_cell.items():
            for run in runs if cell in cells_by_id else ():
                cells_by_run[run].append(cells_by_id[cell])
        return cells_by_run


@dataclass(frozen=True)
class RelatedMetrics:
    study: StudyFacts

    def ran_at_other_speed(self, cell: CellFact, log_difference: float) -> bool:
        """Return whether another metric of the cell's test differs in the same
        direction.

        It must differ by at least half of ``log_difference`` (log scale), and by
        another factor or in another unit: a unit error changes only one metric.
        """
        sign = 1 if cell.better == "higher" else -1
        for related in self._tests[_test(cell)]:
            row = self._rows[related.case, related.metric, _circumstances(related)]
            other_logs = [math.log(c.mean) for c in row if c.system != cell.system]
            if related.sibling_key == cell.sibling_key or not other_logs:
                continue
            shift = math.log(related.mean) - median(other_logs)
            shift *= sign if related.better == "higher" else -sign
            if cell.better == "neither":
                shift = math.copysign(shift, log_difference)
            is_comparable = shift * log_difference > 0 and abs(
                shift
            ) >= min_comparable_shift(log_difference)
            if is_comparable and (
                abs(shift - log_difference) > FACTOR_TOLERANCE
                or related.unit != cell.unit
            ):
                return True
        return False

    @cached_property
    def _speeds(self) -> list[CellFact]:
        return [
            cell for cell in self.study.cells if cell.mean > 0 and cell.is_performance
        ]

    @cached_property
    def _tests(self) -> Mapping[object, list[CellFact]]:
        tests: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self._speeds:
            tests[_test(cell)].append(cell)
        return tests

    @cached_property
    def _rows(self) -> Mapping[object, list[CellFact]]:
        rows: dict[object, list[CellFact]] = defaultdict(list)
        for cell in self._speeds:
            rows[cell.case, cell.metric, _circumstances(cell)].append(cell)
        return rows


def _test(cell: CellFact) -> object:
    return cell.column_key, cell.tool, tuple(sorted(cell.parameters.items()))


def _circumstances(cell: CellFact) -> object:
    return cell.host, cell.circumstances, cell.emulation_layers


def find_unit_errors_in_runs(
    cell: CellFact, run_readings: RunReadings
) -> Iterator[Finding]:
    if len(cell.run_means) < MIN_RUNS or min(cell.run_means) <= 0 or cell.is_extreme:
        return
    logs = [math.log(mean) for mean in cell.run_means]
    middle = median(logs)
    deviations = [log - middle for log in logs]
    if max(map(abs, deviations)) < MIN_LOG_FACTOR:
        return
    inner = 2 * MIN_DEVIATIONS * sorted(map(abs, deviations))[len(logs) // 2]
    # Three standard deviations of one more run, plus the rounding of the run itself.
    usual = [log for log in deviations if abs(log) < MIN_LOG_FACTOR]
    if not usual:  # either half may be wrong
        return
    freedom = len(usual) - 1
    own = variance(usual) if freedom else 0.0
    prior = run_readings.study.noise.kind_deviation(cell)
    pooled = (freedom * own + PRIOR_DF * prior**2) / (freedom + PRIOR_DF)
    scatter = MIN_DEVIATIONS * math.sqrt(pooled * (1 + 1 / len(usual)))
    printed = find_precision(cell.run_means, cell.decimals)
    tolerances = [
        min(
            MAX_RUN_TOLERANCE,
            max(MIN_FACTOR_TOLERANCE, scatter + printed.step(mean) / 2 / mean),
        )
        for mean in cell.run_means
    ]
    unit_errors = {
        run: factor
        for run, distance in enumerate(deviations)
        if abs(distance) >= max(MIN_LOG_FACTOR, inner)
        and (factor := nearest_factor(cell, distance, tolerances[run]))
    }
    for run, factor in unit_errors.items():
        has_several_speeds = any(
            abs(distance) >= max(min_comparable_shift(deviations[run]), inner)
            for other_run, distance in enumerate(deviations)
            if other_run not in unit_errors
        )
        if has_several_speeds or run_readings.ran_at_other_speed(
            cell, run, deviations[run], tolerances[run]
        ):
            continue
        yield cell_finding(
            Sentence(
                "Run {run} of {name} is {value:g} {unit}, but the median of the runs "
                "is {others:g} {unit}. The factor between them is near {factor}.",
                run=run + 1,
                name=cell.description,
                value=cell.run_means[run],
                unit=cell.unit,
                others=factor_from_log(middle),
                factor=factor,
            ),
            (cell,),
            value=cell.run_means[run],
            expected=factor_from_log(middle),
            factor=factor,
        )
