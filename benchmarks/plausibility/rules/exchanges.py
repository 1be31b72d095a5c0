"""Values in a place that is another one's: two systems exchanged, a rate as a time."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.plausibility.days import BOUND_TO_CPU, by_twins, log_efficiency
from benchmarks.plausibility.facts import (
    NORMAL,
    CellFact,
    Id,
    StudyFacts,
    factor_of,
    once,
)
from benchmarks.plausibility.findings import Doubt, Evidence, about_cells, further, rule
from benchmarks.plausibility.rules.emulation import computes
from benchmarks.plausibility.rules.undoing import crossed_cases, mended_by_exchange
from benchmarks.plausibility.slips import (
    FARTHEST,
    LEAST,
    RECIPROCALS,
    factor_and_miss,
    reciprocal_miss,
)
from benchmarks.plausibility.tables import (
    SIBLINGS,
    Digits,
    Table,
    distances,
    emulated_tables,
    nanmedian,
    residuals,
    spread_without,
    tables,
)
from benchmarks.sentences import Sentence, Template, either, template

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
far it is off, and at most 65 % of it."""
MOST_OFF: Final = 0.5
BESIDE_DIGITS: Final = math.log(1.05)
"""How far a value must be off besides, of which its digits say that it is inverted."""
ALONE: Final = math.log(40)
MOST_SYSTEMS: Final = 40
REPEATED: Final = 2
"""In standard deviations of how two systems lie in other tests."""
HALF: Final = 0.5
"""How near to its reverse a distance between two systems comes, as a part of it."""
FITS: Final = 0.5
OF_NATIVES: Final = math.log(1.4)
"""Native machines nearer to each other tell no guest of theirs from the other's."""
SLOW: Final = math.log(3)
"""No system on the processor itself is as slow beside all others, and hardly an
emulated one faster (`emulation-speed`)."""


INVERTED: Final = template(
    "{cases}: {mean:g} {unit} is the reciprocal of {expected:g}, which the other "
    "systems read: a rate was taken for a time, or a time for a rate."
)
EITHER: Final = template(
    "{cases}: {mean:g} {unit} is the reciprocal of {expected:g}, which the other "
    "system leads to expect: one of both took a rate for a time, or a time for a rate."
)
BY_NATIVES: Final = template(
    "{one} and {other} look exchanged in {cases}: each is as far from its own native "
    "machine as the two machines are from each other ({first:g} and {second:g} {unit})."
)
BY_A_TWIN: Final = template(
    "{one} and {other} look exchanged in {cases}: each is as far from its native "
    "machine, here or in another study, as the two machines are from each other "
    "({first:g} and {second:g} {unit})."
)
IMITATED: Final = template(
    "{one} and {other} look exchanged in {cases}: the emulated one reads {first:g} "
    "{unit}, the one on the processor itself {second:g} {unit}."
)
BY_OTHERS: Final = template(
    "{one} and {other} look exchanged in {cases}: in other tests {behind} is slower by "
    "about as much as it is faster here ({first:g} and {second:g} {unit})."
)
EACH: Final = template(
    "{one} and {other} look exchanged in {cases}: each reads what the other one should "
    "({first:g} and {second:g} {unit})."
)
Pair = tuple[CellFact, CellFact]


def _about_pairs(
    text: Template,
    pairs: Sequence[Pair],
    *,
    are_cases: bool = False,
    behind: str = "",
    quotes: tuple[Id, ...] = (),
    **evidence: Evidence,
) -> Doubt:
    """Return a doubt about exchanged systems, or cases, worded for the first pair."""
    first, second = pairs[0]
    names = [(cell.case_name, cell.where) for cell in (first, second)]
    (one, where), (other, _) = names if are_cases else [name[::-1] for name in names]
    sentence = Sentence(
        text,
        one=one,
        other=other,
        cases=further(where, len(pairs) - 1),
        **({"behind": behind} if behind else {}),
        first=first.mean,
        second=second.mean,
        unit=first.unit,
    )
    cells = [cell for pair in pairs for cell in pair]
    return about_cells(sentence, cells, None, quotes, **evidence)


