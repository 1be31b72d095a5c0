"""Rules about native baselines: conflicting, slower than guests, or missing."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

from benchmarks.analysis.baselines import PATH_SCENARIOS
from benchmarks.plausibility.day_effects import (
    MAX_LOG_EFFECT,
    day_shifts,
    is_other_day,
    log_efficiency,
    measurement_day,
)
from benchmarks.plausibility.findings import (
    Finding,
    cell_finding,
    name_and_more,
    rule,
    unique_subjects,
)
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    CellFact,
    Id,
    Noise,
    StudyFacts,
    factor_from_log,
)
from benchmarks.sentences import Sentence, join_sentences, pluralized

MIN_STANDARD_ERRORS: Final = 3.3
"""Exceeded by chance in 1 of 1,000 cases."""
MARGIN: Final = math.log(1.02)
MIN_LOG_ADVANTAGE: Final = math.log(1.05)
"""Smaller advantages may come from the placement of a program in memory."""
MIN_GUESTS: Final = 4
NATIVE_NOISE_FRACTION: Final = 1 / 3
"""Single printed values of a native machine vary less than other results: the 52 values
that the LMU studies share are identical.
"""
MAX_LOG_DIFFERENCE: Final = math.log(4)
"""Larger factors are not differences between two machines or days."""


@dataclass(frozen=True, slots=True)
class ValueRatio:
    cell: CellFact
    other: CellFact
    log_ratio: float
    error: float


@rule(
    "baselines-disagree",
    "Conflicting native baselines",
    "implausible",
    uses_other_studies=True,
)
def baselines_disagree(study: StudyFacts) -> Iterator[Finding]:
    """Flags two native results of the same host, guest OS, word size and benchmark
    (from two native systems or two studies) that differ by more than 2% and 3.3
    standard errors, in one benchmark or in the median of all benchmarks of one tool and
    metric. The noise of a single printed value is taken as a third of the noise of such
    results (CPU 0.7%, memory 1%, network 1.7%, disk 3.3% if the study has no repeated
    results); results with several runs use their own noise. If the two results share no
    session and differ by at most 25%, the severity is check: the machine may have
    changed between the two days, and neither value is wrong.

    Why: every relative performance depends on which of the two is used.

    Remedy: find out what changed (driver, offload, cable, day). Measure the native
    machine again in the session of the guests.
    """
    natives: dict[tuple[object, ...], dict[tuple[Id, Id], dict[Id, CellFact]]] = {}
    for cell in (*study.cells, *study.other_study_cells):
        # A network path is not a property of one machine.
        if cell.is_native and cell.scenario not in PATH_SCENARIOS and cell.mean > 0:
            machine = (cell.host, cell.guest_os, cell.guest_bits, *cell.circumstances)
            systems = natives.setdefault((*machine, *cell.sibling_key), {})
            systems.setdefault((cell.study, cell.system), {})[cell.case] = cell
    for systems in natives.values():
        for (first_key, first_cells), (second_key, second_cells) in combinations(
            systems.items(), 2
        ):
            if study.id in {first_key[0], second_key[0]}:
                yield from _disagreement(first_cells, second_cells, study)


def _disagreement(
    first_cells: Mapping[Id, CellFact],
    second_cells: Mapping[Id, CellFact],
    study: StudyFacts,
) -> Iterator[Finding]:
    ratios = []
    for case in first_cells:
        if case in second_cells:
            pair = (first_cells[case], second_cells[case])
            log = math.log(pair[0].mean / pair[1].mean)
            error = math.hypot(*(_repeat_error(cell, study.noise) for cell in pair))
            if abs(log) < MAX_LOG_DIFFERENCE:
                ratios.append(ValueRatio(*pair, log, error))
    log_ratio = _pooled_log(ratios)
    if log_ratio is None:
        ratios = [ratio for ratio in ratios if _is_clear(ratio.log_ratio, ratio.error)]
        if not ratios:
            return
        log_ratio = median(ratio.log_ratio for ratio in ratios)
    native = ratios[0].other
    if native.study == study.id:
        location = Sentence(
            "the other native system ({system})", system=native.system_phrase
        )
    else:
        name = native.study_label or str(native.study)
        location = Sentence("the same machine in {study}", study=name)
    members = [cell for ratio in ratios for cell in (ratio.cell, ratio.other)]
    arguments: dict[str, str | float] = {
        "n": len(ratios),
        "cases": name_and_more(ratios[0].cell.description, len(ratios) - 1),
        "off": abs(factor_from_log(log_ratio) - 1),
        "other": location,
    }
    sentence: str = (
        pluralized(
            "{cases}: {off:.1%} higher than {other}.",
            "{cases}: {off:.1%} higher (median) than {other}.",
            **arguments,
        )
        if log_ratio > 0
        else pluralized(
            "{cases}: {off:.1%} lower than {other}.",
            "{cases}: {off:.1%} lower (median) than {other}.",
            **arguments,
        )
    )
    on_other_days = all(is_other_day(ratio.cell, ratio.other) for ratio in ratios)
    is_day = on_other_days and abs(log_ratio) <= MAX_LOG_EFFECT
    if is_day:
        days = [measurement_day(cell) for cell in (ratios[0].cell, native)]
        other_days = Sentence(
            "They were measured in different sessions ({one} and {other}); the "
            "machine may have changed in between.",
            one=days[0],
            other=days[1],
        )
        sentence = join_sentences([sentence, other_days])
    yield cell_finding(
        sentence,
        # The other study has its own flags.
        [cell for cell in members if cell.study == study.id],
        "check" if is_day else None,
        quoted_studies=tuple({cell.study for cell in members} - {study.id}),
        off_percent=round(100 * (factor_from_log(log_ratio) - 1), 3),
        other_system=str(native.system),
        other_study=str(native.study),
        pairs=[[ratio.cell.mean, ratio.other.mean] for ratio in ratios],
    )


def _repeat_error(cell: CellFact, noise: Noise) -> float:
    return noise.mean_error(cell) * (NATIVE_NOISE_FRACTION if cell.n == 1 else 1)


def _is_clear(log: float, error: float, minimum: float = MARGIN) -> bool:
    threshold = minimum + 2.3 * error if minimum > MARGIN else minimum
    return abs(log) > max(threshold, MIN_STANDARD_ERRORS * error)


def _pooled_log(ratios: Sequence[ValueRatio], minimum: float = MARGIN) -> float | None:
    """Return the median log ratio of at least two cells if it is clear, otherwise None.

    The standard error of a median is sqrt(pi / 2) times that of a mean.
    """
    if len(ratios) < 2:
        return None
    middle = median(ratio.log_ratio for ratio in ratios)
    factor = math.sqrt(math.pi / 2) if len(ratios) > 2 else 1
    mean_square = sum(ratio.error**2 for ratio in ratios) / len(ratios)
    error = factor * math.sqrt(mean_square / len(ratios))
    return middle if _is_clear(middle, error, minimum) else None


@rule(
    "faster-than-native",
    "Virtual machine faster than its host",
    "implausible",
    uses_other_studies=True,
)
def faster_than_native(study: StudyFacts) -> Iterator[Finding]:
    """Flags a guest that is faster than its native baseline by more than 3.3 standard
    errors and by more than 5% plus 2.3 standard errors, in one benchmark or in the
    median of all benchmarks of one tool and metric under the same conditions. CPU
    utilization, power and the time that something takes to start are excluded (a
    container starts faster than a machine). Sums over several guests are excluded
    except for disk and network, where all guests share one medium.

    Why: a hypervisor adds work. A faster guest has a cache that the native machine
    lacks, a slow clock, another setting, or a baseline that was measured too slow.

    Remedy: compare caches (write-back on the host), clocks and settings of both. Repeat
    the baseline.
    """
    ratios: dict[tuple[object, ...], list[ValueRatio]] = defaultdict(list)
    shifts = day_shifts(study)
    for cell in study.cells:
        if native := _comparable_native(cell, study):
            error = math.hypot(
                study.noise.mean_error(cell), study.noise.mean_error(native)
            )
            ratio = _lead_over_native(
                cell, native, error, shifts.get(cell.column_key, 0.0)
            )
            ratios[(*cell.column_key, *cell.sibling_key)].append(ratio)
    for members in ratios.values():
        pooled = _pooled_log(members, MIN_LOG_ADVANTAGE)
        all_ahead = pooled is not None and pooled > 0
        faster = [
            ratio
            for ratio in members
            if ratio.log_ratio > 0
            and (
                all_ahead or _is_clear(ratio.log_ratio, ratio.error, MIN_LOG_ADVANTAGE)
            )
        ]
        if not faster:
            continue
        largest = max(faster, key=lambda ratio: ratio.log_ratio)
        yield cell_finding(
            Sentence(
                "{cases}: faster than native by up to {ahead:.1%} ({mean:g} "
                "instead of {native:g} {unit}).",
                cases=name_and_more(largest.cell.description, len(faster) - 1),
                ahead=factor_from_log(largest.log_ratio) - 1,
                mean=largest.cell.mean,
                native=largest.other.mean,
                unit=largest.cell.unit,
            ),
            [ratio.cell for ratio in faster],
            efficiencies=[
                round(factor_from_log(ratio.log_ratio), 5) for ratio in faster
            ],
            standard_errors=[round(ratio.error, 5) for ratio in faster],
            pairs=[[ratio.cell.mean, ratio.other.mean] for ratio in faster],
        )


@rule(
    "baseline-too-slow",
    "Native result slower than its guests",
    "implausible",
    uses_other_studies=True,
)
def baseline_too_slow(study: StudyFacts) -> Iterator[Finding]:
    """Flags a native result with at least four guests if at least three of four guests
    are faster and the median guest is more than 5% faster. The lead of the median must
    also be more than 4 times the largest of three values: the spread of the guests, the
    standard error of the native result (for a single value, a third of the noise of
    such results), and 1%.

    Why: one guest may be ahead by chance. If all are ahead by the same amount, the
    native value is wrong.

    Remedy: measure the native machine again in the session of the guests.
    """
    guests: dict[Id, list[ValueRatio]] = defaultdict(list)
    shifts = day_shifts(study)
    for cell in study.cells:
        native = _comparable_native(cell, study) if cell.scenario == "single" else None
        if native and native.study == study.id:
            shift = shifts.get(cell.column_key, 0.0)
            guests[native.id].append(_lead_over_native(cell, native, 0.0, shift))
    for members in guests.values():
        native = members[0].other
        logs = [ratio.log_ratio for ratio in members]
        middle = median(logs)
        are_faster = (
            4 * sum(log > 0 for log in logs) >= 3 * len(members) >= 3 * MIN_GUESTS
        )
        if not are_faster or middle <= MIN_LOG_ADVANTAGE:
            continue
        spread = MAD_TO_SD * median(abs(log - middle) for log in logs)
        error = max(spread, _repeat_error(native, study.noise), 0.01)
        if middle <= 4 * error:
            continue
        yield cell_finding(
            Sentence(
                "The median of the {n} guests that are compared with {native} "
                "({mean:g} {unit}) is {ahead:.1%} faster.",
                n=len(members),
                native=native.description,
                mean=native.mean,
                unit=native.unit,
                ahead=factor_from_log(middle) - 1,
            ),
            (native,),
            native=native.mean,
            guests=[ratio.cell.mean for ratio in members],
            median_percent=round(100 * (factor_from_log(middle) - 1), 3),
        )


def _comparable_native(cell: CellFact, study: StudyFacts) -> CellFact | None:
    if cell.is_native or cell.is_cpu_utilization or cell.better == "neither":
        return None
    if cell.is_start_up:
        return None
    if cell.component in {"power", ""} or cell.mean <= 0 or cell.baseline is None:
        return None
    if cell.slot == "sum" and cell.component not in {"disk", "network"}:
        return None
    native = study.baseline(cell)
    return native if native and native.is_native and native.mean > 0 else None


def _lead_over_native(
    cell: CellFact, native: CellFact, error: float, shift: float
) -> ValueRatio:
    return ValueRatio(cell, native, log_efficiency(cell, native) - shift, error)


NOT_STATED: Final = "not stated"
"""Part of the fingerprints to which stored decisions belong. It must not change, unlike
the sentence.
"""

ValuePair = tuple[object, object]
NAMED_PROPERTIES: Final = (
    "hypervisor_version",
    "virtualization",
    "vcpus",
    "memory_bytes",
)


@rule(
    "corun-reference",
    "Co-run without a single-VM run of its system",
    "implausible",
    family="references",
)
def corun_reference(study: StudyFacts) -> Iterator[Finding]:
    """Flags a co-run of a system that was never measured alone in that benchmark, if
    another system of the same host with the same hypervisor, guest OS and word size
    was. The finding names what differs between the two systems. Also flags a co-run if
    its system was measured alone, but with one or two other parameters. There is one
    flag for each pair of systems.

    Why: the cost of a co-run is its value relative to a single guest with the same
    configuration. Another configuration (memory, vCPUs, drivers, storage) adds its own
    effect.

    Remedy: run the configuration of the co-run alone, or state that the options are the
    same.
    """
    for members in _unmatched_coruns(study):
        cell, single = members[0]
        stated = {
            key: ["" if value is None else str(value) for value in values]
            for key, values in _differences(cell, single).items()
        }
        differs = {
            key: [value or Sentence("not reported") for value in values]
            for key, values in stated.items()
        }
        differences = [
            Sentence(
                "{key}: {here} instead of {there}", key=key, here=here, there=there
            )
            for key, (here, there) in differs.items()
        ]
        yield Finding(
            pluralized(
                "{n} result of several guests on {system} has no matching single-VM "
                "run. The closest single-VM run differs ({differences}).",
                "{n} results of several guests on {system} have no matching single-VM "
                "runs. The closest single-VM run differs ({differences}).",
                n=len(members),
                system=cell.system_phrase,
                differences=join_sentences(differences, ", "),
            ),
            unique_subjects("cell", (cell.id for cell, _ in members)),
            {"differs": differs, "reference_system": str(single.system)},
            (
                str(single.system),
                *(
                    f"{key}: {a or NOT_STATED}/{b or NOT_STATED}"
                    for key, (a, b) in stated.items()
                ),
            ),
        )


def _unmatched_coruns(
    study: StudyFacts,
) -> Iterator[list[tuple[CellFact, CellFact]]]:
    """Yield groups of co-run cells whose system was not measured alone in this case.

    Each comes with the most similar single-VM cell, of another system of the platform
    or with other parameters.
    """
    singles_by_platform: dict[object, dict[Id, CellFact]] = defaultdict(dict)
    tests: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.scenario == "single" and not cell.is_native:
            singles_by_platform[_platform(cell)].setdefault(cell.system, cell)
            tests[cell.system, cell.sibling_key].append(cell)
    pairs: dict[object, dict[object, list[tuple[CellFact, CellFact]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in study.cells:
        if cell.scenario in {"single", *PATH_SCENARIOS} or cell.is_native:
            continue
        candidates = singles_by_platform.get(_platform(cell), {})
        singles = [] if cell.system in candidates else list(candidates.values())
        if not candidates:
            same_test = tests[cell.system, cell.sibling_key]
            singles = [
                single
                for single in same_test
                if 0 < len(_different_parameters(cell, single)) <= 2
            ]
        if singles:
            closest = min(singles, key=lambda single: len(_differences(cell, single)))
            test = cell.sibling_key if closest.system == cell.system else None
            pairs[cell.system, closest.system, test][cell.sibling_key].append(
                (cell, closest)
            )
    for kinds in pairs.values():
        yield [pair for same_kind in kinds.values() for pair in same_kind]


def _platform(cell: CellFact) -> tuple[object, ...]:
    system = (cell.host, cell.hypervisor, cell.guest_os, cell.guest_bits)
    return (*system, cell.case)


def _different_parameters(cell: CellFact, reference: CellFact) -> dict[str, ValuePair]:
    pairs = {
        key: (cell.parameters.get(key), reference.parameters.get(key))
        for key in {*cell.parameters, *reference.parameters}
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _differences(cell: CellFact, reference: CellFact) -> dict[str, ValuePair]:
    values: dict[str, ValuePair] = {
        name: (getattr(cell, name), getattr(reference, name))
        for name in NAMED_PROPERTIES
    }
    for key in {*cell.options, *reference.options}:
        values[key] = (cell.options.get(key), reference.options.get(key))
    values |= _different_parameters(cell, reference)
    return {key: pair for key, pair in sorted(values.items()) if pair[0] != pair[1]}
