"""Simulated results whose runs are noisy in one session, with all gates of the product.

Unlike `simulation`, which draws statistics, these worlds draw runs: their order, their
printed digits and their outliers matter.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.cell_statistics import dominating_outliers
from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.sessions import SessionStatistics
from benchmarks.analysis.verdict_gates import gates_from_issues
from benchmarks.analysis.verdicts import AssessmentArrays, assess_cells

MARGIN: Final = 0.02
DECIMALS: Final = 9

Noise = Callable[[Generator, tuple[int, int]], np.ndarray]


def ar1(rho: float) -> Noise:
    """Return normal noise whose lag-1 autocorrelation is ``rho``."""

    def draw(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
        noise = generator.normal(size=shape)
        for run in range(1, shape[1]):
            noise[:, run] *= np.sqrt(1 - rho**2)
            noise[:, run] += rho * noise[:, run - 1]
        return noise

    return draw


def _lognormal(generator: Generator, shape: tuple[int, int]) -> np.ndarray:
    return np.asarray(generator.lognormal(0, 0.5, shape) / 0.604 - 1.8761)


NOISES: Final[Mapping[str, Noise]] = {
    "normal": ar1(0),
    "lognormal": _lognormal,
    "gamma": lambda generator, shape: (generator.gamma(2, size=shape) - 2) / 2**0.5,
}


@dataclass(frozen=True)
class Side:
    """One side of many cells: its statistics and the findings of its shapes."""

    cells: RunStatistics
    sessions: SessionStatistics
    gates: np.ndarray
    order_shifts: np.ndarray
    runs: RunVectors


def measure(run_means: np.ndarray, resolution: float = 10.0**-DECIMALS) -> Side:
    """Return what the study check stores for cells x runs of one session."""
    rows, n = run_means.shape
    shapes = find_shapes(
        [CellReadings(row, [0] * n, resolution, True) for row in run_means.tolist()],
        band=MARGIN,
    )
    pairs = [
        shape.first_run_and_rho(row)
        for shape, row in zip(shapes, run_means.tolist(), strict=True)
    ]
    first, rho = (
        np.array([np.nan if value is None else value for value in column])
        for column in zip(*pairs, strict=True)
    )
    mean = run_means.mean(axis=1)
    m2 = ((run_means - mean[:, None]) ** 2).sum(axis=1)
    counts = np.full(rows, n)
    return Side(
        RunStatistics.from_sums(counts, mean, m2, resolution),
        SessionStatistics.from_sums(
            np.arange(rows),
            np.zeros(rows),
            counts,
            mean,
            m2,
            run_means.min(axis=1),
            run_means.max(axis=1),
            rho,
            np.full(rows, resolution),
            first,
        ),
        gates_from_issues(
            [
                ",".join((*shape.shape_codes, *["dependent"] * shape.is_dependent))
                for shape in shapes
            ]
        ),
        np.array([shape.order_shift for shape in shapes]),
        RunVectors(
            np.repeat(np.arange(rows), n),
            np.zeros(rows * n, dtype=np.int64),
            run_means.ravel(),
            np.full(rows * n, np.nan),
            np.array(
                [
                    dominating_outliers(row, [0] * n, resolution)
                    for row in run_means.tolist()
                ]
            ),
        ),
    )


def assess(
    cell: Side,
    baseline: Side,
    higher_is_better: bool = True,
    *,
    with_outliers: bool = True,
) -> AssessmentArrays:
    return assess_cells(
        cell.cells,
        baseline.cells,
        higher_is_better,
        side_gates=(cell.gates, baseline.gates),
        margin=MARGIN,
        sessions=(cell.sessions, baseline.sessions),
        order_shifts=(cell.order_shifts, baseline.order_shifts),
        runs=(cell.runs, baseline.runs) if with_outliers else None,
    )
