"""`make calibrate`: how often the intervals, verdicts and flags are right.

Simulated cells with a known true value are judged by the code that judges real ones.
Each table is a function ``(generator, repetitions) -> Table`` in `TABLES` and has its
own random numbers, so a new table at the end does not change the others.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.intervals import Method, log_ratio_intervals
from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.simulation import (
    KINDS,
    cells_of,
    covered,
    covered_when_rounded,
    shares,
    wrong_among_many,
)
from tests.benchmarks.plausibility.detection import detection, false_findings
from tests.benchmarks.plausibility.planted_mistakes import CLASSES

SEED: Final = 20_100_521
# A simulated study takes about as long as this many repetitions of the other tables.
STUDY_WEIGHT: Final = 100
NOISE: Final = 0.05
QUIET: Final = 0.002
NOISES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)
# Tables below this heading were measured once; `--write` keeps them.
MEASURED_ONCE: Final = "## Words within one session"


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
        name = f"{noise:g} x the last digit"
        name += ", rounding divided by n" if is_divided else ""
        options = {"noise": noise, "is_divided": is_divided}
        found = [
            covered_when_rounded(generator, repetitions, n, **options) for n in counts
        ]
        return (name, *map(percent, found))

    return Table(
        "Coverage of readings that rounding makes (nearly) identical",
        "By runs a side; values around 1000 printed without decimals. Where rounding "
        "hides the noise the interval is too wide rather than too narrow. The last row "
        "is what it would be if resolution^2 / 12 were divided by n.",
        ("noise", *map(str, counts)),
        (*map(row, (0.0, 0.1, 0.3, 0.5, 1.0)), row(0.0, is_divided=True)),
    )


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
    matrices = max(repetitions // 50, 1)
    counts = (0, 10, 50, 100, 180)

    return Table(
        "Many cells at once",
        "How many % of the verdicts given in a matrix are wrong, before and after the "
        "correction (Benjamini-Hochberg, 5 %). The first column says how many cells "
        "truly are slower (0.94, deviation 2 %, 5 runs a side); all others lie exactly "
        "at the edge, the worst there is. Wanted: at most 5 after.",
        ("truly slower", "before", "after"),
        tuple(
            (f"{n} of 200", *map(percent, wrong_among_many(generator, matrices, n)))
            for n in counts
        ),
    )


def flags(generator: Generator, repetitions: int) -> Table:
    """Return mistakes found and false doubts as a table of the calibration report."""
    studies = max(repetitions // STUDY_WEIGHT, 2)
    seed = int(generator.integers(2**31))
    counts = [
        (f"{name} (wanted >= 95 %)", *detection(name, repetitions=studies, seed=seed))
        for name in CLASSES
    ]
    clean = false_findings(repetitions=studies, seed=seed)
    counts += [
        ("clean cells doubted (wanted < 1 %)", clean.doubted_cells, clean.cells),
        ("clean runs doubted (wanted < 1 %)", clean.doubted_runs, clean.runs),
    ]
    return Table(
        "Plausibility flags",
        f"Each class of mistakes is made in {studies} simulated studies, where it "
        "can be made; a flag must name what is wrong. Below, what is doubted in the "
        "same studies without a mistake.",
        ("mistake", "found or doubted, %", "of"),
        tuple(
            (what, f"{100 * count / of if of else 0.0:.2f}", str(of))
            for what, count, of in counts
        ),
    )


TABLES: Final[tuple[Callable[[Generator, int], Table], ...]] = (
    coverage,
    unequal_coverage,
    quiet_baseline,
    no_interval,
    identical_readings,
    false_verdicts,
    margin_edge,
    power,
    many_cells,
    false_verdicts_on_a_quiet_host,
    flags,
)


def current_commit() -> str:
    """Return the checked-out commit, marked if files differ from it."""
    # Without any tag a commit is told by its number.
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def report(repetitions: int, commit: str) -> str:
    """Return the whole page, as Markdown; ``commit`` is the code that was measured."""
    tables = (
        make(np.random.default_rng([SEED, place]), repetitions)
        for place, make in enumerate(TABLES)
    )
    # 1.96 standard errors, in percent.
    error = 196 * (0.95 * 0.05 / repetitions) ** 0.5
    head = (
        "# How often the statistics are right\n\n"
        "Written by `make calibrate`, which simulates cells whose truth is known and "
        "has them judged by the code that judges real ones.\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, seed {SEED}, "
        f"{repetitions:,} repetitions: a coverage of 95 % is known to "
        f"+-{error:.1f} points.\n"
    )
    return head + "".join(f"\n{table.markdown()}\n" for table in tables)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help="update this page")
    options = parser.parse_args(arguments)
    page = report(options.repetitions, current_commit())
    if options.write:
        old = options.write.read_text(encoding="utf-8")
        _, mark, measured_once = old.partition(MEASURED_ONCE)
        kept = f"\n{mark}{measured_once}" if mark else ""
        options.write.write_text(page + kept, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
