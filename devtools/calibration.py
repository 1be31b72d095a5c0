"""`make calibrate`: how often the intervals, verdicts and flags are right.

Simulated cells with a known true value are judged by the code that judges real ones.
A new table at the end of `TABLES` does not change the random numbers of the others.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.simulation import (
    KINDS,
    cells_of,
    covered,
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
MEASURED_ONCE: Final = "## Cells without an interval"


@dataclass(frozen=True)
class Table:
    """A section of the report; the first column names the rows."""

    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        ruler = ("---", *("---:" for _ in self.columns[1:]))
        lines = (f"| {' | '.join(row)} |" for row in (self.columns, ruler, *self.rows))
        return "\n".join([f"## {self.title}", "", self.text, "", *lines])


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a number of percent: 0.951 is 95.1."""
    return f"{100 * share:.{digits}f}"


def rows_of(
    names: Mapping[str, Sequence[Any]],
    columns: Iterable[Any],
    share: Callable[..., float],
    digits: int = 1,
) -> tuple[tuple[str, ...], ...]:
    """Return a row per name with ``share(*values of the name, column)`` in percent."""
    columns = tuple(columns)
    return tuple(
        (name, *(percent(share(*given, column), digits) for column in columns))
        for name, given in names.items()
    )


def kinds_and_runs(*counts: int) -> dict[str, tuple[str, int]]:
    return {f"{kind}, {n} runs": (kind, n) for kind in KINDS for n in counts}


def noise_heads(noises: Iterable[float], digits: int = 1) -> tuple[str, ...]:
    return tuple(f"{percent(noise, digits)} %" for noise in noises)


def _covered(
    generator: Generator, repetitions: int
) -> Callable[[str, Sequence[int]], float]:
    def share(kind: str, design: Sequence[int]) -> float:
        cell, native = (
            cells_of(generator, kind, repetitions, n, noise=NOISE) for n in design
        )
        return covered(cell, native)

    return share


def coverage(generator: Generator, repetitions: int) -> Table:
    counts = (2, 3, 4, 5, 7, 10)
    designs = [(n, n) for n in counts]
    share = _covered(generator, repetitions)
    return Table(
        "Coverage, the same number of runs on both sides",
        "How many % of the intervals hold the true ratio, by runs a side. The standard "
        f"deviation between runs is {percent(NOISE, 0)} % of the mean. Wanted: 95. "
        "Below five runs (MOVER) the intervals are wider than they need be.",
        ("run means are", *map(str, counts)),
        rows_of({kind: (kind,) for kind in KINDS}, designs, share),
    )


def unequal_coverage(generator: Generator, repetitions: int) -> Table:
    designs = ((2, 30), (4, 30), (5, 30), (10, 30))
    share = _covered(generator, repetitions)
    return Table(
        "Coverage, unequal numbers of runs",
        "As above. A mean of few runs of a skewed or two-speed system is itself "
        "skewed, and a baseline of many runs no longer hides that: measure both sides "
        "equally often.",
        ("run means are", *(f"{n} against {m}" for n, m in designs)),
        rows_of({kind: (kind,) for kind in KINDS}, designs, share),
    )


def quiet_baseline(generator: Generator, repetitions: int) -> Table:
    noises = (0.05, 0.1, 0.2, 0.3)

    def share(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise)
        return covered(cell, cells_of(generator, "normal", repetitions, n, noise=QUIET))

    kinds = ("lognormal", "skewed")
    names = {f"{kind}, {n} runs a side": (kind, n) for kind in kinds for n in (5, 10)}
    return Table(
        "Coverage, a noisy virtual machine against a quiet native one",
        f"The native deviation is {percent(QUIET)} %, normal; the columns are that of "
        "the virtual machine.",
        ("virtual machine", *noise_heads(noises, 0)),
        rows_of(names, noises, share),
    )


def _verdicts(
    generator: Generator,
    repetitions: int,
    *counted: Verdict,
    truth: float = 1.0,
    native: float | None = None,
) -> Callable[[str, int, float], float]:
    """Return the share of these verdicts by kind, runs and noise.

    ``native`` is the noise of a normal native machine, by default as the other side.
    """

    def share(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise, truth=truth)
        kind, noise = (kind, noise) if native is None else ("normal", native)
        given = shares(cell, cells_of(generator, kind, repetitions, n, noise=noise))
        return sum(given[verdict] for verdict in counted)

    return share


