"""Verdicts on simulated worlds, assessed with the product's code, and their errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.cell_statistics import (
    display_step,
    dominating_outliers,
    last_digit_step,
    resolution,
    summarize,
)
from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.sessions import (
    UNKNOWN_TIME,
    RunStart,
    SessionStatistics,
    derive_sessions,
    sessions_counted_together,
)
from benchmarks.analysis.verdict_gates import Gate, gate_codes, gates_from_issues
from benchmarks.analysis.verdicts import (
    DEFAULT_MARGIN,
    AssessmentArrays,
    Verdict,
    assess_cells,
    correct_for_multiple_tests,
)
from benchmarks.plausibility.rules import apply_rules
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from tests.benchmarks.analysis.worlds import Drawn, Floats, World, correct
from tests.benchmarks.plausibility.simulated_studies import with_baselines

SIDE_RUNS: Final = 10_000
EPOCH: Final = datetime(2026, 3, 2, 6, tzinfo=UTC)
# Some guests are faster: verdicts have to be right in both directions.
TRUTHS: Final = np.repeat([1.0, 0.98, 0.95, 0.9, 1 / 0.95], [20, 8, 8, 8, 4])


@dataclass(frozen=True)
class Judged:
    """The product's statements on the cells of a world; arrays by cell."""

    world: World
    truth: Floats
    word: np.ndarray
    is_refused: np.ndarray
    is_weak: np.ndarray
    is_decidable: np.ndarray
    covers: np.ndarray
    reasons: tuple[tuple[str, ...], ...]
    flags: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Summary:
    """Shares over the cells of a world, in percent; NaN without cells."""

    cells: int
    wrong_at_1: float
    wrong_at_edge: float
    wrong_elsewhere: float
    weak: float
    refused: float
    flagged: float
    decidable_with_word: float
    decidable: int
    coverage: float

    @property
    def columns(self) -> tuple[str, ...]:
        shares = (
            *(self.wrong_at_1, self.wrong_at_edge, self.wrong_elsewhere, self.weak),
            *(self.refused, self.flagged, self.decidable_with_word),
        )
        text = ["-" if np.isnan(share) else f"{share:.1f}" for share in shares]
        return (*text, str(self.decidable), f"{self.coverage:.1f}")


def summarize_world(judged: Sequence[Judged]) -> Summary:
    def joined(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in judged])

    truth, word = joined("truth"), joined("word")
    right = correct(truth)
    different = (word == Verdict.SLOWER) | (word == Verdict.FASTER)
    wrong = (word > 0) & (word != right)
    at_1, at_edge = truth == 1, np.isclose(np.abs(truth - 1), 0.02)
    refused = joined("is_refused")
    flagged = np.array([bool(names) for one in judged for names in one.flags])
    decidable = joined("is_decidable")
    weak = joined("is_weak") & (word > 0)

    def share(values: Any) -> float:
        return float(100 * np.nanmean(values)) if len(values) else float("nan")

    return Summary(
        len(truth),
        share((different & ~weak)[at_1]),
        share((wrong & ~weak)[at_edge]),
        share((wrong & ~weak)[~at_1 & ~at_edge]),
        share(weak),
        # Implausible if a guest is faster than native.
        share(refused[truth <= 1]),
        share(flagged[truth <= 1]),
        share(((word == right) & (word > 0))[decidable]),
        int(decidable.sum()),
        share(joined("covers"))
        if not np.isnan(joined("covers")).all()
        else float("nan"),
    )


COLUMNS: Final = (
    "world", "wrong at 1", "wrong at 0.98", "wrong elsewhere", "weak words", "refused",
    "flagged", "decidable with a word", "decidable", "coverage",
)  # fmt: skip


def judge_world(world: World, generator: Generator, studies: int) -> list[Judged]:
    """Assess studies of a world as the study check and the pages do."""
    return [_judge(world, world.draw(generator, TRUTHS)) for _ in range(studies)]


def _judge(world: World, drawn: Drawn) -> Judged:
    flags = flag_names(drawn, world.better)
    arrays = assess_world(
        drawn,
        is_higher_better=world.better == "higher",
        gates=np.array([bool(names) for names in flags]) * int(Gate.FLAGGED),
    )
    verdict = correct_for_multiple_tests(arrays).verdict
    low, high = arrays.intervals.low, arrays.intervals.high
    return Judged(
        world,
        drawn.truth,
        np.where(verdict < Verdict.NOT_ASSESSED, verdict, 0),
        verdict == Verdict.NOT_ASSESSED,
        arrays.design_intervals.is_weak,
        drawn.decided() & world.sees_noise,
        np.where(np.isnan(low), np.nan, (low <= drawn.truth) & (drawn.truth <= high)),
        tuple(gate_codes(gates) for gates in arrays.gates.tolist()),
        flags,
    )


def flag_names(drawn: Drawn, better: Any) -> tuple[tuple[str, ...], ...]:
    """Return the flags of each cell that withhold its verdict."""
    is_rate = better == "higher"
    cells = [
        CellFact(
            id=f"{system} {row}",
            study="here",
            host="alpha",
            system=system,
            is_native=system == "native",
            hypervisor=system,
            tool="linpack" if is_rate else "hackbench",
            metric="performance" if is_rate else "time",
            case=row,
            parameters={"size": str(1000 + row)},
            component="CPU",
            unit="Mflop/s" if is_rate else "s",
            better=better,
            n=len(values),
            mean=float(np.mean(values)),
            run_means=tuple(values),
            decimals=_decimals(values),
        )
        for system, side in (("native", drawn.native), ("KVM", drawn.guest))
        for row, values in enumerate(side.values.tolist())
    ]
    study = StudyFacts(id="here", cells=tuple(with_baselines(cells)), runs=())
    names: list[set[str]] = [set() for _ in drawn.truth]
    for finding in apply_rules(study):
        if finding.severity != "check":
            for subject in finding.subjects:
                names[int(subject.id.split()[1])].add(finding.rule)
    return tuple(tuple(sorted(of_cell)) for of_cell in names)


