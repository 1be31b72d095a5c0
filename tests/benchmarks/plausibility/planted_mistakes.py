"""Mistakes of every class, planted at random in a clean study.

Each function takes a generator and a clean study. It returns the study with one mistake
and the ids of the cells or runs that are wrong, or None if the study cannot contain the
mistake.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from benchmarks.plausibility.study_facts import (
    CellFact,
    Id,
    RunFact,
    SampleFact,
    StudyFacts,
)
from tests.benchmarks.plausibility.simulated_studies import (
    NOON,
    measured,
    readings_like,
    with_baselines,
)

T = TypeVar("T")
Mistake = tuple[StudyFacts, set[Id]]
Inject = Callable[[Generator, StudyFacts], Mistake | None]
# Speed of QEMU's TCG relative to native on x86 and POWER9, case by case.
EMULATED = {"CPU": (0.03, 0.3), "memory": (0.001, 0.25)}


def scaled(cell: CellFact, factor: float) -> CellFact:
    """Return a cell with every reading multiplied; its baseline is found by its id."""
    means = tuple(mean * factor for mean in cell.run_means)
    return replace(cell, mean=cell.mean * factor, run_means=means)


def with_cells(study: StudyFacts, changed: list[CellFact]) -> Mistake:
    """Return the study with these cells instead of those with the same ids."""
    new = {cell.id: cell for cell in changed}
    cells = tuple(new.pop(cell.id, cell) for cell in study.cells)
    return replace(study, cells=(*cells, *new.values())), {cell.id for cell in changed}


def _one_of(rng: Generator, items: Iterable[T]) -> T:
    choices = list(items)
    return choices[rng.integers(len(choices))]


def _measured(study: StudyFacts) -> list[CellFact]:
    return [
        cell
        for cell in study.cells
        if not cell.is_cpu_utilization and cell.slot != "sum"
    ]


def unit_slip(factor: float) -> Inject:
    """Multiply a cell by ``factor``, if its unit has one that differs so."""

    def inject(rng: Generator, study: StudyFacts) -> Mistake:
        cells = [
            cell
            for cell in _measured(study)
            if cell.unit != "s" or round(abs(math.log10(factor)), 9) in {1, 3}
        ]
        return with_cells(study, [scaled(_one_of(rng, cells), factor)])

    return inject


def slip_in_one_run(rng: Generator, study: StudyFacts) -> Mistake | None:
    cells = [cell for cell in _measured(study) if cell.n >= 3]
    if not cells:
        return None
    cell = _one_of(rng, cells)
    run = rng.integers(cell.n)
    factor = float(rng.choice([10, 0.1, 1000, 0.001, 1024, 1 / 1024, 8]))
    if cell.unit == "s":  # No two units of time differ by a factor of 8 or 1024.
        factor = {1024: 1000, 1 / 1024: 0.001, 8: 60}.get(factor, factor)
    means = tuple(m * factor if i == run else m for i, m in enumerate(cell.run_means))
    return with_cells(
        study, [replace(cell, run_means=means, mean=float(np.mean(means)))]
    )


def _column(study: StudyFacts, system: str) -> dict[str, CellFact]:
    single = (cell for cell in study.cells if cell.scenario == "single")
    return {str(cell.case): cell for cell in single if cell.system == system}


def _guests(study: StudyFacts) -> list[str]:
    return sorted({str(cell.system) for cell in study.cells if not cell.is_native})


def pasted_column(part: float) -> Inject:
    def inject(rng: Generator, study: StudyFacts) -> Mistake:
        source, target = rng.choice(["native", *_guests(study)], 2, replace=False)
        source, target = _column(study, str(source)), _column(study, str(target))
        cases = [case for case in source if not source[case].is_cpu_utilization]
        kept = rng.permutation(cases)[: max(4, round(part * len(cases)))]
        copied = [
            replace(
                target[case], mean=source[case].mean, run_means=source[case].run_means
            )
            for case in map(str, kept)
        ]
        return with_cells(study, copied)

    return inject


def pasted_from_another_study(rng: Generator, study: StudyFacts) -> Mistake:
    column = _column(study, str(_one_of(rng, _guests(study))))
    cells = [cell for cell in column.values() if not cell.is_cpu_utilization]
    elsewhere: dict[str, Any] = {
        "study": "there",
        "study_label": "there",
        "system": "xen",
    }
    copies = [replace(cell, id=f"there/{cell.id}", **elsewhere) for cell in cells]
    return replace(study, other_study_cells=tuple(copies)), {cell.id for cell in cells}


def pasted_case(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Copy one case of the memory test to another on all systems.

    Only with eight runs or more with decimals, because a few readings of three digits
    may be equal by chance.
    """
    single = [c for c in study.cells if c.scenario == "single" and c.tool == "ramspeed"]
    one, target = rng.choice(sorted({cell.case for cell in single}), 2, replace=False)
    source = {cell.system: cell for cell in single if cell.case == one}
    runs = [mean for cell in source.values() for mean in cell.run_means]
    if len(runs) < 8 or all(mean.is_integer() for mean in runs):
        return None
    copied = [
        replace(
            cell, mean=source[cell.system].mean, run_means=source[cell.system].run_means
        )
        for cell in single
        if cell.case == target
    ]
    return with_cells(study, copied)


