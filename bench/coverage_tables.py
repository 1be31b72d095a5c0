"""How many intervals hold the truth: tables of the calibration report."""

from typing import Final

import numpy as np
from numpy.random import Generator

from bench.simulation import KINDS, cells_of, rolled
from bench.table import Table, percent
from benchmarks.analysis.intervals import Method, Rollups, log_ratio_intervals

NOISE: Final = 0.05
QUIET: Final = 0.002


def covered(cell: Rollups, baseline: Rollups, truth: float | np.ndarray = 1.0) -> float:
    """Return the share of the intervals that hold the truth, of those that exist."""
    found = log_ratio_intervals(cell, baseline, True)
    exists = found.method != Method.NONE
    return float(np.mean((found.low < truth)[exists] & (found.high > truth)[exists]))


def coverage(generator: Generator, repetitions: int) -> Table:
    counts = (2, 3, 4, 5, 7, 10)

    def row(kind: str) -> tuple[str, ...]:
        pairs = (
            [cells_of(generator, kind, repetitions, n, noise=NOISE) for _ in "ab"]
            for n in counts
        )
        shares = (covered(cell, baseline) for cell, baseline in pairs)
        return (kind, *map(percent, shares))

    return Table(
        "Coverage, the same number of runs on both sides",
        "How many % of the intervals hold the true ratio, by runs a side. The standard "
        f"deviation between runs is {percent(NOISE, 0)} % of the mean. Wanted: 95. "
        "Below five runs (MOVER) the intervals are wider than they need be.",
        ("run means are", *map(str, counts)),
        tuple(map(row, KINDS)),
    )


def unequal_coverage(generator: Generator, repetitions: int) -> Table:
    designs = ((2, 30), (4, 30), (5, 30), (10, 30))

    def row(kind: str) -> tuple[str, ...]:
        pairs = (
            [cells_of(generator, kind, repetitions, n, noise=NOISE) for n in design]
            for design in designs
        )
        shares = (covered(cell, baseline) for cell, baseline in pairs)
        return (kind, *map(percent, shares))

    return Table(
        "Coverage, unequal numbers of runs",
        "As above. A mean of few runs of a skewed or two-speed system is itself "
        "skewed, and a baseline of many runs no longer hides that: measure both sides "
        "equally often.",
        ("run means are", *(f"{n} against {m}" for n, m in designs)),
        tuple(map(row, KINDS)),
    )


def quiet_baseline(generator: Generator, repetitions: int) -> Table:
    noises = (0.05, 0.1, 0.2, 0.3)

    def row(kind: str, n: int) -> tuple[str, ...]:
        cells = (cells_of(generator, kind, repetitions, n, noise=x) for x in noises)
        native = {"noise": QUIET}
        found = (
            covered(cell, cells_of(generator, "normal", repetitions, n, **native))
            for cell in cells
        )
        return (f"{kind}, {n} runs a side", *map(percent, found))

    return Table(
        "Coverage, a noisy virtual machine against a quiet native one",
        f"The native deviation is {percent(QUIET)} %, normal; the columns are that of "
        "the virtual machine.",
        ("virtual machine", *(f"{percent(noise, 0)} %" for noise in noises)),
        tuple(row(kind, n) for kind in ("lognormal", "skewed") for n in (5, 10)),
    )


def no_interval(generator: Generator, repetitions: int) -> Table:
    noises = (0.01, 0.02, 0.05, 0.1, 0.2)

    def share(n: int, noise: float) -> float:
        cell, baseline = (
            cells_of(generator, "normal", repetitions, n, noise=noise) for _ in "ab"
        )
        intervals = log_ratio_intervals(cell, baseline, True)
        return float(np.mean(intervals.method == Method.NONE))

    return Table(
        "Cells without an interval",
        "How many % have none, because the interval of one side alone reaches 0 "
        "(g >= 1), by standard deviation; normal.",
        ("runs a side", *(f"{percent(noise, 0)} %" for noise in noises)),
        tuple(
            (str(n), *(percent(share(n, noise)) for noise in noises))
            for n in (2, 3, 4, 5)
        ),
    )


def identical_readings(generator: Generator, repetitions: int) -> Table:
    counts = (2, 3, 5, 10, 30)

    def row(noise: float, is_divided: bool = False) -> tuple[str, ...]:
        shown = []
        for n in counts:
            level = generator.uniform(1000, 1001, (2, repetitions, 1))
            exact = level + noise * generator.normal(size=(2, repetitions, n))
            cell, baseline = (_printed(each, is_divided) for each in np.round(exact))
            truth = (level[0] / level[1])[:, 0]
            shown.append(covered(cell, baseline, truth=truth))
        name = f"{noise:g} x the last digit"
        name += ", rounding divided by n" if is_divided else ""
        return (name, *map(percent, shown))

    return Table(
        "Coverage of readings that rounding makes (nearly) identical",
        "By runs a side; values around 1000 printed without decimals. Where rounding "
        "hides the noise the interval is too wide rather than too narrow. The last row "
        "is what it would be if resolution^2 / 12 were divided by n.",
        ("noise", *map(str, counts)),
        (*map(row, (0.0, 0.1, 0.3, 0.5, 1.0)), row(0.0, is_divided=True)),
    )


def _printed(run_means: np.ndarray, is_divided: bool) -> Rollups:
    """Return the statistics of readings without decimals; see Rollups.log_variance."""
    exact = rolled(run_means)
    digit = np.ones(len(exact.n))
    if is_divided:
        floored = np.maximum(exact.variance, digit / 12)
        return Rollups(exact.n, exact.mean, floored, digit * np.nan)
    return Rollups(exact.n, exact.mean, exact.variance, digit)
