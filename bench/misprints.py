"""`make mistakes`: what the plausibility rules find of mistakes made in real studies.

Each mistake that a person makes with tables is made in published studies, one at a
time, in a bounded sample of the places where it can be made. A mistake is *found* if a
rule doubts what it touched that did not before, and *named* if the right rule does.
Who changes a rule looks at one half of the studies (`--side design`) and asks the other
one, once, when it is done; a seed draws the halves, and the places in each study. A
folder of tables that is given judges, too.
"""

import argparse
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from operator import mul
from pathlib import Path
from statistics import median
from typing import Final

from bench.published import published, recorded, tables_of, with_runs
from benchmarks.plausibility.checking import check
from benchmarks.plausibility.facts import CellFact, ColumnKey, Id, RunFact, StudyFacts
from benchmarks.plausibility.findings import Finding

SEED: Final = 20_261_123
"""Draws both halves. What has judged once has been seen: the next change takes another
one, and says it beside its figures."""
CLEARLY: Final = 3.3
BEYOND_NOISE: Final = math.log(1.05)
"""Below it two values that are exchanged look like two runs of one."""
NOON: Final = datetime(2026, 5, 1, 12, tzinfo=UTC)

Change = Callable[[float], float]


@dataclass(frozen=True)
class Made:
    """A study with one mistake, and the cells and runs that it touched."""

    study: StudyFacts
    touched: frozenset[str]


Place = Callable[[], Made]
"""A mistake in one place, made when it is called."""


Parts = Callable[[StudyFacts], Iterator[StudyFacts]]


def _whole(study: StudyFacts) -> Iterator[StudyFacts]:
    yield study


@dataclass(frozen=True)
class Misprint:
    """A mistake: its name, where it can be made, and the rules that name it.

    ``parts`` are what of a study is uploaded: all of it, or less.
    """

    name: str
    places: Callable[[StudyFacts], Iterator[Place]]
    named_by: frozenset[str]
    parts: Parts = _whole


@dataclass
class Count:
    """In how many places a mistake was made, found and named."""

    made: int = 0
    found: int = 0
    named: int = 0


def changed(study: StudyFacts, cells: Mapping[Id, Change]) -> Made:
    """The study with every reading of some cells changed."""
    runs = [
        replace(
            run,
            samples=tuple(
                replace(sample, value=cells[sample.cell](sample.value))
                if sample.cell is not None and sample.cell in cells
                else sample
                for sample in run.samples
            ),
        )
        if any(sample.cell in cells for sample in run.samples)
        else run
        for run in study.runs
    ]
    return Made(with_runs(study, runs), frozenset(map(str, cells)))


def _measured(study: StudyFacts) -> list[CellFact]:
    return [
        cell
        for cell in study.cells
        if not cell.is_share
        and cell.better != "neither"
        and cell.mean > 0
        and cell.slot != "sum"
        and not cell.is_extreme
    ]


def _slip(factor: float, only_times: bool = False) -> Callable[..., Iterator[Place]]:
    def places(study: StudyFacts) -> Iterator[Place]:
        for cell in _measured(study):
            if (cell.unit in {"s", "ms", "us"}) or not only_times:
                yield partial(changed, study, {cell.id: partial(mul, factor)})

    return places


def _truly_slower(study: StudyFacts) -> Iterator[Place]:
    """A cell that is 5 to 2000 times slower, by no unit's factor in particular."""
    rng = random.Random(f"{SEED} {study.id}")
    for cell in _measured(study):
        slower = math.exp(-rng.uniform(math.log(5), math.log(2000)))
        factor = slower if cell.better == "higher" else 1 / slower
        yield partial(changed, study, {cell.id: partial(mul, factor)})


def _slip_of_a_run(study: StudyFacts) -> Iterator[Place]:
    for number, cell in enumerate(_measured(study)):
        if cell.n >= 3:
            factor = (10.0, 0.1, 1000.0, 0.001)[number % 4]
            yield partial(_in_one_run, study, cell.id, factor)


