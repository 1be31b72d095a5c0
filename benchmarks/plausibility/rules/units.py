"""Values off from their siblings by the factor between two units."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from statistics import median
from typing import Final

import numpy as np

from benchmarks.analysis.baselines import INSIDE
from benchmarks.analysis.intervals import Floats
from benchmarks.plausibility.facts import CellFact, StudyFacts, factor_of
from benchmarks.plausibility.findings import Doubt, about_cells, rule, subjects
from benchmarks.plausibility.rules.emulation import imitated_cells
from benchmarks.plausibility.rules.exchanges import inverted_cells
from benchmarks.plausibility.rules.sums import adding_up
from benchmarks.plausibility.slips import (
    CLEARLY,
    FARTHEST,
    LEAST,
    NEAR,
    Companions,
    Starts,
    factor_and_miss,
    factors_of,
    nearest_factor,
    reciprocal_miss,
    runs_off,
)
from benchmarks.plausibility.tables import (
    SIBLINGS,
    Digits,
    Speeds,
    Table,
    distances,
    emulated_tables,
    nanmedian,
    off_the_curve,
    residuals,
    spread_without,
    tables,
)
from benchmarks.sentences import Sentence, joined, template

SLOWER: Final = math.log(40)
"""A whole system may be 20 times slower (emulated network cards are); not 40 times."""
STEADY: Final = frozenset({"CPU", "memory", "power"})
"""Components in which no system is ten times slower than another one."""
MISTAKEN: Final = math.log(2.5)
"""How near to a reciprocal a slip must be for its flag to name that, too."""
BY_DIGITS: Final = 0.9
"""So far from a factor, as a log, a cell may lie whose digits name it."""
NEARLY: Final = template(
    "{name} reads {mean:g} {unit}: off by a factor near {factor} ({exactly:.4g}) from "
    "{where}."
)
ABOUT: Final = template(
    "{name} reads {mean:g} {unit}: off by a factor of {exactly:.4g} from {where}; the "
    "nearest one between two units is {factor}."
)
FEWEST_GUESTS: Final = 2
"""So many others must say how far the guests of a case lie from their machines."""
OTHERS: Final = 4
"""Fewer cells than these do not say how far such cases lie from each other."""


@rule("unit-slip", "Suspected unit error", "impossible")
def unit_slip(study: StudyFacts) -> Iterator[Doubt]:
    """A value that is off by a power of 10 (of data and their rates by one of 1024, or
    by 8, too; of times by 60 or 3600): from the other runs of its cell; from what the
    other systems and cases of the same tool and metric predict (systems may be slower
    throughout, cases faster); where the systems share no other case, from what they
    read in this one, each at its usual speed in the component's other tests; from its
    neighbours in a curve. The distance must be at least a factor 5 and 3 standard
    deviations of how well such predictions work in this table, twice that of the other
    systems in this case, and come within 35 %, 2.5 of these deviations, or what the
    other systems are off by (65 % at most), of the factor. What does not come within
    35 % is implausible, no more: half of all true distances come as near as 65 % to
    some factor. Without any prediction a cell is flagged that is farther from all
    others of its tool, metric and host than these are from each other (five at least),
    if each of its parameters has the value of another one. A value with more decimals
    than any other reading of its tool and metric, which has as few as they have once it
    is multiplied by a factor, is flagged where it is off by that, a factor 5 at least,
    however well such cases predict each other. So is a guest compared with its own
    native machine (CPU and memory, or where it is twice as fast) that is off from how
    two or more others of the case lie beside theirs. A whole system is flagged where it
    is off by such a factor from all others: by at least 40, or by 5 where a guest is
    more than twice as fast as its host. A single run must come as near to the factor as
    its cell's other runs lie to each other (3 standard deviations, 5 to 35 %). Not
    doubted are: slots that give their printed sum, for one slip would spoil it; a run
    of a cell of which another run is about as far off by no such factor, or in whose
    start other cells moved as far (of other units, or some of its own), for then the
    machine ran at another speed; a cell beside which another metric of the same test is
    off the same way, by at least half as much (as a log), by another factor or in
    another unit (of more than half of the cells, where a whole system is off); a
    minimum, maximum or percentile beside the other runs of its cell, for one slow
    request makes it, or throughout a system, for so do its interrupts; a system that
    computes as slowly as an emulated processor (`emulation-speed`); a reciprocal
    (`rate-as-time`; one that a slip explains as well is named beside it); how long a
    system takes to start, beside other systems; a system on an emulated processor
    beside a real one or one of other layers, for each instruction costs it another
    factor (only single cells of it are compared with those of other layers, where there
    are four cases or more: what reads like another emulated system is not alone).

    Why: kB for MB, bits for bytes, a lost decimal point. In the LMU study of ESXi the
    native RAM reads 3108035 MB/s; the study of Xen prints 3108.04 for the same machine.

    What to do: look the value up in the raw output; upload it again in the right unit.
    """
    starts = Starts(study)
    within = [doubt for cell in study.cells for doubt in runs_off(cell, starts)]
    yield from within
    # What was said of a run is not said of its cell once more.
    silent = {subject for doubt in within for subject in doubt.subjects}
    # Nor what another cause explains.
    explained = [*adding_up(study), *imitated_cells(study), *inverted_cells(study)]
    silent |= set(subjects("cell", (cell.id for cell in explained)))
    for doubt in _across_systems(study):
        if not silent.issuperset(doubt.subjects):
            silent |= set(doubt.subjects)
            yield doubt


def _across_systems(study: StudyFacts) -> Iterator[Doubt]:
    speeds, companions = Speeds(study), Companions(study)

    def apart(pairs: Iterable[tuple[CellFact, float]]) -> Iterator[Doubt]:
        off = [pair for pair in pairs if not companions.were_another_speed(*pair)]
        yield from _told_apart(off)

    for table in tables(cell for cell in study.cells if not cell.is_start_up):
        yield from _columns_off(table, companions)
        off = residuals(table.logs)
        for members in _cells_off(table, off, study):
            yield from apart(members)
        curve = off_the_curve(table, off, LEAST)
        alone = [*curve, *_off_the_row(table, off, speeds)]
        yield from apart(pair for pair in alone if nearest_factor(*pair, NEAR))
        if not table.is_emulated:
            yield from apart(_off_them_all(table))
    for table in emulated_tables(study.cells):
        for members in _cells_off(table, residuals(table.logs), study):
            yield from apart(members)
        yield from apart(_off_them_all(table))
    for pair in (*_divided(study), *_off_their_natives(study)):
        yield from apart([pair])


def _columns_off(table: Table, companions: Companions) -> Iterator[Doubt]:
    """A system that is off by the same factor in all its cases."""
    columns = [
        [cell for cell in cells if cell] for cells in zip(*table.cells, strict=True)
    ]
    # Set against its host's other systems only: two machines may differ by any factor.
    hosts: dict[str, list[int]] = defaultdict(list)
    for column, members in enumerate(columns):
        hosts[members[0].host].append(column)
    for column, members in enumerate(columns):
        others = [other for other in hosts[members[0].host] if other != column]
        if len(members) < 2 or not others or members[0].is_extreme:
            continue
        middle = nanmedian(table.logs[:, others[:SIBLINGS]], axis=1)
        distances = table.logs[:, column] - middle
        known = distances[~np.isnan(distances)]
        off = float(np.median(known)) if known.size >= 2 else 0.0
        ahead = sum(
            _beats_native(cell, cells)
            for cells in table.cells
            if (cell := cells[column]) is not None
        )
        bound = LEAST if 2 * ahead > len(members) else SLOWER
        factor = nearest_factor(members[0], off, NEAR)
        if abs(off) < bound or not factor:
            continue
        slow = sum(companions.were_another_speed(cell, off) for cell in members)
        if 2 * slow <= len(members):
            yield about_cells(
                Sentence(
                    "All {n} values of {metric} on {system} are off by a factor near "
                    "{factor} ({exactly:.4g}) from the other systems here.",
                    n=len(members),
                    metric=members[0].metric,
                    system=members[0].where,
                    factor=factor,
                    exactly=factor_of(abs(off)),
                ),
                members,
                ratio=factor_of(off),
                factor=factor,
            )


def _cells_off(
    table: Table, off: Floats, study: StudyFacts
) -> Iterable[Sequence[tuple[CellFact, float]]]:
    """Row by row the cells that are off from what all others predict, with by what."""
    sample = next(cell for row in table.cells for cell in row if cell)
    # Cell and prediction both scatter, so their distance does by sqrt(2) as much.
    floor = math.sqrt(2) * study.noise.of_kind(sample)
    # With two rows and few systems, a network or disk that is slow in one direction
    # only looks like a slip.
    few = len(table.rows) == 2 and len(table.columns) < 4
    rows: dict[int, list[tuple[CellFact, float]]] = defaultdict(list)
    for row, column in np.argwhere(np.abs(np.nan_to_num(off)) >= LEAST):
        cell, distance = table.cells[row][column], float(off[row, column])
        if cell is None:
            continue
        spread = spread_without(table.logs, off, (row, column), floor)
        scale, width = spread.deviation, spread.in_row
        least = SLOWER if few and not _is_sure(cell, table.cells[row]) else LEAST
        near = min(max(NEAR, 2.5 * scale, width), FARTHEST)
        enough = max(CLEARLY * scale, least, 2 * width)
        if abs(distance) >= enough and nearest_factor(cell, distance, near):
            rows[row].append((cell, distance))
    return rows.values()


def _off_the_row(
    table: Table, off: Floats, speeds: Speeds
) -> Iterator[tuple[CellFact, float]]:
    """Find cells that share no other row, by their own row and other tables."""
    for row, away_from in zip(table.cells, off, strict=True):
        members = [cell for cell in row if cell]
        if len(members) < 2 or members[0].is_extreme:
            continue
        logs = {cell.id: math.log(cell.mean) - speeds.usual(cell) for cell in members}
        for cell, distance in zip(row, away_from, strict=True):
            if cell is None or not math.isnan(distance):
                continue
            near = (
                logs[other.id]
                for other in members
                if other.host == cell.host and other.id != cell.id
            )
            others = list(islice(near, SIBLINGS))
            if not others:
                continue
            middle = float(np.median(others))
            away = logs[cell.id] - middle
            width = float(np.quantile(np.abs(np.array(others) - middle), 0.9))
            if abs(away) >= max(LEAST, CLEARLY * width / 1.645):
                sure = _is_sure(cell, members) or speeds.is_known(cell)
                if sure or abs(away) >= SLOWER:
                    yield cell, away


def _off_them_all(table: Table) -> Iterator[tuple[CellFact, float]]:
    """Find a cell farther from all of its kind than these are from each other."""
    hosts: dict[str, list[CellFact]] = defaultdict(list)
    for row in table.cells:
        for cell in row:
            if cell is not None:
                hosts[cell.host].append(cell)
    for members in hosts.values():
        if len(members) <= OTHERS or members[0].is_extreme:
            continue
        logs = np.log([cell.mean for cell in members])
        order = np.argsort(logs)
        for place, ends in ((0, (1, -1)), (-1, (0, -2))):
            at = int(order[place])
            low, high = (float(logs[order[end]]) for end in ends)
            nearest = low if place == 0 else high
            gap, cell = float(logs[at]) - nearest, members[at]
            if abs(gap) < max(LEAST, high - low):
                continue
            rest = [other for other in members if other is not cell]
            # Of the same case what other systems read, else of all.
            alike = [one for one in rest if one.case == cell.case] or rest
            away = float(logs[at]) - float(np.median(np.log([c.mean for c in alike])))
            shared = all(
                any(other.parameters.get(name) == value for other in rest)
                for name, value in cell.parameters.items()
            )
            if shared and nearest_factor(cell, away, FARTHEST):
                yield cell, away


def _divided(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    """Cells that are too small, and show that they were divided by such a factor."""
    digits = Digits(study)
    told = {
        cell.id: {
            name
            for name, factor in factors_of(cell).items()
            if digits.was_divided(cell, factor)
        }
        for cell in digits.longer_cells().values()
    }
    divided = {cell.id: cell for cell in study.cells if told.get(cell.id)}
    away = distances(study, divided)
    for cell in divided.values():
        far = [off for off in away.get(cell.id, ()) if off <= -LEAST]
        named = [
            off for off in far if nearest_factor(cell, off, BY_DIGITS) in told[cell.id]
        ]
        yield from ((cell, off) for off in named[:1])


def _off_their_natives(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    """Find guests that differ from native otherwise than the case's other guests."""
    rows: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for cell in study.cells:
        native = study.baseline(cell)
        place = (cell.host, cell.case, cell.kind, *cell.circumstances)
        told = native and native.is_native and native.study == study.id
        told = told and min(cell.mean, native.mean) > 0 if native else False
        apart = cell.is_native or cell.emulation or cell.is_extreme or cell.is_start_up
        if native and told and not apart and cell.scenario not in INSIDE:
            rows[place].append((cell, math.log(cell.mean) - math.log(native.mean)))
    for row in rows.values():
        for at, (cell, log) in enumerate(row[:SIBLINGS]):
            others = [other for _, other in row[:at] + row[at + 1 :]]
            if len(others) < FEWEST_GUESTS:
                continue
            # Of a few numbers: numpy takes twenty times as long, and so few lie apart.
            middle = median(others)
            away = log - middle
            if abs(away) < LEAST or abs(middle) >= LEAST:
                continue
            distances_of_others = np.abs(np.array(others) - middle)
            width = float(np.quantile(distances_of_others, 0.9)) / 1.645
            sure = _is_sure(cell, [study.baseline(cell)])
            far = abs(away) >= CLEARLY * width
            if sure and far and nearest_factor(cell, away, NEAR):
                yield cell, away


