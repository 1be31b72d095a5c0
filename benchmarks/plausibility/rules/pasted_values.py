"""Rules about identical numbers that independent measurements would not produce."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks import units
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    CellFact,
    Id,
    StudyFacts,
    find_precision,
    group_by_column,
)
from benchmarks.sentences import Sentence, join_sentences

MIN_NOISE_FRACTION: Final = 1 / 2
MAX_FALSE_FLAGS: Final = 1e-3
"""Expected number of false flags per study."""
MIN_PAIRS: Final = 60
"""Minimum for the correction for many pairs, because there are many small studies."""
MIN_SURPRISE: Final = math.log(1000)
"""-ln of the probability below which nearly equal cells also count as copies."""
MIN_CHANCE: Final = 1e-9
MAX_RUNS: Final = 50
MIN_OWN_RUNS: Final = 4
MIN_ACCIDENTS: Final = 0.02
"""Expected number of equal pairs of runs from which on one is not surprising."""
MAX_SHARING_COLUMNS: Final = 12

Lines = Mapping[object, Mapping[object, CellFact]]
CellPair = tuple[CellFact, CellFact]


@rule(
    "pasted-values",
    "Identical values in two systems",
    "impossible",
    family="duplicates",
    uses_other_studies=True,
)
def pasted_values(study: StudyFacts) -> Iterator[Finding]:
    """Flags two systems (or two studies, or two slots of a co-run) that have identical
    values in so many benchmarks that this cannot be chance: its probability is below 1
    in 1,000 for the whole study. To calculate this probability, the standard deviation
    of a value is taken as at least half the noise of such results. In results with
    several runs, all runs must be equal. A value that more than 12 systems share, or
    that one system has in several benchmarks, is treated as a limit, not as a copy.
    Counts and sizes in memory are excluded. If two studies contain the same values of
    one system or of one native machine, the
    severity is only check: the studies share a measurement.

    Why: identical digits are a copy.

    Remedy: find out which table is the source. Withdraw the copy.
    """
    columns: dict[object, Mapping[object, CellFact]] = {}
    for name, cells in group_by_column(
        [*study.cells, *study.other_study_cells]
    ).items():
        noisy = {case: cell for case, cell in cells.items() if _has_noise(cell)}
        counts = Counter((cell.sibling_key, cell.readings) for cell in noisy.values())
        columns[name] = {
            case: cell
            for case, cell in noisy.items()
            if counts[cell.sibling_key, cell.readings] == 1
        }
    for equal, shared in _find_copies(columns, set(study.cells_by_column), study):
        first, second = equal[0]
        location = _location_phrase(second)
        if second.study != first.study:
            label = second.study_label
            location = Sentence("{place} in {study}", place=location, study=label)
        sentence = Sentence(
            "{one} and {other} have identical values (apart from rounding) in {n} of "
            "their {shared} common benchmarks.",
            n=len(equal),
            shared=shared,
            one=_location_phrase(first),
            other=location,
        )
        machines = [(c.host, c.guest_os, c.guest_bits) for c in (first, second)]
        both_native = (
            first.is_native and second.is_native and machines[0] == machines[1]
        )
        is_same_measurement = first.study != second.study and (
            first.system == second.system or both_native
        )
        if is_same_measurement:
            explanation = Sentence(
                "Both studies contain the same measurement of this machine."
            )
            sentence = join_sentences([sentence, explanation])
        yield cell_finding(
            sentence,
            [cell for pair in equal for cell in pair if cell.study == study.id],
            severity="check" if is_same_measurement else None,
            quoted_studies=tuple({first.study, second.study} - {study.id}),
            equal=len(equal),
            shared=shared,
            other_study=str(second.study),
            other_system=str(second.system),
            cases=[cell.case_label for cell, _ in equal[:50]],
            readings=[list(cell.readings) for cell, _ in equal[:50]],
        )


@rule(
    "pasted-cases",
    "Identical values in two benchmarks",
    "impossible",
    family="duplicates",
)
def pasted_cases(study: StudyFacts) -> Iterator[Finding]:
    """Flags two benchmarks of one tool and metric (for example reading and writing, or
    two sizes) that have identical values on so many systems that this cannot be chance.
    The probability is calculated as in `pasted-values`.

    Why: a column of a table was copied next to itself. One of the two benchmarks was
    not measured, or its values are lost.

    Remedy: find out which benchmark was measured. Withdraw the values of the other.
    """
    rows: dict[object, dict[object, CellFact]] = defaultdict(dict)
    for name, cells in study.cells_by_column.items():
        for case, cell in cells.items():
            if _has_noise(cell):
                rows[cell.sibling_key, case][name] = cell
    for equal, shared in _find_copies(rows, set(rows), study):
        first, second = equal[0]
        if first.sibling_key != second.sibling_key:
            continue
        yield cell_finding(
            Sentence(
                "{one} and {other} have identical values (apart from rounding) on "
                "{n} of {shared} systems.",
                one=first.case_name,
                other=second.case_name,
                n=len(equal),
                shared=shared,
            ),
            [cell for pair in equal for cell in pair],
            equal=len(equal),
            shared=shared,
            readings=[list(cell.readings) for cell, _ in equal[:50]],
        )


@rule(
    "pasted-runs",
    "Runs that appear in two results",
    "impossible",
    family="duplicates",
)
def pasted_runs(study: StudyFacts) -> Iterator[Finding]:
    """Flags two results that share some, but not all, runs with identical values. They
    are the same benchmark on two systems of one host, or two benchmarks of the same
    tool and metric on one system. At least two runs must be identical. Compared with
    the number of runs that differ, they must be so many that this cannot be chance
    (less than 1 in 1,000 for the whole study). Values that more than 12 results share
    are ignored. The probability that two runs are equal by chance is the larger of two
    estimates: the fraction of equal pairs of runs within one of the results, and the
    rounding step relative to half of the noise of such results (or of the result's own
    runs, if there are at least four and these vary less).

    Why: part of a column was copied. The copied runs were not measured or are lost, and
    the two results look more alike than they are.

    Remedy: find out which result is the source. Upload the runs of the other result
    again.
    """
    cells_by_value: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if _has_noise(cell) and len(cell.run_means) > 1:
            for value in dict.fromkeys(cell.run_means):
                cells_by_value[cell.sibling_key, value].append(cell)
    pairs: Counter[tuple[Id, Id]] = Counter()
    for cells in cells_by_value.values():
        if 2 <= len(cells) <= MAX_SHARING_COLUMNS:
            pairs.update(
                (first.id, second.id) for first, second in combinations(cells, 2)
            )
    cells_by_id = {cell.id: cell for cell in study.cells}
    bound = math.log(max(MIN_PAIRS, len(study.cells)) / MAX_FALSE_FLAGS)
    for ids, shared in pairs.items():
        first, second = (cells_by_id[cell_id] for cell_id in ids)
        is_comparable = (
            first.case == second.case or first.column_key == second.column_key
        )
        is_identical = first.run_means == second.run_means
        if shared < 2 or not is_comparable or is_identical or first.host != second.host:
            continue
        rows = _equal_rows(first.run_means, second.run_means)
        chance = max(_chance_of_run(cell, study) for cell in (first, second))
        fewest_runs = min(len(first.run_means), len(second.run_means))
        aligned = -rows * math.log(chance) - math.log(math.comb(fewest_runs, rows))
        anywhere = -shared * math.log(min(1.0, chance * fewest_runs))
        anywhere -= math.log(math.comb(fewest_runs, min(shared, fewest_runs)))
        if max(aligned - math.log(2 * fewest_runs), anywhere) < bound:
            continue
        equal = [
            value
            for value in dict.fromkeys(first.run_means)
            if value in second.run_means
        ]
        yield cell_finding(
            Sentence(
                "{n} of the {runs} runs of {one} are identical, to the last digit, "
                "to runs of {other}.",
                n=shared,
                runs=len(first.run_means),
                one=first.description,
                other=second.description,
            ),
            (first, second),
            shared=shared,
            readings=equal[:50],
        )


def _equal_rows(first: Sequence[float], second: Sequence[float]) -> int:
    """Return how many runs are equal if one series is shifted by the best offset."""
    rows: dict[float, list[int]] = defaultdict(list)
    for row, value in enumerate(second):
        rows[value].append(row)
    offsets = Counter(
        position - row
        for position, value in enumerate(first)
        for row in rows.get(value, ())
    )
    return max(offsets.values(), default=0)


def _chance_of_run(cell: CellFact, study: StudyFacts) -> float:
    # A mean has digits that were never printed.
    precision = find_precision(
        (float(f"{mean:.12g}") for mean in cell.run_means), cell.decimals
    )
    step = precision.step(cell.mean)
    deviation = study.noise.kind_deviation(cell) * cell.mean
    if len(cell.run_means) >= MIN_OWN_RUNS:
        deviation = min(deviation, MAD_TO_SD * median_deviation(cell.run_means))
    chance = min(equality_chance(step, deviation * MIN_NOISE_FRACTION), 1.0)
    pairs = list(combinations(cell.run_means[:MAX_RUNS], 2))
    equal = sum(first == second for first, second in pairs)
    # One equal pair of many may be an accident, which proves no coarse display.
    is_accident = equal == 1 and len(pairs) * chance >= MIN_ACCIDENTS
    agree = 0.0 if is_accident else equal / max(len(pairs), 1)
    return min(max(chance, agree, MIN_CHANCE), 1.0)


def median_deviation(means: Sequence[float]) -> float:
    # The sum of two middle values may overflow.
    unit = max(map(abs, means)) or 1.0
    parts = np.array(means) / unit
    return float(np.median(np.abs(parts - np.median(parts)))) * unit


def equality_chance(step: float, deviation: float) -> float:
    """Return the probability that two readings are equal.

    ``step`` is the value of their last printed digit, ``deviation`` their standard
    deviation.
    """
    deviation = max(deviation, step / 6)
    # Values of very different magnitudes may have neither.
    return step / (2 * math.sqrt(math.pi) * deviation) if deviation else 1.0


def _has_noise(cell: CellFact) -> bool:
    """Return whether equal values are suspicious: not for counts, zeros, fully used
    CPUs, and sizes in memory, which the program determines.
    """
    full = cell.is_cpu_utilization and cell.mean >= 99
    unit = units.find_unit(cell.unit)
    is_size = unit is not None and unit.dimension == "data"
    return cell.better != "neither" and cell.mean > 0 and not full and not is_size


def _find_copies(
    lines: Lines, own: Set[object], study: StudyFacts
) -> Iterator[tuple[list[CellPair], int]]:
    """Yield the copied cell pairs of each two lines with too many equal cells for
    chance, and how many cells these lines share.

    A line is a column or row of a table. At least one of the two lines must be in
    ``own``.
    """
    tried = len(own) * (2 * len(lines) - len(own) - 1) / 2
    bound = math.log(max(MIN_PAIRS, tried) / MAX_FALSE_FLAGS)
    for first_key, second_key in _lines_sharing_readings(lines, own):
        first, second = lines[first_key], lines[second_key]
        pairs = [(first[key], second[key]) for key in first if key in second]
        equal = [pair for pair in pairs if pair[0].readings == pair[1].readings]
        # Correct for the choice of cells: among all, or kind by kind, because copies
        # come in blocks.
        kinds = Counter(cell.sibling_key for cell, _ in pairs)
        equal_of = Counter(cell.sibling_key for cell, _ in equal)
        choices = [math.comb(count, equal_of[kind]) for kind, count in kinds.items()]
        by_kind = math.fsum(map(math.log, choices)) + len(kinds) * math.log(2)
        log_choices = min(math.log(math.comb(len(pairs), len(equal))), by_kind)
        if (
            math.fsum(_log_improbability(cell, study) for cell, _ in equal)
            - log_choices
            >= bound
        ):
            yield [pair for pair in pairs if _is_copied(pair, study)], len(pairs)


def _lines_sharing_readings(
    lines: Lines, own: Set[object]
) -> list[tuple[object, object]]:
    lines_by_reading: dict[object, list[object]] = defaultdict(list)
    for name, cells in lines.items():
        for key, cell in cells.items():
            lines_by_reading[key, cell.readings].append(name)
    pairs: dict[tuple[object, object], None] = {}
    for sharing in lines_by_reading.values():
        if 2 <= len(sharing) <= MAX_SHARING_COLUMNS:
            for first, second in combinations(sharing, 2):
                if first in own or second in own:
                    pairs[(first, second) if first in own else (second, first)] = None
    return list(pairs)


def _is_copied(pair: CellPair, study: StudyFacts) -> bool:
    """Return whether cells are equal, or so close that one may be the other rounded
    again.
    """
    first, second = pair
    if first.readings == second.readings:
        return True
    step = max(study.print_step(cell) for cell in pair)
    readings = zip(first.readings, second.readings, strict=False)
    near = first.n == second.n and all(abs(a - b) < 1.5 * step for a, b in readings)
    return near and _log_improbability(first, study) > MIN_SURPRISE


def _log_improbability(cell: CellFact, study: StudyFacts) -> float:
    """Return -ln of the probability that another cell has the same readings."""
    step = study.print_step(cell)
    deviation = max(
        study.noise.run_deviation(cell) * MIN_NOISE_FRACTION * cell.mean, step / 6
    )
    # The quotient may overflow.
    chance = math.log(step) - math.log(2 * math.sqrt(math.pi)) - math.log(deviation)
    return max(0.0, -chance) * max(1, len(cell.run_means))


def _location_phrase(cell: CellFact) -> str:
    if not cell.slot or cell.vms == 1:
        return cell.system_phrase
    return Sentence(
        "{system}, {scenario} slot {slot}",
        system=cell.system_phrase,
        scenario=cell.scenario,
        slot=cell.slot,
    )
