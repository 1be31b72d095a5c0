"""Rule that detects runs that were uploaded twice under different keys."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from benchmarks.plausibility.findings import Finding, RuleFinding, rule, unique_subjects
from benchmarks.plausibility.rules.pasted_values import (
    MAX_FALSE_FLAGS,
    MIN_CHANCE,
    MIN_NOISE_FRACTION,
    MIN_PAIRS,
    equality_chance,
)
from benchmarks.plausibility.study_facts import (
    TYPICAL_DEVIATION,
    CellFact,
    Id,
    Precision,
    RunFact,
    StudyFacts,
    find_precision,
)
from benchmarks.sentences import pluralized

MAX_ACCIDENTAL_REPEATS: Final = 3

Signature = tuple[tuple[object, ...], ...]
RunPair = tuple[RunFact, RunFact]


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """Runs of one tool under the same conditions that repeat earlier runs.

    ``run_count`` is the number of all runs under these conditions.
    ``log_improbability`` is -ln of the probability that the runs are equal by chance;
    infinite if equal start times prove the repetition.
    """

    run_count: int
    pairs: tuple[RunPair, ...]
    log_improbability: float


class CellSpread(NamedTuple):
    """The precision and standard deviation (None: fewer than three values) of a cell's
    values.
    """

    precision: Precision
    deviation: float | None


@rule("uploaded-twice", "Runs uploaded twice", "check", family="uploads")
def uploaded_twice(study: StudyFacts) -> Iterator[Finding]:
    """Flags runs that repeat earlier runs of the same tool and system under the same
    conditions: they were uploaded with another key and have the same values in
    everything they measured. If both runs report the same start time, and no run with
    other values reports it, equal values are enough. If one or both report no start
    time, so many values must agree to the last digit that this cannot be chance (less
    than 1 in 1,000, calculated as in `pasted-values` from the scatter of these runs).
    Values of a coarse clock or counter, of which some occur more often than others, are
    not flagged. The later runs count once, together with the first: they are excluded
    from the statistics of all results, and each page of such a run names the run that
    it duplicates.

    Why: a run that is counted twice looks like a second measurement. The confidence
    interval becomes narrower by a factor of 1.4 without new information.

    Remedy: nothing, if the runs were uploaded again by mistake. Dismiss the flag if
    they are different measurements. They count again a second later.
    """
    for repeats in find_repeated_runs(study):
        (again, first), *further = repeats.pairs
        involved = [run for pair in repeats.pairs for run in pair]
        yield Finding(
            pluralized(
                "{n} run of {name} is identical, to the last digit, to an earlier "
                "run. It was uploaded twice and counts once.",
                "{n} runs of {name} are identical, to the last digit, to earlier "
                "runs. They were uploaded twice and count once.",
                n=len(repeats.pairs),
                name=again.description,
            ),
            unique_subjects("run", (run.id for run in involved)),
            {
                "again": [
                    str(again.id),
                    *(str(repeated.id) for repeated, _ in further),
                ],
                "first": [
                    str(first.id),
                    *(str(original.id) for _, original in further),
                ],
                "runs": repeats.run_count,
                "same_start": math.isinf(repeats.log_improbability),
            },
            tuple(sample.value for run in involved for sample in run.samples),
        )


def repeated_run_ids(finding: RuleFinding) -> Iterator[tuple[str, str]]:
    """Yield the ids of a finding's runs as (repeated, first)."""
    again, first = finding.evidence["again"], finding.evidence["first"]
    assert isinstance(again, list)
    assert isinstance(first, list)
    return zip(again, first, strict=True)


