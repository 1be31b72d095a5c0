"""The same runs uploaded twice, under another key."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from benchmarks.plausibility.facts import (
    TYPICAL,
    CellFact,
    Id,
    Precision,
    RunFact,
    StudyFacts,
    precision,
)
from benchmarks.plausibility.findings import Doubt, Finding, rule, subjects
from benchmarks.plausibility.rules.duplicates import (
    CHANCE,
    FEWEST,
    LEAST,
    STEADY,
    chance_of_equal,
)
from benchmarks.sentences import counted

FEW: Final = 3
"""So often a run is uploaded by mistake."""

Signature = tuple[tuple[object, ...], ...]
Pair = tuple[RunFact, RunFact]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Runs of one tool and place that repeat others; ``pairs`` are (again, first).

    ``evidence`` is -ln of the chance; infinite where equal starts prove it.
    """

    runs: int
    pairs: tuple[Pair, ...]
    evidence: float


class CellSpread(NamedTuple):
    """A cell's precision, and the standard deviation of three or more values."""

    precision: Precision
    deviation: float | None


@rule("uploaded-twice", "The same runs uploaded twice", "check")
def uploaded_twice(study: StudyFacts) -> Iterator[Doubt]:
    """Runs of one tool on one system under the same circumstances that came with
    another key and read the same, all they read, as runs before them: where both state
    the same start, and it is a start of their own; or, if one of them or both state
    none, where so many agree to the last digit that chance is ruled out (less than 1 in
    1,000, by the measure of `pasted-values`, with the scatter of these runs). Readings
    that stand more often than others repeat themselves, and are not doubted. The runs
    that came later are counted once, with the first: no cell's statistics hold
    them, and every page of such a run says of which one it is the duplicate.

    Why: a run counted twice looks like a second measurement. The interval becomes
    narrower by a factor 1.4, and nothing was learnt.

    What to do: nothing, if it was uploaded again by mistake. Dismiss the flag if these
    are different measurements: a second later they count again.
    """
    for repeats in repeated(study):
        (again, first), *further = repeats.pairs
        both = [run for pair in repeats.pairs for run in pair]
        yield Doubt(
            counted(
                "{n} run of {name} reads, to the last digit, what an earlier run "
                "reads: it was uploaded twice, and counts once.",
                "{n} runs of {name} read, to the last digit, what earlier runs read: "
                "they were uploaded twice, and count once.",
                n=len(repeats.pairs),
                name=again.name,
            ),
            subjects("run", (run.id for run in both)),
            {
                "again": [str(again.id), *(str(one.id) for one, _ in further)],
                "first": [str(first.id), *(str(other.id) for _, other in further)],
                "runs": repeats.runs,
                "same_start": math.isinf(repeats.evidence),
            },
            tuple(sample.value for run in both for sample in run.samples),
        )


def pairs_of(finding: Finding) -> Iterator[tuple[str, str]]:
    """The ids of the runs that a finding of this rule is about: (again, first)."""
    again, first = finding.evidence["again"], finding.evidence["first"]
    assert isinstance(again, list)
    assert isinstance(first, list)
    return zip(again, first, strict=True)