DIFFERENT: Final = (Verdict.SLOWER, Verdict.FASTER)


def false_verdicts(generator: Generator, repetitions: int) -> Table:
    share = _verdicts(generator, repetitions, *DIFFERENT)
    return Table(
        "False verdicts between equal systems",
        "How many % of cells are called slower or faster although both sides are "
        "equal, by standard deviation; equivalence margin 2 %. Promised: at most 4.",
        ("run means are", *noise_heads(NOISES)),
        rows_of(kinds_and_runs(5, 10), NOISES, share, 2),
    )


def false_verdicts_on_a_quiet_host(generator: Generator, repetitions: int) -> Table:
    noises = (0.02, 0.05, 0.1, 0.2)
    share = _verdicts(generator, repetitions, *DIFFERENT, native=QUIET)
    return Table(
        "False verdicts, a noisy virtual machine against a quiet native one",
        "As above, but the native deviation is 0.2 %, normal; the columns are that of "
        "the virtual machine. Here the promise has limits: a few runs may all have met "
        "the same one of two speeds, or none of a long tail, and nothing in them shows "
        "it.",
        ("virtual machine", *noise_heads(noises)),
        rows_of(kinds_and_runs(5, 10, 20), noises, share, 2),
    )


def margin_edge(generator: Generator, repetitions: int) -> Table:
    counted = (*DIFFERENT, Verdict.EQUIVALENT)
    share = _verdicts(generator, repetitions, *counted, truth=0.98)
    return Table(
        "Verdicts at the edge of the equivalence margin",
        "The true ratio is 0.98 exactly, where slower, faster and equivalent are all "
        "wrong: how many % of cells get any of them. Wanted: at most 5.",
        ("run means are", *noise_heads(NOISES)),
        rows_of(kinds_and_runs(5, 10), NOISES, share, 2),
    )


def power(generator: Generator, repetitions: int) -> Table:
    def share(truth: float, n: int, noise: float) -> float:
        wanted = Verdict.EQUIVALENT if truth == 1 else Verdict.SLOWER
        right = _verdicts(generator, repetitions, wanted, truth=truth)
        return right("normal", n, noise)

    truths = (0.97, 0.95, 0.9, 0.8, 1.0)
    names = {
        f"{ratio:g}, {n} runs": (ratio, n) for ratio in truths for n in (5, 10, 20)
    }
    return Table(
        "Right verdicts",
        "How many % of cells get the right verdict (slower; equivalent for 1), by "
        "standard deviation; normal, equivalence margin 2 %.",
        ("true ratio", *noise_heads(NOISES)),
        rows_of(names, NOISES, share),
    )


def many_cells(generator: Generator, repetitions: int) -> Table:
    matrices = max(repetitions // 50, 1)
    return Table(
        "Many cells at once",
        "How many % of the verdicts given in a matrix are wrong, before and after the "
        "correction (Benjamini-Hochberg, 5 %). The first column says how many cells "
        "truly are slower (0.94, deviation 2 %, 5 runs a side); all others lie exactly "
        "at the edge, the worst there is. Wanted: at most 5 after.",
        ("truly slower", "before", "after"),
        tuple(
            (f"{n} of 200", *map(percent, wrong_among_many(generator, matrices, n)))
            for n in (0, 10, 50, 100, 180)
        ),
    )


def flags(generator: Generator, repetitions: int) -> Table:
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
    false_verdicts,
    margin_edge,
    power,
    many_cells,
    false_verdicts_on_a_quiet_host,
    flags,
)


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
    # The commit by its number, marked if files differ from it.
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True)
    page = report(options.repetitions, commit.stdout.strip())
    if options.write:
        old = options.write.read_text(encoding="utf-8")
        _, mark, measured_once = old.partition(MEASURED_ONCE)
        kept = f"\n{mark}{measured_once}" if mark else ""
        options.write.write_text(page + kept, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
