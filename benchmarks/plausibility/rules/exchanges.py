"""Values in a place that is another one's: two systems exchanged, a rate as a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    StudyFacts,
    factor_of,
)
from benchmarks.plausibility.findings import Doubt, about_cells, further, rule
from benchmarks.plausibility.rules.emulation import computes
from benchmarks.plausibility.slips import LEAST
from benchmarks.plausibility.tables import SIBLINGS, Table, tables
from benchmarks.sentences import Sentence

CLEARLY: Final = 4
"""In standard deviations of how well the systems' other cases predict these."""
APART: Final = math.log(1.1)
"""Systems nearer to each other than this look the same when they are exchanged."""
FEWEST: Final = 3
"""So many other cases at least must say how two systems lie."""
NEAR: Final = 0.25
"""How near to its place a value comes that was exchanged, as a part of the distance."""
RECIPROCAL: Final = 0.15
"""How near to the reciprocal a rate comes that was taken for a time, as a part of how
far it is off, and at most 35 % of it."""
MOST_OFF: Final = 0.3
ALONE: Final = math.log(40)
MOST_SYSTEMS: Final = 40
SLOW: Final = math.log(3)
"""No system on the processor itself is as slow beside all others, and hardly an
emulated one faster (`emulation-speed`)."""


@rule("rate-as-time", "A rate uploaded as a time, or a time as a rate", "impossible")
def rate_as_time(study: StudyFacts) -> Iterator[Doubt]:
    """A value that is the reciprocal of what the other systems of its host read in the
    same case (for ms and us: 1,000 or 10^6 times it), though it is off from them by
    more than a factor 5: within 35 %, and seven times as near to the reciprocal as to
    their value. One that comes near to a factor of `unit-slip`, too, has both flags.

    Why: 0.0022 s is 450 operations a second. Somebody took the rate for the time, or a
    program divided the wrong way round.

    What to do: upload the value as what it is, or its reciprocal.
    """
    for doubted in reciprocals(study).values():
        cells = [cell for cell, _ in doubted]
        cell, expected = doubted[0]
        yield about_cells(
            Sentence(
                "{cases}: {mean:g} {unit} is the reciprocal of {expected:g}, which "
                "the other systems read: a rate was taken for a time, or a time for a "
                "rate.",
                cases=further(cell.name, len(cells) - 1),
                mean=cell.mean,
                unit=cell.unit,
                expected=expected,
            ),
            cells,
            values=[one.mean for one in cells],
            expected=[value for _, value in doubted],
        )


def reciprocals(
    study: StudyFacts,
) -> Mapping[object, list[tuple[CellFact, float]]]:
    """The cells that read the reciprocal of what is expected, with that, by columns."""
    found: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    for table in tables(cell for cell in study.cells if not cell.is_start_up):
        for row in table.cells:
            cells = [cell for cell in row if cell][:SIBLINGS]
            for cell in cells:
                expected = _expected(cell, cells)
                if expected is not None and _is_reciprocal(cell, expected):
                    value = math.exp(expected)
                    found[cell.column, cell.kind].append((cell, value))
    return found


def _expected(cell: CellFact, row: list[CellFact]) -> float | None:
    """The logarithm of what the other systems of its host read, if they agree."""
    others = [
        math.log(other.mean)
        for other in row
        if other.host == cell.host and other.column != cell.column
    ]
    if not others or cell.is_share or cell.is_extreme or cell.better == "neither":
        return None
    middle = float(np.median(others))
    # Where they disagree by as much, nothing says which of them is the odd one.
    off = abs(math.log(cell.mean) - middle)
    spread = float(np.median(np.abs(np.array(others) - middle)))
    # One other system may well be far faster, but not forty times.
    sure = off >= ALONE if len(others) == 1 else 3 * spread < off
    return middle if sure else None


def _is_reciprocal(cell: CellFact, expected: float) -> bool:
    off = abs(math.log(cell.mean) - expected)
    scale = {"ms": 1e3, "us": 1e6, "ns": 1e9}.get(cell.unit, 1.0)
    return off >= LEAST and any(
        abs(math.log(cell.mean) + expected - math.log(factor))
        <= min(RECIPROCAL * off, MOST_OFF)
        for factor in {1.0, scale}
    )


@rule("exchanged-values", "Two systems or cases that look exchanged", "implausible")
def exchanged_values(study: StudyFacts) -> Iterator[Doubt]:
    """In some cases of a tool and metric two systems of one host read what the other
    one should, though they lie clearly apart: set against the other systems here, each
    comes within a quarter of their distance to where the other one lies in all other
    cases (three at least), and both are off from their own place by 4 standard
    deviations of how far such cases lie from theirs, and by 10 % at least. So are two
    cases on one system that read what the other one should.
    A system that is said to be emulated and one that is not are compared over all
    tools, in cases that compute: where the emulated one is three times as fast or more,
    and as fast (to a factor 3) as all other systems of the host that are not emulated,
    the two were exchanged.

    Why: two columns of a table, or two cells, were exchanged when they were copied, and
    every reading is that of a real machine: no single value looks wrong.

    What to do: look the values up in the raw outputs; upload both again.
    """
    yield from _imitated(study)
    for table in tables(study.cells):
        if table.logs.shape[1] >= 3 and len(table.rows) > FEWEST:
            yield from _exchanged(table, table.logs, False, study)
        if table.logs.shape[0] >= 3 and len(table.columns) > FEWEST:
            yield from _exchanged(table, table.logs.T, True, study)


