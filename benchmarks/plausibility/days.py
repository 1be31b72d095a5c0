"""Natives and guests measured on different days, and effects of the day.

A hypervisor slows each kind of work differently. A machine that is faster or slower on
another day (governor, firmware, neighbour, weather) changes all of it by one factor.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

from benchmarks.analysis.sessions import LONGEST_PAUSE
from benchmarks.plausibility.facts import (
    LEAST_ERROR,
    NORMAL,
    PRIOR_RUNS,
    TYPICAL,
    CellFact,
    ColumnKey,
    Id,
    StudyFacts,
    once,
)


def by_twins(study: StudyFacts) -> Mapping[Id, CellFact]:
    """Map each native cell to the last result of the same machine and OS elsewhere."""
    machines: dict[object, list[CellFact]] = defaultdict(list)
    for cell in (*study.others, *study.cells):
        told = cell.is_native and cell.mean > 0 and cell.scenario == "single"
        if told and cell.guest_os:
            machine = (cell.host, cell.guest_os, cell.guest_bits, cell.load)
            machines[*machine, cell.kind, cell.case].append(cell)
    twins: dict[Id, CellFact] = {}
    for cells in machines.values():
        for cell, other in combinations(cells, 2):
            # Two native systems of one study differ on purpose.
            if cell.study != other.study:
                twins[cell.id], twins[other.id] = other, cell
    return twins


OUTSIDE: Final = frozenset({"external", "client", "meter", "host"})
"""Clocks that no guest can slow down."""
BOUND_TO_CPU: Final = frozenset({"CPU", "memory"})
"""Components in which a guest comes near to native speed and never beats it."""
LEAST: Final = math.log(1.03)
MOST: Final = math.log(1.25)
"""No day effect is larger: beyond it is another mistake, and another rule's."""
CLEARLY: Final = 3.3
TELLING: Final = 0.015
"""A kind of work whose ratio has a larger standard error says nothing about 3 %."""
LARGEST: Final = 0.05
"""A single pair with a larger error says nothing, however many there are."""
MANY: Final = 4
SAME: Final = 0.1
"""How near to a common factor a kind of work comes, as a part of the factor."""
MARGIN: Final = math.log(1.02)
FEWEST_TWINS: Final = 4
"""In so many cases a machine must differ from itself in another study."""
ALIKE: Final = 0.01
"""How near, as logs, unrelated work comes to one factor, or to 2 standard errors."""
KINDS: Final = 3
"""Of so many kinds of work the nearest guest must lie at one factor, if it is alone."""

Kind = tuple[str, str]
"""Component and tool: work of one kind."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A guest's cell against its native one of another day: log efficiency, error."""

    cell: CellFact
    native: CellFact
    log: float
    error: float


