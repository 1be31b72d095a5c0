"""Rules about runs that depend on when they ran within their session."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr
from scipy.stats import kendalltau

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    Id,
    StudyFacts,
    factor_from_log,
)
from benchmarks.sentences import Sentence, pluralized

MIN_RUNS: Final = 6
MIN_FIRST_RUNS: Final = 3
MIN_DISTINCT: Final = 3
MIN_VARIANCE: Final = 1e-8
MIN_READING: Final = 1e-50
MAX_ORDER_P: Final = 0.01
MAX_LEVEL_P: Final = 1e-4
MAX_TREND_P: Final = 0.002
MIN_TREND_T: Final = 2.0
"""t of the linear trend, below which Kendall's correlation is not computed."""
MIN_CHANGE: Final = 0.02
MIN_WIDE_CHANGE: Final = 0.05
MIN_SCATTER_FACTOR: Final = 4.0
"""Scatter of a result that changes, relative to the same benchmark elsewhere."""

Logs = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The largest change of level within a session, at run ``index`` (from 0).

    Index 0 is a drift; ``factor`` is then that from the first run to the last.
    """

    index: int
    factor: float
    order_p: float
    level_p: float


@rule(
    "level-changes",
    "Results that change within a session",
    "check",
    family="order of runs",
)
def level_changes(study: StudyFacts) -> Iterator[Finding]:
    """Flags a result whose runs, in their order, change their level within a session:
    a step, a drift, or a fall and a rise. At least six runs are needed. Neighboring
    runs must be more similar than chance allows (von Neumann's ratio, p below 0.01),
    and either two parts of the session differ by more than 2% with p below 1 in 10,000,
    or by more than 5% while the runs scatter four times as much as those of other
    systems in the same benchmark. Also flags first runs of sessions that differ from
    the others by more than 5%, with p below 1 in 10,000, and runs that drift by more
    than 2% from the first to the last (Kendall's rank correlation with their order, p
    below 0.002). Runs of guests that ran at the same time have no order.

    Why: the mean then depends on when and how long was measured. A burst credit, a
    cache, a temperature or another load changes during the session, and more runs make
    the interval narrower but not more correct. Verdicts take changes into account that
    are large for the mean (method, "Shape before mean"); this flag also applies to
    results that are compared with nothing.

    Remedy: find the cause (frequency, credit, other guests). Warm up before the first
    run, repeat in other sessions, and alternate the systems.
    """
    deviations: dict[Id, list[float]] = defaultdict(list)
    for cell in study.cells:
        if cell.relative_variance is not None and len(cell.run_means) >= MIN_RUNS:
            deviations[cell.case].append(math.sqrt(cell.relative_variance))
    groups: dict[object, list[tuple[CellFact, LevelChange]]] = defaultdict(list)
    for cell in study.cells:
        if not _is_ordered(cell):
            continue
        others = list(deviations[cell.case])
        own = math.sqrt(cell.relative_variance or 0.0)
        others.remove(own)
        is_wide = bool(others) and own >= MIN_SCATTER_FACTOR * median(others)
        change = _level_change(cell)
        if not (change and _is_change(change, is_wide=is_wide)):
            change = _first_run_change(cell) or _trend(cell)
        if change:
            groups[(*cell.column_key, *cell.sibling_key)].append((cell, change))
    for members in groups.values():
        members.sort(key=lambda member: -abs(math.log(member[1].factor)))
        cell, change = members[0]
        yield cell_finding(
            _sentence(cell, change, len(members)),
            [cell for cell, _ in members],
            factors=[change.factor for _, change in members],
            from_runs=[change.index + 1 for _, change in members],
        )


def _sentence(cell: CellFact, change: LevelChange, count: int) -> Sentence:
    if change.index == 0:
        return pluralized(
            "{name}: the results drift within a session, by {off:+.2%} from the first "
            "run to the last. The mean depends on how long was measured.",
            "{n} benchmarks drift within a session, for example {name}: by {off:+.2%} "
            "from the first run to the last. The mean depends on how long was "
            "measured.",
            name=cell.description,
            off=change.factor - 1,
            n=count,
        )
    if change.index == 1:
        return pluralized(
            "{name}: the first run of a session is {factor:.3g} times the others. It "
            "may include a start that the others do not.",
            "{n} benchmarks have another first run of a session, for example {name}: "
            "it is {factor:.3g} times the others. It may include a start that the "
            "others do not.",
            name=cell.description,
            factor=1 / change.factor,
            n=count,
        )
    return pluralized(
        "{name}: within a session, the results from run {run} on are {factor:.3g} "
        "times those before. The mean depends on when it was measured.",
        "{n} benchmarks change within a session, for example {name}: the results from "
        "run {run} on are {factor:.3g} times those before. The mean depends on when it "
        "was measured.",
        name=cell.description,
        run=change.index + 1,
        factor=change.factor,
        n=count,
    )


def _is_ordered(cell: CellFact) -> bool:
    means = cell.run_means
    return (
        len(means) >= MIN_RUNS
        and not (cell.vms and cell.vms > 1 and not cell.slot)
        and len(set(means)) >= MIN_DISTINCT
        and MIN_READING < min(means) <= max(means) < 1 / MIN_READING
        and not cell.is_extreme
        and cell.better != "neither"
    )


def _is_change(change: LevelChange, *, is_wide: bool) -> bool:
    size = abs(math.log(change.factor))
    return change.order_p < MAX_ORDER_P and (
        (change.level_p < MAX_LEVEL_P and size > MIN_CHANGE)
        or (is_wide and size > MIN_WIDE_CHANGE)
    )


def _sessions(cell: CellFact) -> Mapping[str, Sequence[float]]:
    names = cell.session_names
    if len(names) != len(cell.run_means):
        names = ("",) * len(cell.run_means)
    sessions: dict[str, list[float]] = defaultdict(list)
    for name, value in zip(names, cell.run_means, strict=True):
        sessions[name].append(math.log(value))
    return sessions


def _level_change(cell: CellFact) -> LevelChange | None:
    """Return the most significant change of a session, corrected for their number."""
    sessions = [
        np.array(logs) for logs in _sessions(cell).values() if len(logs) >= MIN_RUNS
    ]
    changes = [change for logs in sessions if (change := _split(logs, len(sessions)))]
    return min(changes, key=lambda change: change.order_p, default=None)


def _split(logs: Logs, count: int) -> LevelChange | None:
    n = len(logs)
    centered = logs - logs.mean()
    squares = float(centered @ centered)
    if squares <= 0:
        return None
    differences = np.diff(logs)
    ratio = float(differences @ differences) / squares
    z = (1 - ratio * n / (2 * (n - 1))) / math.sqrt((n - 2) / (n * n - 1))
    sizes = np.arange(1, n)
    sums = np.cumsum(logs)[:-1]
    shifts = (logs.sum() - sums) / (n - sizes) - sums / sizes
    between = shifts * shifts * sizes * (n - sizes) / n
    index = int(np.argmax(between))
    within = max(squares - float(between[index]), 1e-12 * squares) / (n - 2)
    t = math.sqrt(float(between[index]) / within)
    level_p = 2 * float(stdtr(n - 2, -t)) * (n - 1)
    return LevelChange(
        index + 1,
        math.exp(float(shifts[index])),
        min(1.0, float(ndtr(-z)) * count),
        min(1.0, level_p * count),
    )


def _first_run_change(cell: CellFact) -> LevelChange | None:
    """Return the change after the first runs of all sessions together."""
    sessions = [np.array(logs) for logs in _sessions(cell).values()]
    sessions = [logs for logs in sessions if len(logs) >= MIN_FIRST_RUNS]
    freedom = sum(len(logs) - 2 for logs in sessions)
    distances = [float(logs[0] - logs[1:].mean()) for logs in sessions]
    if freedom < MIN_RUNS - 2 or min(distances) * max(distances) <= 0:
        return None
    within = math.fsum(float(logs[1:].var()) * (len(logs) - 1) for logs in sessions)
    scale = math.fsum(1 + 1 / (len(logs) - 1) for logs in sessions)
    distance = math.fsum(distances)
    error = math.sqrt(max(within / freedom, MIN_VARIANCE) * scale)
    p = 2 * float(stdtr(freedom, -abs(distance) / error))
    size = distance / len(sessions)
    if p >= MAX_LEVEL_P or abs(size) <= MIN_WIDE_CHANGE:
        return None
    return LevelChange(1, math.exp(-size), 1.0, p)


def _trend(cell: CellFact) -> LevelChange | None:
    """Return the most significant drift of a session, corrected for their number."""
    sessions = [logs for logs in _sessions(cell).values() if len(logs) > MIN_RUNS]
    trends = [trend for logs in sessions if (trend := _drift(logs, len(sessions)))]
    return min(trends, key=lambda trend: trend.order_p, default=None)


def _drift(logs: Sequence[float], count: int) -> LevelChange | None:
    n = len(logs)
    order, values = np.arange(n) - (n - 1) / 2, np.array(logs)
    values -= values.mean()
    squares, width = float(values @ values), float(order @ order)
    slope = float(order @ values) / width
    change = slope * (n - 1)
    rest = max(squares - slope * slope * width, 0.0) / (n - 2)
    if abs(change) <= MIN_CHANGE or slope * slope * width < MIN_TREND_T**2 * rest:
        return None
    p = float(kendalltau(order, values).pvalue) * count
    return LevelChange(0, factor_from_log(change), p, p) if p < MAX_TREND_P else None


MAX_SPREAD_PER_GAP: Final = 0.2
"""Largest standard deviation within the two speeds, relative to their distance."""
MIN_GAP: Final = 0.1
MIN_SLOW_RUNS: Final = 4
MIN_POOLED_RUNS: Final = 20
MIN_SHARE: Final = 0.05


@rule("two-speeds", "Runs at two speeds", "check", family="order of runs")
def two_speeds(study: StudyFacts) -> Iterator[Finding]:
    """Flags a benchmark whose runs have two speeds on several systems of a host. The
    runs of all systems, relative to the median of their session, must form two
    groups that are at least 10% apart, and five standard deviations of each group. At
    least 20 runs are needed; the smaller group must have at least four runs of two
    systems, and 5% of all runs.

    Why: the mean of a few runs depends on how many slow ones it caught. The difference
    of two systems is then chance, although both are steady within each speed.

    Remedy: find what switches the speed (huge pages, NUMA node, processor placement,
    turbo) and fix it, or compare the medians of each speed and their frequencies.
    """
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if _is_ordered(cell):
            cases[cell.host, cell.case, *cell.circumstances].append(cell)
    groups: dict[object, list[_TwoSpeeds]] = defaultdict(list)
    for cells in cases.values():
        if found := _find_two_speeds(cells):
            groups[cells[0].host, *cells[0].sibling_key].append(found)
    for found_cases in groups.values():
        first = max(found_cases, key=lambda found: found.gap)
        yield cell_finding(
            pluralized(
                "{name}: {count} of {runs} runs, on {systems} of {all} systems, have "
                "another speed than the others, by a factor of {factor:.3g}. A mean of "
                "few runs depends on how many of them it contains.",
                "{n} benchmarks have two speeds, for example {name}: {count} of {runs} "
                "runs, on {systems} of {all} systems, differ from the others by a "
                "factor of {factor:.3g}. A mean of few runs depends on how many of "
                "them it contains.",
                name=first.members[0].case_name,
                count=first.count,
                runs=first.runs,
                systems=len(first.members),
                all=first.systems,
                factor=math.exp(first.gap),
                n=len(found_cases),
            ),
            [cell for found in found_cases for cell in found.members],
            factors=[math.exp(found.gap) for found in found_cases],
            shares=[found.count / found.runs for found in found_cases],
        )


@dataclass(frozen=True, slots=True)
class _TwoSpeeds:
    """Two speeds of a benchmark; ``members`` have some of the ``count`` rarer runs."""

    members: Sequence[CellFact]
    systems: int
    count: int
    runs: int
    gap: float


def _find_two_speeds(cells: Sequence[CellFact]) -> _TwoSpeeds | None:
    pairs = sorted(
        (log - median(logs), number)
        for number, cell in enumerate(cells)
        for logs in _sessions(cell).values()
        if len(logs) >= MIN_FIRST_RUNS
        for log in logs
    )
    split = _two_groups(pairs) if len(cells) > 1 else None
    if split is None:
        return None
    index, gap = split
    small = pairs[:index] if 2 * index < len(pairs) else pairs[index:]
    numbers = sorted({number for _, number in small})
    return _TwoSpeeds(
        [cells[number] for number in numbers], len(cells), len(small), len(pairs), gap
    )


def _two_groups(pairs: Sequence[tuple[float, int]]) -> tuple[int, float] | None:
    """Return where the sorted values divide into two groups, and their distance."""
    n = len(pairs)
    least = max(MIN_SLOW_RUNS, math.ceil(MIN_SHARE * n))
    if n < MIN_POOLED_RUNS:
        return None
    logs = np.array([value for value, _ in pairs])
    sizes = np.arange(least, n - least + 1)
    sums = np.cumsum(logs)[sizes - 1]
    distances = (logs.sum() - sums) / (n - sizes) - sums / sizes
    index = int(sizes[np.argmax(distances**2 * sizes * (n - sizes))])
    low, high = logs[:index], logs[index:]
    gap = float(np.median(high) - np.median(low))
    spread = max(float(low.std()), float(high.std()))
    small = low if index < n - index else high
    numbers = {number for value, number in pairs if small[0] <= value <= small[-1]}
    is_split = (
        gap >= math.log1p(MIN_GAP)
        and spread <= MAX_SPREAD_PER_GAP * gap
        and len(numbers) > 1
    )
    return (index, gap) if is_split else None
