"""Rule about values that differ from expected ones by the factor between two units."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from statistics import median
from typing import Final

import numpy as np

from benchmarks.analysis.baselines import ON_HOST_SCENARIOS
from benchmarks.analysis.intervals import Floats
from benchmarks.plausibility.findings import (
    Finding,
    cell_finding,
    rule,
    unique_subjects,
)
from benchmarks.plausibility.predicted_values import (
    MAX_SIBLINGS,
    DigitComparison,
    SiblingTable,
    SystemSpeeds,
    curve_outliers,
    emulated_sibling_tables,
    expectation_distances,
    leave_one_out_spread,
    nanmedian,
    sibling_residuals,
    sibling_tables,
)
from benchmarks.plausibility.rules.corun_sums import consistent_slots
from benchmarks.plausibility.rules.emulation import emulation_explained_cells
from benchmarks.plausibility.rules.swapped_values import inverted_cells
from benchmarks.plausibility.study_facts import CellFact, StudyFacts, factor_from_log
from benchmarks.plausibility.unit_errors import (
    FACTOR_TOLERANCE,
    MAX_FACTOR_TOLERANCE,
    MIN_DEVIATIONS,
    MIN_LOG_FACTOR,
    RelatedMetrics,
    RunReadings,
    find_unit_errors_in_runs,
    nearest_factor,
    nearest_factor_distance,
    prediction_tolerance,
    reciprocal_distance,
    unit_factors,
)
from benchmarks.sentences import Sentence, join_sentences, template

MAX_LOG_SLOWDOWN: Final = math.log(40)
"""Larger slowdowns are errors: even emulated network cards cause only a factor of
20.
"""
STEADY_COMPONENTS: Final = frozenset({"CPU", "memory", "power"})
"""Components in which no system is ten times slower than another."""
RECIPROCAL_TOLERANCE: Final = math.log(2.5)
DIGITS_TOLERANCE: Final = 0.9
"""Largest log distance from a factor that the digits indicate."""
NEAR_FACTOR_SENTENCE: Final = template(
    "{name} is {mean:g} {unit}. It differs from {where} by a factor of {exactly:.4g}, "
    "which is near {factor}."
)
NEAREST_FACTOR_SENTENCE: Final = template(
    "{name} is {mean:g} {unit}. It differs from {where} by a factor of {exactly:.4g}. "
    "The nearest factor between two units is {factor}."
)
MIN_GUESTS: Final = 2
MIN_OTHER_CELLS: Final = 4


@rule("unit-slip", "Suspected unit error", "impossible")
def unit_error(study: StudyFacts) -> Iterator[Finding]:
    """Flags a value that differs from its expected value by the factor between two
    units: a power of 10, for data and data rates also 8, 8000 or a power of 1024, for
    times and energies also 60 or 3600. The expected value comes from one of these
    sources:
    - the other runs of its result;
    - the other systems and benchmarks of the same tool and metric (a system may be
      slower in all benchmarks, and a benchmark faster on all systems);
    - if the systems have no other benchmark in common, the values of the other systems
      in the same benchmark, corrected by the usual speed of each system in other tests
      of the component;
    - the two neighbors of a point in a curve, for example throughput by block size.

    The value must differ from its expected value by at least a factor of 5 (for
    networks and disks usually 40, if there are only two benchmarks and at most three
    systems), by at least 3 standard deviations of the prediction errors of its tool and
    metric, and (on a log scale) by at least twice the distance of the other systems
    from their own expected values in this benchmark. The difference must match the
    factor to within 3 of these standard deviations, or the distance of the other
    systems if that is larger (at least 11%, at most 65%). If it does not match to
    within 35%, the severity is only implausible, because half of all real differences
    are within 65% of some factor. Expectations from other sources are compared with the
    factor in the same way, to within 35%. The following are also flagged:
    - A value that is farther from all other values of its tool, metric and host (at
      least four) than these are from each other, if each of its parameters has the same
      value in another result.
    - A value with more decimals than any other value of its tool and metric, if it has
      as few as the others after multiplying by a factor, and if it differs from its
      expected value by that factor (at least 5). The prediction errors do not matter
      here.
    - A guest whose ratio to its own native machine differs by such a factor from the
      ratios of at least two other guests in the same benchmark. This applies to CPU,
      memory and power, and to guests that are more than twice as fast as native.
    - A whole system that differs from all others by such a factor. The factor must be
      at least 40, or at least 5 if the system is a guest that is more than twice as
      fast as native in most of its benchmarks.

    If a single run differs from the others of its result, its difference must match the
    factor more closely: to within 3 standard deviations of the other runs (at least 5%,
    at most 22%). The following are not flagged:
    - Slots of a co-run that add up to their printed sum, because a unit error in one of
      them would change the sum.
    - A run, if another run of its result is about as far off but not by the factor
      between two units, or if other results of the same start of the tool changed as
      much (in other units, or only some of them in the same unit): the machine then ran
      at another speed.
    - A result, if another metric of the same test differs in the same direction by at
      least half as much (on a log scale), but by another factor or in another unit. A
      whole system is not flagged if this holds for more than half of its results.
    - A minimum, maximum or percentile that differs from the other runs of its result,
      because one slow request determines it; and one that differs in all benchmarks of
      a system, because interrupts have this effect.
    - A system that is as slow as an emulated processor (see `emulation-speed`).
    - A value near the reciprocal of its expected value (see `rate-as-time`). If a unit
      error explains it as well, the finding names both.
    - The time that a system takes to start, relative to other systems.
    - A system with an emulated processor relative to one with a real processor or with
      another number of emulation layers, because emulation slows each instruction by a
      different factor. Only single results (not whole systems) are compared with
      systems that have other layers, if there are at least four benchmarks.

    Why: typical errors are kB instead of MB, bits instead of bytes, or a lost decimal
    point.

    Remedy: check the value in the raw output. Upload it again in the correct unit.
    """
    run_readings = RunReadings(study)
    run_findings = [
        finding
        for cell in study.cells
        for finding in find_unit_errors_in_runs(cell, run_readings)
    ]
    yield from run_findings
    skipped = {subject for finding in run_findings for subject in finding.subjects}
    explained = [
        *consistent_slots(study),
        *emulation_explained_cells(study),
        *inverted_cells(study),
    ]
    skipped |= set(unique_subjects("cell", (cell.id for cell in explained)))
    for finding in _across_systems(study):
        if not skipped.issuperset(finding.subjects):
            skipped |= set(finding.subjects)
            yield finding


def _across_systems(study: StudyFacts) -> Iterator[Finding]:
    speeds, related = SystemSpeeds(study), RelatedMetrics(study)

    def unexplained(pairs: Iterable[tuple[CellFact, float]]) -> Iterator[Finding]:
        unrelated = [pair for pair in pairs if not related.ran_at_other_speed(*pair)]
        yield from _unit_error_findings(unrelated)

    for table in sibling_tables(cell for cell in study.cells if not cell.is_start_up):
        yield from _columns_off(table, related)
        residuals = sibling_residuals(table.logs)
        for members in _cells_off(table, residuals, study):
            yield from unexplained(members)
        curve = curve_outliers(table, residuals, MIN_LOG_FACTOR)
        yield from unexplained(
            pair for pair in curve if nearest_factor(*pair, FACTOR_TOLERANCE)
        )
        yield from unexplained(_off_the_row(table, residuals, speeds))
        if not table.is_emulated:
            yield from unexplained(_off_all_others(table, residuals, study))
    for table in emulated_sibling_tables(study.cells):
        residuals = sibling_residuals(table.logs)
        for members in _cells_off(table, residuals, study):
            yield from unexplained(members)
        yield from unexplained(_off_all_others(table, residuals, study))
    for pair in (*_divided_cells(study), *_off_their_natives(study)):
        yield from unexplained([pair])


def _columns_off(table: SiblingTable, related: RelatedMetrics) -> Iterator[Finding]:
    columns = [
        [cell for cell in cells if cell] for cells in zip(*table.cells, strict=True)
    ]
    # Two machines may differ by any factor.
    hosts: dict[str, list[int]] = defaultdict(list)
    for column, members in enumerate(columns):
        hosts[members[0].host].append(column)
    for column, members in enumerate(columns):
        other_columns = [
            other_column
            for other_column in hosts[members[0].host]
            if other_column != column
        ]
        if len(members) < 2 or not other_columns or members[0].is_extreme:
            continue
        middle = nanmedian(table.logs[:, other_columns[:MAX_SIBLINGS]], axis=1)
        distances = table.logs[:, column] - middle
        present = distances[~np.isnan(distances)]
        log_ratio = float(np.median(present)) if present.size >= 2 else 0.0
        faster = sum(
            _beats_native(cell, cells)
            for cells in table.cells
            if (cell := cells[column]) is not None
        )
        bound = MIN_LOG_FACTOR if 2 * faster > len(members) else MAX_LOG_SLOWDOWN
        tolerance = prediction_tolerance(_spread(present - log_ratio))
        factor = nearest_factor(members[0], log_ratio, tolerance)
        if abs(log_ratio) < bound or not factor:
            continue
        slow = sum(related.ran_at_other_speed(cell, log_ratio) for cell in members)
        if 2 * slow <= len(members):
            yield cell_finding(
                Sentence(
                    "The {n} values of {metric} on {system} differ from those of the "
                    "other systems by a median factor of {exactly:.4g}, which is near "
                    "{factor}.",
                    n=len(members),
                    metric=members[0].metric,
                    system=members[0].system_phrase,
                    factor=factor,
                    exactly=factor_from_log(abs(log_ratio)),
                ),
                members,
                ratio=factor_from_log(log_ratio),
                factor=factor,
            )


def _cells_off(
    table: SiblingTable, residuals: Floats, study: StudyFacts
) -> Iterable[Sequence[tuple[CellFact, float]]]:
    """Return, by row, cells that differ from their prediction by about the factor
    between two units, each with its log distance.
    """
    # With two rows and few systems, a network or disk that is slow in one direction
    # looks like a unit error.
    few = len(table.rows) == 2 and len(table.columns) < 4
    rows: dict[int, list[tuple[CellFact, float]]] = defaultdict(list)
    for row, column in np.argwhere(np.abs(np.nan_to_num(residuals)) >= MIN_LOG_FACTOR):
        cell, distance = table.cells[row][column], float(residuals[row, column])
        if cell is None:
            continue
        tolerance, threshold = _tolerance(table, residuals, (row, column), study)
        minimum = (
            MAX_LOG_SLOWDOWN
            if few and not _is_sure(cell, table.cells[row])
            else MIN_LOG_FACTOR
        )
        if abs(distance) >= max(threshold, minimum) and nearest_factor(
            cell, distance, tolerance
        ):
            rows[row].append((cell, distance))
    return rows.values()


def _off_the_row(
    table: SiblingTable, residuals: Floats, speeds: SystemSpeeds
) -> Iterator[tuple[CellFact, float]]:
    for row, row_residuals in zip(table.cells, residuals, strict=True):
        members = [cell for cell in row if cell]
        if len(members) < 2 or members[0].is_extreme:
            continue
        logs = {
            cell.id: math.log(cell.mean) - speeds.expected_log(cell) for cell in members
        }
        for cell, residual in zip(row, row_residuals, strict=True):
            if cell is None or not math.isnan(residual):
                continue
            neighbor_logs = (
                logs[neighbor.id]
                for neighbor in members
                if neighbor.host == cell.host and neighbor.id != cell.id
            )
            neighbors = list(islice(neighbor_logs, MAX_SIBLINGS))
            if not neighbors:
                continue
            middle = float(np.median(neighbors))
            distance = logs[cell.id] - middle
            spread = _spread(np.array(neighbors) - middle)
            # A single neighbor does not show how much systems differ.
            is_known = len(neighbors) > 1
            tolerance = prediction_tolerance(spread) if is_known else FACTOR_TOLERANCE
            is_clear = (
                abs(distance) >= MAX_LOG_SLOWDOWN
                or _is_sure(cell, members)
                or (is_known and speeds.is_ordinary_elsewhere(cell))
            )
            factor = nearest_factor(cell, distance, tolerance)
            if (
                is_clear
                and factor
                and abs(distance) >= max(MIN_LOG_FACTOR, MIN_DEVIATIONS * spread)
                and _is_near_in_row(cell, members, unit_factors(cell)[factor])
            ):
                yield cell, distance


def _is_near_in_row(cell: CellFact, members: Sequence[CellFact], factor: float) -> bool:
    """Return whether a cell also differs by the factor from the values of its row
    before these are corrected by the speed of their systems.
    """
    logs = np.log([c.mean for c in members if c.host == cell.host and c.id != cell.id])
    middle = float(np.median(logs))
    tolerance = (
        prediction_tolerance(_spread(logs - middle))
        if len(logs) >= MIN_OTHER_CELLS
        else FACTOR_TOLERANCE
    )
    distance = abs(math.log(cell.mean) - middle)
    return abs(distance - math.log(factor)) <= tolerance


def _off_all_others(
    table: SiblingTable, residuals: Floats, study: StudyFacts
) -> Iterator[tuple[CellFact, float]]:
    hosts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, cells in enumerate(table.cells):
        for column, member in enumerate(cells):
            if member is not None:
                hosts[member.host].append((row, column))
    for positions in hosts.values():
        members = [cell for r, c in positions if (cell := table.cells[r][c])]
        if len(members) <= MIN_OTHER_CELLS or members[0].is_extreme:
            continue
        logs = np.array([table.logs[position] for position in positions])
        order = np.argsort(logs)
        for end, other_ends in ((0, (1, -1)), (-1, (0, -2))):
            index = int(order[end])
            low, high = (float(logs[order[other_end]]) for other_end in other_ends)
            nearest = low if end == 0 else high
            gap, cell = float(logs[index]) - nearest, members[index]
            if abs(gap) < max(MIN_LOG_FACTOR, high - low):
                continue
            neighbors = [neighbor for neighbor in members if neighbor is not cell]
            same_case = [
                neighbor for neighbor in neighbors if neighbor.case == cell.case
            ]
            expected = np.log([c.mean for c in same_case or neighbors])
            distance = float(logs[index]) - float(np.median(expected))
            tolerance = _tolerance(table, residuals, positions[index], study)[0]
            if math.isnan(residuals[positions[index]]):
                tolerance = _tolerance_of_row(expected, len(same_case))
            if nearest_factor(cell, distance, tolerance) and _shares_parameters(
                cell, neighbors
            ):
                yield cell, distance


def _tolerance_of_row(expected: Floats, count: int) -> float:
    if count < MIN_OTHER_CELLS:
        return MAX_FACTOR_TOLERANCE
    spread = _spread(expected - np.median(expected))
    return prediction_tolerance(spread, MAX_FACTOR_TOLERANCE)


def _shares_parameters(cell: CellFact, others: Sequence[CellFact]) -> bool:
    return all(
        any(other.parameters.get(name) == value for other in others)
        for name, value in cell.parameters.items()
    )


def _tolerance(
    table: SiblingTable, residuals: Floats, position: tuple[int, int], study: StudyFacts
) -> tuple[float, float]:
    """Return tolerance and smallest size of a residual that is a unit error (logs)."""
    sample = next(cell for row in table.cells for cell in row if cell)
    # Cell and prediction both scatter.
    floor = math.sqrt(2) * study.noise.kind_deviation(sample)
    spread = leave_one_out_spread(table.logs, residuals, position, floor)
    scale, width = spread.deviation, spread.row_distance
    tolerance = max(prediction_tolerance(scale, MAX_FACTOR_TOLERANCE), width)
    return min(tolerance, MAX_FACTOR_TOLERANCE), max(MIN_DEVIATIONS * scale, 2 * width)


def _divided_cells(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    digits = DigitComparison(study)
    factors = {
        cell.id: {
            name
            for name, factor in unit_factors(cell).items()
            if digits.was_divided(cell, factor)
        }
        for cell in digits.cells_with_most_decimals().values()
    }
    divided = {cell.id: cell for cell in study.cells if factors.get(cell.id)}
    distances = expectation_distances(study, divided)
    for cell in divided.values():
        large = [
            distance
            for distance in distances.get(cell.id, ())
            if distance <= -MIN_LOG_FACTOR
        ]
        matching = [
            distance
            for distance in large
            if nearest_factor(cell, distance, DIGITS_TOLERANCE) in factors[cell.id]
        ]
        yield from ((cell, distance) for distance in matching[:1])


def _off_their_natives(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    rows: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for cell in study.cells:
        native = study.baseline(cell)
        key = (cell.host, cell.case, cell.sibling_key, *cell.circumstances)
        is_usable = native and native.is_native and native.study == study.id
        is_usable = is_usable and min(cell.mean, native.mean) > 0 if native else False
        is_excluded = (
            cell.is_native
            or cell.emulation_layers
            or cell.is_extreme
            or cell.is_start_up
        )
        if (
            native
            and is_usable
            and not is_excluded
            and cell.scenario not in ON_HOST_SCENARIOS
        ):
            rows[key].append((cell, math.log(cell.mean) - math.log(native.mean)))
    for row in rows.values():
        for index, (cell, log) in enumerate(row[:MAX_SIBLINGS]):
            other_logs = [other_log for _, other_log in row[:index] + row[index + 1 :]]
            if len(other_logs) < MIN_GUESTS:
                continue
            middle = median(other_logs)
            distance = log - middle
            if abs(distance) < MIN_LOG_FACTOR or abs(middle) >= MIN_LOG_FACTOR:
                continue
            spread = _spread(np.array(other_logs) - middle)
            is_clear = _is_sure(cell, [study.baseline(cell)])
            is_outlier = abs(distance) >= MIN_DEVIATIONS * spread
            tolerance = prediction_tolerance(spread)
            if is_clear and is_outlier and nearest_factor(cell, distance, tolerance):
                yield cell, distance


def _unit_error_findings(
    members: Sequence[tuple[CellFact, float]],
) -> Iterator[Finding]:
    """Yield findings about cells of a row, each with the log distance from its expected
    value.

    If two cells differ in opposite directions, either may be wrong: they are one
    finding.
    """
    candidates: list[tuple[tuple[CellFact, ...], float, str]] = []
    if len(members) == 2 and members[0][1] * members[1][1] < 0:
        (first, log_ratio), (second, _) = members
        expectation: str = Sentence(
            "the value of {other} (one of the two is wrong)", other=second.description
        )
        candidates.append(((first, second), log_ratio, expectation))
    else:
        expectation = Sentence(
            "the value predicted by the other systems and benchmarks"
        )
        candidates += [((cell,), log_ratio, expectation) for cell, log_ratio in members]
    for cells, log_ratio, expectation in candidates:
        cell = cells[0]
        factor, distance = nearest_factor_distance(cell, log_ratio)
        expected = math.log(cell.mean) - log_ratio
        arguments: dict[str, str | float] = {
            **{"name": cell.description, "mean": cell.mean, "unit": cell.unit},
            **{
                "factor": factor,
                "exactly": factor_from_log(abs(log_ratio)),
                "where": expectation,
            },
        }
        is_near = distance <= FACTOR_TOLERANCE
        sentence: str = (
            Sentence(NEAR_FACTOR_SENTENCE, **arguments)
            if is_near
            else Sentence(NEAREST_FACTOR_SENTENCE, **arguments)
        )
        if reciprocal_distance(cell, expected) <= min(
            RECIPROCAL_TOLERANCE, abs(log_ratio) / 4
        ):
            reciprocal = Sentence(
                "It is also near the reciprocal of the expected value "
                "({expected:g}): a rate may have been used as a time, or a time as "
                "a rate.",
                expected=factor_from_log(expected),
            )
            sentence = join_sentences([sentence, reciprocal])
        yield cell_finding(
            sentence,
            cells,
            None if is_near else "implausible",
            value=cell.mean,
            expected=cell.mean / factor_from_log(log_ratio),
            ratio=factor_from_log(log_ratio),
            factor=factor,
        )


def _spread(distances: Floats) -> float:
    """Return a robust standard deviation: 90 % of normal values are within 1.645."""
    return float(np.quantile(np.abs(distances), 0.9)) / 1.645 if distances.size else 0.0


def _is_sure(cell: CellFact, row: Sequence[CellFact | None]) -> bool:
    return cell.component in STEADY_COMPONENTS or _beats_native(cell, row)


def _beats_native(cell: CellFact, row: Sequence[CellFact | None]) -> bool:
    natives = [
        neighbor.mean
        for neighbor in row
        if neighbor and neighbor.is_native and neighbor.host == cell.host
    ]
    if cell.is_native or cell.better == "neither" or not natives:
        return False
    if cell.scenario in ON_HOST_SCENARIOS:  # memory carries this traffic
        return False
    ratio = cell.mean / natives[-1]
    return ratio > 2 if cell.better == "higher" else ratio < 0.5