def assess_world(
    drawn: Drawn, *, is_higher_better: bool = True, gates: Any = 0
) -> AssessmentArrays:
    """Assess the cells of a study before the correction for multiple tests."""
    sides = []
    ids = _session_ids(drawn)
    for side, sessions in zip((drawn.guest, drawn.native), ids, strict=True):
        order = (
            np.arange(side.values.shape[1])
            if side.minutes is None
            else np.argsort(side.minutes, kind="stable")
        )
        minutes = None if side.minutes is None else side.minutes[order]
        sides.append(_summarize(side.values[:, order], sessions[order], minutes))
    guest, native = sides
    return assess_cells(
        guest.cells,
        native.cells,
        np.full(len(drawn.truth), is_higher_better),
        gates=gates,
        sessions=(guest.sessions, native.sessions),
        order_shifts=(guest.shifts, native.shifts),
        side_gates=(
            gates_from_issues(guest.issue_codes),
            gates_from_issues(native.issue_codes),
        ),
        runs=(guest.runs, native.runs),
    )


@dataclass(frozen=True)
class _Summary:
    cells: RunStatistics
    sessions: SessionStatistics
    issue_codes: list[str]
    shifts: Floats
    runs: RunVectors


def _session_ids(drawn: Drawn) -> list[np.ndarray]:
    """Return the sessions of the runs of both sides, as far as they count."""
    sides = drawn.guest, drawn.native
    names = dict.fromkeys(name for side in sides for name in side.sessions)
    number_by_name = {name: number for number, name in enumerate(names, start=1)}
    ids = [
        np.array([number_by_name[name] for name in side.sessions])
        if side.sessions
        else np.full(side.values.shape[1], UNKNOWN_TIME)
        for side in sides
    ]
    starts = [
        RunStart(place * SIDE_RUNS + run, EPOCH + timedelta(minutes=minute), {})
        for place, side in enumerate(sides)
        if side.minutes is not None
        for run, minute in enumerate(side.minutes.tolist())
    ]
    session_by_run = {
        start.id: int(ids[start.id // SIDE_RUNS][start.id % SIDE_RUNS])
        for start in starts
    }
    unnamed = [start for start in starts if session_by_run[start.id] == UNKNOWN_TIME]
    for number, session in enumerate(derive_sessions(unnamed), start=len(names) + 1):
        session_by_run |= dict.fromkeys(session.runs, number)
    counted = sessions_counted_together([starts], session_by_run)
    for run, number in session_by_run.items():
        other = counted.get(number)
        ids[run // SIDE_RUNS][run % SIDE_RUNS] = other.counted_with if other else number
    return ids


def _summarize(
    values: Floats, sessions: np.ndarray, minutes: Floats | None
) -> _Summary:
    """Summarize runs in the order of their starts."""
    is_ordered = minutes is not None and len(set(minutes.tolist())) == len(minutes)
    starts = np.full(len(sessions), np.nan) if minutes is None else 60 * minutes
    cells = [summarize(row) for row in values.tolist()]
    steps = [resolution(_decimals(row), display_step(row)) for row in values.tolist()]
    shapes = find_shapes(
        [
            CellReadings(row, sessions.tolist(), step, is_ordered)
            for row, step in zip(values.tolist(), steps, strict=True)
        ],
        band=DEFAULT_MARGIN,
    )
    columns = []
    for row, (readings, shape) in enumerate(zip(values, shapes, strict=True)):
        for session in dict.fromkeys(sessions.tolist()):
            means = readings[sessions == session].tolist()
            found = summarize(means)
            first, rho = shape.first_run_and_rho(means) if is_ordered else (None, None)
            columns.append(
                (row, session, found.n, found.mean, found.m2, min(means), max(means),
                 np.nan if rho is None else rho, steps[row],
                 np.nan if first is None else first,
                 starts[sessions == session][0], starts[sessions == session][-1])
            )  # fmt: skip
    return _Summary(
        RunStatistics.from_sums(
            [cell.n for cell in cells],
            [cell.mean for cell in cells],
            [cell.m2 for cell in cells],
            np.array(steps, dtype=float),
        ),
        SessionStatistics.from_sums(*zip(*columns, strict=True)),
        [
            ",".join([*shape.shape_codes, *(["dependent"] * shape.is_dependent)])
            for shape in shapes
        ],
        np.array([shape.order_shift for shape in shapes]),
        _run_vectors(values, sessions, starts, steps),
    )


def _decimals(values: Sequence[float]) -> int:
    return round(-np.log10(min(map(last_digit_step, values))))


def _run_vectors(
    values: Floats,
    sessions: np.ndarray,
    starts: Floats,
    steps: Sequence[float | None],
) -> RunVectors:
    order = np.argsort(sessions, kind="stable")
    rows, runs = values.shape
    outliers = [
        dominating_outliers(row, sessions.tolist(), step)
        for row, step in zip(values.tolist(), steps, strict=True)
    ]
    return RunVectors(
        np.repeat(np.arange(rows), runs),
        np.tile(sessions[order], rows),
        values[:, order].ravel(),
        np.tile(starts[order], rows),
        np.array(outliers),
    )