@rule(
    "rate-as-time",
    "A rate uploaded as a time, or a time as a rate",
    "impossible",
    looks_beside=True,
)
def rate_as_time(study: StudyFacts) -> Iterator[Doubt]:
    """A value that is the reciprocal of what the other systems of its host read in the
    same case (for ms and us: 1,000 or 10^6 times it), though it is off from them by
    more than a factor 5: within 65 % (a factor 2.5, where no factor between two units
    comes half as near), and seven times as near to the reciprocal as to their value (by
    the system's other cases too, where it has some, unless the row is a factor 1,600
    off). Where the row says nothing, the other cases and systems of the tool and metric
    do: four cases at least, whose own distance from what they predict is an eighth of
    this one's at most; cases of emulated systems are compared with other emulated ones.
    What comes nearer to a factor of `unit-slip` is left to that rule.
    So is a value whose digits tell: it has more decimals than any other reading of its
    tool and metric, and more digits than these or than their fixed decimals leave it,
    its reciprocal has as few as they have, and that comes twice as near to what
    the others lead to expect (by 5 % at least).

    Why: 0.0022 s is 450 operations a second. Somebody took the rate for the time, or a
    program divided the wrong way round.

    What to do: upload the value as what it is, or its reciprocal.
    """
    groups = _reciprocals(study)
    found = {cell.id: cell for group in groups.values() for cell, _ in group}
    said: set[Id] = set()
    for doubted in groups.values():
        cells = [cell for cell, _ in doubted]
        cell, expected = doubted[0]
        # Two systems alone point at each other: one doubt, and one of both is wrong.
        others = [
            other for other in found.values() for one in cells if _faces(one, other)
        ]
        if said.issuperset(one.id for one in cells):
            continue
        said |= {one.id for one in others}
        yield about_cells(
            Sentence(
                EITHER if others else INVERTED,
                cases=further(cell.name, len(cells) - 1),
                mean=cell.mean,
                unit=cell.unit,
                expected=expected,
            ),
            [*cells, *others],
            values=[one.mean for one in cells],
            expected=[value for _, value in doubted],
        )


def _faces(one: CellFact, other: CellFact) -> bool:
    """Whether two cells are one case of two systems, the one the other's reciprocal."""
    same = (one.case, one.host, one.kind) == (other.case, other.host, other.kind)
    apart = one.column != other.column
    return same and apart and _is_inverted(one, math.log(other.mean))


def inverted_cells(study: StudyFacts) -> Iterator[CellFact]:
    """The cells of which a reciprocal explains that they are off."""
    for doubted in _reciprocals(study).values():
        yield from (cell for cell, _ in doubted)


@once
def _reciprocals(
    study: StudyFacts,
) -> Mapping[object, list[tuple[CellFact, float]]]:
    """The cells that read the reciprocal of what is expected, with that, by columns."""
    found: dict[object, list[tuple[CellFact, float]]] = defaultdict(list)
    sure = set()
    told: set[Id] = set()
    for cell, expected_mean in _by_digits(study):
        group = (cell.column, cell.kind)
        found[group].append((cell, expected_mean))
        sure.add(group)
        told.add(cell.id)
    alone = tables(cell for cell in study.cells if not cell.is_start_up)
    for table in (*alone, *emulated_tables(study.cells)):
        off: Floats | None = None
        # Whether the cells of other rows may say that one is a reciprocal.
        enough = len(table.rows) > FEWEST and len(table.columns) > 1
        for place, row in enumerate(table.cells):
            placed = [(at, cell) for at, cell in enumerate(row) if cell][:SIBLINGS]
            cells = [cell for _, cell in placed]
            # Where the digits tell one of two, the other one is not doubted.
            if any(cell.id in told for cell in cells):
                continue
            for column, cell in placed:
                by_row = _expected(cell, cells)
                if by_row is None and not (enough and cell.is_speed):
                    continue
                off = residuals(table.logs) if off is None else off
                at = (place, column)
                expected = _by_all(cell, by_row, table, off, at, study)
                if expected is not None:
                    group = (cell.column, cell.kind)
                    found[group].append((cell, math.exp(expected)))
                    inverted, scaled = _misses(cell, expected)
                    sure |= {group} if inverted <= scaled else set()
    return {group: cells for group, cells in found.items() if group in sure}