def repeated(study: StudyFacts) -> list[Repeats]:
    """Return the runs that were uploaded twice, by place and tool, from runs alone."""
    cells = {cell.id: cell for cell in study.cells}
    places: dict[object, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.samples:
            place = (run.system, run.tool, run.scenario, run.vms, run.slot, run.load)
            places[place].append(run)
    found = [one for runs in places.values() for one in _repeats(runs, cells)]
    bound = math.log(max(FEWEST, len(study.runs)) / CHANCE)
    # Too little by itself may be enough where many places agree: which of them is one
    # of so many choices.
    weak = [one for one in found if 0 < one.evidence < bound]
    together = sum(one.evidence for one in weak)
    together -= math.log(math.comb(len(places), len(weak)))
    least = 0.0 if together >= bound else bound
    return [one for one in found if one.evidence > least]


def _repeats(
    runs: Sequence[RunFact], cells: Mapping[Id, CellFact]
) -> Iterator[Repeats]:
    alike: dict[Signature, list[RunFact]] = defaultdict(list)
    starts: dict[object, set[Signature]] = defaultdict(set)
    for run in runs:
        signature = _signature(run)
        alike[signature].append(run)
        starts[run.started_at].add(signature)
    by_start: list[Pair] = []
    by_readings: list[list[RunFact]] = []
    for members in alike.values():
        start = members[0].started_at
        # A start that others state as well is that of a series.
        own = start is not None and len(starts[start]) == 1
        if own and all(run.started_at == start for run in members):
            # A series whose start all of its runs state may read one value throughout.
            by_start += _pairs(members, 1) if len(members) <= FEW else []
        elif _pairs(members, 1):
            by_readings.append(members)
    if by_start:
        yield Repeats(len(runs), tuple(by_start), math.inf)
    if not by_readings:
        return
    # So often was it uploaded; what stands there more often repeats itself as well.
    sizes = Counter(map(len, by_readings))
    times, usual = sizes.most_common(1)[0]
    pairs = [
        pair for each in by_readings for pair in _pairs(each, len(_once(each, times)))
    ]
    if 2 * usual > len(by_readings) and pairs:
        ways = math.log(math.comb(len(alike), len(by_readings)) * len(runs))
        places = {run.id: place for place, run in enumerate(runs)}
        pairs.sort(key=lambda pair: places[pair[0].id])
        order = [places[first.id] for _, first in pairs]
        turns = sum(one > other for one, other in pairwise(order))
        read = list(runs)
        if turns > times - 2:  # not, each time, as they came the first time
            ways += math.lgamma(len(order) + 1)
        else:  # once each: a clock that reads few values reads them in no order
            read = [one for each in alike.values() for one in _once(each, times)]
        spreads = _spreads(read, cells)
        surprise = sum(
            _surprise(each[0], cells, spreads)
            for each in by_readings
            if len(each) == times
        )
        yield Repeats(len(runs), tuple(pairs), surprise * (times - 1) - ways)


def _once(members: Sequence[RunFact], times: int) -> Sequence[RunFact]:
    """Of runs that read the same as many as were made, if all came so many times."""
    return members[: -(-len(members) // times)]


def _pairs(members: Sequence[RunFact], several: int) -> list[Pair]:
    """Pair repeated runs with earlier ones that no start or output tells apart."""
    pairs: list[Pair] = []
    firsts: list[RunFact] = []
    for run in members:
        same = [one for one in firsts if _may_be_one(one, run)]
        if same and len(firsts) >= several:
            pairs.append((run, same[len(pairs) % len(same)]))
        else:
            firsts.append(run)
    return pairs


def _may_be_one(first: RunFact, again: RunFact) -> bool:
    starts = {first.started_at, again.started_at} - {None}
    return len(starts) < 2 and not (again.upload and again.upload == first.upload)


def _signature(run: RunFact) -> Signature:
    """All that a run reads, in one order."""
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
    """Map each cell to the precision and the spread of the values that runs read."""
    read: dict[Id, list[float]] = defaultdict(list)
    for run in runs:
        for sample in run.samples:
            if sample.cell is not None and math.isfinite(sample.value):
                read[sample.cell].append(sample.value)
    spreads = {}
    for cell, values in read.items():
        if cell not in cells:
            continue
        distinct = sorted(set(values))
        if len(distinct) * 3 <= len(values):
            continue  # steps of a clock or a counter, which many runs share
        deviation = None
        if len(distinct) > 2:
            scale = max(map(abs, distinct))
            deviation = float(np.std(np.array(distinct) / scale)) * scale
        spreads[cell] = CellSpread(precision(distinct, cells[cell].decimals), deviation)
    return spreads


def _surprise(
    run: RunFact, cells: Mapping[Id, CellFact], spreads: Mapping[Id, CellSpread]
) -> float:
    """Return the negative logarithm of the chance that another run reads the same."""
    surprises = [0.0]
    for sample in run.samples:
        if sample.cell is None or sample.cell not in spreads or sample.value <= 0:
            continue
        cell, spread = cells[sample.cell], spreads[sample.cell]
        if cell.better == "neither" or not math.isfinite(sample.value):
            continue
        step = spread.precision.step(sample.value)
        relative = TYPICAL.get(cell.component, 0.05)
        if spread.deviation is not None:
            relative = spread.deviation / sample.value
        chance = chance_of_equal(step, relative * STEADY * sample.value)
        chance = min(max(chance, LEAST), 1.0)
        surprises.append(-math.log(chance))
    # A rate and a count say the same twice: all together count for two of them.
    return min(math.fsum(surprises), 2 * max(surprises))
