"""Search for values that look swapped.

Either two runs contradict themselves until the values of one metric are swapped, or two
cases of a system have each other's expected value.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.plausibility.predicted_values import (
    SiblingTable,
    nanmedian,
    sibling_residuals,
)
from benchmarks.plausibility.rules.arithmetic_identities import (
    has_no_whole_cpu_count,
    mismatches,
)
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    CellFact,
    Id,
    RunFact,
    SampleFact,
    StudyFacts,
    readings_by_parameters,
)

MAX_INCONSISTENT_RUNS: Final = 40
MAX_CASES: Final = 40
MAX_SYSTEMS: Final = 3
MIN_CASES: Final = 5

Pair = tuple[CellFact, CellFact]


@dataclass(frozen=True, slots=True)
class InconsistentTest:
    """The samples of a run that have the same parameters and contradict each other."""

    run: RunFact
    samples: Mapping[str, SampleFact]
    parameters: Mapping[str, str]

    def with_metric(self, metric: str, value: SampleFact) -> RunFact:
        samples = {**self.samples, metric: value}
        return replace(self.run, samples=tuple(samples.values()))


def _contradicts_itself(run: RunFact) -> bool:
    return has_no_whole_cpu_count(run) or next(mismatches(run), None) is not None


def _inconsistent_tests(
    study: StudyFacts,
) -> Mapping[object, Sequence[InconsistentTest]]:
    tests: dict[object, list[InconsistentTest]] = defaultdict(list)
    for run in study.runs:
        # Few runs contradict themselves, so check the whole run first.
        if not _contradicts_itself(run):
            continue
        circumstances = (run.host, run.scenario, run.vms, run.slot, run.load)
        for readings in readings_by_parameters(run, min_readings=2):
            test = InconsistentTest(run, readings.samples, readings.parameters)
            single_test = replace(run, samples=tuple(readings.samples.values()))
            if _contradicts_itself(single_test):
                tests[run.tool, *circumstances].append(test)
    return tests


def swaps_that_resolve(
    study: StudyFacts,
) -> Mapping[tuple[str, ...], Sequence[Pair]]:
    """Map metrics to pairs of cells; swapping the values of a pair resolves
    contradictions.

    If swapping any one of several metrics is enough, the key has all of them.
    """
    by_id = {cell.id: cell for cell in study.cells}
    swaps: dict[tuple[str, ...], dict[tuple[Id, Id], Pair]] = defaultdict(dict)
    for tests in _inconsistent_tests(study).values():
        used: set[int] = set()
        for first_index, second_index in _candidates(tests[:MAX_INCONSISTENT_RUNS]):
            if used & {first_index, second_index}:
                continue
            first, second = tests[first_index], tests[second_index]
            pairs: dict[str, Pair] = {}
            for metric in _resolving_metrics(first, second):
                cells = (first.samples[metric].cell, second.samples[metric].cell)
                first_cell, second_cell = (
                    by_id.get(cell_id) if cell_id else None for cell_id in cells
                )
                if first_cell and second_cell and first_cell.id != second_cell.id:
                    pairs[metric] = (first_cell, second_cell)
            if pairs:
                used |= {first_index, second_index}
                by_cells = {
                    (first_cell.id, second_cell.id): (first_cell, second_cell)
                    for first_cell, second_cell in pairs.values()
                }
                swaps[tuple(sorted(pairs))] |= by_cells
    return {metrics: list(pairs.values()) for metrics, pairs in swaps.items()}


def _candidates(tests: Sequence[InconsistentTest]) -> Iterator[tuple[int, int]]:
    """Yield index pairs that may be swapped: of two systems first, then of cases."""
    pairs = list(combinations(range(len(tests)), 2))
    for is_case in (False, True):
        for first_index, second_index in pairs:
            first, second = tests[first_index], tests[second_index]
            same_case = first.parameters == second.parameters
            same_system = first.run.system == second.run.system
            if same_system is is_case and same_case is not is_case:
                yield first_index, second_index


def _resolving_metrics(
    first: InconsistentTest, second: InconsistentTest
) -> Iterator[str]:
    for metric, sample in first.samples.items():
        other_sample = second.samples.get(metric)
        if (
            other_sample is None
            or other_sample.unit != sample.unit
            or other_sample.value == sample.value
        ):
            continue
        swapped = (
            first.with_metric(metric, other_sample),
            second.with_metric(metric, sample),
        )
        if not any(map(_contradicts_itself, swapped)):
            yield metric


@dataclass(frozen=True, slots=True)
class SwappedCases:
    """Two cases that look swapped on one or more systems.

    ``log_distance`` is the expected log ratio of the two cases, ``deviation`` the
    standard deviation of the prediction errors of the other cases (log scale).
    """

    pairs: tuple[Pair, ...]
    log_distance: float
    deviation: float


def find_swapped_cases(
    table: SiblingTable,
    floor: float,
    min_distance: float,
    min_deviations: float,
    tolerance: float,
) -> Iterator[SwappedCases]:
    """Yield pairs of cases that have each other's expected value on a system.

    The table must have two or three systems and at least three other cases. The
    expected values of the two cases must differ by at least ``min_distance`` (log
    scale) and by ``min_deviations`` standard deviations, which are at least ``floor``.
    ``tolerance`` is the accepted prediction error, relative to the distance of the two
    cases.
    """
    rows, columns = table.logs.shape
    if not 2 <= columns <= MAX_SYSTEMS or not MIN_CASES <= rows <= MAX_CASES:
        return
    residuals = sibling_residuals(table.logs)
    swaps: dict[tuple[int, int], list[tuple[int, float, float]]] = defaultdict(list)
    for column in range(columns):
        outliers = np.flatnonzero(
            np.abs(np.nan_to_num(residuals[:, column])) >= min_distance / 2
        )
        for first, second in combinations(outliers.tolist(), 2):
            if residuals[first, column] * residuals[second, column] < 0:
                crossing = _crossing(table, column, (first, second), tolerance)
                if crossing and crossing[0] >= max(
                    min_distance, min_deviations * max(floor, crossing[1])
                ):
                    swaps[first, second].append((column, *crossing))
    for (first, second), members in swaps.items():
        # A pair that looks swapped on two of three systems is ambiguous.
        if columns > 2 and len(members) > 1:
            continue
        pairs = [(table.cells[first][c], table.cells[second][c]) for c, *_ in members]
        cells = tuple((a, b) for a, b in pairs if a and b)
        if cells:
            yield SwappedCases(cells, *members[0][1:])


def _crossing(
    table: SiblingTable, column: int, pair: tuple[int, int], tolerance: float
) -> tuple[float, float] | None:
    """Return the expected distance of swapped cases and the deviation of the others.

    None if they do not look swapped.
    """
    logs = table.logs[:, column]
    distances = logs[:, None] - np.delete(table.logs, column, axis=1)
    is_other = np.ones(len(logs), dtype=bool)
    is_other[list(pair)] = False
    usual = nanmedian(distances[is_other], axis=0)
    residuals = nanmedian(distances - usual, axis=1)
    expected = logs - residuals
    first, second = pair
    distance = abs(float(expected[first] - expected[second]))
    miss = max(abs(logs[first] - expected[second]), abs(logs[second] - expected[first]))
    other_residuals = np.abs(residuals[is_other][~np.isnan(residuals[is_other])])
    if other_residuals.size < MIN_CASES - 2 or not miss <= tolerance * distance:
        return None
    tail = float(np.quantile(other_residuals, 0.9)) / 1.645
    return distance, max(MAD_TO_SD * float(np.median(other_residuals)), tail)