def _by_digits(study: StudyFacts) -> Iterator[tuple[CellFact, float]]:
    """Cells whose digits say that they are reciprocals, with what is expected."""
    digits = Digits(study)
    told: dict[Id, tuple[CellFact, float]] = {}
    for cell in digits.longer_cells().values():
        for scale in {1.0, RECIPROCALS.get(cell.unit, 1.0)}:
            if cell.is_speed and digits.was_inverted(cell, scale):
                before = median(scale / value for value in cell.readings)
                told[cell.id] = cell, math.log(cell.mean) - math.log(before)
    away = distances(study, {key: cell for key, (cell, _) in told.items()})
    for key, (cell, moved) in told.items():
        # The one of the expectations that its reciprocal comes nearest to.
        off = min(away.get(key, (0.0,)), key=lambda off: abs(off - moved))
        if abs(off) >= BESIDE_DIGITS and abs(off - moved) <= abs(off) / 2:
            yield cell, factor_of(math.log(cell.mean) - off)


def _by_all(
    cell: CellFact,
    by_row: float | None,
    table: Table,
    off: Floats,
    at: tuple[int, int],
    study: StudyFacts,
) -> float | None:
    """Return the log a cell should read, by its row and the system's other cases."""
    log, away = math.log(cell.mean), float(off[at])
    by_cases = log - away if abs(away) >= LEAST else None
    if by_row is not None and _is_inverted(cell, by_row):
        if by_cases is None or _is_inverted(cell, by_cases):
            return by_row if by_cases is None else by_cases
        return by_row if abs(log - by_row) >= 2 * ALONE else None
    if by_cases is None or not _is_inverted(cell, by_cases):
        return None
    floor = math.sqrt(2) * study.noise.of_kind(cell)
    deviation = spread_without(table.logs, off, at, floor).deviation
    close = 2 * CLEARLY * deviation <= abs(away)
    near = _misses(cell, by_cases)[0] <= max(2.5 * deviation, 0.1)
    return by_cases if close and near else None


def _is_inverted(cell: CellFact, expected: float) -> bool:
    """Whether a cell comes near to the reciprocal of what is expected."""
    inverted, scaled = _misses(cell, expected)
    most = FARTHEST if 2 * inverted <= scaled else MOST_OFF
    distance = abs(math.log(cell.mean) - expected)
    return inverted <= min(RECIPROCAL * distance, most)


def _misses(cell: CellFact, expected: float) -> tuple[float, float]:
    """Return log distances from the reciprocal, and from that by a unit factor."""
    miss = factor_and_miss(cell, math.log(cell.mean) - expected)[1]
    return reciprocal_miss(cell, expected), miss


def _expected(cell: CellFact, row: list[CellFact]) -> float | None:
    """The logarithm of what the other systems of its host read, if they agree."""
    if not cell.is_speed:
        return None
    column = cell.column
    others = [
        math.log(other.mean)
        for other in row
        if other.host == cell.host and other.column != column
    ]
    if not others:
        return None
    # Of a few numbers: numpy takes twenty times as long.
    middle = median(others)
    # Where they disagree by as much, nothing says which of them is the odd one.
    off = abs(math.log(cell.mean) - middle)
    spread = median([abs(other - middle) for other in others])
    # One other system may well be far faster, but not forty times.
    sure = off >= ALONE if len(others) == 1 else 3 * spread < off
    return middle if sure and off >= LEAST else None


