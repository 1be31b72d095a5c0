"""Rules about the scatter of a result's runs, and about the clock that limits it."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, name_and_more, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from benchmarks.sentences import Sentence, pluralized, template

MIN_RUNS: Final = 3

OWN_RUNS: Final = template(
    "{name}: the mean of {runs} runs is {mean:g} {unit}, but their standard deviation "
    "is {deviation:g} {unit} (the runs are between {low:g} and {high:g}). The mean "
    "describes none of them."
)
PUBLISHED: Final = template(
    "{name}: the published mean of {runs} runs is {mean:g} {unit}, but the published "
    "standard deviation is {deviation:g} {unit}. Check the columns and units of the "
    "source."
)


@rule(
    "deviation-above-mean",
    "Standard deviation above the mean",
    "implausible",
    family="repeats",
)
def deviation_above_mean(study: StudyFacts) -> Iterator[Finding]:
    """Flags a time or rate of at least three runs whose standard deviation is larger
    than its mean, and a published mean whose published deviation is larger. Minima,
    maxima, percentiles, CPU utilization and values that may be 0 are excluded.

    Why: times and rates are not negative, so most runs are then far from the mean.
    Typical causes are a disk whose burst credit is used up, a cache that is filled by
    the first run, a wrong unit in one run, or exchanged columns of mean and deviation.

    Remedy: report the speeds separately, or the median. If the values are typed, check
    the columns and units of the source.
    """
    columns: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if _is_wide(cell):
            columns[(*cell.column_key, *cell.sibling_key)].append(cell)
    for cells in columns.values():
        cell = max(cells, key=lambda cell: (_deviation(cell) or 0.0) / cell.mean)
        yield cell_finding(
            Sentence(
                OWN_RUNS if cell.stated_deviation is None else PUBLISHED,
                name=name_and_more(cell.description, len(cells) - 1),
                runs=cell.n,
                mean=cell.mean,
                unit=cell.unit,
                deviation=_deviation(cell) or 0.0,
                low=min(cell.readings),
                high=max(cell.readings),
            ),
            cells,
            deviations=[_deviation(cell) for cell in cells],
        )


def _is_wide(cell: CellFact) -> bool:
    deviation = _deviation(cell)
    return (
        cell.n >= MIN_RUNS
        and cell.is_performance
        and not cell.zero_allowed
        and cell.mean > 0
        and min(cell.readings) >= 0
        and deviation is not None
        and deviation > cell.mean
    )


def _deviation(cell: CellFact) -> float | None:
    if cell.stated_deviation is not None:
        return cell.stated_deviation
    return None if cell.variance is None else math.sqrt(cell.variance)


MIN_STEP: Final = 0.01
"""Smallest step of a coarse clock, relative to the value."""
MIN_STEP_PER_DEVIATION: Final = 0.5
MIN_READINGS: Final = 5
MIN_READING: Final = 1e-50
MIN_DISTINCT: Final = 2
SAME_VALUE: Final = 5e-4
"""Largest relative difference of equal values that were rounded differently."""
MIN_DISPLAY_STEPS: Final = 5
MAX_STEPS_OFF: Final = 0.1
MAX_CHANCE: Final = 1e-4
COMPARABLE: Final = 2.0
"""Times within this factor have ticks of about the same relative size."""
DIVISORS: Final = (1, 2, 3, 4)


@rule("coarse-clock", "Clock or display too coarse", "check", family="repeats")
def coarse_clock(study: StudyFacts) -> Iterator[Finding]:
    """Flags results of a benchmark whose runs, of all systems of a host together, are
    whole multiples of one step: of a clock tick (times, or rates of a fixed amount of
    work, whose times are multiples), of one counted event, or of the last printed
    digit. The step must be more than 1% of the value and half the standard deviation of
    the runs. At least five readings are needed. For a tick or event, each value must
    occur twice on average, or so many multiples must have a probability below 1 in
    10,000.

    Why: differences below one step cannot be seen, and the spread of the runs is that
    of the clock. A run of 0.3 s on a clock of 10 ms has steps of 3%.

    Remedy: do more work per run until it takes at least 100 ticks, or print more
    digits.
    """
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if cell.is_performance and not cell.zero_allowed and min(cell.readings) > 0:
            cases[cell.tool, cell.metric, cell.case, cell.host].append(cell)
    coarse: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for members in cases.values():
        for cell, step in _coarse_cells(members, study):
            coarse[cell.host, *cell.sibling_key].append((cell, step))
    for found in coarse.values():
        found.sort(key=lambda pair: pair[1], reverse=True)
        cell, step = found[0]
        yield cell_finding(
            pluralized(
                "{name}: all readings are whole multiples of a step of {step:.1%} (a "
                "clock tick or the last digit). Smaller differences cannot be seen.",
                "{n} results, for example {name}: all readings are whole multiples of "
                "a step of {step:.1%} (a clock tick or the last digit). Smaller "
                "differences cannot be seen.",
                name=cell.description,
                step=step,
                n=len(found),
            ),
            [cell for cell, _ in found],
            steps=[step for _, step in found],
        )


def _coarse_cells(
    members: Sequence[CellFact], study: StudyFacts
) -> Iterator[tuple[CellFact, float]]:
    repeated = [
        cell
        for cell in members
        if len(cell.run_means) > 1
        and MIN_READING < max(cell.run_means) < COMPARABLE * min(cell.run_means)
        and max(cell.run_means) < 1 / MIN_READING
    ]
    for cell in repeated:
        alike = [
            value
            for other in repeated
            for value in other.readings
            if cell.mean / COMPARABLE < value < cell.mean * COMPARABLE
        ]
        deviation = math.sqrt(cell.relative_variance or 0.0)
        smallest = max(MIN_STEP, MIN_STEP_PER_DEVIATION * deviation)
        if len(alike) < MIN_READINGS:
            continue
        display = study.print_step(cell) / cell.mean
        ticks = [_tick(alike)]
        if len(cell.run_means) >= MIN_READINGS:
            ticks.append(_tick(cell.run_means))
        # Neighboring steps of the display have common divisors by chance.
        is_finer = max(ticks) >= MIN_DISPLAY_STEPS * display
        step = max(ticks) if is_finer else display
        if step > smallest:
            yield cell, step


def _tick(values: Sequence[float]) -> float:
    """Return the step of which all values, or all their reciprocals, are multiples,
    relative to their mean; 0 if there is none.
    """
    return max(_grid_step(values), _grid_step([1 / value for value in values]))


def _grid_step(values: Sequence[float]) -> float:
    """Return the step of which all values are multiples, relative to their mean.

    Few distinct values that are far apart for their digits are not equal by chance.
    """
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value > distinct[-1] * (1 + SAME_VALUE):
            distinct.append(value)
    if len(distinct) < MIN_DISTINCT:
        return 0.0
    gap = min(later - earlier for earlier, later in pairwise(distinct))
    is_repeated = 2 * len(set(values)) <= len(values)
    for divisor in DIVISORS:
        step = gap / divisor
        if distinct[-1] * MIN_STEP > step:
            break
        off = max(abs(value / step - round(value / step)) for value in distinct)
        allowed = max(2 * off, SAME_VALUE * distinct[-1] / step)
        chance = divisor * allowed ** (len(distinct) - 1)
        if off <= MAX_STEPS_OFF and (is_repeated or chance <= MAX_CHANCE):
            return step * len(distinct) / math.fsum(distinct)
    return 0.0
