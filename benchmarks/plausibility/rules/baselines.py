"""Native machines that disagree, guests faster than theirs, and co-runs without one."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

from benchmarks.analysis.baselines import PATHS
from benchmarks.plausibility.days import (
    MOST,
    day_of,
    log_efficiency,
    of_another_day,
    shifts,
)
from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    Id,
    Noise,
    StudyFacts,
    factor_of,
)
from benchmarks.plausibility.findings import Doubt, about_cells, further, rule, subjects
from benchmarks.sentences import Sentence, counted, joined, template

CLEARLY: Final = 3.3
"""In standard errors: 1 in 1,000 if nothing is wrong (one value of a thousand)."""
MARGIN: Final = math.log(1.02)
"""Differences below the equivalence margin of 2 % change nothing."""
AHEAD: Final = math.log(1.05)
"""Where a program lies in memory alone makes it some percent faster or slower."""
ALL: Final = 4
"""Fewer guests may all be fast for a reason of their own."""
REPEATS: Final = 1 / 3
"""A native machine repeats its single printed value better than its component's limit
allows: the 52 values that the LMU studies share differ by nothing at all."""
MORE: Final = template("{cases}: {off:.1%} more than {other}.")
LESS: Final = template("{cases}: {off:.1%} less than {other}.")
SLIP: Final = math.log(4)
"""Beyond a factor 4 it is another mistake, and another rule's."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One cell against another: the log ratio and its standard error."""

    cell: CellFact
    other: CellFact
    log: float
    error: float


@rule(
    "baselines-disagree",
    "Conflicting native baselines",
    "impossible",
    looks_beside=True,
)
def baselines_disagree(study: StudyFacts) -> Iterator[Doubt]:
    """Two native cells of one host, guest OS, bits and case (of two native systems or
    of two studies) differ by more than 2 % and 3.3 standard errors, in one case or in
    the median of all cases of one tool and metric. A single printed value is given a
    third of its component's publishing limit as noise (0.7 % CPU, 1 % memory, 1.7 %
    network, 3.3 % disk), cells with several runs their own. Where the two share no
    session and differ by 25 % at most, it is a check: the machine may have been another
    one on that day, and neither value is wrong.

    Why: every efficiency depends on which of them is taken. The native Windows network
    throughput of the LMU studies differs by 6 %, all other native values agree.

    What to do: find out what changed between the two (driver, offload, cable, day);
    measure the native machine again in the session of the guests.
    """
    natives: dict[tuple[object, ...], dict[tuple[Id, Id], dict[Id, CellFact]]] = {}
    for cell in (*study.cells, *study.others):
        # A path is of two machines and the wire between them, not of this one.
        if cell.is_native and cell.scenario not in PATHS and cell.mean > 0:
            # Study and system are left out of the column: these are what is compared.
            machine = (cell.host, cell.guest_os, cell.guest_bits, *cell.circumstances)
            systems = natives.setdefault((*machine, *cell.kind), {})
            systems.setdefault((cell.study, cell.system), {})[cell.case] = cell
    for systems in natives.values():
        for (here, one), (there, other) in combinations(systems.items(), 2):
            if study.id in {here[0], there[0]}:
                yield from _disagreement(one, other, study)