@rule(
    "exchanged-values",
    "Two systems or benchmarks that look exchanged",
    "implausible",
    looks_beside=True,
)
def exchanged_values(study: StudyFacts) -> Iterator[Doubt]:
    """In some cases of a tool and metric two systems of one host read what the other
    one should, though they lie clearly apart: compared with the other systems here,
    each comes within a quarter of their distance to where the other one lies in all
    other cases (three at least), and both are off from their own place by 4 standard
    deviations of how far such cases lie from theirs, and by 10 % at least. So are two
    cases on one system that read what the other one should.
    Beside one or two systems it takes five cases: two of them lie where the other one
    should, by how the systems lie in all others (three at least; a quarter, and 4
    standard deviations, as above).
    Two guests that are compared with native machines which lie apart (of two guest OSs,
    or bits) look exchanged in a case where one beats its own and the other stays
    behind by nearly that distance (a quarter of it), and neither would once the two
    are put back. A native machine that another study measured under the same OS is
    compared with itself there.
    Where all cases of a test may be exchanged, the component's other tests (CPU and
    memory are one) say how two systems lie: three cases at least, the same one ahead
    in all of them, by 10 % in the median and 2 standard deviations of how these differ.
    Where the other one is ahead by as much (to a half of it), and where all other
    systems of the host that read these cases fit twice as well once the two are put
    back, they look exchanged.
    A system that is said to be emulated and one that is not are compared over all
    tools, in cases that compute: where the emulated one is three times as fast or more,
    and as fast (to a factor 3) as all other systems of the host that are not emulated,
    the two were exchanged.

    Why: two columns of a table, or two cells, were exchanged when they were copied, and
    every reading is that of a real machine: no single value looks wrong.

    What to do: look the values up in the raw outputs; upload both again.
    """
    yield from _imitated(study)
    yield from _by_their_natives(study)
    yield from _by_other_tests(study)
    for table in tables(study.cells):
        yield from _beside_few(table, study)
        if table.logs.shape[1] >= 3 and len(table.rows) > FEWEST:
            yield from _exchanged(table, table.logs, False, study)
        if table.logs.shape[0] >= 3 and len(table.columns) > FEWEST:
            yield from _exchanged(table, table.logs.T, True, study)


def _imitated(study: StudyFacts) -> Iterator[Doubt]:
    """An emulated system and one on the processor itself that read each other's."""
    rows: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if computes(cell) and cell.mean > 0:
            rows[cell.host, cell.case, cell.metric, *cell.circumstances].append(cell)
    found: dict[object, list[tuple[CellFact, CellFact]]] = defaultdict(list)
    for row in rows.values():
        real = [cell for cell in row if not cell.emulation]
        imitated = [cell for cell in row if cell.emulation]
        for cell in imitated if len(real) > 1 else ():
            ahead = [log_efficiency(cell, other) for other in real]
            slow = [other for other, by in zip(real, ahead, strict=True) if by >= SLOW]
            # Faster than several of them, it is the one that is off: by its unit, say.
            alike = sum(abs(by) < SLOW for by in ahead) == len(real) - 1
            if len(slow) == 1 and alike:
                found[cell.column, slow[0].column].append((cell, slow[0]))
    for pairs in found.values():
        faster = [round(factor_of(log_efficiency(*pair)), 5) for pair in pairs]
        yield _about_pairs(IMITATED, pairs, faster=faster)


@rule("exchanged-in-runs", "Two runs that look exchanged in one metric", "implausible")
def exchanged_in_runs(study: StudyFacts) -> Iterator[Doubt]:
    """Two runs of one host whose own numbers contradict each other
    (`identity-violated`, `netperf-service-demand`), of two systems in one case or of
    two cases on one system, and neither does any more once one metric is
    exchanged between them. Where several metrics would do, all are named.

    Why: one column of a table was exchanged when it was copied, the others were not.

    What to do: look the values up in the raw outputs; upload both again.
    """
    for metrics, pairs in mended_by_exchange(study).items():
        columns: dict[object, list[Pair]] = defaultdict(list)
        for one, other in pairs:
            columns[one.column, other.column].append((one, other))
        for members in columns.values():
            first, second = members[0]
            by_system = first.system != second.system
            yield about_cells(
                Sentence(
                    "{one} and {other} look exchanged in {metrics}: both contradict "
                    "their other numbers, and neither does once that is exchanged.",
                    one=first.where if by_system else first.name,
                    other=second.where if by_system else second.name,
                    metrics=either(metrics),
                ),
                [cell for pair in members for cell in pair],
                metrics=list(metrics),
            )