def pasted_runs(rng: Generator, study: StudyFacts) -> Mistake:
    """Copy half of the ten runs of a cell to the same case of another system.

    Only with five digits, because readings of fewer digits or runs may be equal by
    chance.
    """
    source, target = rng.choice(["native", *_guests(study)], 2, replace=False)
    cells = _column(study, str(source)).values()
    case = _one_of(rng, [c for c in cells if c.component in {"CPU", "memory"}]).case
    pair = [_column(study, str(system))[str(case)] for system in (source, target)]
    runs = [
        [float(f"{cell.mean * math.exp(rng.normal(0, 0.01)):.5g}") for _ in range(10)]
        for cell in pair
    ]
    runs[1][:5] = runs[0][:5]
    changed = [
        replace(cell, n=10, run_means=tuple(means), mean=float(np.mean(means)))
        for cell, means in zip(pair, runs, strict=True)
    ]
    return with_cells(study, changed)


def changed_sum(rng: Generator, study: StudyFacts) -> Mistake:
    total = _one_of(rng, (cell for cell in study.cells if cell.slot == "sum"))
    factor = 1 + rng.choice([-1, 1]) * rng.uniform(0.02, 0.2)
    changed, _ = with_cells(study, [scaled(total, float(factor))])
    return changed, {total.id}


def second_native(rng: Generator, study: StudyFacts) -> Mistake:
    factor = float(1 + rng.choice([-1, 1]) * 0.10)
    natives = [c for c in study.cells if c.is_native and not c.is_cpu_utilization]
    again = [
        replace(
            readings_like(rng, cell, cell.mean * factor),
            id=f"again/{cell.id}",
            system="native-2",
            system_label="native-2",
        )
        for cell in natives
    ]
    return replace(study, cells=(*study.cells, *again)), {cell.id for cell in again}


def faster_than_native(rng: Generator, study: StudyFacts) -> Mistake:
    native = _column(study, "native")
    guest = _column(study, str(_one_of(rng, _guests(study))))
    changed = []
    for case, cell in guest.items():
        if not cell.is_cpu_utilization:
            up = 1.3 if cell.better == "higher" else 1 / 1.3
            changed.append(readings_like(rng, cell, native[case].mean * up))
    return with_cells(study, changed)


def beyond_the_line(rng: Generator, study: StudyFacts) -> Mistake:
    networks = [cell for cell in _measured(study) if cell.component == "network"]
    cell = _one_of(rng, networks)
    # A line of 1 Gbit/s carries 125 MB/s.
    return with_cells(study, [scaled(cell, rng.uniform(130, 250) / cell.mean)])