@dataclass(frozen=True, slots=True)
class OtherDay:
    """Guests whose native machine was ahead (behind: below 0) by ``log`` on its day."""

    pairs: tuple[Pair, ...]
    log: float

    @property
    def is_sure(self) -> bool:
        """Whether it is the native side: of one guest it may be the clock as well."""
        shared = any(p.cell.virtualization == "container" for p in self.pairs)
        return shared or len({pair.cell.system for pair in self.pairs}) > 1

    @property
    def columns(self) -> frozenset[ColumnKey]:
        """The guests, by their columns."""
        return frozenset(pair.cell.column for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class OwnDays:
    """Two sessions of one system between which all its cases moved by one factor."""

    cells: tuple[CellFact, ...]
    session: str
    other: str
    log: float
    logs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BesideTwin:
    """A machine ahead of itself in another study by one factor (behind: below 0)."""

    pairs: tuple[Pair, ...]
    log: float


def log_efficiency(cell: CellFact, native: CellFact) -> float:
    """The log of a cell's efficiency; both means are above 0."""
    # No quotient: it may be too large or too small for a number.
    log = math.log(cell.mean) - math.log(native.mean)
    return log if cell.better == "higher" else -log


def day_of(cell: CellFact) -> str:
    """When a cell was measured, for a sentence: its day, else the name it was given."""
    if cell.first_at is not None:
        return cell.first_at.date().isoformat()
    return cell.session or next(filter(None, cell.sittings), "")


def of_another_day(cell: CellFact, native: CellFact) -> bool | None:
    """Whether two cells share no session; None where nobody knows."""
    sessions = [
        frozenset(filter(None, each.sittings or (each.session,)))
        for each in (cell, native)
    ]
    if sessions[0] & sessions[1]:
        return False
    first, last = cell.first_at, cell.last_at
    if not (first and last and native.first_at and native.last_at):
        return all(sessions) or None
    apart = max(first - native.last_at, native.first_at - last)
    return apart > LONGEST_PAUSE


def _pairs(study: StudyFacts) -> Iterator[Pair]:
    for cell in study.cells:
        native = study.baseline(cell)
        if native is None or not native.is_native or cell.is_native:
            continue
        if not cell.is_speed or cell.scenario != "single":
            continue
        if min(cell.mean, native.mean) <= 0:
            continue
        if cell.emulation or native.emulation or not of_another_day(cell, native):
            continue
        noise = study.noise
        error = math.hypot(noise.at_least(cell), noise.at_least(native))
        yield Pair(cell, native, log_efficiency(cell, native), error)


@once
def natives_of_another_day(study: StudyFacts) -> Sequence[OtherDay]:
    """Native machines whose guests of another day are all off by one factor."""
    found = (
        _ahead(pairs) or _behind(pairs) or _at_one_factor(pairs)
        for pairs in _by_machine(study).values()
    )
    return [day for day in found if day is not None]


@once
def _by_machine(study: StudyFacts) -> Mapping[object, list[Pair]]:
    machines: dict[object, list[Pair]] = defaultdict(list)
    for pair in _pairs(study):
        native = pair.native
        machines[native.host, native.study, native.system].append(pair)
    return machines


def natives_beside_twins(study: StudyFacts) -> Iterator[BesideTwin]:
    """Yield natives of another day that differ from themselves in another study."""
    twins = by_twins(study)
    for pairs in _by_machine(study).values():
        cells = {pair.native.id: pair.native for pair in pairs}.values()
        found = [
            Pair(cell, twin, log_efficiency(cell, twin), 0.0)
            for cell in cells
            if cell.component not in {"network", "power"} and cell.study == study.id
            if (twin := twins.get(cell.id)) is not None and twin.mean > 0
            if twin.study != study.id and of_another_day(cell, twin) is not False
        ]
        logs = [pair.log for pair in found]
        if len(logs) < FEWEST_TWINS or len({p.cell.component for p in found}) < 2:
            continue
        middle = median(logs)
        near = [abs(log - middle) <= abs(middle) / 3 for log in logs]
        if LEAST <= abs(middle) <= MOST and 4 * sum(near) >= 3 * len(near):
            yield BesideTwin(tuple(found), middle)


@once
def shifts(study: StudyFacts) -> Mapping[ColumnKey, float]:
    """By what log a guest is ahead of its native because of that one's day."""
    return {
        column: day.log
        for day in natives_of_another_day(study)
        # One guest may as well have a slow clock.
        if day.log > 0 and day.is_sure
        for column in day.columns
    }


def _by_kind(pairs: Sequence[Pair]) -> Mapping[Kind, Mapping[ColumnKey, list[Pair]]]:
    """Return pairs that resolve 3 % together, by kind of work and guest."""
    kinds: dict[Kind, dict[ColumnKey, list[Pair]]] = defaultdict(dict)
    for pair in pairs:
        bound = pair.cell.component not in {"network", "power", ""}
        if bound and pair.error <= LARGEST:
            kind = kinds[pair.cell.component, pair.cell.tool]
            kind.setdefault(pair.cell.column, []).append(pair)
    return {
        kind: told
        for kind, guests in kinds.items()
        if (told := {c: p for c, p in guests.items() if _middle(p)[1] <= 2 * TELLING})
    }


def _ahead(pairs: Sequence[Pair]) -> OtherDay | None:
    """Return guests that beat the machine together, which no hypervisor causes.

    A slow clock makes one guest faster, a slow day all of them.
    """
    factors, members = [], []
    for (component, _), guests in _by_kind(pairs).items():
        told = [_middle(own) for own in guests.values()]
        clear = [
            log for log, error in told if max(LEAST, CLEARLY * error) < log <= MOST
        ]
        first = sum(log > 0 for log, _ in told)
        kind = _of(guests)
        shared = any(pair.cell.virtualization == "container" for pair in kind)
        together = len(clear) >= 2 or (shared and clear)
        if component in BOUND_TO_CPU and together and 4 * first >= 3 * len(told):
            factors.append(median(clear))
            members += kind
    if not factors:
        return None
    factor = median(factors)
    outside = (pair for pair in pairs if pair.cell.clock in OUTSIDE)
    bound = (pair for pair in outside if pair.cell.component in BOUND_TO_CPU)
    # However noisy: what stays behind, timed from outside, has not seen the factor.
    if any(
        pair.log < max(factor / 2 - CLEARLY * pair.error, -factor * SAME)
        for pair in bound
    ):
        return None
    return OtherDay(tuple(members), factor)


def _behind(pairs: Sequence[Pair]) -> OtherDay | None:
    """Whether the nearest guest stays behind the machine by one factor in all work."""
    kinds = _by_kind(pairs)
    nearest: dict[Kind, tuple[float, float]] = {}
    for name, guests in kinds.items():
        told = [_middle(own) for own in guests.values()]
        told = [one for one in told if one[1] <= TELLING]
        if told:
            nearest[name] = max(told)
    if len(nearest) < 2:
        return None
    factor = median(log for log, _ in nearest.values())
    error = median(error for _, error in nearest.values()) / math.sqrt(len(nearest))
    if not -MOST <= factor < -max(LEAST, CLEARLY * error):
        return None
    off = {
        name: (log - factor, min(max(SAME * -factor, 2 * error), -factor / 3))
        for name, (log, error) in nearest.items()
    }
    near = [name for name, (away, room) in off.items() if abs(away) <= room]
    if any(away > room for away, room in off.values()):
        return None
    members = [pair for name in near for pair in _of(kinds[name])]
    few = len({pair.cell.system for pair in members}) < 2 and len(near) < 3
    unrelated = len({component for component, _ in near}) >= 2
    if few or not unrelated or 3 * len(near) < 2 * len(nearest):
        return None
    return OtherDay(tuple(members), factor)


def _at_one_factor(pairs: Sequence[Pair]) -> OtherDay | None:
    """Return unrelated work of the nearest guest at one factor, and none beyond.

    One guest suffices: no hypervisor slows processor, disk and graphics alike.
    """
    cases: dict[object, Pair] = {}
    for pair in pairs:
        cell = pair.cell
        if pair.error <= TELLING and cell.component not in {"network", "power", ""}:
            key = (cell.kind, cell.case)
            if key not in cases or pair.log > cases[key].log:
                cases[key] = pair
    best: list[Pair] = []
    for middle in sorted(pair.log for pair in cases.values()):
        near = [p for p in cases.values() if _is_near(p, middle)]
        if len(near) >= len(best):
            best = near
    if len(best) <= KINDS:
        return None
    factor = median(pair.log for pair in best)
    beyond = [p for p in cases.values() if p.log > factor and not _is_near(p, factor)]
    kinds = {(pair.cell.component, pair.cell.tool) for pair in best}
    every = {(pair.cell.component, pair.cell.tool) for pair in cases.values()}
    if not LEAST <= abs(factor) <= MOST or beyond:
        return None
    if len(kinds) < KINDS or len({kind[0] for kind in kinds}) < 2:
        return None
    return OtherDay(tuple(best), factor) if 2 * len(kinds) > len(every) else None


def _is_near(pair: Pair, log: float) -> bool:
    return abs(pair.log - log) <= max(ALIKE, 2 * pair.error)


def _of(guests: Mapping[ColumnKey, Sequence[Pair]]) -> list[Pair]:
    return [pair for own in guests.values() for pair in own]


def noise_of_cases(logs: Sequence[float]) -> float:
    """Return the scatter of four or more cases beside native; else infinity."""
    if len(logs) < MANY:
        return math.inf
    middle = median(logs)
    spread = NORMAL * median(abs(log - middle) for log in logs)
    # As much wider as so few cases know their spread less well.
    return max(spread * (1 + MANY / len(logs)), LEAST_ERROR)


def _middle(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the median log and its standard error, sqrt(pi / 2) times that of a mean.

    The scatter of four or more cases bounds the noise of single printed values.
    """
    logs = [pair.log for pair in pairs]
    middle = median(logs)
    noise = math.sqrt(math.fsum(pair.error**2 for pair in pairs) / len(pairs))
    if any(pair.cell.n == 1 for pair in pairs):
        noise = min(noise, noise_of_cases(logs))
    wider = math.sqrt(math.pi / 2) if len(pairs) > 2 else 1.0
    return middle, wider * noise / math.sqrt(len(pairs))


def own_days(study: StudyFacts) -> Iterator[OwnDays]:
    """Native machines that were another one in one of their own sessions."""
    machines: dict[ColumnKey, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        known = len(cell.sittings) == len(cell.means) and all(cell.sittings)
        several = known and len(set(cell.sittings)) > 1 and min(cell.means) > 0
        if cell.is_native and several and cell.is_speed:
            machines[cell.column].append(cell)
    for cells in machines.values():
        names = sorted({name for cell in cells for name in cell.sittings})
        moved = [
            found
            for name in names
            for other in _others(name, names)
            if (found := _moved(cells, name, other)) is not None
        ]
        if moved:
            yield max(moved, key=lambda one: abs(one.log))


def _others(name: str, names: Sequence[str]) -> Sequence[str]:
    """What a session is compared with: the one of two, else all the rest together."""
    if len(names) == 2:
        return names[1:] if name == names[0] else ()
    return [""]


def _moved(cells: Sequence[CellFact], name: str, other: str) -> OwnDays | None:
    members, logs, errors = [], [], []
    for cell in cells:
        runs: dict[str, list[float]] = defaultdict(list)
        for sitting, value in zip(cell.sittings, cell.means, strict=True):
            runs[sitting].append(math.log(value))
        own = runs.get(name)
        rest = [values for key, values in runs.items() if key != name]
        rest = [runs[other]] if other and other in runs else rest
        if not own or not rest:
            continue
        centres = [math.fsum(values) / len(values) for values in rest]
        log = math.fsum(own) / len(own) - median(centres)
        at_least = min(len(values) for values in rest)
        noise = _within(cell, list(runs.values()))
        error = noise * math.sqrt(1 / len(own) + 1 / at_least)
        members.append(cell)
        logs.append(log if cell.better == "higher" else -log)
        errors.append(error)
    if len(members) < 3:
        return None
    weights = [1 / max(error, LEAST_ERROR) ** 2 for error in errors]
    total = math.fsum(weights)
    pairs = list(zip(logs, weights, strict=True))
    middle = math.fsum(log * weight for log, weight in pairs) / total
    # Cases that differ by more than their noise know their mean less well.
    square = math.fsum((log - middle) ** 2 * weight for log, weight in pairs)
    square /= len(members) - 1
    error = math.sqrt(max(1.0, square) / total)
    alike = math.fsum(weight for log, weight in pairs if log * middle > 0)
    spread = math.sqrt(max(0.0, (square - 1) * len(members) / total))
    if not max(MARGIN, CLEARLY * error) < abs(middle) <= MOST:
        return None
    if 4 * alike < 3 * total or spread > abs(middle) / 2:
        return None
    return OwnDays(tuple(members), name, other, middle, tuple(logs))


def _within(cell: CellFact, sessions: Sequence[Sequence[float]]) -> float:
    """One run's deviation within a session, as a log; a prior beside a few runs."""
    square = freedom = 0.0
    for logs in sessions:
        mean = math.fsum(logs) / len(logs)
        square += math.fsum((log - mean) ** 2 for log in logs)
        freedom += len(logs) - 1
    prior = TYPICAL.get(cell.component, 0.05)
    own = square + PRIOR_RUNS / 4 * prior**2
    return math.sqrt(own / (freedom + PRIOR_RUNS / 4))