def _beside_few(table: Table, study: StudyFacts) -> Iterator[Doubt]:
    """Two cases exchanged on one of two or three systems."""
    sample = next(cell for row in table.cells for cell in row if cell)
    # What has no direction, or is a share, has no place among others of its kind.
    if not sample.is_speed:
        return
    floor = max(study.noise.of_kind(sample), 0.01)
    for crossed in crossed_cases(table, floor, APART, CLEARLY, NEAR):
        first, second = crossed.pairs[0]
        systems = dict.fromkeys(one.where for one, _other in crossed.pairs)
        yield about_cells(
            Sentence(
                "{one} and {other} look exchanged on {systems}: each reads what the "
                "other one should ({first:g} and {second:g} {unit}).",
                one=first.case_name,
                other=second.case_name,
                systems=either(list(systems)),
                first=first.mean,
                second=second.mean,
                unit=first.unit,
            ),
            [cell for pair in crossed.pairs for cell in pair],
            apart=round(math.expm1(min(crossed.apart, 700.0)), 5),
            deviation=round(crossed.deviation, 5),
        )


def _by_their_natives(study: StudyFacts) -> Iterator[Doubt]:
    """Guests of different native machines that read what the other's should."""
    found: dict[object, list[Pair]] = defaultdict(list)
    twins = by_twins(study)
    for row in _far_from_native(study, twins):
        choices: dict[Id, list[Pair]] = defaultdict(list)
        for (one, own), (other, its) in combinations(row[:MOST_SYSTEMS], 2):
            if _crossed(one, own, other, its):
                choices[one.id].append((one, other))
                choices[other.id].append((one, other))
        # A value that would fit several others' places says not with whom.
        for pairs in choices.values():
            one, other = pairs[0]
            if len(choices[one.id]) == len(choices[other.id]) == 1:
                same = found[one.column, other.column]
                same += [] if (one, other) in same else [(one, other)]
    for pairs in found.values():
        cells = [cell for pair in pairs for cell in pair]
        natives = [c if c.is_native else study.baseline(c) for c in cells]
        elsewhere = [twins[c.id].study for c in natives if c and c.id in twins]
        text = BY_A_TWIN if any(c.is_native for c in cells) else BY_NATIVES
        quotes = tuple(set(elsewhere) - {study.id})
        yield _about_pairs(text, pairs, quotes=quotes)


def _far_from_native(
    study: StudyFacts, twins: Mapping[Id, CellFact]
) -> Iterable[list[Pair]]:
    """Return by row guests far from native, and natives far from other studies'."""
    rows: dict[object, list[Pair]] = defaultdict(list)
    for cell in study.cells:
        native = cell if cell.is_native else study.baseline(cell)
        if native is None or not native.is_native or not cell.is_speed:
            continue
        twin = twins.get(native.id)
        # A native cell that is off itself says nothing about its guests.
        if twin and abs(log_efficiency(native, twin)) >= APART:
            native = twin
        alone = cell.scenario == "single" and min(cell.mean, native.mean) > 0
        if alone and abs(log_efficiency(cell, native)) >= APART:
            rows[cell.host, cell.case, cell.load].append((cell, native))
    return rows.values()


def _crossed(one: CellFact, own: CellFact, other: CellFact, its: CellFact) -> bool:
    """Whether two guests lie at the other one's machine, each far from its own."""
    apart = log_efficiency(its, own)
    if abs(apart) < OF_NATIVES:
        return False
    near = NEAR * abs(apart)
    return (
        abs(log_efficiency(one, own) - apart) <= near
        and abs(log_efficiency(other, its) + apart) <= near
        and abs(log_efficiency(one, its)) <= near
        and abs(log_efficiency(other, own)) <= near
    )