def _disagreement(
    one: Mapping[Id, CellFact], other: Mapping[Id, CellFact], study: StudyFacts
) -> Iterator[Doubt]:
    ratios = []
    for case in one:
        if case in other:
            pair = (one[case], other[case])
            log = math.log(pair[0].mean / pair[1].mean)
            error = math.hypot(*(_repeat_error(cell, study.noise) for cell in pair))
            if abs(log) < SLIP:
                ratios.append(Ratio(*pair, log, error))
    off = _pooled(ratios)
    if off is None:
        ratios = [ratio for ratio in ratios if _is_clear(ratio.log, ratio.error)]
        if not ratios:
            return
        off = median(ratio.log for ratio in ratios)
    native = ratios[0].other
    if native.study == study.id:
        where = Sentence("the other native system ({system})", system=native.where)
    else:
        name = native.study_label or str(native.study)
        where = Sentence("the same machine in {study}", study=name)
    members = [cell for ratio in ratios for cell in (ratio.cell, ratio.other)]
    said: str = Sentence(
        MORE if off > 0 else LESS,
        cases=further(ratios[0].cell.name, len(ratios) - 1),
        off=abs(factor_of(off) - 1),
        other=where,
    )
    apart = all(of_another_day(ratio.cell, ratio.other) for ratio in ratios)
    is_day = apart and abs(off) <= MOST
    if is_day:
        days = [day_of(one) for one in (ratios[0].cell, native)]
        other_days = Sentence(
            "They are of different sessions ({one} and {other}): the machine may have "
            "been another one then.",
            one=days[0],
            other=days[1],
        )
        said = joined([said, other_days])
    yield about_cells(
        said,
        # The other study's cells are evidence; it has flags of its own.
        [cell for cell in members if cell.study == study.id],
        "check" if is_day else None,
        quotes=tuple({cell.study for cell in members} - {study.id}),
        off_percent=round(100 * (factor_of(off) - 1), 3),
        other_system=str(native.system),
        other_study=str(native.study),
        pairs=[[ratio.cell.mean, ratio.other.mean] for ratio in ratios],
    )


def _repeat_error(cell: CellFact, noise: Noise) -> float:
    return noise.of_mean(cell) * (REPEATS if cell.n == 1 else 1)


def _is_clear(log: float, error: float, least: float = MARGIN) -> bool:
    """Beyond 3.3 standard errors; beyond 2.3 of them from what placement explains."""
    beyond = least + 2.3 * error if least > MARGIN else least
    return abs(log) > max(beyond, CLEARLY * error)


def _pooled(ratios: Sequence[Ratio], least: float = MARGIN) -> float | None:
    """The median log ratio, if it is clear; sqrt(pi / 2) is a median's larger error."""
    if len(ratios) < 2:
        return None
    middle = median(ratio.log for ratio in ratios)
    factor = math.sqrt(math.pi / 2) if len(ratios) > 2 else 1
    mean_square = sum(ratio.error**2 for ratio in ratios) / len(ratios)
    error = factor * math.sqrt(mean_square / len(ratios))
    return middle if _is_clear(middle, error, least) else None


@rule(
    "faster-than-native",
    "A virtual machine that is faster than its host",
    "implausible",
    looks_beside=True,
)
def faster_than_native(study: StudyFacts) -> Iterator[Doubt]:
    """A guest beats its native baseline by more than 5 % and 3.3 standard errors: in
    one case, or in the median of all cases of one tool and metric under the same
    circumstances. Noise is that of both cells' runs, for single values that of their
    kind in this study, else the publishing limit of the component. CPU shares,
    power and the time that something takes to start (a container boots faster than a
    machine) are left out, as are sums over several guests except for disk and network,
    where one medium serves all of them.

    Why: a hypervisor adds work. A faster guest has a cache that the machine lacks, a
    slow clock, another setting, or a baseline that was measured too slow.

    What to do: compare caches (write-back on the host), clocks and settings of both;
    repeat the baseline.
    """
    ratios: dict[tuple[object, ...], list[Ratio]] = defaultdict(list)
    by_day = shifts(study)
    for cell in study.cells:
        if native := _native_of(cell, study):
            error = math.hypot(study.noise.of_mean(cell), study.noise.of_mean(native))
            ratio = _speed(cell, native, error, by_day.get(cell.column, 0.0))
            ratios[(*cell.column, *cell.kind)].append(ratio)
    for members in ratios.values():
        off = _pooled(members, AHEAD)
        all_ahead = off is not None and off > 0
        faster = [
            ratio
            for ratio in members
            if ratio.log > 0 and (all_ahead or _is_clear(ratio.log, ratio.error, AHEAD))
        ]
        if not faster:
            continue
        most = max(faster, key=lambda ratio: ratio.log)
        yield about_cells(
            Sentence(
                "{cases} beat the native machine, by up to {ahead:.1%} ({mean:g} "
                "against {native:g} {unit}).",
                cases=further(most.cell.name, len(faster) - 1),
                ahead=factor_of(most.log) - 1,
                mean=most.cell.mean,
                native=most.other.mean,
                unit=most.cell.unit,
            ),
            [ratio.cell for ratio in faster],
            efficiencies=[round(factor_of(ratio.log), 5) for ratio in faster],
            standard_errors=[round(ratio.error, 5) for ratio in faster],
            pairs=[[ratio.cell.mean, ratio.other.mean] for ratio in faster],
        )