def slow_clock(rng: Generator, study: StudyFacts) -> Mistake:
    system = str(_one_of(rng, _guests(study)))
    cells = [c for c in study.cells if c.system == system and c.clock == "guest"]
    # A clock that loses time makes rates larger and durations shorter.
    factors = {"higher": 1.3, "lower": 1 / 1.3}
    single = [c for c in cells if not c.is_cpu_utilization and c.scenario == "single"]
    return with_cells(study, [scaled(cell, factors[cell.better]) for cell in single])


def slow_clock_in_five_cases(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Return a study of five unrelated cases and a guest near native whose clock loses
    8 %.

    With single values only, 8 % cannot be distinguished from noise.
    """
    system = str(_one_of(rng, _guests(study)))
    native, guest = _column(study, "native"), _column(study, system)
    timed = [case for case in guest if guest[case].tool in {"linpack", "ramspeed"}]
    cases = [*rng.permutation(timed), "disk read 4k", "disk write 4k"][:5]
    if study.cells[0].n < 3:
        return None
    changed = []
    for case in map(str, cases):
        near = rng.uniform(0.97, 1.0) * 1.08
        factor = near if guest[case].better == "higher" else 1 / near
        cell = readings_like(rng, guest[case], native[case].mean * factor)
        changed.append(replace(cell, clock="guest"))
    left = [native[str(case)] for case in cases]
    return with_cells(replace(study, cells=tuple(left), runs=()), changed)


def _with_native(study: StudyFacts, change: Callable[[CellFact], CellFact]) -> Mistake:
    """Return the study with changed native cells, and the ids of these."""
    cells = [
        change(c) if c.is_native and not c.is_cpu_utilization else c
        for c in study.cells
    ]
    wrong = {
        cell.id for cell in cells if cell.is_native and not cell.is_cpu_utilization
    }
    return replace(study, cells=tuple(with_baselines(cells))), wrong


def _on_day(study: StudyFacts, day: int) -> StudyFacts:
    """Return the study with guests measured on one day and the native machine on
    another.
    """
    cells = [measured(cell, day if cell.is_native else 0) for cell in study.cells]
    return replace(study, cells=tuple(cells))


def _faster(cell: CellFact, factor: float) -> CellFact:
    return scaled(cell, factor if cell.better == "higher" else 1 / factor)


def native_on_slower_day(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Make the native machine slower than all its guests on another day.

    With a single guest, its clock may be the cause; single values cannot resolve 3 %.
    """
    if len(_guests(study)) < 2 or study.cells[0].n < 3:
        return None
    slower = 1 / float(rng.uniform(1.12, 1.2))
    dated = _on_day(study, int(rng.integers(2, 30)))
    return _with_native(dated, lambda cell: _faster(cell, slower))


def native_on_faster_day(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Make the native machine 5 to 8 % faster on another day than guests that are as
    fast.

    If each guest has an overhead of 5 % itself, this cannot be detected.
    """
    native = _column(study, "native")
    if len(_guests(study)) < 2 or study.cells[0].n < 3:
        return None
    near = []
    for cell in study.cells:
        if cell.component in {"CPU", "memory"} and cell.scenario == "single":
            if not cell.is_native:
                native_cell = native[str(cell.case)]
                speed = float(rng.uniform(0.99, 1.0))
                truth = native_cell.mean * (
                    speed if cell.better == "higher" else 1 / speed
                )
                cell = readings_like(rng, cell, truth)
            near.append(cell)
    dated = _on_day(replace(study, cells=tuple(near)), int(rng.integers(2, 30)))
    faster = float(rng.uniform(1.05, 1.08))
    return _with_native(dated, lambda cell: _faster(cell, faster))


def native_changed_between_days(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Measure the native machine on two days, 8 to 12 % faster on one of them.

    With 5 %, two runs per day of a noisy machine show nothing in a few cases.
    """
    if study.cells[0].n < 5:
        return None
    factor = float(rng.uniform(1.08, 1.12) ** rng.choice([-1, 1]))

    def change(cell: CellFact) -> CellFact:
        change_factor = factor if cell.better == "higher" else 1 / factor
        half = cell.n // 2
        means = tuple(
            mean * (change_factor if run >= half else 1)
            for run, mean in enumerate(cell.run_means)
        )
        return measured(
            replace(cell, run_means=means, mean=float(np.mean(means))), 0, 6
        )

    return _with_native(study, change)


def emulated(rng: Generator, study: StudyFacts) -> Mistake:
    """Emulate the processor of a guest that is called KVM."""
    column = _column(study, str(_one_of(rng, _guests(study)))).values()
    changed = []
    for cell in (member for member in column if member.component in EMULATED):
        slow = float(np.exp(rng.uniform(*np.log(EMULATED[cell.component]))))
        factor = slow if cell.better == "higher" else 1 / slow
        changed.append(replace(scaled(cell, factor), hypervisor="KVM"))
    return with_cells(study, changed)


def stuck_utilization(value: float) -> Inject:
    def inject(rng: Generator, study: StudyFacts) -> Mistake:
        cell = _one_of(rng, (cell for cell in study.cells if cell.is_cpu_utilization))
        means = (value,) * cell.n
        return with_cells(study, [replace(cell, mean=value, run_means=means)])

    return inject


def other_parameter(rng: Generator, study: StudyFacts) -> Mistake:
    """Change a setting of all cases of a tool on one system, or of one of them."""
    column = _column(study, str(_one_of(rng, _guests(study))))
    tool = _one_of(rng, sorted({cell.tool for cell in column.values()}))
    cells = [c for c in column.values() if c.tool == tool and not c.is_cpu_utilization]
    if rng.random() < 0.5:
        cells = [_one_of(rng, cells)]
    changed = [
        replace(
            cell,
            case=f"{cell.case} threads=4",
            parameters={**cell.parameters, "threads": "4"},
            baseline=None,
        )
        for cell in cells
    ]
    return with_cells(study, changed)


def few_values(rng: Generator, study: StudyFacts) -> Mistake:
    """Make ten runs read two values, several print steps apart."""
    cell = _one_of(rng, _measured(study))
    low, high = (round(cell.mean * fraction, 2) for fraction in (0.98, 1.01))
    means = tuple(float(value) for value in rng.permutation([low] * 5 + [high] * 5))
    changed = replace(cell, n=10, run_means=means, mean=float(np.mean(means)))
    return with_cells(study, [changed])


def _with_runs(study: StudyFacts, changed: list[RunFact]) -> Mistake:
    new = {run.id: run for run in changed}
    runs = tuple(new.get(run.id, run) for run in study.runs)
    return replace(study, runs=runs), set(new)


def _with_value(run: RunFact, metric: str, change: Callable[[float], float]) -> RunFact:
    samples = [
        replace(sample, value=change(sample.value))
        if sample.metric == metric
        else sample
        for sample in run.samples
    ]
    return replace(run, samples=tuple(samples))


def long_meter(rng: Generator, study: StudyFacts) -> Mistake:
    meter = _one_of(rng, (run for run in study.runs if run.tool == "watts-up"))
    ratio = rng.choice([rng.uniform(1.06, 1.6), rng.uniform(0.5, 0.95)])
    # Both: else power, time and energy would contradict each other, another mistake.
    for metric in ("meter time", "energy"):
        meter = _with_value(meter, metric, lambda value: value * float(ratio))
    return _with_runs(study, [meter])


def other_length(rng: Generator, study: StudyFacts) -> Mistake:
    run = _one_of(rng, (run for run in study.runs if run.requested_s))
    ratio = rng.choice([rng.uniform(1.08, 3), rng.uniform(0.2, 0.92)])
    # All runs with a requested duration have 100 s.
    return _with_runs(study, [replace(run, duration_s=100 * float(ratio))])


BOUND = {
    "netperf": ("throughput", "CPU utilization local", "service demand local"),
    "sysbench": ("transactions", "transaction rate", "queries", "request latency max"),
    "intel-linpack": ("time", "performance"),
    "watts-up": ("power mean",),
}


def broken_identity(rng: Generator, study: StudyFacts) -> Mistake:
    run = _one_of(rng, (run for run in study.runs if run.tool in BOUND))
    metric = str(_one_of(rng, BOUND[run.tool]))
    ratio = float(rng.choice([rng.uniform(1.1, 1.9), rng.uniform(0.5, 0.9)]))
    # A maximum need only exceed the mean: half of nine times the mean is no mistake.
    ratio = 0.01 if metric == "request latency max" else ratio
    return _with_runs(study, [_with_value(run, metric, lambda v: v * ratio)])


def apart(rng: Generator, study: StudyFacts) -> Mistake:
    run = _one_of(rng, (run for run in study.runs if run.started_at))
    assert run.started_at
    assert run.duration_s
    later = timedelta(seconds=float(rng.uniform(0.4, 0.9)) * run.duration_s)
    return _with_runs(study, [replace(run, started_at=run.started_at + later)])


def other_reference(rng: Generator, study: StudyFacts) -> Mistake:
    together = [cell for cell in study.cells if cell.scenario == "parallel"]
    change: dict[str, Any] = (
        {"memory_bytes": 2**29} if rng.random() < 0.5 else {"vcpus": 2}
    )
    moved = [replace(cell, system="vm-1b", **change) for cell in together]
    return with_cells(study, moved)


def uploaded_twice(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Upload all runs of a tool on a system again: with their starts, or without if
    there are enough runs.
    """
    system = str(_one_of(rng, _guests(study)))
    column = _column(study, system).values()
    tool = _one_of(
        rng, sorted({cell.tool for cell in column if not cell.is_cpu_utilization})
    )
    cells = [
        cell for cell in column if cell.tool == tool and not cell.is_cpu_utilization
    ]
    has_starts = len(cells) * cells[0].n < 8 or rng.random() < 0.5
    first = [
        RunFact(
            id=f"first {run}",
            study="here",
            upload=f"key {run}",
            system=system,
            tool=tool,
            started_at=NOON + timedelta(minutes=run) if has_starts else None,
            samples=tuple(
                SampleFact(
                    metric=cell.metric,
                    value=cell.run_means[run],
                    unit=cell.unit,
                    parameters=cell.parameters,
                    cell=cell.id,
                )
                for cell in cells
            ),
        )
        for run in range(cells[0].n)
    ]
    again = [replace(run, id=f"{run.id} again", upload="again") for run in first]
    runs = (*study.runs, *first, *again)
    doubled = [
        replace(cell, n=2 * cell.n, run_means=2 * cell.run_means) for cell in cells
    ]
    changed, _ = with_cells(study, doubled)
    return replace(changed, runs=runs), {run.id for run in again}


def rate_as_time(rng: Generator, study: StudyFacts) -> Mistake:
    """Replace all runs of a CPU or memory cell, far from 1, by their reciprocals.

    If a network is 20 times slower on one guest, its expected value is unknown.
    """
    single = [cell for cell in _measured(study) if cell.scenario == "single"]
    alike = [cell for cell in single if cell.component in EMULATED and cell.mean >= 10]
    cell = _one_of(rng, alike)
    means = tuple(1 / mean for mean in cell.run_means)
    return with_cells(
        study, [replace(cell, mean=float(np.mean(means)), run_means=means)]
    )


def _swapped(first: CellFact, second: CellFact) -> list[CellFact]:
    """Return two cells of one case with each other's readings."""
    return [
        replace(to, n=of.n, mean=of.mean, run_means=of.run_means)
        for to, of in ((first, second), (second, first))
    ]


def _emulated(rng: Generator, study: StudyFacts, guests: list[str]) -> StudyFacts:
    """Return the study with emulated guests, whose cases are slow by the
    same factors.
    """
    slow: dict[str, float] = {}
    changed = []
    for cell in study.cells:
        if cell.system not in guests:
            continue
        if cell.component in EMULATED and cell.scenario == "single":
            span = np.log(EMULATED[cell.component])
            ratio = slow.setdefault(str(cell.case), float(np.exp(rng.uniform(*span))))
            cell = scaled(cell, ratio if cell.better == "higher" else 1 / ratio)
        properties: dict[str, Any] = {
            "hypervisor": "QEMU TCG",
            "virtualization": "emulation",
        }
        changed.append(replace(cell, **properties))
    return with_cells(study, changed)[0]


def minutes_on_an_emulated_system(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Read minutes as seconds on one of two emulated guests."""
    guests = _guests(study)[:2]
    if len(guests) < 2:
        return None
    made = _emulated(rng, study, guests)
    column = _column(made, guests[0]).values()
    times = [cell for cell in column if cell.unit == "s"]
    return with_cells(made, [scaled(_one_of(rng, times), 60)])


def emulated_swapped(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Swap an emulated guest and another system in all CPU and memory cases."""
    slow, *fast = rng.permutation(_guests(study)).tolist()
    if not fast:
        return None
    made = _emulated(rng, study, [slow])
    first, second = _column(made, slow), _column(made, _one_of(rng, ["native", *fast]))
    cases = [case for case, cell in first.items() if cell.component in EMULATED]
    return with_cells(
        made, [cell for case in cases for cell in _swapped(first[case], second[case])]
    )


def two_cells_swapped(rng: Generator, study: StudyFacts) -> Mistake | None:
    """Swap a case of two systems, one with half the memory speed of the other in at
    least four cases.
    """
    slow, *fast = rng.permutation(_guests(study)).tolist()
    column = _column(study, slow).values()
    halved = [scaled(cell, 0.5) for cell in column if cell.component == "memory"]
    if not fast or len(halved) < 4:
        return None
    made, _ = with_cells(study, halved)
    first = _one_of(rng, halved)
    second = _column(made, _one_of(rng, ["native", *fast]))[str(first.case)]
    return with_cells(made, _swapped(first, second))


def with_parse_warning(rng: Generator, study: StudyFacts) -> Mistake:
    run = _one_of(rng, study.runs)
    return _with_runs(
        study, [replace(run, parse_warnings=(("cut", "The output is cut."),))]
    )


def _with_readings(
    rng: Generator, study: StudyFacts, change: Callable[[list[float]], list[float]]
) -> Mistake:
    """Change the ten runs of a CPU, memory or disk result."""
    parts = {"CPU", "memory", "disk"}
    cell = _one_of(rng, [c for c in _measured(study) if c.component in parts])
    noise = rng.normal(0, 0.02, 10)
    means = change([float(cell.mean * math.exp(shift)) for shift in noise])
    changed = replace(
        cell, n=10, run_means=tuple(means), mean=float(np.mean(means)), decimals=None
    )
    return with_cells(study, [changed])


def failed_as_zero(rng: Generator, study: StudyFacts) -> Mistake:
    count = int(rng.integers(1, 4))
    return _with_readings(rng, study, lambda means: [*means[count:], *[0.0] * count])


def burst_credit(rng: Generator, study: StudyFacts) -> Mistake:
    count, factor = int(rng.integers(1, 4)), float(rng.uniform(15, 40))
    return _with_readings(
        rng,
        study,
        lambda means: [
            mean * (factor if i < count else 1) for i, mean in enumerate(means)
        ],
    )


def clock_ticks(rng: Generator, study: StudyFacts) -> Mistake:
    """Measure with a clock whose tick is 2 to 5% of a run."""
    ticks = float(rng.uniform(20, 50))

    def rounded(means: list[float]) -> list[float]:
        tick = means[0] / ticks
        if rng.random() < 0.5:
            return [round(mean / tick) * tick for mean in means]
        work = means[0] * ticks
        return [work / round(work / mean) for mean in means]

    return _with_readings(rng, study, rounded)


def step_within_session(rng: Generator, study: StudyFacts) -> Mistake:
    """Change the speed by 15 to 50% between two of ten runs."""
    first, factor = int(rng.integers(3, 8)), float(rng.uniform(0.5, 0.85))
    return _in_one_session(
        _with_readings(
            rng,
            study,
            lambda means: [
                mean * (factor if i >= first else 1) for i, mean in enumerate(means)
            ],
        )
    )


def drift_within_session(rng: Generator, study: StudyFacts) -> Mistake:
    """Make ten runs slower by 1.5 to 4% each."""
    factor = float(rng.uniform(0.96, 0.985))
    return _in_one_session(
        _with_readings(
            rng,
            study,
            lambda means: [mean * factor**i for i, mean in enumerate(means)],
        )
    )


def _in_one_session(mistake: Mistake) -> Mistake:
    study, wrong = mistake
    cells = (
        replace(cell, session_names=("",) * cell.n) if cell.id in wrong else cell
        for cell in study.cells
    )
    return replace(study, cells=tuple(cells)), wrong


SLIPS = {"unit-slip", "slots-do-not-add-up", "beyond-the-medium"}
FACTORS = (10, 0.1, 1000, 0.001, 1024, 1 / 1024, 8, 1 / 8)
CLASSES: dict[str, tuple[Inject, set[str]]] = {
    **{f"one value x {f:.4g}": (unit_slip(f), SLIPS) for f in FACTORS},
    "one run in another unit": (slip_in_one_run, {"unit-slip"}),
    "column pasted": (pasted_column(1.0), {"pasted-values"}),
    "half a column pasted": (pasted_column(0.5), {"pasted-values"}),
    "pasted from another study": (pasted_from_another_study, {"pasted-values"}),
    "case pasted": (pasted_case, {"pasted-cases"}),
    "half a cell pasted": (pasted_runs, {"pasted-runs"}),
    "sum changed": (changed_sum, {"slots-do-not-add-up"}),
    "second native 10 % off": (second_native, {"baselines-disagree"}),
    "guest 30 % faster": (
        faster_than_native,
        {"faster-than-native", "common-clock-factor"},
    ),
    "beyond the line rate": (beyond_the_line, {"beyond-the-medium"}),
    "clock runs slow, x 1.3": (slow_clock, {"common-clock-factor"}),
    "clock runs slow, x 1.08, five cases": (
        slow_clock_in_five_cases,
        {"common-clock-factor"},
    ),
    "native of a slower day": (native_on_slower_day, {"native-of-another-day"}),
    "native of a faster day": (native_on_faster_day, {"native-of-another-day"}),
    "native changed between days": (
        native_changed_between_days,
        {"native-of-another-day"},
    ),
    "KVM that imitated the processor": (emulated, {"emulation-speed"}),
    "CPU reads 0 %": (stuck_utilization(0.0), {"zero-reading"}),
    "CPU reads 100 %": (stuck_utilization(100.0), {"saturated-reading"}),
    "parameter differs": (other_parameter, {"parameters-differ"}),
    "two distinct values in ten": (few_values, {"few-distinct-readings"}),
    "meter ran on": (long_meter, {"meter-window"}),
    "elapsed not requested": (other_length, {"elapsed-not-requested"}),
    "identity broken": (
        broken_identity,
        {"identity-violated", "netperf-service-demand"},
    ),
    "slots run apart": (apart, {"corun-overlap"}),
    "reference differs": (other_reference, {"corun-reference"}),
    "uploaded twice": (uploaded_twice, {"uploaded-twice"}),
    "rate uploaded as a time": (rate_as_time, {"rate-as-time"}),
    "x 60 on an emulated system": (minutes_on_an_emulated_system, {"unit-slip"}),
    "emulated system exchanged": (emulated_swapped, {"exchanged-values"}),
    "two cells exchanged": (two_cells_swapped, {"exchanged-values"}),
    "failed runs are 0": (failed_as_zero, {"zero-reading"}),
    "burst credit": (burst_credit, {"deviation-above-mean"}),
    "step within a session": (step_within_session, {"level-changes"}),
    "drift within a session": (drift_within_session, {"level-changes"}),
    "clock ticks": (clock_ticks, {"coarse-clock"}),
    "parser's mark": (with_parse_warning, {"tool-mark"}),
}