def _in_one_run(study: StudyFacts, cell: Id, factor: float) -> Made:
    runs = list(study.runs)
    holding = [
        place
        for place, run in enumerate(runs)
        if any(sample.cell == cell for sample in run.samples)
    ]
    place = holding[len(holding) // 2]
    samples = tuple(
        replace(sample, value=sample.value * factor) if sample.cell == cell else sample
        for sample in runs[place].samples
    )
    runs[place] = replace(runs[place], samples=samples)
    return Made(with_runs(study, runs), frozenset({str(cell), str(runs[place].id)}))


Pair = tuple[CellFact, CellFact]


def _columns(
    study: StudyFacts,
) -> Mapping[tuple[object, ...], Mapping[object, dict[Id, CellFact]]]:
    """Of each tool and metric in each place the systems' cells by their cases."""
    columns: dict[tuple[object, ...], dict[object, dict[Id, CellFact]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for cell in _measured(study):
        place = (cell.host, cell.scenario, cell.vms, cell.slot, cell.load)
        columns[*place, *cell.kind][cell.system][cell.case] = cell
    return columns


def differ(pairs: Sequence[Pair], study: StudyFacts) -> bool:
    """Whether the two sides of these pairs differ beyond their noise in the median."""
    logs = [abs(math.log(one.mean / other.mean)) for one, other in pairs]
    errors = [
        math.hypot(*(study.noise.of_mean(cell) for cell in pair)) for pair in pairs
    ]
    return median(logs) > max(BEYOND_NOISE, CLEARLY * median(errors))


def _readings(study: StudyFacts) -> Mapping[Id | None, list[float]]:
    """The readings of each cell, in the order of its runs."""
    readings: dict[Id | None, list[float]] = defaultdict(list)
    for run in study.runs:
        for sample in run.samples:
            readings[sample.cell].append(sample.value)
    return readings


def reading(study: StudyFacts, cells: Mapping[Id, Sequence[float]]) -> Made:
    """The study with other readings in some cells, of however many runs."""
    left = {cell: list(values) for cell, values in cells.items()}
    runs, last = [], {}
    for run in study.runs:
        samples = []
        for sample in run.samples:
            if sample.cell is None or sample.cell not in left:
                samples.append(sample)
            elif left[sample.cell]:
                value = left[sample.cell].pop(0)
                samples.append(replace(sample, value=value))
                last[sample.cell] = (run, samples[-1])
        runs.append(replace(run, samples=tuple(samples)))
    for cell, values in left.items():
        run, sample = last[cell]
        runs += [
            replace(run, id=f"{cell} {n}", samples=(replace(sample, value=value),))
            for n, value in enumerate(values)
        ]
    return Made(with_runs(study, runs), frozenset(map(str, cells)))


def exchanged(study: StudyFacts, pairs: Sequence[Pair]) -> Made:
    """Each two cells with the other one's readings, run by run."""
    read = _readings(study)
    into: dict[Id, list[float]] = {}
    for one, other in pairs:
        into |= {one.id: read[other.id], other.id: read[one.id]}
    return reading(study, into)


def pasted(study: StudyFacts, pairs: Sequence[Pair], part: float) -> Made:
    """The first part of each first cell's runs in place of the second one's."""
    read = _readings(study)
    into: dict[Id, list[float]] = {}
    for source, target in pairs:
        ours, theirs = read[source.id], read[target.id]
        count = round(part * min(source.n, target.n))
        # Whole runs, of however many readings each.
        ours = ours[: count * (len(ours) // source.n)]
        theirs = theirs[count * (len(theirs) // target.n) :]
        into[source.id] = read[source.id]
        into[target.id] = [*ours, *theirs]
    return reading(study, into)


def _columns_exchanged(part: float) -> Callable[[StudyFacts], Iterator[Place]]:
    """Two systems in all cases of a tool and metric, or in a part of four or more."""

    def places(study: StudyFacts) -> Iterator[Place]:
        for systems in _columns(study).values():
            for one, other in combinations(systems.values(), 2):
                cases = [case for case in one if case in other]
                if part < 1:
                    cases = cases[: round(part * len(cases))] if len(cases) > 3 else []
                pairs = [(one[case], other[case]) for case in cases]
                if pairs and differ(pairs, study):
                    yield partial(exchanged, study, pairs)

    return places


def _tools_exchanged(study: StudyFacts) -> Iterator[Place]:
    """Two systems in all that a tool measured, where another tool measured them too."""
    by_tool: dict[object, dict[str, list[Pair]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for (*place, _, tool, _metric), systems in _columns(study).items():
        for (name, one), (named, other) in combinations(systems.items(), 2):
            pairs = [(one[case], other[case]) for case in one if case in other]
            by_tool[*place, name, named][str(tool)] += pairs
    for tools in by_tool.values():
        for pairs in tools.values() if len(tools) > 1 else ():
            if pairs and differ(pairs, study):
                yield partial(exchanged, study, pairs)


def _cells_exchanged(study: StudyFacts) -> Iterator[Place]:
    """One case of two systems."""
    for systems in _columns(study).values():
        for one, other in combinations(systems.values(), 2):
            cases = [case for case in one if case in other]
            for case in cases if len(cases) > 1 else ():
                pair = (one[case], other[case])
                if differ([pair], study):
                    yield partial(exchanged, study, [pair])


def _cases_exchanged(study: StudyFacts) -> Iterator[Place]:
    """Two cases of one system."""
    for systems in _columns(study).values():
        if len(systems) < 2:
            continue
        for cells in systems.values():
            for pair in combinations(cells.values(), 2):
                if differ([pair], study):
                    yield partial(exchanged, study, [pair])


def _half_pasted(study: StudyFacts) -> Iterator[Place]:
    """Half of the runs of a cell copied into the same case of another system."""
    for systems in _columns(study).values():
        for one, other in combinations(systems.values(), 2):
            for case in one:
                if case in other and min(one[case].n, other[case].n) >= 5:
                    pair = (one[case], other[case])
                    yield partial(pasted, study, [pair], 0.5)


def _column_pasted(study: StudyFacts) -> Iterator[Place]:
    """All cases of a tool and metric, four or more, copied to another system."""
    for systems in _columns(study).values():
        for one, other in combinations(systems.values(), 2):
            pairs = [(one[case], other[case]) for case in one if case in other]
            if len(pairs) >= 4:
                yield partial(pasted, study, pairs, 1)


def _uploaded(times: int, starts: bool) -> Callable[[StudyFacts], Iterator[Place]]:
    """All runs of a tool on a system that often, with or without their starts."""

    def places(study: StudyFacts) -> Iterator[Place]:
        groups: dict[object, list[RunFact]] = defaultdict(list)
        for run in study.runs:
            if run.samples:
                place = (run.scenario, run.vms, run.slot, run.load)
                groups[run.system, run.tool, *place].append(run)
        for members in groups.values():
            if starts or sum(len(run.samples) for run in members) >= 3:
                yield partial(_again, study, members, times, starts)

    return places


def _again(
    study: StudyFacts, members: Sequence[RunFact], times: int, starts: bool
) -> Made:
    ids = {run.id for run in members}
    first = {
        run.id: replace(
            run,
            started_at=NOON + timedelta(minutes=number) if starts else None,
        )
        for number, run in enumerate(members)
    }
    runs = [first.get(run.id, run) for run in study.runs]
    for time in range(1, times):
        runs += [
            replace(run, id=f"{run.id} again {time}", upload=f"again {time}")
            for run in first.values()
        ]
    again = {str(run.id) for run in runs} - {str(run.id) for run in study.runs}
    return Made(with_runs(study, runs), frozenset(again | set(map(str, ids))))


def _on_days(study: StudyFacts, native: int, own: Sequence[int] = ()) -> StudyFacts:
    """The study with its guests measured on one day, its native machine on another."""
    cells = []
    for cell in study.cells:
        days = own if own and cell.is_native else [native if cell.is_native else 0]
        starts = [
            NOON + timedelta(days=days[run * len(days) // cell.n])
            for run in range(cell.n)
        ]
        cells.append(
            replace(
                cell,
                sittings=tuple(start.date().isoformat() for start in starts),
                first_at=starts[0],
                last_at=starts[-1] + timedelta(hours=1),
            )
        )
    runs = tuple(replace(run, started_at=None) for run in study.runs)
    return replace(study, cells=tuple(cells), runs=runs)


def _native_of_another_day(factor: float) -> Callable[[StudyFacts], Iterator[Place]]:
    def places(study: StudyFacts) -> Iterator[Place]:
        hosts = {c.host for c in study.cells if c.is_native}
        for host in sorted(hosts):
            own = [c for c in _measured(study) if c.is_native and c.host == host]
            bound = [c for c in own if c.component not in {"network", "power"}]
            if len(bound) >= 3:
                yield partial(_faster, _on_days(study, 5), own, factor)

    return places


def _faster(study: StudyFacts, cells: Iterable[CellFact], factor: float) -> Made:
    def by(cell: CellFact) -> Change:
        own = factor if cell.better == "higher" else 1 / factor
        return lambda value: value * own

    return changed(study, {cell.id: by(cell) for cell in cells})


def _more_digits(study: StudyFacts) -> Iterator[Place]:
    """A cell with longer readings than its siblings, each where it was to 0.01 %."""
    for cell in _measured(study):
        yield partial(changed, study, {cell.id: lambda v: float(f"{1.0001 * v:.9g}")})


def _slow_clock(study: StudyFacts) -> Iterator[Place]:
    """A guest near native, of which its own clock timed five cases or more."""
    by_id = {cell.id: cell for cell in study.cells}
    guests: dict[Id, list[CellFact]] = defaultdict(list)
    for cell in _measured(study):
        native = by_id.get(cell.baseline) if cell.baseline is not None else None
        own = cell.clock in {"guest", "local", ""} and cell.scenario == "single"
        bound = cell.component in {"CPU", "memory"}
        if native and not cell.is_native and own and bound:
            guests[cell.system].append(cell)
    for cells in guests.values():
        logs = [math.log(cell.efficiency) for cell in cells if cell.efficiency]
        if len(logs) >= 3 and abs(median(logs)) < 0.02:
            yield partial(_faster, study, cells, 1.08)


def _reciprocal(cell: CellFact, digits: int) -> Change:
    scale = {"ms": 1e3, "us": 1e6, "ns": 1e9}.get(cell.unit, 1.0)
    return lambda value: float(f"{scale / value:.{digits}g}")


def _rate_as_time(digits: int) -> Callable[[StudyFacts], Iterator[Place]]:
    """The reciprocal of a cell, to so many significant digits."""

    def places(study: StudyFacts) -> Iterator[Place]:
        for cell in _measured(study):
            if abs(math.log(cell.mean)) > math.log(5):
                yield partial(changed, study, {cell.id: _reciprocal(cell, digits)})

    return places


def _undeclared_emulation(study: StudyFacts) -> Iterator[Place]:
    """A guest whose CPU and memory cases are all 61 to 67 times slower."""
    guests: dict[Id, list[CellFact]] = defaultdict(list)
    for cell in _measured(study):
        bound = cell.component in {"CPU", "memory"} and cell.scenario == "single"
        imitated = cell.emulation or cell.virtualization == "container"
        if bound and not cell.is_native and not imitated and cell.baseline:
            guests[cell.system].append(cell)
    rng = random.Random(SEED)
    for cells in guests.values():
        if len(cells) >= 2:
            slow = {c.id: 1 / rng.uniform(61, 67) for c in cells}
            yield partial(_slowed, study, cells, slow)


def _slowed(
    study: StudyFacts, cells: Sequence[CellFact], slow: Mapping[Id, float]
) -> Made:
    def by(cell: CellFact) -> Change:
        own = slow[cell.id] if cell.better == "higher" else 1 / slow[cell.id]
        return lambda value: value * own

    return changed(study, {cell.id: by(cell) for cell in cells})


def _rule(*names: str) -> frozenset[str]:
    return frozenset(names)


SLIP: Final = _rule("unit-slip")
SWAP: Final = _rule("exchanged-values", "exchanged-in-runs")
MISPRINTS: Final = (
    *(
        Misprint(f"a cell x {factor:g}", _slip(factor), SLIP)
        for factor in (10, 0.1, 100, 1000, 0.001, 1024)
    ),
    *(
        Misprint(f"a time x {factor:.3g}", _slip(factor, only_times=True), SLIP)
        for factor in (60, 1 / 60)
    ),
    Misprint("a run of a cell x 10 or 1000", _slip_of_a_run, SLIP),
    Misprint("two systems exchanged, a metric", _columns_exchanged(1), SWAP),
    Misprint("two systems exchanged, half of it", _columns_exchanged(0.5), SWAP),
    Misprint("two systems exchanged, a tool", _tools_exchanged, SWAP),
    Misprint("two systems exchanged, a case", _cells_exchanged, SWAP),
    Misprint("two cases of a system exchanged", _cases_exchanged, SWAP),
    Misprint("half a cell pasted", _half_pasted, _rule("pasted-runs")),
    Misprint("a column pasted", _column_pasted, _rule("pasted-values")),
    Misprint("uploaded twice", _uploaded(2, True), _rule("uploaded-twice")),
    Misprint("twice, no starts", _uploaded(2, False), _rule("uploaded-twice")),
    Misprint("thrice, no starts", _uploaded(3, False), _rule("uploaded-twice")),
    Misprint(
        "native 12 % slower, another day",
        _native_of_another_day(1 / 1.12),
        _rule("native-of-another-day"),
    ),
    Misprint(
        "native 7 % faster, another day",
        _native_of_another_day(1.07),
        _rule("native-of-another-day"),
    ),
    Misprint("guest clock 8 % slow", _slow_clock, _rule("common-clock-factor")),
    Misprint("a rate as a time", _rate_as_time(17), _rule("rate-as-time")),
    Misprint("a rate as a time, 3 digits", _rate_as_time(3), _rule("rate-as-time")),
    Misprint(
        "emulation not declared, 61-67 x",
        _undeclared_emulation,
        _rule("emulation-speed"),
    ),
    Misprint("no mistake: another day", _native_of_another_day(1), _rule()),
    Misprint("no mistake: more digits", _more_digits, _rule()),
    Misprint("no mistake: a cell truly slower", _truly_slower, SLIP),
)
"""The last are none: whatever is found there is a false flag."""


def _only(study: StudyFacts, keep: Callable[[CellFact], bool]) -> StudyFacts:
    """The study with these cells, and the runs that they were read from."""
    cells = tuple(cell for cell in study.cells if keep(cell))
    kept = {cell.id for cell in cells}
    runs = [
        replace(run, samples=samples)
        for run in study.runs
        if (samples := tuple(one for one in run.samples if one.cell in kept))
    ]
    return replace(study, cells=cells, runs=tuple(runs))


def _one_guest(study: StudyFacts) -> Iterator[StudyFacts]:
    """Each guest alone with the native machines, and no other study of these."""
    guests = {cell.system for cell in study.cells if not cell.is_native}
    for guest in sorted(guests, key=str):
        alone = _only(study, partial(_is_native_or, guest))
        yield replace(alone, others=())


def _is_native_or(guest: Id, cell: CellFact) -> bool:
    return cell.is_native or cell.system == guest


def _one_test(study: StudyFacts) -> Iterator[StudyFacts]:
    """Each two guests of one guest OS alone with one metric of one tool."""
    guests: dict[tuple[object, ...], set[ColumnKey]] = defaultdict(set)
    for cell in _measured(study):
        if not cell.is_native:
            own = (cell.guest_os, cell.guest_bits)
            guests[cell.kind, cell.column[2:], own].add(cell.column)
    for (kind, *_), columns in guests.items():
        for pair in combinations(sorted(columns, key=str), 2):
            alone = _only(study, partial(_is_of, kind=kind, columns=pair))
            yield replace(alone, others=())


def _is_of(cell: CellFact, kind: object, columns: Sequence[ColumnKey]) -> bool:
    return cell.kind == kind and cell.column in columns


def _to_digits(digits: int) -> Parts:
    """The study with every reading rounded."""

    def parts(study: StudyFacts) -> Iterator[StudyFacts]:
        runs = [
            replace(
                run,
                samples=tuple(
                    replace(one, value=float(f"{one.value:.{digits}g}"))
                    for one in run.samples
                ),
            )
            for run in study.runs
        ]
        yield with_runs(study, runs)

    return parts


def _alone(factor: float) -> Callable[[StudyFacts], Iterator[Place]]:
    """Cells of a case that no other system of the host ran."""

    def places(study: StudyFacts) -> Iterator[Place]:
        rows: Counter[object] = Counter()
        for cell in study.cells:
            rows[cell.host, cell.case, *cell.column[2:]] += 1
        for cell in _measured(study):
            if rows[cell.host, cell.case, *cell.column[2:]] == 1:
                yield partial(changed, study, {cell.id: partial(mul, factor)})

    return places


def _near_one(study: StudyFacts) -> Iterator[Place]:
    """The reciprocals of values within a factor 2.3 of 1, to three digits."""
    for cell in _measured(study):
        if 0.02 < abs(math.log(cell.mean)) < math.log(2.3):
            yield partial(changed, study, {cell.id: _reciprocal(cell, 3)})


DAY: Final = _rule("native-of-another-day")
BLIND: Final = (
    Misprint(
        "native 12 % slower, one guest",
        _native_of_another_day(1 / 1.12),
        DAY,
        _one_guest,
    ),
    Misprint(
        "native 7 % faster, one guest", _native_of_another_day(1.07), DAY, _one_guest
    ),
    Misprint(
        "no mistake: another day, one guest",
        _native_of_another_day(1),
        _rule(),
        _one_guest,
    ),
    Misprint("two guests exchanged, one test", _columns_exchanged(1), SWAP, _one_test),
    Misprint("a cell x 0.1, alone in its case", _alone(0.1), SLIP),
    Misprint("a cell x 10, alone in its case", _alone(10), SLIP),
    Misprint("a rate as a time, within 2.3 of 1", _near_one, _rule("rate-as-time")),
    Misprint(
        "half a cell pasted, all of 2 digits",
        _half_pasted,
        _rule("pasted-runs"),
        _to_digits(2),
    ),
)
"""Mistakes where a study holds hardly anything to know them by."""


def _touching(findings: Iterable[Finding], touched: frozenset[str]) -> set[str]:
    return {
        finding.rule
        for finding in findings
        if any(subject.id in touched for subject in finding.subjects)
    }


def design_half(studies: Iterable[StudyFacts], seed: int) -> frozenset[str]:
    """One of each two studies that are next to each other in size, by a coin."""
    rng = random.Random(seed)
    by_size = sorted(studies, key=lambda study: (len(study.cells), str(study.id)))
    pairs = zip(by_size[::2], by_size[1::2], strict=False)
    return frozenset(str(rng.choice(pair).id) for pair in pairs)


def tried(
    misprint: Misprint,
    study: StudyFacts,
    clean: Sequence[Finding],
    most: int,
    seed: int,
) -> tuple[Count, Counter[str]]:
    """How often a mistake is found in a study, and which rules speak of it."""
    parts = list(misprint.parts(study))
    places = [(part, place) for part in parts for place in misprint.places(part)]
    rng = random.Random(f"{seed} {misprint.name} {study.id}")
    count: Count = Count()
    rules: Counter[str] = Counter()
    for part, place in rng.sample(places, min(most, len(places))):
        made = place()
        untouched = clean if part is study else check(part)
        before = _touching(untouched, made.touched)
        said = _touching(check(made.study), made.touched) - before
        count.made += 1
        count.found += bool(said)
        count.named += bool(said & misprint.named_by)
        rules.update(said)
    return count, rules


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="more tables to judge by")
    parser.add_argument("--most", type=int, default=12, help="places a study")
    parser.add_argument("--only", default="", help="mistakes whose name holds this")
    parser.add_argument("--seed", type=int, default=SEED, help="draws halves, places")
    parser.add_argument(
        "--blind", action="store_true", help="what hardly any rule can know, instead"
    )
    parser.add_argument("--side", choices=["design", "judge"], help="half of studies")
    options = parser.parse_args(arguments)
    studies = {**published(), **recorded()}
    design = design_half(studies.values(), options.seed)
    if options.folder:
        studies |= tables_of(options.folder)
    if options.side:
        asked = options.side == "design"
        studies = {k: s for k, s in studies.items() if (k in design) == asked}
    misprints = BLIND if options.blind else MISPRINTS
    misprints = tuple(each for each in misprints if options.only in each.name)
    said = report(studies, design, options.most, misprints, options.seed)
    sys.stdout.write(said)


def report(
    studies: Mapping[str, StudyFacts],
    design: frozenset[str],
    most: int,
    misprints: Sequence[Misprint] = MISPRINTS,
    seed: int = SEED,
) -> str:
    """Two tables: what was found of each mistake, and what is doubted without one."""
    clean = {slug: check(study) for slug, study in studies.items()}
    lines = [
        "| mistake | design: made | found, % | named, % "
        "| judge: made | found, % | named, % | rules that spoke |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for misprint in misprints:
        sides = {True: Count(), False: Count()}
        spoke: Counter[str] = Counter()
        for slug, study in studies.items():
            count, rules = tried(misprint, study, clean[slug], most, seed)
            side = sides[slug in design]
            side.made += count.made
            side.found += count.found
            side.named += count.named
            spoke.update(rules)
        figures = [_figures(sides[True]), _figures(sides[False])]
        said = ", ".join(f"{rule} {n}" for rule, n in spoke.most_common(4))
        lines.append(f"| {misprint.name} | {' | '.join(figures)} | {said} |")
    lines += [
        "",
        "| study | cells | doubted, % | rules |",
        "| --- | ---: | ---: | --- |",
    ]
    for slug, study in studies.items():
        doubted = {s for f in clean[slug] for s in f.subjects if s.kind == "cell"}
        rules = Counter(finding.rule for finding in clean[slug])
        said = ", ".join(f"{rule} {n}" for rule, n in rules.most_common())
        share = 100 * len(doubted) / len(study.cells)
        lines.append(f"| {slug} | {len(study.cells)} | {share:.1f} | {said} |")
    return "\n".join([*lines, ""])


def _figures(count: Count) -> str:
    share = 100 / count.made if count.made else 0.0
    return f"{count.made} | {count.found * share:.0f} | {count.named * share:.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