def _told_apart(members: Sequence[tuple[CellFact, float]]) -> Iterator[Doubt]:
    """Two cells that point at each other are one doubt."""
    doubts: list[tuple[tuple[CellFact, ...], float, str]] = []
    if len(members) == 2 and members[0][1] * members[1][1] < 0:
        (one, off), (other, _) = members
        where: str = Sentence("the other one, and one of both is wrong")
        doubts.append(((one, other), off, where))
    else:
        where = Sentence("what the other systems and cases predict")
        doubts += [((cell,), off, where) for cell, off in members]
    for cells, off, where in doubts:
        cell = cells[0]
        factor, miss = factor_and_miss(cell, off)
        expected = math.log(cell.mean) - off
        told: dict[str, str | float] = {
            **{"name": cell.name, "mean": cell.mean, "unit": cell.unit},
            **{"factor": factor, "exactly": factor_of(abs(off)), "where": where},
        }
        is_near = miss <= NEAR
        said: str = Sentence(NEARLY, **told) if is_near else Sentence(ABOUT, **told)
        if reciprocal_miss(cell, expected) <= min(MISTAKEN, abs(off) / 4):
            besides = Sentence(
                "It is near the reciprocal of {expected:g}, too: a rate may have been "
                "taken for a time, or a time for a rate.",
                expected=factor_of(expected),
            )
            said = joined([said, besides])
        yield about_cells(
            said,
            cells,
            None if is_near else "implausible",
            value=cell.mean,
            expected=cell.mean / factor_of(off),
            ratio=factor_of(off),
            factor=factor,
        )


def _is_sure(cell: CellFact, row: Sequence[CellFact | None]) -> bool:
    """Whether no setting explains that it is far from the others of its row."""
    return cell.component in STEADY or _beats_native(cell, row)


def _beats_native(cell: CellFact, row: Sequence[CellFact | None]) -> bool:
    """Whether a guest is more than twice as fast as its host: no setting does that."""
    natives = [
        other.mean
        for other in row
        if other and other.is_native and other.host == cell.host
    ]
    if cell.is_native or cell.better == "neither" or not natives:
        return False
    if cell.scenario in INSIDE:  # memory carries it, not the wire of its host
        return False
    ratio = cell.mean / natives[-1]
    return ratio > 2 if cell.better == "higher" else ratio < 0.5