def find_repeated_runs(study: StudyFacts) -> list[RepeatedRuns]:
    cells = {cell.id: cell for cell in study.cells}
    groups: dict[object, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.samples:
            key = (run.system, run.tool, run.scenario, run.vms, run.slot, run.load)
            groups[key].append(run)
    candidates = [
        candidate
        for runs in groups.values()
        for candidate in _repeated_in_group(runs, cells)
    ]
    bound = math.log(max(MIN_PAIRS, len(study.runs)) / MAX_FALSE_FLAGS)
    # Several groups together may be sufficient, corrected for their choice.
    weak = [
        candidate for candidate in candidates if 0 < candidate.log_improbability < bound
    ]
    combined = sum(candidate.log_improbability for candidate in weak)
    combined -= math.log(math.comb(len(groups), len(weak)))
    minimum = 0.0 if combined >= bound else bound
    return [
        candidate for candidate in candidates if candidate.log_improbability > minimum
    ]


def _repeated_in_group(
    runs: Sequence[RunFact], cells: Mapping[Id, CellFact]
) -> Iterator[RepeatedRuns]:
    by_signature: dict[Signature, list[RunFact]] = defaultdict(list)
    starts: dict[object, set[Signature]] = defaultdict(set)
    for run in runs:
        signature = _signature(run)
        by_signature[signature].append(run)
        starts[run.started_at].add(signature)
    by_start: list[RunPair] = []
    by_readings: list[list[RunFact]] = []
    for members in by_signature.values():
        start = members[0].started_at
        is_own_start = start is not None and len(starts[start]) == 1
        if is_own_start and all(run.started_at == start for run in members):
            # Runs of a series may share their start and read the same value.
            by_start += (
                _pair_repeats(members, 1)
                if len(members) <= MAX_ACCIDENTAL_REPEATS
                else []
            )
        elif _pair_repeats(members, 1):
            by_readings.append(members)
    if by_start:
        yield RepeatedRuns(len(runs), tuple(by_start), math.inf)
    if not by_readings:
        return
    sizes = Counter(map(len, by_readings))
    uploads, usual = sizes.most_common(1)[0]
    pairs = [
        pair
        for group in by_readings
        for pair in _pair_repeats(group, len(_distinct_runs(group, uploads)))
    ]
    if 2 * usual > len(by_readings) and pairs:
        log_choices = math.log(
            math.comb(len(by_signature), len(by_readings)) * len(runs)
        )
        positions = {run.id: position for position, run in enumerate(runs)}
        pairs.sort(key=lambda pair: positions[pair[0].id])
        order = [positions[first.id] for _, first in pairs]
        inversions = sum(earlier > later for earlier, later in pairwise(order))
        runs_used = list(runs)
        if inversions > uploads - 2:
            log_choices += math.lgamma(len(order) + 1)
        else:  # the few values of a coarse clock have no order
            runs_used = [
                run
                for group in by_signature.values()
                for run in _distinct_runs(group, uploads)
            ]
        spreads = _spreads(runs_used, cells)
        log_improbability = sum(
            _surprise(group[0], cells, spreads)
            for group in by_readings
            if len(group) == uploads
        )
        yield RepeatedRuns(
            len(runs), tuple(pairs), log_improbability * (uploads - 1) - log_choices
        )


def _distinct_runs(members: Sequence[RunFact], times: int) -> Sequence[RunFact]:
    """Return the first of ``members``: as many as were measured if each run was
    uploaded ``times`` times.
    """
    return members[: -(-len(members) // times)]


def _pair_repeats(members: Sequence[RunFact], min_firsts: int) -> list[RunPair]:
    """Pair equal runs as (repeated, first).

    The first ``min_firsts`` runs never count as repeated.
    """
    pairs: list[RunPair] = []
    firsts: list[RunFact] = []
    for run in members:
        same = [earlier for earlier in firsts if _may_be_same_run(earlier, run)]
        if same and len(firsts) >= min_firsts:
            pairs.append((run, same[len(pairs) % len(same)]))
        else:
            firsts.append(run)
    return pairs


def _may_be_same_run(first: RunFact, again: RunFact) -> bool:
    starts = {first.started_at, again.started_at} - {None}
    return len(starts) < 2 and not (again.upload and again.upload == first.upload)


def _signature(run: RunFact) -> Signature:
    readings = [
        (
            sample.metric,
            tuple(sorted(sample.parameters.items())),
            sample.repetition,
            sample.unit,
            repr(float(sample.value)),
        )
        for sample in run.samples
    ]
    return tuple(sorted(readings))


def _spreads(
    runs: Sequence[RunFact], cells: Mapping[Id, CellFact]
) -> dict[Id, CellSpread]:
    values_by_cell: dict[Id, list[float]] = defaultdict(list)
    for run in runs:
        for sample in run.samples:
            if sample.cell is not None and math.isfinite(sample.value):
                values_by_cell[sample.cell].append(sample.value)
    spreads = {}
    for cell, values in values_by_cell.items():
        if cell not in cells:
            continue
        distinct = sorted(set(values))
        if len(distinct) * 3 <= len(values):
            continue  # coarse steps of a clock or counter
        deviation = None
        if len(distinct) > 2:
            scale = max(map(abs, distinct))
            deviation = float(np.std(np.array(distinct) / scale)) * scale
        spreads[cell] = CellSpread(
            find_precision(distinct, cells[cell].decimals), deviation
        )
    return spreads


def _surprise(
    run: RunFact, cells: Mapping[Id, CellFact], spreads: Mapping[Id, CellSpread]
) -> float:
    """Return -ln of the probability that another run has the same readings."""
    surprises = [0.0]
    for sample in run.samples:
        if sample.cell is None or sample.cell not in spreads or sample.value <= 0:
            continue
        cell, spread = cells[sample.cell], spreads[sample.cell]
        if cell.better == "neither" or not math.isfinite(sample.value):
            continue
        step = spread.precision.step(sample.value)
        relative = TYPICAL_DEVIATION.get(cell.component, 0.05)
        if spread.deviation is not None:
            relative = spread.deviation / sample.value
        chance = equality_chance(step, relative * MIN_NOISE_FRACTION * sample.value)
        chance = min(max(chance, MIN_CHANCE), 1.0)
        surprises.append(-math.log(chance))
    # A rate and a count are redundant.
    return min(math.fsum(surprises), 2 * max(surprises))
