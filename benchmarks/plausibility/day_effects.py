"""Changes of a native machine between days or sessions."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final

from benchmarks.analysis.sessions import LONGEST_PAUSE
from benchmarks.plausibility.study_facts import (
    MAD_TO_SD,
    MIN_MEAN_ERROR,
    PRIOR_DF,
    TYPICAL_DEVIATION,
    CellFact,
    ColumnKey,
    Id,
    StudyFacts,
    cached_per_study,
)


def same_machine_cells(study: StudyFacts) -> Mapping[Id, CellFact]:
    """Map each native cell to the newest native cell of the same case, machine and OS
    in another study.
    """
    machines: dict[object, list[CellFact]] = defaultdict(list)
    for cell in (*study.other_study_cells, *study.cells):
        is_usable = cell.is_native and cell.mean > 0 and cell.scenario == "single"
        if is_usable and cell.guest_os:
            machine = (cell.host, cell.guest_os, cell.guest_bits, cell.load)
            machines[*machine, cell.sibling_key, cell.case].append(cell)
    matches: dict[Id, CellFact] = {}
    for cells in machines.values():
        for cell, other_cell in combinations(cells, 2):
            # Two native systems of one study differ on purpose.
            if cell.study != other_cell.study:
                matches[cell.id], matches[other_cell.id] = other_cell, cell
    return matches


EXTERNAL_CLOCKS: Final = frozenset({"external", "client", "meter", "host"})
"""Clocks that a guest cannot slow down."""
CPU_BOUND_COMPONENTS: Final = frozenset({"CPU", "memory"})
"""Components in which a guest may approach native speed but never exceeds it."""
MIN_LOG_EFFECT: Final = math.log(1.03)
MAX_LOG_EFFECT: Final = math.log(1.25)
MIN_STANDARD_ERRORS: Final = 3.3
MAX_KIND_ERROR: Final = 0.015
"""A kind of work with a larger standard error cannot resolve an effect of 3 %."""
MAX_PAIR_ERROR: Final = 0.05
MIN_CASES: Final = 4
COMMON_FACTOR_TOLERANCE: Final = 0.1
"""Relative to the common factor."""
MARGIN: Final = math.log(1.02)
MIN_SAME_MACHINE_CASES: Final = 4
UNRELATED_TOLERANCE: Final = 0.01
MIN_WORK_KINDS: Final = 3

WorkKind = tuple[str, str]
"""Component and tool."""


@dataclass(frozen=True, slots=True)
class NativePair:
    """A cell and the native cell of another day to which it is compared.

    ``log_efficiency`` is the natural log of the cell's performance relative to the
    native cell, ``error`` the standard error of this log.
    """

    cell: CellFact
    native: CellFact
    log_efficiency: float
    error: float


@dataclass(frozen=True, slots=True)
class NativeDayEffect:
    """A native machine and guests of another day that differ by one factor in many
    benchmarks.

    ``log_factor``, the log of this factor, is above 0 if the guests are faster than
    native.
    """

    pairs: tuple[NativePair, ...]
    log_factor: float

    @property
    def is_native_side(self) -> bool:
        """Whether the machine is the cause: several guests, or a container, show the
        effect, so it is not the clock of one guest.
        """
        shared = any(p.cell.virtualization == "container" for p in self.pairs)
        return shared or len({pair.cell.system for pair in self.pairs}) > 1

    @property
    def columns(self) -> frozenset[ColumnKey]:
        return frozenset(pair.cell.column_key for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class SessionShift:
    """Two sessions between which the speed of a native machine changed by one factor.

    ``log_factor`` is above 0 if it is faster in ``session``. ``other`` is empty if the
    session differs from all others together.
    """

    cells: tuple[CellFact, ...]
    session: str
    other: str
    log_factor: float
    logs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SameMachineDifference:
    """A native machine that is faster or slower than in another study by one factor.

    ``log_factor`` is above 0 if the machine is faster in this study.
    """

    pairs: tuple[NativePair, ...]
    log_factor: float


def log_efficiency(cell: CellFact, native: CellFact) -> float:
    """Both typical values must be above 0."""
    # Not a quotient: it may overflow or underflow.
    log = math.log(cell.typical_value) - math.log(native.typical_value)
    return log if cell.better == "higher" else -log


def measurement_day(cell: CellFact) -> str:
    """Return the date of a cell's first run. If it is unknown, return the name of the
    cell's session, or "" without one.
    """
    if cell.first_at is not None:
        return cell.first_at.date().isoformat()
    return cell.declared_session or next(filter(None, cell.session_names), "")


def is_other_day(cell: CellFact, native: CellFact) -> bool | None:
    """Return whether two cells were measured in different sessions.

    They share no session name and, if times are known, are more than `LONGEST_PAUSE`
    apart. Return None if names and times are unknown.
    """
    sessions = [
        frozenset(filter(None, member.session_names or (member.declared_session,)))
        for member in (cell, native)
    ]
    if sessions[0] & sessions[1]:
        return False
    first, last = cell.first_at, cell.last_at
    if not (first and last and native.first_at and native.last_at):
        return all(sessions) or None
    gap = max(first - native.last_at, native.first_at - last)
    return gap > LONGEST_PAUSE


def _pairs(study: StudyFacts) -> Iterator[NativePair]:
    for cell in study.cells:
        native = study.baseline(cell)
        if native is None or not native.is_native or cell.is_native:
            continue
        if not cell.is_performance or cell.scenario != "single":
            continue
        if min(cell.mean, native.mean) <= 0:
            continue
        if (
            cell.emulation_layers
            or native.emulation_layers
            or not is_other_day(cell, native)
        ):
            continue
        noise = study.noise
        error = math.hypot(
            noise.conservative_mean_error(cell), noise.conservative_mean_error(native)
        )
        yield NativePair(cell, native, log_efficiency(cell, native), error)


@cached_per_study
def native_day_effects(study: StudyFacts) -> Sequence[NativeDayEffect]:
    effects = (
        _guests_ahead(pairs) or _guests_behind(pairs) or _at_one_factor(pairs)
        for pairs in _pairs_by_machine(study).values()
    )
    return [effect for effect in effects if effect is not None]


@cached_per_study
def _pairs_by_machine(study: StudyFacts) -> Mapping[object, list[NativePair]]:
    machines: dict[object, list[NativePair]] = defaultdict(list)
    for pair in _pairs(study):
        native = pair.native
        machines[native.host, native.study, native.system].append(pair)
    return machines


def same_machine_differences(study: StudyFacts) -> Iterator[SameMachineDifference]:
    counterparts = same_machine_cells(study)
    for pairs in _pairs_by_machine(study).values():
        cells = {pair.native.id: pair.native for pair in pairs}.values()
        matched = [
            NativePair(cell, counterpart, log_efficiency(cell, counterpart), 0.0)
            for cell in cells
            if cell.component not in {"network", "power"} and cell.study == study.id
            if (counterpart := counterparts.get(cell.id)) is not None
            and counterpart.mean > 0
            if counterpart.study != study.id
            and is_other_day(cell, counterpart) is not False
        ]
        logs = [pair.log_efficiency for pair in matched]
        if (
            len(logs) < MIN_SAME_MACHINE_CASES
            or len({p.cell.component for p in matched}) < 2
        ):
            continue
        middle = median(logs)
        near = [abs(log - middle) <= abs(middle) / 3 for log in logs]
        if MIN_LOG_EFFECT <= abs(middle) <= MAX_LOG_EFFECT and 4 * sum(near) >= 3 * len(
            near
        ):
            yield SameMachineDifference(tuple(matched), middle)


@cached_per_study
def day_shifts(study: StudyFacts) -> Mapping[ColumnKey, float]:
    """Map guests to the part of their log lead over native that a changed machine
    explains.
    """
    return {
        column: effect.log_factor
        for effect in native_day_effects(study)
        if effect.log_factor > 0 and effect.is_native_side
        for column in effect.columns
    }


def _pairs_by_kind(
    pairs: Sequence[NativePair],
) -> Mapping[WorkKind, Mapping[ColumnKey, list[NativePair]]]:
    kinds: dict[WorkKind, dict[ColumnKey, list[NativePair]]] = defaultdict(dict)
    for pair in pairs:
        is_local = pair.cell.component not in {"network", "power", ""}
        if is_local and pair.error <= MAX_PAIR_ERROR:
            kind = kinds[pair.cell.component, pair.cell.tool]
            kind.setdefault(pair.cell.column_key, []).append(pair)
    return {
        kind: precise
        for kind, guests in kinds.items()
        if (
            precise := {
                c: p
                for c, p in guests.items()
                if _median_and_error(p)[1] <= 2 * MAX_KIND_ERROR
            }
        )
    }


def _guests_ahead(pairs: Sequence[NativePair]) -> NativeDayEffect | None:
    factors, members = [], []
    for (component, _), guests in _pairs_by_kind(pairs).items():
        estimates = [_median_and_error(own) for own in guests.values()]
        clear = [
            log
            for log, error in estimates
            if max(MIN_LOG_EFFECT, MIN_STANDARD_ERRORS * error) < log <= MAX_LOG_EFFECT
        ]
        ahead = sum(log > 0 for log, _ in estimates)
        kind_pairs = _flatten(guests)
        shared = any(pair.cell.virtualization == "container" for pair in kind_pairs)
        is_common = len(clear) >= 2 or (shared and clear)
        if (
            component in CPU_BOUND_COMPONENTS
            and is_common
            and 4 * ahead >= 3 * len(estimates)
        ):
            factors.append(median(clear))
            members += kind_pairs
    if not factors:
        return None
    factor = median(factors)
    external = (pair for pair in pairs if pair.cell.clock in EXTERNAL_CLOCKS)
    cpu_bound = (
        pair for pair in external if pair.cell.component in CPU_BOUND_COMPONENTS
    )
    # A guest timed by an external clock that is not ahead rules out the factor, even if
    # noisy.
    if any(
        pair.log_efficiency
        < max(
            factor / 2 - MIN_STANDARD_ERRORS * pair.error,
            -factor * COMMON_FACTOR_TOLERANCE,
        )
        for pair in cpu_bound
    ):
        return None
    return NativeDayEffect(tuple(members), factor)


def _guests_behind(pairs: Sequence[NativePair]) -> NativeDayEffect | None:
    kinds = _pairs_by_kind(pairs)
    nearest: dict[WorkKind, tuple[float, float]] = {}
    for name, guests in kinds.items():
        estimates = [_median_and_error(own) for own in guests.values()]
        estimates = [
            estimate for estimate in estimates if estimate[1] <= MAX_KIND_ERROR
        ]
        if estimates:
            nearest[name] = max(estimates)
    if len(nearest) < 2:
        return None
    factor = median(log for log, _ in nearest.values())
    error = median(error for _, error in nearest.values()) / math.sqrt(len(nearest))
    if (
        not -MAX_LOG_EFFECT
        <= factor
        < -max(MIN_LOG_EFFECT, MIN_STANDARD_ERRORS * error)
    ):
        return None
    distances = {
        name: (
            log - factor,
            min(max(COMMON_FACTOR_TOLERANCE * -factor, 2 * error), -factor / 3),
        )
        for name, (log, error) in nearest.items()
    }
    near = [
        name
        for name, (distance, tolerance) in distances.items()
        if abs(distance) <= tolerance
    ]
    if any(distance > tolerance for distance, tolerance in distances.values()):
        return None
    members = [pair for name in near for pair in _flatten(kinds[name])]
    few = len({pair.cell.system for pair in members}) < 2 and len(near) < 3
    unrelated = len({component for component, _ in near}) >= 2
    if few or not unrelated or 3 * len(near) < 2 * len(nearest):
        return None
    return NativeDayEffect(tuple(members), factor)


def _at_one_factor(pairs: Sequence[NativePair]) -> NativeDayEffect | None:
    cases: dict[object, NativePair] = {}
    for pair in pairs:
        cell = pair.cell
        if pair.error <= MAX_KIND_ERROR and cell.component not in {
            "network",
            "power",
            "",
        }:
            key = (cell.sibling_key, cell.case)
            if key not in cases or pair.log_efficiency > cases[key].log_efficiency:
                cases[key] = pair
    best: list[NativePair] = []
    for middle in sorted(pair.log_efficiency for pair in cases.values()):
        nearby = [p for p in cases.values() if _is_near(p, middle)]
        if len(nearby) >= len(best):
            best = nearby
    if len(best) <= MIN_WORK_KINDS:
        return None
    factor = median(pair.log_efficiency for pair in best)
    faster = [
        p
        for p in cases.values()
        if p.log_efficiency > factor and not _is_near(p, factor)
    ]
    kinds = {(pair.cell.component, pair.cell.tool) for pair in best}
    all_kinds = {(pair.cell.component, pair.cell.tool) for pair in cases.values()}
    if not MIN_LOG_EFFECT <= abs(factor) <= MAX_LOG_EFFECT or faster:
        return None
    if len(kinds) < MIN_WORK_KINDS or len({kind[0] for kind in kinds}) < 2:
        return None
    return (
        NativeDayEffect(tuple(best), factor)
        if 2 * len(kinds) > len(all_kinds)
        else None
    )


def _is_near(pair: NativePair, log: float) -> bool:
    return abs(pair.log_efficiency - log) <= max(UNRELATED_TOLERANCE, 2 * pair.error)


def _flatten(guests: Mapping[ColumnKey, Sequence[NativePair]]) -> list[NativePair]:
    return [pair for own in guests.values() for pair in own]


def case_scatter(logs: Sequence[float]) -> float:
    """Return the robust standard deviation of the log ratios of cases; infinity for
    fewer than four.
    """
    if len(logs) < MIN_CASES:
        return math.inf
    middle = median(logs)
    spread = MAD_TO_SD * median(abs(log - middle) for log in logs)
    # Few cases estimate their spread less well.
    return max(spread * (1 + MIN_CASES / len(logs)), MIN_MEAN_ERROR)


def _median_and_error(pairs: Sequence[NativePair]) -> tuple[float, float]:
    """Return the median log ratio and its standard error.

    A median's error is sqrt(pi / 2) times that of a mean.
    """
    logs = [pair.log_efficiency for pair in pairs]
    middle = median(logs)
    noise = math.sqrt(math.fsum(pair.error**2 for pair in pairs) / len(pairs))
    if any(pair.cell.n == 1 for pair in pairs):
        noise = min(noise, case_scatter(logs))
    wider = math.sqrt(math.pi / 2) if len(pairs) > 2 else 1.0
    return middle, wider * noise / math.sqrt(len(pairs))


def session_shifts(study: StudyFacts) -> Iterator[SessionShift]:
    """Yield the largest change of each native machine between its sessions, if any."""
    machines: dict[ColumnKey, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        is_complete = len(cell.session_names) == len(cell.run_means) and all(
            cell.session_names
        )
        has_several = (
            is_complete and len(set(cell.session_names)) > 1 and min(cell.run_means) > 0
        )
        if cell.is_native and has_several and cell.is_performance:
            machines[cell.column_key].append(cell)
    for cells in machines.values():
        names = sorted({name for cell in cells for name in cell.session_names})
        shifts = [
            shift
            for name in names
            for other_name in _compared_sessions(name, names)
            if (shift := _session_shift(cells, name, other_name)) is not None
        ]
        if shifts:
            yield max(shifts, key=lambda shift: abs(shift.log_factor))


def _compared_sessions(name: str, names: Sequence[str]) -> Sequence[str]:
    """Return the sessions with which a session is compared.

    Of two sessions, the first is compared with the second. Of more, each is compared
    with all others together, written as "".
    """
    if len(names) == 2:
        return names[1:] if name == names[0] else ()
    return [""]


def _session_shift(
    cells: Sequence[CellFact], name: str, other: str
) -> SessionShift | None:
    members, logs, errors = [], [], []
    for cell in cells:
        runs: dict[str, list[float]] = defaultdict(list)
        for session, value in zip(cell.session_names, cell.run_means, strict=True):
            runs[session].append(math.log(value))
        own = runs.get(name)
        rest = [values for key, values in runs.items() if key != name]
        rest = [runs[other]] if other and other in runs else rest
        if not own or not rest:
            continue
        centers = [math.fsum(values) / len(values) for values in rest]
        log = math.fsum(own) / len(own) - median(centers)
        fewest_runs = min(len(values) for values in rest)
        noise = _within_session_deviation(cell, list(runs.values()))
        error = noise * math.sqrt(1 / len(own) + 1 / fewest_runs)
        members.append(cell)
        logs.append(log if cell.better == "higher" else -log)
        errors.append(error)
    if len(members) < 3:
        return None
    weights = [1 / max(error, MIN_MEAN_ERROR) ** 2 for error in errors]
    total = math.fsum(weights)
    pairs = list(zip(logs, weights, strict=True))
    middle = math.fsum(log * weight for log, weight in pairs) / total
    # Cases that differ by more than their noise make the mean less certain.
    square = math.fsum((log - middle) ** 2 * weight for log, weight in pairs)
    square /= len(members) - 1
    error = math.sqrt(max(1.0, square) / total)
    same_direction = math.fsum(weight for log, weight in pairs if log * middle > 0)
    spread = math.sqrt(max(0.0, (square - 1) * len(members) / total))
    if not max(MARGIN, MIN_STANDARD_ERRORS * error) < abs(middle) <= MAX_LOG_EFFECT:
        return None
    if 4 * same_direction < 3 * total or spread > abs(middle) / 2:
        return None
    return SessionShift(tuple(members), name, other, middle, tuple(logs))


def _within_session_deviation(
    cell: CellFact, sessions: Sequence[Sequence[float]]
) -> float:
    square = freedom = 0.0
    for logs in sessions:
        mean = math.fsum(logs) / len(logs)
        square += math.fsum((log - mean) ** 2 for log in logs)
        freedom += len(logs) - 1
    prior = TYPICAL_DEVIATION.get(cell.component, 0.05)
    own = square + PRIOR_DF / 4 * prior**2
    return math.sqrt(own / (freedom + PRIOR_DF / 4))
