"""Simulated worlds in which the order of runs matters.

``python -m tests.benchmarks.analysis.order_worlds`` prints the tables of
docs/figures/method.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.sessions import SessionStatistics
from benchmarks.analysis.verdict_gates import gates_from_issues
from benchmarks.analysis.verdicts import AssessmentArrays, Verdict, assess_cells
from tests.benchmarks.analysis.simulation import rolled

MARGIN = 0.02


@dataclass(frozen=True)
class World:
    """``order`` has the sides of a session ("NGNG": native, guest), ``effects`` returns
    the log effects on the runs of cells x sessions x runs, shared by both sides."""

    order: str
    effects: Callable[[Generator, tuple[int, int, int]], np.ndarray]
    sessions: int = 1
    noise: float = 0.01
    is_timed: bool = True


def walk(step: float) -> Callable[[Generator, tuple[int, int, int]], np.ndarray]:
    return lambda generator, shape: np.cumsum(generator.normal(0, step, shape), axis=2)


def own_walk(step: float) -> Callable[[Generator, tuple[int, int, int]], np.ndarray]:
    """The runs in odd positions follow a random walk that the others do not share."""

    def effects(generator: Generator, shape: tuple[int, int, int]) -> np.ndarray:
        steps = generator.normal(0, step, shape)
        steps[:, :, ::2] = 0
        walked = np.cumsum(steps, axis=2)
        walked[:, :, ::2] = 0
        return walked

    return effects


def own_autoregression(rho: float) -> Callable[..., np.ndarray]:
    """Runs in odd and in even positions depend on the run before, 1 % in total."""

    def effects(generator: Generator, shape: tuple[int, int, int]) -> np.ndarray:
        drawn = generator.normal(0, 0.01, shape)
        for run in range(2, shape[2]):
            drawn[:, :, run] *= np.sqrt(1 - rho**2)
            drawn[:, :, run] += rho * drawn[:, :, run - 2]
        return drawn

    return effects


def drift(total: float) -> Callable[[Generator, tuple[int, int, int]], np.ndarray]:
    return lambda _generator, shape: np.broadcast_to(
        np.linspace(0, total, shape[2]), shape
    )


def days(spread: float) -> Callable[[Generator, tuple[int, int, int]], np.ndarray]:
    return lambda generator, shape: np.broadcast_to(
        generator.normal(0, spread, (*shape[:2], 1)), shape
    )


def steady(_generator: Generator, shape: tuple[int, int, int]) -> np.ndarray:
    return np.zeros(shape)


def second_half(effect: float) -> Callable[..., np.ndarray]:
    """Runs after the first half of a session change by ``effect``."""
    return lambda _generator, shape: np.broadcast_to(
        effect * (np.arange(shape[2]) >= shape[2] // 2), shape
    )


def assess_world(
    generator: Generator, world: World, cells: int, truth: float
) -> AssessmentArrays:
    is_guest = np.array([side == "G" for side in world.order])
    shape = (cells, world.sessions, is_guest.size)
    logs = world.effects(generator, shape) + generator.normal(0, world.noise, shape)
    values = 100 * np.exp(logs + np.where(is_guest, np.log(truth), 0.0))
    starts = (
        np.arange(is_guest.size) * 60.0 + 86_400 * np.arange(world.sessions)[:, None]
    )
    if not world.is_timed:
        starts = np.full(starts.shape, np.nan)
    sides = [
        _side(values[:, :, which], starts[:, which]) for which in (is_guest, ~is_guest)
    ]
    return assess_cells(
        sides[0][0],
        sides[1][0],
        True,
        side_gates=(sides[0][3], sides[1][3]),
        sessions=(sides[0][1], sides[1][1]),
        order_shifts=(sides[0][4], sides[1][4]),
        runs=(sides[0][2], sides[1][2]),
    )


def _side(values: np.ndarray, starts: np.ndarray) -> tuple:
    cells, sessions, n = values.shape
    flat = values.reshape(-1, n)
    known = np.where(np.isnan(starts).any(), -1, np.arange(sessions))
    readings = [
        CellReadings(
            cell.ravel().tolist(),
            np.repeat(np.arange(sessions), n).tolist(),
            1e-9,
            True,
        )
        for cell in values
    ]
    shapes = find_shapes(readings, band=MARGIN)
    firsts_and_rhos = [
        shape.first_run_and_rho(list(run_means))
        for shape, cell in zip(shapes, values, strict=True)
        for run_means in cell
    ]
    first, rho = (
        [np.nan if value is None else value for value in column]
        for column in zip(*firsts_and_rhos, strict=True)
    )
    of_sessions = rolled(flat)
    statistics = SessionStatistics.from_sums(
        np.repeat(np.arange(cells), sessions),
        np.tile(known, cells),
        n,
        of_sessions.mean,
        of_sessions.variance * (n - 1),
        flat.min(axis=1),
        flat.max(axis=1),
        rho,
        1e-9,
        first,
        np.tile(starts[:, 0], cells),
        np.tile(starts[:, -1], cells),
    )
    runs = RunVectors(
        np.repeat(np.arange(cells), sessions * n),
        np.tile(np.repeat(known, n), cells),
        values.ravel(),
        np.tile(starts.ravel(), cells),
        np.zeros(cells, dtype=np.int64),
    )
    gates = gates_from_issues(
        [
            ",".join((*shape.shape_codes, *["dependent"] * shape.is_dependent))
            for shape in shapes
        ]
    )
    shifts = np.array([shape.order_shift for shape in shapes])
    return rolled(values.reshape(cells, -1)), statistics, runs, gates, shifts


@dataclass(frozen=True)
class Rates:
    """Shares of cells: intervals that contain the truth, words, wrong words."""

    covered: float
    with_word: float
    wrong: float

    @classmethod
    def of(cls, judged: AssessmentArrays, truth: float) -> "Rates":
        intervals = judged.intervals
        has_interval = np.isfinite(intervals.log_half_width)
        inside = (intervals.low < truth) & (truth < intervals.high)
        right = (
            {Verdict.SLOWER}
            if truth < 1 - MARGIN
            else {Verdict.EQUIVALENT}
            if truth > 1 - MARGIN
            else set()  # at the edge of the margin
        )
        words = np.isin(
            judged.verdict, [Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT]
        )
        is_right = np.isin(judged.verdict, [int(verdict) for verdict in right])
        return cls(
            float(np.mean(inside[has_interval])),
            float(np.mean(words)),
            float(np.mean(words & ~is_right)),
        )


RANDOM_ROUNDS = "NGGNGNNGGNGNNGNGNGGN"
WORLDS = {
    "10 + 10, NGNG, independent runs": World("NG" * 10, steady),
    "10 + 10, NGGN, independent runs": World("NGGN" * 5, steady),
    "5 + 5, NGNG, independent runs": World("NG" * 5, steady),
    "20 + 19, NGNG, independent runs": World("NG" * 19 + "N", steady),
    "10 + 10, NGNG, steps of 0.5 %": World("NG" * 10, walk(0.005)),
    "10 + 10, NGNG, steps of 1 %": World("NG" * 10, walk(0.01)),
    "10 + 10, NGNG, steps of 3 %": World("NG" * 10, walk(0.03)),
    "20 + 20, NGNG, steps of 3 %": World("NG" * 20, walk(0.03)),
    "10 + 10, NGGN, steps of 1 %": World("NGGN" * 5, walk(0.01)),
    "10 + 10, random rounds, steps of 1 %": World(RANDOM_ROUNDS, walk(0.01)),
    "15 + 15, NGNG, drift of 6 %": World("NG" * 15, drift(0.06)),
    "25 + 25 in 5 blocks, drift of 12 %": World("NNNNNGGGGG" * 5, drift(0.12)),
    "10 + 10 in 2 blocks, drift of 12 %": World("NNNNNGGGGG" * 2, drift(0.12)),
    "10, then 10 that are 3 % slower": World("N" * 10 + "G" * 10, second_half(-0.03)),
    "the same, and 1 native run at the end": World(
        "N" * 12 + "G" * 12 + "N", second_half(-0.03)
    ),
    "the same order in 3 sessions of 5 + 5": World(
        "N" * 5 + "G" * 5, second_half(-0.03), 3
    ),
    "2 sessions of 6 + 6, NGNG, steps of 1 %": World("NG" * 6, walk(0.01), 2),
    "3 sessions of 6 + 6, NGNG, days of 3 %": World("NG" * 6, days(0.03), 3),
    "8 + 8 without start times": World("NG" * 8, steady, is_timed=False),
}
TRUTHS = (1.0, 0.98, 0.97, 0.95, 0.9)


def main(cells: int = 2000) -> None:
    print("| order and effects | covered |", *(f"{truth:g} |" for truth in TRUTHS))
    print("|---|---|" + "---|" * len(TRUTHS))
    for name, world in WORLDS.items():
        rates = []
        for truth in TRUTHS:
            generator = np.random.default_rng(1)
            rates.append(Rates.of(assess_world(generator, world, cells, truth), truth))
        columns = [f"{100 * rates[0].covered:.1f}"]
        columns += [f"{100 * r.with_word:.0f}, {100 * r.wrong:.1f}" for r in rates]
        print(f"| {name} |", " | ".join(columns), "|", flush=True)


if __name__ == "__main__":
    import sys

    main(*map(int, sys.argv[1:]))