@rule(
    "baseline-too-slow",
    "A native value that all guests beat",
    "implausible",
    looks_beside=True,
)
def baseline_too_slow(study: StudyFacts) -> Iterator[Doubt]:
    """At least four guests are compared with one native cell, three of four of them
    beat it, and their median lies more than 5 % above it: by 4 times the larger of
    their own spread, the standard error of the native cell (a third of its kind's
    noise for a single value) and 1 %.

    Why: one guest may be lucky. If all are ahead by the same amount, the native value
    is the one that is wrong. In the LMU study of ESXi all four 64-bit Linux guests send
    7 % more than the native machine, and write 12 % more into the second cache.

    What to do: measure the native machine again, in the session of the guests.
    """
    guests: dict[Id, list[Ratio]] = defaultdict(list)
    by_day = shifts(study)
    for cell in study.cells:
        native = _native_of(cell, study) if cell.scenario == "single" else None
        if native and native.study == study.id:
            shift = by_day.get(cell.column, 0.0)
            guests[native.id].append(_speed(cell, native, 0.0, shift))
    for members in guests.values():
        native = members[0].other
        # Of a few numbers: numpy takes twenty times as long.
        logs = [ratio.log for ratio in members]
        middle = median(logs)
        # One lucky guest says nothing about the native machine; three of four do.
        ahead = 4 * sum(log > 0 for log in logs) >= 3 * len(members) >= 3 * ALL
        if not ahead or middle <= AHEAD:
            continue
        spread = NORMAL * median(abs(log - middle) for log in logs)
        error = max(spread, _repeat_error(native, study.noise), 0.01)
        if middle <= 4 * error:
            continue
        yield about_cells(
            Sentence(
                "{n} guests are compared with {native} ({mean:g} {unit}), and in the "
                "median they beat it by {ahead:.1%}.",
                n=len(members),
                native=native.name,
                mean=native.mean,
                unit=native.unit,
                ahead=factor_of(middle) - 1,
            ),
            (native,),
            native=native.mean,
            guests=[ratio.cell.mean for ratio in members],
            median_percent=round(100 * (factor_of(middle) - 1), 3),
        )


def _native_of(cell: CellFact, study: StudyFacts) -> CellFact | None:
    """The baseline, where beating it would be strange."""
    if cell.is_native or cell.is_share or cell.better == "neither":
        return None
    if cell.is_start_up:
        return None
    if cell.component in {"power", ""} or cell.mean <= 0 or cell.baseline is None:
        return None
    if cell.slot == "sum" and cell.component not in {"disk", "network"}:
        return None
    native = study.baseline(cell)
    return native if native and native.is_native and native.mean > 0 else None


def _speed(cell: CellFact, native: CellFact, error: float, by_day: float) -> Ratio:
    """How far a guest is ahead of native, beyond what the native's day explains."""
    return Ratio(cell, native, log_efficiency(cell, native) - by_day, error)


Pair = tuple[object, object]
SIZES: Final = ("hypervisor_version", "virtualization", "vcpus", "memory_bytes")