def _by_other_tests(study: StudyFacts) -> Iterator[Doubt]:
    """Pairs of systems exchanged in a test, by how they lie in other tests."""
    groups: dict[object, dict[tuple[str, ...], list[CellFact]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for cell in study.cells:
        speed = cell.is_speed and cell.mean > 0
        if speed and not cell.is_start_up and not cell.emulation:
            place = (cell.host, *cell.circumstances)
            bound = "bound" if cell.component in BOUND_TO_CPU else cell.component
            groups[place, bound][cell.kind].append(cell)
    for kinds in groups.values():
        if len(kinds) > 1:
            yield from _in_a_group(kinds, study)


def _in_a_group(
    kinds: Mapping[tuple[str, ...], Sequence[CellFact]], study: StudyFacts
) -> Iterator[Doubt]:
    cells = [cell for members in kinds.values() for cell in members]
    rows = {case: row for row, case in enumerate(dict.fromkeys(c.case for c in cells))}
    systems = dict.fromkeys(cell.system for cell in cells)
    places = {system: place for place, system in enumerate(systems)}
    if not 2 <= len(places) <= MOST_SYSTEMS:
        return
    speeds = np.full((len(rows), len(places)), np.nan)
    at: dict[tuple[int, int], CellFact] = {}
    for cell in cells:
        row, place = rows[cell.case], places[cell.system]
        sign = 1 if cell.better == "higher" else -1
        speeds[row, place] = sign * math.log(cell.mean)
        at[row, place] = cell
    for members in kinds.values():
        own = np.zeros(len(rows), dtype=bool)
        own[[rows[cell.case] for cell in members]] = True
        found = []
        for one, other in combinations(range(len(places)), 2):
            suspects = _reversed(speeds, own, one, other)
            fit = _fit(speeds, own, suspects, one, other) if suspects.any() else 1.0
            if fit <= FITS:
                found.append((fit, one, other, np.flatnonzero(suspects)))
        # Of several pairs that would explain it the one that does best.
        for _, one, other, where in sorted(found, key=lambda each: each[0])[:1]:
            pairs = [(at[int(r), one], at[int(r), other]) for r in where]
            if not any(_is_clear(*pair, study) for pair in pairs):
                continue
            first, second = pairs[0]
            faster = first if log_efficiency(first, second) > 0 else second
            yield _about_pairs(BY_OTHERS, pairs, behind=faster.where)


def _is_clear(one: CellFact, other: CellFact, study: StudyFacts) -> bool:
    error = math.hypot(study.noise.of_mean(one), study.noise.of_mean(other))
    return abs(log_efficiency(one, other)) > CLEARLY * error


def _reversed(
    speeds: Floats, own: NDArray[np.bool_], one: int, other: int
) -> NDArray[np.bool_]:
    """Return the cases where the usually slower of two systems is faster by as much."""
    ahead = speeds[:, one] - speeds[:, other]
    elsewhere = ahead[~own & ~np.isnan(ahead)]
    nothing = np.zeros(len(own), dtype=bool)
    if len(elsewhere) < FEWEST:
        return nothing
    usual = float(np.median(elsewhere))
    same = bool((elsewhere * usual > 0).all())
    spread = NORMAL * float(np.median(np.abs(elsewhere - usual)))
    if not same or abs(usual) < max(APART, REPEATED * spread):
        return nothing
    with np.errstate(invalid="ignore"):
        near = np.abs(ahead + usual) <= HALF * abs(usual)
    return own & near


def _fit(
    speeds: Floats,
    own: NDArray[np.bool_],
    suspects: NDArray[np.bool_],
    one: int,
    other: int,
) -> float:
    """Return how far third systems are off once put back, relative to now.

    0 without a third system.
    """
    third = [place for place in range(speeds.shape[1]) if place not in {one, other}]
    before, after = [], []
    for here, there in ((one, other), (other, one)):
        for place in third:
            off = speeds[:, here] - speeds[:, place]
            elsewhere = off[~own & ~np.isnan(off)]
            if len(elsewhere) < FEWEST:
                continue
            usual = float(np.median(elsewhere))
            back = speeds[:, there] - speeds[:, place]
            known = suspects & ~np.isnan(off) & ~np.isnan(back)
            before += np.abs(off[known] - usual).tolist()
            after += np.abs(back[known] - usual).tolist()
    if not before:
        return 0.0
    return float(np.sum(after)) / max(float(np.sum(before)), 1e-12)


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
        place = pair[known] - nanmedian(logs[known][:, rest], axis=1)[:, None]
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
        yield _about_pairs(
            EACH,
            cells,
            are_cases=turned,
            apart=round(math.expm1(min(apart, 700.0)), 5),
            deviation=round(scale, 5),
        )
