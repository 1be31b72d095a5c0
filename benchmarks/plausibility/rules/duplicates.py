"""The same numbers twice, where noise makes that impossible."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    Id,
    StudyFacts,
    by_column,
    precision,
)
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, joined

STEADY: Final = 1 / 2
"""How much steadier than its kind a cell is believed to be at best."""
CHANCE: Final = 1e-3
"""The chance of one false flag in a study."""
FEWEST: Final = 60
"""As many pairs are always counted: a small study is one of many."""
RARE: Final = math.log(1000)
"""How improbable a single near agreement must be to belong to a copy."""
LEAST: Final = 1e-9
"""No two readings agree by less chance than this."""
MOST_RUNS: Final = 50
ENOUGH_RUNS: Final = 4
"""So many runs tell themselves how they scatter."""
CROWD: Final = 12
"""A reading that so many columns share is a limit or a constant, not a copy."""

Lines = Mapping[object, Mapping[object, CellFact]]
Pair = tuple[CellFact, CellFact]


@rule(
    "pasted-values", "The same readings in two systems", "impossible", looks_beside=True
)
def pasted_values(study: StudyFacts) -> Iterator[Doubt]:
    """Two systems (or two studies, or two slots) that read exactly the same in so
    many cases that chance is ruled out: less than 1 in 1,000 for the whole study.
    The chance that two readings are equal is their rounding step over 2 sqrt(pi)
    standard deviations (two normal readings on one grid), a half of the noise of their
    kind being taken as the least possible; runs must be equal one by one. Readings that
    12 systems share, or that are in several cases of one system, are limits and no
    copies. The same machine without a hypervisor in two studies is a check: the
    studies share one measurement.

    Why: equal digits are a copy. 27 values of VMs in parallel are in both LMU
    studies, one of ESXi and one of Xen; in the study of Xen two virtualizations of
    64-bit Linux show the same four disk throughputs.

    What to do: find out which table is the source; withdraw the copy.
    """
    columns: dict[object, Mapping[object, CellFact]] = {}
    for name, cells in by_column([*study.cells, *study.others]).items():
        noisy = {case: cell for case, cell in cells.items() if _has_noise(cell)}
        # What several cases of a system read alike is a limit, and no copy.
        times = Counter((cell.kind, cell.readings) for cell in noisy.values())
        columns[name] = {
            case: cell
            for case, cell in noisy.items()
            if times[cell.kind, cell.readings] == 1
        }
    for equal, shared in _copies(columns, set(study.columns), study):
        one, other = equal[0]
        where = _place(other)
        if other.study != one.study:
            label = other.study_label
            where = Sentence("{place} of {study}", place=where, study=label)
        sentence = Sentence(
            "{n} of {shared} readings of {one} are, to the last digit, those of "
            "{other}.",
            n=len(equal),
            shared=shared,
            one=_place(one),
            other=where,
        )
        machines = [(c.host, c.guest_os, c.guest_bits) for c in (one, other)]
        both_native = one.is_native and other.is_native and machines[0] == machines[1]
        same = one.study != other.study and (one.system == other.system or both_native)
        if same:
            both = Sentence("Both studies show one measurement of this machine.")
            sentence = joined([sentence, both])
        yield about_cells(
            sentence,
            [cell for pair in equal for cell in pair if cell.study == study.id],
            severity="check" if same else None,
            quotes=tuple({one.study, other.study} - {study.id}),
            equal=len(equal),
            shared=shared,
            other_study=str(other.study),
            other_system=str(other.system),
            cases=[cell.case_label for cell, _ in equal[:50]],
            readings=[list(cell.readings) for cell, _ in equal[:50]],
        )


@rule("pasted-cases", "The same readings in two benchmarks", "impossible")
def pasted_cases(study: StudyFacts) -> Iterator[Doubt]:
    """Two cases of one tool and metric (reading and writing, two sizes) that read
    exactly the same on so many systems that chance is ruled out, by the measure of
    `pasted-values`.

    Why: a column of a table was copied beside itself: one of the cases was not measured
    or is lost.

    What to do: find out which case is the source; withdraw the copy.
    """
    rows: dict[object, dict[object, CellFact]] = defaultdict(dict)
    for name, cells in study.columns.items():
        for case, cell in cells.items():
            if _has_noise(cell):
                rows[cell.kind, case][name] = cell
    for equal, shared in _copies(rows, set(rows), study):
        one, other = equal[0]
        if one.kind != other.kind:
            continue
        yield about_cells(
            Sentence(
                "{one} and {other} read, to the last digit, the same on {n} of "
                "{shared} systems.",
                one=one.case_name,
                other=other.case_name,
                n=len(equal),
                shared=shared,
            ),
            [cell for pair in equal for cell in pair],
            equal=len(equal),
            shared=shared,
            readings=[list(cell.readings) for cell, _ in equal[:50]],
        )


@rule("pasted-runs", "Some runs of a cell are also in another one", "impossible")
def pasted_runs(study: StudyFacts) -> Iterator[Doubt]:
    """Some runs of a cell read, to the last digit, what runs of another one do: the
    same case on another system, or another case of the same tool and metric on the same
    system. Two runs at least, and so many, beside so many that differ, that chance is
    ruled out (less than 1 in 1,000 for the whole study). How often two runs of one of
    these cells agree by themselves counts against it, and so does the rounding step
    beside half of their scatter.

    Why: a part of a column was copied: those runs were not measured, or are lost, and
    the two cells look more alike than they are.

    What to do: find out which cell is the source; upload the runs of the other again.
    """
    places: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if _has_noise(cell) and len(cell.means) > 1:
            for value in dict.fromkeys(cell.means):
                places[cell.kind, value].append(cell)
    pairs: Counter[tuple[Id, Id]] = Counter()
    for cells in places.values():
        if 2 <= len(cells) <= CROWD:
            pairs.update((one.id, other.id) for one, other in combinations(cells, 2))
    known = {cell.id: cell for cell in study.cells}
    bound = math.log(max(FEWEST, len(study.cells)) / CHANCE)
    for ids, shared in pairs.items():
        one, other = (known[each] for each in ids)
        beside = one.case == other.case or one.column == other.column
        whole = one.means == other.means
        if shared < 2 or not beside or whole or one.host != other.host:
            continue
        rows = _equal_rows(one.means, other.means)
        chance = max(_chance_of_run(cell, study) for cell in (one, other))
        least = min(len(one.means), len(other.means))
        # In the rows where they stand in both, or in any.
        aligned = -rows * math.log(chance) - math.log(math.comb(least, rows))
        anywhere = -shared * math.log(min(1.0, chance * least))
        anywhere -= math.log(math.comb(least, min(shared, least)))
        if max(aligned - math.log(2 * least), anywhere) < bound:
            continue
        equal = [value for value in dict.fromkeys(one.means) if value in other.means]
        yield about_cells(
            Sentence(
                "{n} of the {runs} runs of {one} read, to the last digit, what runs of "
                "{other} do.",
                n=shared,
                runs=len(one.means),
                one=one.name,
                other=other.name,
            ),
            (one, other),
            shared=shared,
            readings=equal[:50],
        )


def _equal_rows(one: Sequence[float], other: Sequence[float]) -> int:
    """How many runs are equal one by one, at the best of all ways to lay them."""
    rows: dict[float, list[int]] = defaultdict(list)
    for row, value in enumerate(other):
        rows[value].append(row)
    offsets = Counter(
        place - row for place, value in enumerate(one) for row in rows.get(value, ())
    )
    return max(offsets.values(), default=0)


def _chance_of_run(cell: CellFact, study: StudyFacts) -> float:
    """Return the chance that two runs of a cell read the same."""
    # A mean of several readings shows digits that nobody printed.
    printed = precision((float(f"{mean:.12g}") for mean in cell.means), cell.decimals)
    step = printed.step(cell.mean)
    deviation = study.noise.of_kind(cell) * cell.mean
    if len(cell.means) >= ENOUGH_RUNS:
        deviation = min(deviation, NORMAL * steadiness(cell.means))
    chance = chance_of_equal(step, deviation * STEADY)
    pairs = list(combinations(cell.means[:MOST_RUNS], 2))
    agree = sum(one == other for one, other in pairs) / max(len(pairs), 1)
    return min(max(chance, agree, LEAST), 1.0)


def steadiness(means: Sequence[float]) -> float:
    """Return the median distance from the median."""
    # In parts of the largest, for the sum of two middle ones may overflow.
    unit = max(map(abs, means)) or 1.0
    parts = np.array(means) / unit
    return float(np.median(np.abs(parts - np.median(parts)))) * unit


def chance_of_equal(step: float, deviation: float) -> float:
    """Return the chance that two readings of this resolution and scatter are equal."""
    deviation = max(deviation, step / 6)
    # Values of all magnitudes may have no step and no scatter.
    return step / (2 * math.sqrt(math.pi) * deviation) if deviation else 1.0


def _has_noise(cell: CellFact) -> bool:
    """Counts and idle or full CPUs may well be equal."""
    full = cell.is_share and cell.mean >= 99
    return cell.better != "neither" and cell.mean > 0 and not full


def _copies(
    lines: Lines, own: Set[object], study: StudyFacts
) -> Iterator[tuple[list[Pair], int]]:
    """Pairs of lines, one of them in ``own``, with more equal cells than chance has."""
    # Pairs of own lines, and of own lines with the others.
    tried = len(own) * (2 * len(lines) - len(own) - 1) / 2
    bound = math.log(max(FEWEST, tried) / CHANCE)
    for one, other in _sharing(lines, own):
        first, second = lines[one], lines[other]
        pairs = [(first[key], second[key]) for key in first if key in second]
        equal = [pair for pair in pairs if pair[0].readings == pair[1].readings]
        # Of how many choices of so many equal cells this is one. Copies come in blocks:
        # the choice is made among all cells, or kind by kind.
        kinds = Counter(cell.kind for cell, _ in pairs)
        equal_of = Counter(cell.kind for cell, _ in equal)
        choices = [math.comb(count, equal_of[kind]) for kind, count in kinds.items()]
        by_kind = math.fsum(map(math.log, choices)) + len(kinds) * math.log(2)
        ways = min(math.log(math.comb(len(pairs), len(equal))), by_kind)
        if math.fsum(_surprise(cell, study) for cell, _ in equal) - ways >= bound:
            yield [pair for pair in pairs if _is_copied(pair, study)], len(pairs)


def _sharing(lines: Lines, own: Set[object]) -> list[tuple[object, object]]:
    """Yield pairs of lines, one of them in ``own``, that share a reading."""
    places: dict[object, list[object]] = defaultdict(list)
    for name, cells in lines.items():
        for key, cell in cells.items():
            places[key, cell.readings].append(name)
    pairs: dict[tuple[object, object], None] = {}
    for sharing in places.values():
        if 2 <= len(sharing) <= CROWD:
            for one, other in combinations(sharing, 2):
                if one in own or other in own:
                    # A dict: each pair once, in the order found.
                    pairs[(one, other) if one in own else (other, one)] = None
    return list(pairs)


def _is_copied(pair: Pair, study: StudyFacts) -> bool:
    """Equal, or rounded once more: one apart in the last digit, and no chance."""
    one, other = pair
    if one.readings == other.readings:
        return True
    step = max(study.step(cell) for cell in pair)
    readings = zip(one.readings, other.readings, strict=False)
    near = one.n == other.n and all(abs(a - b) < 1.5 * step for a, b in readings)
    return near and _surprise(one, study) > RARE


def _surprise(cell: CellFact, study: StudyFacts) -> float:
    """The negative logarithm of the chance that another cell reads the same."""
    step = study.step(cell)
    deviation = max(study.noise.of_run(cell) * STEADY * cell.mean, step / 6)
    # Logs: the quotient may be no number.
    chance = math.log(step) - math.log(2 * math.sqrt(math.pi)) - math.log(deviation)
    return max(0.0, -chance) * max(1, len(cell.means))


def _place(cell: CellFact) -> str:
    if not cell.slot or cell.vms == 1:
        return cell.where
    return Sentence(
        "{system}, {scenario} slot {slot}",
        system=cell.where,
        scenario=cell.scenario,
        slot=cell.slot,
    )
