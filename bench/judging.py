"""How long it takes to judge every cell of a large installation at once."""

import time
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from bench.simulation import cells_of
from benchmarks.analysis.shape import shape_of
from benchmarks.analysis.verdicts import judge

CELLS: Final = 20_000
RUNS: Final = 50
REPEATS: Final = 15


def bench_judging() -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of `make bench`: what, speed, limit, ratio.

    The limit is one plain pass of numpy over the same arrays: the logs of the means and
    the exponential of their difference.
    """
    generator = np.random.default_rng(20_000)
    truth = generator.choice([0.7, 0.95, 1.0, 1.1], (CELLS, 1))
    cell = cells_of(generator, "lognormal", CELLS, 8, noise=0.02, truth=truth)
    native = cells_of(generator, "normal", CELLS, 8, noise=0.01)
    judged = judge(cell, native, True)
    plain_ms = _best_ms(lambda: np.exp(np.log(cell.mean) - np.log(native.mean)))
    for what, work in (
        ("judging", lambda: judge(cell, native, True)),
        ("their p values", judged.p_values),
    ):
        best_ms = _best_ms(work)
        limit = f"numpy pass {plain_ms:.2f} ms"
        ratio = f"{best_ms / plain_ms:.0f} x"
        yield f"{what}, {CELLS:,} cells", f"{best_ms:.1f} ms", limit, ratio
    yield _shape(generator)


def _shape(generator: np.random.Generator) -> tuple[str, str, str, str]:
    """Time the shape of one cell; the limit is Python's own sorting of its runs."""
    values = generator.normal(100, 1, RUNS).tolist()
    best_ms = _best_ms(lambda: shape_of(values))
    plain_ms = _best_ms(lambda: sorted(values))
    limit, ratio = f"sorting {plain_ms:.4f} ms", f"{best_ms / plain_ms:.0f} x"
    return f"shape of a cell of {RUNS} runs", f"{best_ms:.2f} ms", limit, ratio


def _best_ms(work: Callable[[], object]) -> float:
    """Return the shortest of several times: other programs can only lengthen one."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1000