@rule(
    "corun-reference",
    "A co-run without a single run of its system",
    "implausible",
    family="references",
)
def corun_reference(study: StudyFacts) -> Iterator[Doubt]:
    """Several guests were measured together on a system that was never measured alone
    in that case, while another system of the host with the same hypervisor, guest OS
    and bits was: the reference of the co-run differs from it in what is named. Or the
    system was measured alone, but the test in one or two other parameters. One flag for
    each pair of systems.

    Why: what a co-run costs is its value over that of a single guest of the same
    configuration. Another one (memory, vCPUs, drivers, storage) adds its own effect. In
    the LMU study of ESXi the configuration of the parallel runs is not stated.

    What to do: run the co-run's own configuration alone, or state that the options are
    the same.
    """
    for members in _set_against_others(study):
        cell, single = members[0]
        differs = {
            key: [Sentence("not stated") if x in (None, "") else str(x) for x in values]
            for key, values in _unlike(cell, single).items()
        }
        differences = [
            Sentence("{key} {here} against {there}", key=key, here=here, there=there)
            for key, (here, there) in differs.items()
        ]
        yield Doubt(
            counted(
                "{n} cell of several guests on {system} has no single run like it; "
                "the nearest one differs in {said}.",
                "{n} cells of several guests on {system} have no single run like them; "
                "the nearest one differs in {said}.",
                n=len(members),
                system=cell.where,
                said=joined(differences, ", "),
            ),
            subjects("cell", (cell.id for cell, _ in members)),
            {"differs": differs, "reference_system": str(single.system)},
            (
                str(single.system),
                *(f"{key}: {a}/{b}" for key, (a, b) in differs.items()),
            ),
        )


def _set_against_others(
    study: StudyFacts,
) -> Iterator[list[tuple[CellFact, CellFact]]]:
    """Compare co-runs with single runs of other systems or cases."""
    alone: dict[object, dict[Id, CellFact]] = defaultdict(dict)
    tests: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.scenario == "single" and not cell.is_native:
            alone[_platform(cell)].setdefault(cell.system, cell)
            tests[cell.system, cell.kind].append(cell)
    # One flag a pair of systems; one a test where only its parameters differ.
    pairs: dict[object, dict[object, list[tuple[CellFact, CellFact]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in study.cells:
        if cell.scenario in {"single", *PATHS} or cell.is_native:
            continue
        others = alone.get(_platform(cell), {})
        singles = [] if cell.system in others else list(others.values())
        if not others:
            tested = tests[cell.system, cell.kind]
            singles = [one for one in tested if 0 < len(_other_named(cell, one)) <= 2]
        if singles:
            nearest = min(singles, key=lambda single: len(_unlike(cell, single)))
            test = cell.kind if nearest.system == cell.system else None
            pairs[cell.system, nearest.system, test][cell.kind].append((cell, nearest))
    for kinds in pairs.values():
        yield [pair for same_kind in kinds.values() for pair in same_kind]


def _platform(cell: CellFact) -> tuple[object, ...]:
    system = (cell.host, cell.hypervisor, cell.guest_os, cell.guest_bits)
    return (*system, cell.case)


def _other_named(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    """In which parameters two cases differ."""
    pairs = {
        key: (cell.parameters.get(key), other.parameters.get(key))
        for key in {*cell.parameters, *other.parameters}
    }
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _unlike(cell: CellFact, other: CellFact) -> dict[str, Pair]:
    """In what two systems differ; what one of them does not state counts too."""
    stated: dict[str, Pair] = {
        name: (getattr(cell, name), getattr(other, name)) for name in SIZES
    }
    for key in {*cell.options, *other.options}:
        stated[key] = (cell.options.get(key), other.options.get(key))
    stated |= _other_named(cell, other)
    return {key: pair for key, pair in sorted(stated.items()) if pair[0] != pair[1]}
