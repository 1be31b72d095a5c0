"""How many verdicts are right and wrong: tables of the calibration report."""

from typing import Final

import numpy as np
from numpy.random import Generator

from bench.simulation import KINDS, cells_of, rolled, runs
from bench.table import Table, percent
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.verdicts import Verdict, correct, judge

NOISES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)


def shares(cell: Rollups, baseline: Rollups) -> dict[Verdict, float]:
    """Return how often each verdict is given."""
    counts = np.bincount(judge(cell, baseline, True).verdict, minlength=len(Verdict))
    return {verdict: counts[verdict] / len(cell.n) for verdict in Verdict}


def false_verdicts(generator: Generator, repetitions: int) -> Table:
    def wrong(kind: str, n: int, noise: float) -> float:
        sides = (cells_of(generator, kind, repetitions, n, noise=noise) for _ in "ab")
        given = shares(*sides)
        return given[Verdict.SLOWER] + given[Verdict.FASTER]

    return Table(
        "False verdicts between equal systems",
        "How many % of cells are called slower or faster although both sides are "
        "equal, by standard deviation; equivalence margin 2 %. Promised: at most 4.",
        ("run means are", *(f"{percent(noise)} %" for noise in NOISES)),
        tuple(
            (f"{kind}, {n} runs", *(percent(wrong(kind, n, x), 2) for x in NOISES))
            for kind in KINDS
            for n in (5, 10)
        ),
    )


def false_verdicts_on_a_quiet_host(generator: Generator, repetitions: int) -> Table:
    noises = (0.02, 0.05, 0.1, 0.2)

    def wrong(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise)
        native = cells_of(generator, "normal", repetitions, n, noise=0.002)
        given = shares(cell, native)
        return given[Verdict.SLOWER] + given[Verdict.FASTER]

    return Table(
        "False verdicts, a noisy virtual machine against a quiet native one",
        "As above, but the native deviation is 0.2 %, normal; the columns are that of "
        "the virtual machine. Here the promise has limits: a few runs may all have met "
        "the same one of two speeds, or none of a long tail, and nothing in them shows "
        "it.",
        ("virtual machine", *(f"{percent(noise)} %" for noise in noises)),
        tuple(
            (f"{kind}, {n} runs", *(percent(wrong(kind, n, x), 2) for x in noises))
            for kind in KINDS
            for n in (5, 10, 20)
        ),
    )


def margin_edge(generator: Generator, repetitions: int) -> Table:
    def wrong(kind: str, n: int, noise: float) -> float:
        sides = [
            cells_of(generator, kind, repetitions, n, noise=noise, truth=truth)
            for truth in (0.98, 1.0)
        ]
        given = shares(*sides)
        return 1 - given[Verdict.UNDETERMINED] - given[Verdict.NOT_ASSESSED]

    return Table(
        "Verdicts at the edge of the equivalence margin",
        "The true ratio is 0.98 exactly, where slower, faster and equivalent are all "
        "wrong: how many % of cells get any of them. Wanted: at most 5.",
        ("run means are", *(f"{percent(noise)} %" for noise in NOISES)),
        tuple(
            (f"{kind}, {n} runs", *(percent(wrong(kind, n, x), 2) for x in NOISES))
            for kind in KINDS
            for n in (5, 10)
        ),
    )


def power(generator: Generator, repetitions: int) -> Table:
    def right(truth: float, n: int, noise: float) -> float:
        cell = cells_of(generator, "normal", repetitions, n, noise=noise, truth=truth)
        native = cells_of(generator, "normal", repetitions, n, noise=noise)
        wanted = Verdict.EQUIVALENT if truth == 1 else Verdict.SLOWER
        return shares(cell, native)[wanted]

    return Table(
        "Right verdicts",
        "How many % of cells get the right verdict (slower; equivalent for 1), by "
        "standard deviation; normal, equivalence margin 2 %.",
        ("true ratio", *(f"{percent(noise)} %" for noise in NOISES)),
        tuple(
            (f"{truth:g}, {n} runs", *(percent(right(truth, n, x)) for x in NOISES))
            for truth in (0.97, 0.95, 0.9, 0.8, 1.0)
            for n in (5, 10, 20)
        ),
    )


def many_cells(generator: Generator, repetitions: int) -> Table:
    """Matrices of 200 cells of which a part truly is slower, the others at the edge."""
    cells, matrices = 200, max(repetitions // 50, 1)

    def row(slower: int) -> tuple[str, ...]:
        truth = np.full((cells, 1), 0.98)
        truth[:slower] = 0.94
        before, after = [], []
        for _ in range(matrices):
            drawn = truth * runs(generator, "normal", cells, 5, noise=0.02)
            native = cells_of(generator, "normal", cells, 5, noise=0.02)
            judged = judge(rolled(drawn), native, True)
            before.append(_wrong_share(judged.verdict, slower))
            after.append(_wrong_share(correct(judged).verdict, slower))
        given = (float(np.mean(before)), float(np.mean(after)))
        return (f"{slower} of {cells}", *map(percent, given))

    return Table(
        "Many cells at once",
        "How many % of the verdicts given in a matrix are wrong, before and after the "
        "correction (Benjamini-Hochberg, 5 %). The first column says how many cells "
        "truly are slower (0.94, deviation 2 %, 5 runs a side); all others lie exactly "
        "at the edge, the worst there is. Wanted: at most 5 after.",
        ("truly slower", "before", "after"),
        tuple(map(row, (0, 10, 50, 100, 180))),
    )


def _wrong_share(verdict: np.ndarray, slower: int) -> float:
    given = verdict != Verdict.UNDETERMINED
    right = np.arange(len(verdict)) < slower
    right &= verdict == Verdict.SLOWER
    return float((given & ~right).sum() / max(given.sum(), 1))
