"""`make calibrate`: measure how often intervals, verdicts and flags are correct.

The product's code assesses simulated results with a known true ratio. Append new tables
to the end of `TABLES`, so that the random numbers of the others stay the same.
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

from benchmarks.analysis.intervals import Method, log_ratio_intervals
from benchmarks.analysis.verdicts import Verdict, assess_cells
from tests.benchmarks.analysis.published_means import PUBLISHED_WORLDS, published_words
from tests.benchmarks.analysis.simulation import (
    KINDS,
    cells_of,
    covered,
    covered_when_rounded,
    days_apart,
    pool_coverage,
    shares,
    wrong_among_many,
)
from tests.benchmarks.analysis.world_verdicts import (
    COLUMNS,
    TRUTHS,
    judge_world,
    summarize_world,
)
from tests.benchmarks.analysis.worlds import POOL_WORLDS, WORLDS
from tests.benchmarks.plausibility.clean_settings import (
    CHECKED_RULES,
    false_flags,
)
from tests.benchmarks.plausibility.clean_settings import (
    KINDS as SETTING_KINDS,
)
from tests.benchmarks.plausibility.detection_rates import detection, false_findings
from tests.benchmarks.plausibility.planted_mistakes import CLASSES

SEED: Final = 20_100_521
# A simulated study takes as long as this many repetitions, so fewer are simulated.
STUDY_WEIGHT: Final = 100
POOL_WEIGHT: Final = 5
NOISE: Final = 0.05
QUIET_NOISE: Final = 0.002
NOISES: Final = (0.005, 0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Table:
    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        ruler = ("---", *("---:" for _ in self.columns[1:]))
        lines = (f"| {' | '.join(row)} |" for row in (self.columns, ruler, *self.rows))
        return "\n".join([f"## {self.title}", "", self.text, "", *lines])


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}"


def rows_of(
    names: Mapping[str, Sequence[Any]],
    columns: Iterable[Any],
    share: Callable[..., float],
    digits: int = 1,
) -> tuple[tuple[str, ...], ...]:
    columns = tuple(columns)
    return tuple(
        (name, *(percent(share(*values, column), digits) for column in columns))
        for name, values in names.items()
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
        "Coverage with equal numbers of runs",
        "Percentage of intervals that contain the true ratio, by number of runs on "
        f"each side. The standard deviation between runs is {percent(NOISE, 0)} % of "
        "the mean. Target: 95. Below five runs (MOVER) the intervals are wider than "
        "necessary.",
        ("run means are", *map(str, counts)),
        rows_of({kind: (kind,) for kind in KINDS}, designs, share),
    )


def unequal_coverage(generator: Generator, repetitions: int) -> Table:
    designs = ((2, 30), (4, 30), (5, 30), (10, 30))
    share = _covered(generator, repetitions)
    return Table(
        "Coverage with unequal numbers of runs",
        "The same percentage. The mean of a few runs of a skewed or two-speed system "
        "is skewed, and a baseline with many runs does not compensate for it. Use the "
        "same number of runs on both sides.",
        ("run means are", *(f"{n} against {m}" for n, m in designs)),
        rows_of({kind: (kind,) for kind in KINDS}, designs, share),
    )


def quiet_baseline(generator: Generator, repetitions: int) -> Table:
    noises = (0.05, 0.1, 0.2, 0.3)

    def share(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise)
        return covered(
            cell, cells_of(generator, "normal", repetitions, n, noise=QUIET_NOISE)
        )

    kinds = ("lognormal", "skewed")
    names = {f"{kind}, {n} runs a side": (kind, n) for kind in kinds for n in (5, 10)}
    return Table(
        "Coverage with a noisy virtual machine and a quiet native machine",
        "The native runs are normal with a standard deviation of "
        f"{percent(QUIET_NOISE)} %. The columns are the standard deviation of the "
        "virtual machine.",
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
    """Return a function that simulates cells and returns the share of some verdicts.

    The share is that of the verdicts in ``counted``. The function's arguments are kind
    of distribution, number of runs and noise. Native results have the same kind and
    noise or, with ``native``, a normal distribution with this noise.
    """

    def share(kind: str, n: int, noise: float) -> float:
        cell = cells_of(generator, kind, repetitions, n, noise=noise, truth=truth)
        kind, noise = (kind, noise) if native is None else ("normal", native)
        verdict_shares = shares(
            cell, cells_of(generator, kind, repetitions, n, noise=noise)
        )
        return sum(verdict_shares[verdict] for verdict in counted)

    return share


DIFFERENT: Final = (Verdict.SLOWER, Verdict.FASTER)


def false_verdicts(generator: Generator, repetitions: int) -> Table:
    share = _verdicts(generator, repetitions, *DIFFERENT)
    return Table(
        "False verdicts between equal systems",
        "Percentage of results with the verdict slower or faster although both systems "
        "are equal, by standard deviation. Equivalence margin 2 %. Target: at most 4.",
        ("run means are", *noise_heads(NOISES)),
        rows_of(kinds_and_runs(5, 10), NOISES, share, 2),
    )


def false_verdicts_on_a_quiet_host(generator: Generator, repetitions: int) -> Table:
    noises = (0.02, 0.05, 0.1, 0.2)
    share = _verdicts(generator, repetitions, *DIFFERENT, native=QUIET_NOISE)
    return Table(
        "False verdicts with a noisy virtual machine and a quiet native machine",
        "Percentage of false verdicts between equal systems when the native runs are "
        f"normal with a standard deviation of {percent(QUIET_NOISE)} %. The columns "
        "are the standard deviation of the virtual machine. The target is missed in "
        "some rows: a few runs may all have the same one of two speeds, or miss a long "
        "tail, and the data do not show it.",
        ("virtual machine", *noise_heads(noises)),
        rows_of(kinds_and_runs(5, 10, 20), noises, share, 2),
    )


def margin_edge(generator: Generator, repetitions: int) -> Table:
    counted = (*DIFFERENT, Verdict.EQUIVALENT)
    share = _verdicts(generator, repetitions, *counted, truth=0.98)
    return Table(
        "Verdicts at the edge of the equivalence margin",
        "Percentage of results with the verdict slower, faster or equivalent when the "
        "true ratio is exactly 0.98, where all three are wrong. Target: at most 5.",
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
        "Correct verdicts",
        "Percentage of results with the correct verdict (slower; equivalent for a "
        "ratio of 1), by standard deviation. Normal runs, equivalence margin 2 %.",
        ("true ratio", *noise_heads(NOISES)),
        rows_of(names, NOISES, share),
    )


def many_cells(generator: Generator, repetitions: int) -> Table:
    matrices = max(repetitions // 50, 1)
    return Table(
        "Many results at once",
        "Percentage of wrong verdicts among all verdicts of a matrix, before and after "
        "the Benjamini-Hochberg correction at 5 %. The first column is the number of "
        "results that are truly slower (ratio 0.94, standard deviation 2 %, 5 runs on "
        "each side). All others are exactly at the edge of the margin, the worst case. "
        "Target: at most 5 after the correction.",
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
        ("clean results flagged (wanted < 1 %)", clean.doubted_cells, clean.cells),
        ("clean runs flagged (wanted < 1 %)", clean.doubted_runs, clean.runs),
    ]
    return Table(
        "Plausibility flags",
        f"Each kind of error is planted in {studies} simulated studies, if it is "
        "possible there. The percentage counts the studies in which a flag names the "
        "error. The last two rows are false flags in the same studies without an "
        "error.",
        ("error", "flagged, %", "tried"),
        tuple(
            (what, f"{100 * count / of if of else 0.0:.2f}", str(of))
            for what, count, of in counts
        ),
    )


def worlds(generator: Generator, repetitions: int) -> Table:
    studies = max(repetitions // STUDY_WEIGHT // 4, 1)
    return Table(
        "Verdicts in simulated designs",
        f"Each world is a design with {studies * len(TRUTHS)} results in "
        f"{studies} studies. The true ratios are 1, 0.98, 0.95, 0.9 and 1.05. The "
        "verdicts use sessions, distributions, the order of runs, displays and flags, "
        "and are corrected for their number. *Wrong* verdicts exclude weak ones: at 1 "
        "slower or faster, at 0.98 every one, elsewhere all but the correct one. "
        "*Decidable* results are those for which a t interval with the true noise of "
        "the design gives the correct verdict; there are none where the design cannot "
        "show its noise. Targets: wrong at most 2; refused at most 3 and flagged at "
        "most 1 for independent runs; decidable with a verdict at least 80.",
        COLUMNS,
        tuple(
            (
                world.name,
                *summarize_world(judge_world(world, generator, studies)).columns,
            )
            for world in WORLDS
        ),
    )


def pools(generator: Generator, repetitions: int) -> Table:
    simulated = max(repetitions // POOL_WEIGHT, 10)
    rows = []
    for world in POOL_WORLDS:
        result = pool_coverage(generator, world, simulated)
        shares = percent(result.mean), percent(result.predicted)
        rows.append((world.name, *shares, percent(result.half_width)))
    return Table(
        "Pools of labs",
        f"Percentage of {simulated} pools whose confidence interval contains the true "
        "mean, and coverage of the prediction for a machine in another lab. *tau* is "
        "the standard deviation of the logarithm between labs and between the "
        "machines of a lab. The standard error of a machine is 0.5 % if not stated. "
        "Target: predictions 93 to 97, more if tau is 0.",
        (
            "pool",
            "mean covered",
            "prediction covers",
            "half width of the prediction, %",
        ),
        tuple(rows),
    )


def missing_intervals(generator: Generator, repetitions: int) -> Table:
    noises = (0.01, 0.02, 0.05, 0.1, 0.2)

    def share(n: int, noise: float) -> float:
        cell, native = (
            cells_of(generator, "normal", repetitions, n, noise=noise) for _ in range(2)
        )
        return float(
            np.mean(log_ratio_intervals(cell, native, True).method == Method.NONE)
        )

    return Table(
        "Results without an interval",
        "Percentage of results without an interval, because the interval of one side "
        "reaches 0 (g >= 1), by standard deviation. Normal runs.",
        ("runs a side", *noise_heads(noises, 0)),
        rows_of({str(n): (n,) for n in (2, 3, 4, 5)}, noises, share),
    )


def rounded_readings(generator: Generator, repetitions: int) -> Table:
    counts = (2, 3, 5, 10, 30)

    def share(noise: float, n: int) -> float:
        return covered_when_rounded(generator, repetitions, n, noise=noise)

    names = {f"{noise:g} x the last digit": (noise,) for noise in (0, 0.1, 0.3, 0.5, 1)}
    return Table(
        "Coverage of rounded readings",
        "Percentage of intervals that contain the true ratio, by number of runs on "
        "each side, for values around 1000 printed without decimals. When rounding "
        "hides the noise, the interval is too wide instead of too narrow.",
        ("noise", *map(str, counts)),
        rows_of(names, counts, share),
    )


def sessions_and_days(generator: Generator, repetitions: int) -> Table:
    days = (0.0, 0.01, 0.03)
    designs: dict[str, tuple[tuple[int, int], bool]] = {
        f"{n} {'shared' if is_shared else 'separate'}": ((n, n), is_shared)
        for is_shared in (True, False)
        for n in (1, 3, 5, 10)
    }
    designs["5 native, 1 of the guest"] = (1, 5), False

    def share(
        sessions: tuple[int, int], is_shared: bool, column: tuple[float, float]
    ) -> float:
        truth, day = column
        guest, native = days_apart(
            generator,
            repetitions,
            sessions,
            5,
            truth=truth,
            day=day,
            is_shared=is_shared,
        )
        verdict = assess_cells(
            guest.cells, native.cells, True, sessions=(guest.sessions, native.sessions)
        ).verdict
        counted = DIFFERENT if truth == 1 else (Verdict.SLOWER,)
        return float(np.mean(np.isin(verdict, counted)))

    columns = [(truth, day) for truth in (1.0, 0.95) for day in days]
    return Table(
        "Verdicts across days",
        "Percentage of false verdicts between equal systems (target: at most 2) and of "
        "correct ones for a ratio of 0.95, by number of sessions and by the standard "
        "deviation between days. Five runs a side in each session, with a standard "
        "deviation of 2 %, in no known order.",
        (
            "sessions",
            *(f"false, days {percent(day, 0)} %" for day in days),
            *(f"0.95, days {percent(day, 0)} %" for day in days),
        ),
        rows_of(designs, columns, share),
    )


def published_means(generator: Generator, repetitions: int) -> Table:
    runs = (5, 10, 30)
    columns = [(truth, n) for truth in (1.0, 0.4, 0.3) for n in runs]
    rows = []
    for world in PUBLISHED_WORLDS:
        shares = []
        for truth, n in columns:
            words = published_words(generator, world, repetitions, n, truth)
            counted = words > 0 if truth == 1 else words == Verdict.SLOWER
            shares.append(percent(float(np.mean(counted)), 2 if truth == 1 else 1))
        rows.append((world.name, *shares))
    return Table(
        "Verdicts of published means",
        "Percentage of results with any verdict between equal systems (target: at most "
        "2), and with the correct one for ratios of 0.4 and 0.3, by number of runs. "
        "Only mean and standard deviation of each side are known, and each side ran on "
        "one day. Some sources print standard errors or half widths of 95 % intervals "
        "as deviations.",
        (
            "world",
            *(f"{'false' if truth == 1 else truth}, {n} runs" for truth, n in columns),
        ),
        tuple(rows),
    )


def setting_flags(generator: Generator, repetitions: int) -> Table:
    studies = max(repetitions // STUDY_WEIGHT * 2, 10)
    seed = int(generator.integers(2**31))
    counts = [false_flags(studies=studies, seed=seed, kind=k) for k in SETTING_KINDS]
    rows = [(rule, [count.by_rule[rule] for count in counts]) for rule in CHECKED_RULES]
    rows.append(("any of them", [count.by_any for count in counts]))
    return Table(
        "False flags on settings",
        f"Percentage of results in {studies} clean studies of settings that a rule "
        "flags, by distribution of the runs: 3 to 30 runs with a standard deviation of "
        "0.2 to 20 %, on one day or three shared ones, in three or more digits. "
        "Target: at most 1, together 3.",
        ("rule", *SETTING_KINDS),
        tuple(
            (
                rule,
                *(
                    percent(number / count.cells, 2)
                    for number, count in zip(numbers, counts, strict=True)
                ),
            )
            for rule, numbers in rows
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
    worlds,
    pools,
    missing_intervals,
    rounded_readings,
    sessions_and_days,
    published_means,
    setting_flags,
)


def report(repetitions: int, commit: str) -> str:
    tables = (
        make_table(np.random.default_rng([SEED, index]), repetitions)
        for index, make_table in enumerate(TABLES)
    )
    # 1.96 standard errors of a share of 95 %, in percentage points.
    error = 196 * (0.95 * 0.05 / repetitions) ** 0.5
    head = (
        "# Calibration: measured figures\n\n"
        "The tables behind [calibration.md](../calibration.md). "
        "[method.md](../method.md) defines the terms. `make calibrate` simulates "
        "results with a known true ratio, assesses them with the product's code, and "
        "writes this page.\n\n"
        "Run means have one of these distributions:\n\n"
        "- *normal* and *lognormal*;\n"
        "- *two-speed*: 64 % and 36 % of the runs, with normal noise;\n"
        "- *t3*: Student's t with three degrees of freedom;\n"
        "- *skewed*: a gamma distribution of shape 2.\n\n"
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit}, seed {SEED}, "
        f"{repetitions:,} repetitions. A coverage of 95 % has an uncertainty of "
        f"±{error:.1f} percentage points.\n"
    )
    return head + "".join(f"\n{table.markdown()}\n" for table in tables)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help="update this page")
    options = parser.parse_args(arguments)
    # The hash of the commit, with "-dirty" after changes.
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True)
    page = report(options.repetitions, commit.stdout.strip())
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
