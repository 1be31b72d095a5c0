"""The tables of the calibration report: how many intervals and verdicts are right."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from bench.simulation import KINDS, cells_of, rolled, runs
from benchmarks.analysis.intervals import Method, Rollups, log_ratio_intervals
from benchmarks.analysis.verdicts import Verdict, correct, judge

NOISE: Final = 0.05
QUIET: Final = 0.002
NOISES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Table:
    """A title, what the numbers mean, and the numbers as texts.

    The first column names the rows.
    """

    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table as a section of a page."""
        ruler = ("---", *("---:" for _ in self.columns[1:]))
        lines = (
            f"| {' | '.join(each)} |" for each in (self.columns, ruler, *self.rows)
        )
        return "\n".join([f"## {self.title}", "", self.text, "", *lines])


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a number of percent: 0.951 is 95.1."""
    return f"{100 * share:.{digits}f}"


def covered(cell: Rollups, baseline: Rollups, truth: float | np.ndarray = 1.0) -> float:
    """Return the share of the intervals that hold the truth, of those that exist."""
    intervals = log_ratio_intervals(cell, baseline, True)
    is_right = (intervals.low < truth) & (intervals.high > truth)
    return float(np.mean(is_right[intervals.method != Method.NONE]))


def coverage(generator: Generator, repetitions: int) -> Table:
    counts = (2, 3, 4, 5, 7, 10)
    designs = tuple((n, n) for n in counts)
    return Table(
        "Coverage, the same number of runs on both sides",
        "How many % of the intervals hold the true ratio, by runs a side. The standard "
        f"deviation between runs is {percent(NOISE, 0)} % of the mean. Wanted: 95. "
        "Below five runs (MOVER) the intervals are wider than they need be.",
        ("run means are", *map(str, counts)),
        _covered_rows(generator, repetitions, designs),
    )


def unequal_coverage(generator: Generator, repetitions: int) -> Table:
    designs = ((2, 30), (4, 30), (5, 30), (10, 30))
    return Table(
        "Coverage, unequal numbers of runs",
        "As above. A mean of few runs of a skewed or two-speed system is itself "
        "skewed, and a baseline of many runs no longer hides that: measure both sides "
        "equally often.",
        ("run means are", *(f"{n} against {m}" for n, m in designs)),
        _covered_rows(generator, repetitions, designs),
    )


def _covered_rows(
    generator: Generator, repetitions: int, designs: Iterable[tuple[int, int]]
) -> tuple[tuple[str, ...], ...]:
    """Return a row a kind of noise, a column a design: the runs of both sides."""

    def row(kind: str) -> tuple[str, ...]:
        pairs = (
            [cells_of(generator, kind, repetitions, n, noise=NOISE) for n in design]
            for design in designs
        )
        return (kind, *(percent(covered(cell, other)) for cell, other in pairs))

    return tuple(map(row, KINDS))


def quiet_baseline(generator: Generator, repetitions: int) -> Table:
    noises = (0.05, 0.1, 0.2, 0.3)

    def row(kind: str, n: int) -> tuple[str, ...]:
        cells = (cells_of(generator, kind, repetitions, n, noise=x) for x in noises)
        native = {"noise": QUIET}
        shares = (
            covered(cell, cells_of(generator, "normal", repetitions, n, **native))
            for cell in cells
        )
        return (f"{kind}, {n} runs a side", *map(percent, shares))

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
            # Its place between two digits matters: each pair has a truth of its own.
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
        # Of unknown resolution, so that it is not floored a second time.
        return Rollups(exact.n, exact.mean, floored, digit * np.nan)
    return Rollups(exact.n, exact.mean, exact.variance, digit)


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
        _wrong_rows(wrong, NOISES, (5, 10)),
    )


def _wrong_rows(
    wrong: Callable[[str, int, float], float],
    noises: Iterable[float],
    counts: Iterable[int],
) -> tuple[tuple[str, ...], ...]:
    """Return a row a kind of noise and number of runs, a column a size of noise."""
    return tuple(
        (f"{kind}, {n} runs", *(percent(wrong(kind, n, noise), 2) for noise in noises))
        for kind in KINDS
        for n in counts
    )


def false_verdicts_on_a_quiet_host(generator: Generator, repetitions: int) -> Table:
    noises = (0.02, 0.05, 0.1, 0.2)

    def wrong(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise)
        native = cells_of(generator, "normal", repetitions, n, noise=QUIET)
        given = shares(cell, native)
        return given[Verdict.SLOWER] + given[Verdict.FASTER]

    return Table(
        "False verdicts, a noisy virtual machine against a quiet native one",
        "As above, but the native deviation is 0.2 %, normal; the columns are that of "
        "the virtual machine. Here the promise has limits: a few runs may all have met "
        "the same one of two speeds, or none of a long tail, and nothing in them shows "
        "it.",
        ("virtual machine", *(f"{percent(noise)} %" for noise in noises)),
        _wrong_rows(wrong, noises, (5, 10, 20)),
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
        _wrong_rows(wrong, NOISES, (5, 10)),
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