def _imitated(study: StudyFacts) -> Iterator[Doubt]:
    """An emulated system and one on the processor itself that read each other's."""
    rows: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if computes(cell) and cell.mean > 0:
            place = (cell.scenario, cell.vms, cell.slot, cell.load)
            rows[cell.host, cell.case, cell.metric, *place].append(cell)
    found: dict[object, list[tuple[CellFact, CellFact]]] = defaultdict(list)
    for row in rows.values():
        real = [cell for cell in row if not cell.emulation]
        for cell in row if len(real) > 1 else ():
            ahead = [_times_faster(cell, other) for other in real]
            slow = [other for other, by in zip(real, ahead, strict=True) if by >= SLOW]
            # Faster than several of them, it is the one that is off: by its unit, say.
            alike = sum(abs(by) < SLOW for by in ahead) == len(real) - 1
            if cell.emulation and len(slow) == 1 and alike:
                found[cell.column, slow[0].column].append((cell, slow[0]))
    for pairs in found.values():
        one, other = pairs[0]
        yield about_cells(
            Sentence(
                "{one} and {other} look exchanged in {cases}: the emulated one reads "
                "{first:g} {unit}, the one on the processor itself {second:g} {unit}.",
                one=one.where,
                other=other.where,
                cases=further(one.case_label or str(one.case), len(pairs) - 1),
                first=one.mean,
                second=other.mean,
                unit=one.unit,
            ),
            [cell for both in pairs for cell in both],
            faster=[round(factor_of(_times_faster(*both)), 5) for both in pairs],
        )


def _times_faster(one: CellFact, other: CellFact) -> float:
    """How many times as fast a cell is as another one, as a logarithm."""
    off = math.log(one.mean) - math.log(other.mean)
    return off if one.better == "higher" else -off


def _exchanged(
    table: Table, logs: np.ndarray, turned: bool, study: StudyFacts
) -> Iterator[Doubt]:
    """Pairs of columns (of rows, if the table is turned) exchanged in some rows."""
    columns = logs.shape[1]
    if columns > MOST_SYSTEMS:
        return
    sample = next(cell for row in table.cells for cell in row if cell)
    floor = max(study.noise.of_kind(sample), 0.01)
    # Each against what all others read in that row.
    for one, other in combinations(range(columns), 2):
        rest = [place for place in range(columns) if place not in {one, other}]
        pair = logs[:, [one, other]]
        known = ~np.isnan(pair).any(axis=1)
        known &= ~np.isnan(logs[:, rest]).all(axis=1)
        if known.sum() <= FEWEST:
            continue
        place = pair[known] - np.nanmedian(logs[known][:, rest], axis=1)[:, None]
        usual = np.median(place, axis=0)
        apart = float(abs(usual[0] - usual[1]))
        off = np.abs(place - usual)
        crossed = np.abs(place - usual[::-1])
        suspects = (crossed <= NEAR * apart).all(axis=1) & (off > apart / 2).all(axis=1)
        if not suspects.any() or 2 * suspects.sum() >= len(suspects):
            continue
        spread = NORMAL * float(np.median(off[~suspects]))
        tail = float(np.quantile(off[~suspects], 0.9)) / 1.645
        scale = max(floor, spread, tail)
        if (~suspects).sum() < FEWEST or apart < max(APART, CLEARLY * scale):
            continue
        rows = np.flatnonzero(known)[suspects]
        at = [((one, int(r)), (other, int(r))) for r in rows]
        if not turned:
            at = [((r, c), (s, d)) for (c, r), (d, s) in at]
        pairs = [(table.cells[r][c], table.cells[s][d]) for (r, c), (s, d) in at]
        cells = [(a, b) for a, b in pairs if a and b and a.host == b.host]
        if not cells:
            continue
        first, second = cells[0]
        yield about_cells(
            Sentence(
                "{one} and {other} look exchanged in {cases}: each reads what the "
                "other one should ({first:g} and {second:g} {unit}).",
                one=(first.case_label or str(first.case)) if turned else first.where,
                other=(second.case_label or str(second.case))
                if turned
                else second.where,
                cases=further(
                    first.where if turned else first.case_label or str(first.case),
                    len(cells) - 1,
                ),
                first=first.mean,
                second=second.mean,
                unit=first.unit,
            ),
            [cell for both in cells for cell in both],
            apart=round(math.expm1(min(apart, 700.0)), 5),
            deviation=round(scale, 5),
        )
