"""Rules about swapped values: of two systems or cases, or a rate used as a time."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.plausibility.day_effects import (
    CPU_BOUND_COMPONENTS,
    log_efficiency,
    same_machine_cells,
)
from benchmarks.plausibility.findings import (
    Evidence,
    Finding,
    cell_finding,
    name_and_more,
    rule,
)
from benchmarks.plausibility.predicted_values import (
    MAX_SIBLINGS,
    DigitComparison,
    SiblingTable,
    emulated_sibling_tables,
    expectation_distances,
    leave_one_out_spread,
    nanmedian,
    sibling_residuals,
    sibling_tables,
)
from benchmarks.plausibility.rules.emulation import is_compute_bound
from benchmarks.plausibility.rules.swap_candidates import (
    find_swapped_cases,
    swaps_that_resolve,
)
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    CellFact,
    Id,
    StudyFacts,
    cached_per_study,
    factor_from_log,
)
from benchmarks.plausibility.unit_errors import (
    MIN_LOG_FACTOR,
    RECIPROCAL_SCALES,
    nearest_factor_distance,
    reciprocal_distance,
)
from benchmarks.sentences import Sentence, Template, join_with_or, template

MIN_DEVIATIONS: Final = 4
MIN_LOG_DISTANCE: Final = math.log(1.1)
"""Systems that are closer to each other look the same when swapped."""
MIN_OTHER_CASES: Final = 3
SWAP_TOLERANCE: Final = 0.25
"""Relative to the distance of the two cells."""
RECIPROCAL_TOLERANCE: Final = 0.15
"""Distance from the reciprocal, relative to the distance from the expected value."""
MAX_RECIPROCAL_LOG: Final = 0.5
MIN_LOG_WITH_DIGITS: Final = math.log(1.05)
"""Distance from the expected value if the digits show that a value is inverted."""
MIN_LOG_ONE_OTHER: Final = math.log(40)
MAX_SYSTEMS: Final = 40
MIN_DEVIATIONS_ELSEWHERE: Final = 2
REVERSAL_TOLERANCE: Final = 0.5
MAX_REMAINING_ERROR: Final = 0.5
MIN_LOG_NATIVE_DISTANCE: Final = math.log(1.4)
MIN_LOG_EMULATED: Final = math.log(3)
"""No system on a real processor is slower than all others by this factor, and hardly
any emulated one is faster (`emulation-speed`).
"""


INVERTED_SENTENCE: Final = template(
    "{cases}: {mean:g} {unit} is near the reciprocal of {expected:g}, the value "
    "expected from the other systems. A rate was used as a time, or a time as a rate."
)
ONE_INVERTED_SENTENCE: Final = template(
    "{cases}: {mean:g} {unit} is near the reciprocal of {expected:g}, the value "
    "expected from the other system. In one of the two, a rate was used as a time, "
    "or a time as a rate."
)
SWAPPED_BY_NATIVES: Final = template(
    "{one} and {other} look swapped in {cases}: each differs from its own native "
    "machine by as much as the two machines differ from each other ({first:g} and "
    "{second:g} {unit})."
)
SWAPPED_BY_OTHER_STUDY: Final = template(
    "{one} and {other} look swapped in {cases}: each differs from its native "
    "machine, here or in another study, by as much as the two machines differ from "
    "each other ({first:g} and {second:g} {unit})."
)
SWAPPED_WITH_EMULATED: Final = template(
    "{one} and {other} look swapped in {cases}: the emulated system ({first:g} "
    "{unit}) is faster than the system that is not emulated ({second:g} {unit})."
)
SWAPPED_BY_OTHER_TESTS: Final = template(
    "{one} and {other} look swapped in {cases}: in other benchmarks {behind} is "
    "slower by about as much as it is faster here ({first:g} and {second:g} "
    "{unit})."
)
SWAPPED_BY_EXPECTATION: Final = template(
    "{one} and {other} look swapped in {cases}: each has the value expected for "
    "the other ({first:g} and {second:g} {unit})."
)
CellPair = tuple[CellFact, CellFact]


def _swap_finding(
    message: Template,
    pairs: Sequence[CellPair],
    *,
    are_cases: bool = False,
    behind: str = "",
    quotes: tuple[Id, ...] = (),
    **evidence: Evidence,
) -> Finding:
    first, second = pairs[0]
    names = [(cell.case_name, cell.system_phrase) for cell in (first, second)]
    (first_name, subject), (second_name, _) = (
        names if are_cases else [name[::-1] for name in names]
    )
    sentence = Sentence(
        message,
        one=first_name,
        other=second_name,
        cases=name_and_more(subject, len(pairs) - 1),
        **({"behind": behind} if behind else {}),
        first=first.mean,
        second=second.mean,
        unit=first.unit,
    )
    cells = [cell for pair in pairs for cell in pair]
    return cell_finding(sentence, cells, None, quotes, **evidence)


@rule(
    "rate-as-time",
    "Rate uploaded as a time, or time as a rate",
    "impossible",
    uses_other_studies=True,
    family="exchanges",
)
def rate_as_time(study: StudyFacts) -> Iterator[Finding]:
    """Flags a value that is near the reciprocal of its expected value (for ms, us and
    ns also near 10^3, 10^6 or 10^9 times the reciprocal) and differs from the expected
    value by more than a factor of 5. The expected value is that of the other systems of
    its host in the same benchmark. All of the following must hold:
    - The value is within 65% of the reciprocal.
    - The value is seven times as close to the reciprocal as to the expected value (on a
      log scale). If the other benchmarks of the system also give an expected value,
      this must hold for that value too, unless the value differs from the other systems
      by a factor of 1,600.
    - If there is only one other system, the value differs from it by at least a factor
      of 40.

    If the same benchmark gives no expected value, the other benchmarks and systems of
    the tool and metric are used. At least four benchmarks are then needed, and the
    prediction errors must be at most an eighth of the distance of this value. Emulated
    systems are compared only with other emulated systems. A value that is closer to a
    factor of `unit-slip` is left to that rule.

    A value is also flagged because of its digits: it has more decimals than any other
    value of its tool and metric, and more digits than those values or their fixed
    number of decimals allow; its reciprocal has as few digits as they have; and the
    reciprocal is twice as close to the value expected from the others (the value must
    differ from it by at least 5%).

    Why: 0.0022 s is 450 operations per second. A rate was used as a time, or a program
    divided the wrong way round.

    Remedy: upload the value with the correct metric, or upload its reciprocal.
    """
    groups = _reciprocals(study)
    cells_by_id = {cell.id: cell for group in groups.values() for cell, _ in group}
    reported: set[Id] = set()
    for members in groups.values():
        cells = [cell for cell, _ in members]
        cell, expected = members[0]
        # With only two systems, each is the reciprocal of the other.
        counterparts = [
            candidate
            for candidate in cells_by_id.values()
            for suspect in cells
            if _are_reciprocal(suspect, candidate)
        ]
        if reported.issuperset(suspect.id for suspect in cells):
            continue
        reported |= {suspect.id for suspect in counterparts}
        yield cell_finding(
            Sentence(
                ONE_INVERTED_SENTENCE if counterparts else INVERTED_SENTENCE,
                cases=name_and_more(cell.description, len(cells) - 1),
                mean=cell.mean,
                unit=cell.unit,
                expected=expected,
            ),
            [*cells, *counterparts],
            values=[suspect.mean for suspect in cells],
            expected=[value for _, value in members],
        )


def _are_reciprocal(first: CellFact, second: CellFact) -> bool:
    is_same_case = (first.case, first.host, first.sibling_key) == (
        second.case,
        second.host,
        second.sibling_key,
    )
    is_other_column = first.column_key != second.column_key
    return (
        is_same_case and is_other_column and _is_inverted(first, math.log(second.mean))
    )


def inverted_cells(study: StudyFacts) -> Iterator[CellFact]:
    for members in _reciprocals(study).values():
        yield from (cell for cell, _ in members)


@cached_per_study
def _reciprocals(
    study: StudyFacts,
) -> Mapping[object, list[tuple[CellFact, float]]]:
    """Return cells that look like reciprocals, with expected values, by column, tool
    and metric.
    """
    groups: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    sure_groups = set()
    identified: set[Id] = set()
    for cell, expected_mean in _inverted_by_digits(study):
        group = (cell.column_key, cell.sibling_key)
        groups[group].append((cell, expected_mean))
        sure_groups.add(group)
        identified.add(cell.id)
    tables = sibling_tables(cell for cell in study.cells if not cell.is_start_up)
    for table in (*tables, *emulated_sibling_tables(study.cells)):
        residuals: Floats | None = None
        has_other_rows = len(table.rows) > MIN_OTHER_CASES and len(table.columns) > 1
        for row_index, row in enumerate(table.cells):
            indexed = [(index, cell) for index, cell in enumerate(row) if cell][
                :MAX_SIBLINGS
            ]
            cells = [cell for _, cell in indexed]
            if any(cell.id in identified for cell in cells):
                continue
            for column, cell in indexed:
                by_row = _expected_log(cell, cells)
                if by_row is None and not (has_other_rows and cell.is_performance):
                    continue
                residuals = (
                    sibling_residuals(table.logs) if residuals is None else residuals
                )
                index = (row_index, column)
                expected = _expected_by_all(
                    cell, by_row, table, residuals, index, study
                )
                if expected is not None:
                    group = (cell.column_key, cell.sibling_key)
                    groups[group].append((cell, math.exp(expected)))
                    log_ratio = math.log(cell.mean) - expected
                    _, factor_distance = nearest_factor_distance(cell, log_ratio)
                    if reciprocal_distance(cell, expected) <= factor_distance:
                        sure_groups.add(group)
    return {group: cells for group, cells in groups.items() if group in sure_groups}


def _inverted_by_digits(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    digits = DigitComparison(study)
    inverted: dict[Id, tuple[CellFact, float]] = {}
    for cell in digits.cells_with_most_decimals().values():
        for scale in {1.0, RECIPROCAL_SCALES.get(cell.unit, 1.0)}:
            if cell.is_performance and digits.was_inverted(cell, scale):
                before = median(scale / value for value in cell.readings)
                inverted[cell.id] = cell, math.log(cell.mean) - math.log(before)
    distances = expectation_distances(
        study, {key: cell for key, (cell, _) in inverted.items()}
    )
    for key, (cell, shift) in inverted.items():
        distance = min(
            distances.get(key, (0.0,)), key=lambda distance: abs(distance - shift)
        )
        if (
            abs(distance) >= MIN_LOG_WITH_DIGITS
            and abs(distance - shift) <= abs(distance) / 2
        ):
            yield cell, factor_from_log(math.log(cell.mean) - distance)


def _expected_by_all(
    cell: CellFact,
    by_row: float | None,
    table: SiblingTable,
    residuals: Floats,
    index: tuple[int, int],
    study: StudyFacts,
) -> float | None:
    """Return the expected log mean of a reciprocal; None if the cell is not one.

    ``by_row`` is the log mean that other systems predict. If the cell is its
    reciprocal, the system's other cases must agree, unless the factor to ``by_row`` is
    at least 1,600. Otherwise the other cases decide.
    """
    log, distance = math.log(cell.mean), float(residuals[index])
    by_cases = log - distance if abs(distance) >= MIN_LOG_FACTOR else None
    if by_row is not None and _is_inverted(cell, by_row):
        if by_cases is None or _is_inverted(cell, by_cases):
            return by_row if by_cases is None else by_cases
        return by_row if abs(log - by_row) >= 2 * MIN_LOG_ONE_OTHER else None
    if by_cases is None or not _is_inverted(cell, by_cases):
        return None
    floor = math.sqrt(2) * study.noise.kind_deviation(cell)
    deviation = leave_one_out_spread(table.logs, residuals, index, floor).deviation
    is_precise = 2 * MIN_DEVIATIONS * deviation <= abs(distance)
    is_near = reciprocal_distance(cell, by_cases) <= max(2.5 * deviation, 0.1)
    return by_cases if is_precise and is_near else None


def _is_inverted(cell: CellFact, expected: float) -> bool:
    """Return whether a cell is much closer to the reciprocal of its expected value than
    to this value.

    ``expected`` is the log of the expected value.
    """
    distance = abs(math.log(cell.mean) - expected)
    return reciprocal_distance(cell, expected) <= min(
        RECIPROCAL_TOLERANCE * distance, MAX_RECIPROCAL_LOG
    )


def _expected_log(cell: CellFact, row: list[CellFact]) -> float | None:
    """Return the median log mean of the host's other systems.

    Return None if these do not agree, or if the cell is near the median.
    """
    if not cell.is_performance:
        return None
    column = cell.column_key
    other_logs = [
        math.log(neighbor.mean)
        for neighbor in row
        if neighbor.host == cell.host and neighbor.column_key != column
    ]
    if not other_logs:
        return None
    middle = median(other_logs)
    distance = abs(math.log(cell.mean) - middle)
    spread = median([abs(neighbor - middle) for neighbor in other_logs])
    is_clear = (
        distance >= MIN_LOG_ONE_OTHER if len(other_logs) == 1 else 3 * spread < distance
    )
    return middle if is_clear and distance >= MIN_LOG_FACTOR else None


@rule(
    "exchanged-values",
    "Two systems or benchmarks that look swapped",
    "implausible",
    uses_other_studies=True,
    family="exchanges",
)
def find_swapped_values(study: StudyFacts) -> Iterator[Finding]:
    """Flags values of two systems of one host that look swapped in some benchmarks of a
    tool and metric, although the systems clearly differ. One of the following must
    hold:
    - Other benchmarks: each of the two values is where the other one is expected, to
      within a quarter of the distance of the two systems. The expectation comes from at
      least three other benchmarks, which show how the two systems compare with the
      other systems. The two systems must differ by at least 10% and 4 standard
      deviations of the prediction errors, and each value must differ from its own
      expected value by more than half of that distance. Two benchmarks on one system
      that have each other's values are flagged in the same way.
    - Few systems: with only two or three systems, five benchmarks are needed: two with
      swapped values, and at least three others that show how the systems compare (with
      the same limits).
    - Native machines: two guests have different native machines (two guest OSs or word
      sizes) whose speeds differ by at least a factor of 1.4. One guest is faster than
      its native machine and the other slower, both by nearly the distance of the two
      machines (within a quarter of it), and after swapping both fit. A native machine
      that another study measured with the same OS is compared with itself there.
    - Other tests: if all benchmarks of a test may be swapped, the component's other
      tests are used (CPU and memory count as one component). In at least three of their
      benchmarks, the same system must be faster in all, by 10% in the median and 2
      standard deviations of these differences. The values are flagged if the other
      system is ahead by as much (within half of it) and all other systems of the host
      with these benchmarks fit twice as well after swapping.
    - Emulation: a system reported as emulated and one that is not are compared in the
      computing benchmarks of all tools. They are flagged if the emulated system is at
      least three times as fast as the other one, and within a factor of 3 of all other
      systems of the host that are not emulated.

    Why: two columns or cells of a table were swapped when they were copied. Every value
    is that of a real machine, so no single value looks wrong.

    Remedy: check the values in the raw outputs. Upload both again.
    """
    yield from _swapped_with_emulated(study)
    yield from _swaps_by_native(study)
    yield from _swaps_by_other_tests(study)
    for table in sibling_tables(study.cells):
        yield from _swaps_in_small_table(table, study)
        if table.logs.shape[1] >= 3 and len(table.rows) > MIN_OTHER_CASES:
            yield from _swaps_in_large_table(table, table.logs, False, study)
        if table.logs.shape[0] >= 3 and len(table.columns) > MIN_OTHER_CASES:
            yield from _swaps_in_large_table(table, table.logs.T, True, study)


def _swapped_with_emulated(study: StudyFacts) -> Iterator[Finding]:
    rows: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if is_compute_bound(cell) and cell.mean > 0:
            rows[cell.host, cell.case, cell.metric, *cell.circumstances].append(cell)
    swaps: dict[object, list[tuple[CellFact, CellFact]]] = defaultdict(list)
    for row in rows.values():
        real = [cell for cell in row if not cell.emulation_layers]
        emulated = [cell for cell in row if cell.emulation_layers]
        for cell in emulated if len(real) > 1 else ():
            leads = [log_efficiency(cell, neighbor) for neighbor in real]
            slow = [
                neighbor
                for neighbor, lead in zip(real, leads, strict=True)
                if lead >= MIN_LOG_EMULATED
            ]
            # If it is faster than several systems, it is wrong itself, for example by
            # its unit.
            others_are_similar = (
                sum(abs(lead) < MIN_LOG_EMULATED for lead in leads) == len(real) - 1
            )
            if len(slow) == 1 and others_are_similar:
                swaps[cell.column_key, slow[0].column_key].append((cell, slow[0]))
    for pairs in swaps.values():
        faster = [round(factor_from_log(log_efficiency(*pair)), 5) for pair in pairs]
        yield _swap_finding(SWAPPED_WITH_EMULATED, pairs, faster=faster)


@rule(
    "exchanged-in-runs",
    "Two runs that look swapped in one metric",
    "implausible",
    family="exchanges",
)
def find_swapped_runs(study: StudyFacts) -> Iterator[Finding]:
    """Flags two runs of one host that each contradict themselves (`identity-violated`,
    `netperf-service-demand`), and no longer do once the values of one metric are
    swapped between them. The runs are from two systems in one benchmark, or from two
    benchmarks on one system. If swapping any of several metrics resolves the
    contradictions, all of them are named.

    Why: one column of a table was swapped when it was copied, and the others were not.

    Remedy: check the values in the raw outputs. Upload both again.
    """
    for metrics, pairs in swaps_that_resolve(study).items():
        columns: dict[object, list[CellPair]] = defaultdict(list)
        for cell, partner in pairs:
            columns[cell.column_key, partner.column_key].append((cell, partner))
        for members in columns.values():
            first, second = members[0]
            by_system = first.system != second.system
            yield cell_finding(
                Sentence(
                    "The values of {metrics} look swapped between {one} and {other}: "
                    "they contradict the other values of both, and after swapping "
                    "they do not.",
                    one=first.system_phrase if by_system else first.description,
                    other=second.system_phrase if by_system else second.description,
                    metrics=join_with_or(metrics),
                ),
                [cell for pair in members for cell in pair],
                metrics=list(metrics),
            )


def _swaps_in_small_table(table: SiblingTable, study: StudyFacts) -> Iterator[Finding]:
    sample = next(cell for row in table.cells for cell in row if cell)
    if not sample.is_performance:
        return
    floor = max(study.noise.kind_deviation(sample), 0.01)
    for swap in find_swapped_cases(
        table, floor, MIN_LOG_DISTANCE, MIN_DEVIATIONS, SWAP_TOLERANCE
    ):
        first, second = swap.pairs[0]
        systems = dict.fromkeys(cell.system_phrase for cell, _partner in swap.pairs)
        yield cell_finding(
            Sentence(
                "{one} and {other} look swapped on {systems}: each has the value "
                "expected for the other ({first:g} and {second:g} {unit}).",
                one=first.case_name,
                other=second.case_name,
                systems=join_with_or(list(systems)),
                first=first.mean,
                second=second.mean,
                unit=first.unit,
            ),
            [cell for pair in swap.pairs for cell in pair],
            apart=round(math.expm1(min(swap.log_distance, 700.0)), 5),
            deviation=round(swap.deviation, 5),
        )


def _swaps_by_native(study: StudyFacts) -> Iterator[Finding]:
    pairs_by_columns: dict[object, list[CellPair]] = defaultdict(list)
    counterparts = same_machine_cells(study)
    for row in _far_from_native(study, counterparts):
        choices: dict[Id, list[CellPair]] = defaultdict(list)
        for (first, first_native), (second, second_native) in combinations(
            row[:MAX_SYSTEMS], 2
        ):
            if _fit_each_other(first, first_native, second, second_native):
                choices[first.id].append((first, second))
                choices[second.id].append((first, second))
        # A value that fits several others does not show its partner.
        for pairs in choices.values():
            first, second = pairs[0]
            if len(choices[first.id]) == len(choices[second.id]) == 1:
                swaps = pairs_by_columns[first.column_key, second.column_key]
                swaps += [] if (first, second) in swaps else [(first, second)]
    for pairs in pairs_by_columns.values():
        cells = [cell for pair in pairs for cell in pair]
        natives = [c if c.is_native else study.baseline(c) for c in cells]
        other_studies = [
            counterparts[c.id].study for c in natives if c and c.id in counterparts
        ]
        message = (
            SWAPPED_BY_OTHER_STUDY
            if any(c.is_native for c in cells)
            else SWAPPED_BY_NATIVES
        )
        quotes = tuple(set(other_studies) - {study.id})
        yield _swap_finding(message, pairs, quotes=quotes)


def _far_from_native(
    study: StudyFacts, counterparts: Mapping[Id, CellFact]
) -> Iterable[list[CellPair]]:
    """Return, by row, cells that differ from native by at least 10 %, each with the
    native cell.

    If a native cell differs by at least 10 % from the same machine in another study,
    the cell of the other study replaces it.
    """
    rows: dict[object, list[CellPair]] = defaultdict(list)
    for cell in study.cells:
        native = cell if cell.is_native else study.baseline(cell)
        if native is None or not native.is_native or not cell.is_performance:
            continue
        counterpart = counterparts.get(native.id)
        # A wrong native cell cannot judge its guests.
        if counterpart and abs(log_efficiency(native, counterpart)) >= MIN_LOG_DISTANCE:
            native = counterpart
        is_comparable = cell.scenario == "single" and min(cell.mean, native.mean) > 0
        if is_comparable and abs(log_efficiency(cell, native)) >= MIN_LOG_DISTANCE:
            rows[cell.host, cell.case, cell.load].append((cell, native))
    return rows.values()


def _fit_each_other(
    first: CellFact, first_native: CellFact, second: CellFact, second_native: CellFact
) -> bool:
    distance = log_efficiency(second_native, first_native)
    if abs(distance) < MIN_LOG_NATIVE_DISTANCE:
        return False
    tolerance = SWAP_TOLERANCE * abs(distance)
    return (
        abs(log_efficiency(first, first_native) - distance) <= tolerance
        and abs(log_efficiency(second, second_native) + distance) <= tolerance
        and abs(log_efficiency(first, second_native)) <= tolerance
        and abs(log_efficiency(second, first_native)) <= tolerance
    )


def _swaps_by_other_tests(study: StudyFacts) -> Iterator[Finding]:
    groups: dict[object, dict[tuple[str, ...], list[CellFact]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in study.cells:
        is_speed = cell.is_performance and cell.mean > 0
        if is_speed and not cell.is_start_up and not cell.emulation_layers:
            circumstances = (cell.host, *cell.circumstances)
            resource = (
                "bound" if cell.component in CPU_BOUND_COMPONENTS else cell.component
            )
            groups[circumstances, resource][cell.sibling_key].append(cell)
    for kinds in groups.values():
        if len(kinds) > 1:
            yield from _swaps_in_group(kinds, study)


def _swaps_in_group(
    kinds: Mapping[tuple[str, ...], Sequence[CellFact]], study: StudyFacts
) -> Iterator[Finding]:
    cells = [cell for members in kinds.values() for cell in members]
    rows = {case: row for row, case in enumerate(dict.fromkeys(c.case for c in cells))}
    systems = dict.fromkeys(cell.system for cell in cells)
    columns = {system: column for column, system in enumerate(systems)}
    if not 2 <= len(columns) <= MAX_SYSTEMS:
        return
    speeds = np.full((len(rows), len(columns)), np.nan)
    cells_by_position: dict[tuple[int, int], CellFact] = {}
    for cell in cells:
        row, column = rows[cell.case], columns[cell.system]
        sign = 1 if cell.better == "higher" else -1
        speeds[row, column] = sign * math.log(cell.mean)
        cells_by_position[row, column] = cell
    for members in kinds.values():
        in_test = np.zeros(len(rows), dtype=bool)
        in_test[[rows[cell.case] for cell in members]] = True
        candidates = []
        for first_column, second_column in combinations(range(len(columns)), 2):
            suspects = _reversed_cases(speeds, in_test, first_column, second_column)
            error = (
                _error_after_swap(
                    speeds, in_test, suspects, first_column, second_column
                )
                if suspects.any()
                else 1.0
            )
            if error <= MAX_REMAINING_ERROR:
                candidates.append(
                    (error, first_column, second_column, np.flatnonzero(suspects))
                )
        for _, first_column, second_column, case_rows in sorted(
            candidates, key=lambda candidate: candidate[0]
        )[:1]:
            pairs = [
                (
                    cells_by_position[int(r), first_column],
                    cells_by_position[int(r), second_column],
                )
                for r in case_rows
            ]
            if not any(_is_clear(*pair, study) for pair in pairs):
                continue
            first, second = pairs[0]
            faster = first if log_efficiency(first, second) > 0 else second
            yield _swap_finding(
                SWAPPED_BY_OTHER_TESTS, pairs, behind=faster.system_phrase
            )


def _is_clear(first: CellFact, second: CellFact, study: StudyFacts) -> bool:
    error = math.hypot(study.noise.mean_error(first), study.noise.mean_error(second))
    return abs(log_efficiency(first, second)) > MIN_DEVIATIONS * error


def _reversed_cases(
    speeds: Floats, in_test: NDArray[np.bool_], first: int, second: int
) -> NDArray[np.bool_]:
    """Return a mask of the test's cases in which two systems look swapped.

    In these cases, the system leads that is slower in all cases of other tests.
    ``first`` and ``second`` are columns of ``speeds`` (log).
    """
    lead = speeds[:, first] - speeds[:, second]
    elsewhere = lead[~in_test & ~np.isnan(lead)]
    none = np.zeros(len(in_test), dtype=bool)
    if len(elsewhere) < MIN_OTHER_CASES:
        return none
    usual = float(np.median(elsewhere))
    same_sign = bool((elsewhere * usual > 0).all())
    spread = MAD_TO_SD * float(np.median(np.abs(elsewhere - usual)))
    if not same_sign or abs(usual) < max(
        MIN_LOG_DISTANCE, MIN_DEVIATIONS_ELSEWHERE * spread
    ):
        return none
    with np.errstate(invalid="ignore"):
        is_reversed = np.abs(lead + usual) <= REVERSAL_TOLERANCE * abs(usual)
    return in_test & is_reversed


def _error_after_swap(
    speeds: Floats,
    in_test: NDArray[np.bool_],
    suspects: NDArray[np.bool_],
    first: int,
    second: int,
) -> float:
    """Return the suspects' error after swapping two systems back, relative to the error
    before.

    Errors are distances from the usual leads over third systems. Without third systems,
    return 0.
    """
    third_columns = [
        third_column
        for third_column in range(speeds.shape[1])
        if third_column not in {first, second}
    ]
    before, after = [], []
    for own_column, partner in ((first, second), (second, first)):
        for third_column in third_columns:
            lead = speeds[:, own_column] - speeds[:, third_column]
            elsewhere = lead[~in_test & ~np.isnan(lead)]
            if len(elsewhere) < MIN_OTHER_CASES:
                continue
            usual = float(np.median(elsewhere))
            swapped_lead = speeds[:, partner] - speeds[:, third_column]
            present = suspects & ~np.isnan(lead) & ~np.isnan(swapped_lead)
            before += np.abs(lead[present] - usual).tolist()
            after += np.abs(swapped_lead[present] - usual).tolist()
    if not before:
        return 0.0
    return float(np.sum(after)) / max(float(np.sum(before)), 1e-12)


def _swaps_in_large_table(
    table: SiblingTable, logs: np.ndarray, transposed: bool, study: StudyFacts
) -> Iterator[Finding]:
    """Yield findings about columns that are swapped in some rows.

    If ``transposed``, the columns of ``logs`` are cases.
    """
    columns = logs.shape[1]
    if columns > MAX_SYSTEMS:
        return
    sample = next(cell for row in table.cells for cell in row if cell)
    floor = max(study.noise.kind_deviation(sample), 0.01)
    for first, second in combinations(range(columns), 2):
        rest = [column for column in range(columns) if column not in {first, second}]
        if not transposed:
            rest = _most_similar(table, first, second, rest)
        pair = logs[:, [first, second]]
        present = ~np.isnan(pair).any(axis=1)
        present &= ~np.isnan(logs[:, rest]).all(axis=1)
        if present.sum() <= MIN_OTHER_CASES:
            continue
        relative = pair[present] - nanmedian(logs[present][:, rest], axis=1)[:, None]
        usual = np.median(relative, axis=0)
        distance = float(abs(usual[0] - usual[1]))
        residuals = np.abs(relative - usual)
        swapped_residuals = np.abs(relative - usual[::-1])
        suspects = (swapped_residuals <= SWAP_TOLERANCE * distance).all(axis=1) & (
            residuals > distance / 2
        ).all(axis=1)
        if not suspects.any() or 2 * suspects.sum() >= len(suspects):
            continue
        spread = MAD_TO_SD * float(np.median(residuals[~suspects]))
        tail = float(np.quantile(residuals[~suspects], 0.9)) / 1.645
        deviation = max(floor, spread, tail)
        if (~suspects).sum() < MIN_OTHER_CASES or distance < max(
            MIN_LOG_DISTANCE, MIN_DEVIATIONS * deviation
        ):
            continue
        rows = np.flatnonzero(present)[suspects]
        positions = [((first, int(r)), (second, int(r))) for r in rows]
        if not transposed:
            positions = [((r, c), (s, d)) for (c, r), (d, s) in positions]
        pairs = [(table.cells[r][c], table.cells[s][d]) for (r, c), (s, d) in positions]
        cells = [(a, b) for a, b in pairs if a and b and a.host == b.host]
        if not cells:
            continue
        yield _swap_finding(
            SWAPPED_BY_EXPECTATION,
            cells,
            are_cases=transposed,
            apart=round(math.expm1(min(distance, 700.0)), 5),
            deviation=round(deviation, 5),
        )


def _most_similar(
    table: SiblingTable, first: int, second: int, rest: list[int]
) -> list[int]:
    """Return columns with the circumstances of both, because slots of co-runs vary
    more; all if there are none.
    """
    samples = [
        next(cell for cell in column if cell)
        for column in zip(*table.cells, strict=True)
    ]
    wanted = samples[first].circumstances
    if samples[second].circumstances != wanted:
        return rest
    return [c for c in rest if samples[c].circumstances == wanted] or rest
