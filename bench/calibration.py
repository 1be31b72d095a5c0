"""`make calibrate`: how often the intervals and verdicts of this code are right.

Cells with a known truth are simulated and judged by the code that judges real ones.
Another table is a function ``(generator, repetitions) -> Table``, added at the end of
TABLES: each has random numbers of its own, so that a new one changes no other.

`flags` counts how many mistakes the plausibility rules find, and how often they doubt
in vain: one mistake of a class is made in each of many simulated studies, and the rules
of that class must name what is wrong.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator

from bench.mistakes import CLASSES
from bench.statements import (
    many_statements,
    words_by_layout,
    words_by_world,
    words_by_world_across_days,
)
from bench.studies import clean_study
from bench.tables import (
    Table,
    coverage,
    false_verdicts,
    false_verdicts_on_a_quiet_host,
    identical_readings,
    many_cells,
    margin_edge,
    no_interval,
    power,
    quiet_baseline,
    unequal_coverage,
)
from benchmarks.plausibility.checking import RULES, check

SEED: Final = 20_100_521
# A study takes about as long as this many repetitions of the other tables.
STUDY_WEIGHT = 100

# Every class walks all studies in order: a cache with room for fewer would never hit.
_study = cache(clean_study)


@dataclass(frozen=True)
class FalseFindings:
    """What the rules doubted in clean studies."""

    cells: int
    doubted_cells: int
    runs: int
    doubted_runs: int
    by_rule: Counter[str]


def detection(name: str, *, repetitions: int, seed: int) -> tuple[int, int]:
    """Return in how many studies a class of mistakes was found, of how many.

    Found means that a rule of the class names a cell or run that is wrong.
    """
    inject, rules = CLASSES[name]
    hits = tried = 0
    for number in range(seed, seed + repetitions):
        # Another stream than that of the study, which is drawn from the number alone.
        made = inject(np.random.default_rng([number, 1]), _study(number))
        if made is not None:
            study, wrong = made
            named = {
                subject.id
                for finding in check(study, [RULES[rule] for rule in sorted(rules)])
                for subject in finding.subjects
            }
            hits += bool(named & set(map(str, wrong)))
            tried += 1
    return hits, tried


def false_findings(*, repetitions: int, seed: int) -> FalseFindings:
    """Return what every rule together doubts in studies without a mistake."""
    cells = runs = doubted_cells = doubted_runs = 0
    by_rule: Counter[str] = Counter()
    for number in range(seed, seed + repetitions):
        study = _study(number)
        findings = check(study)
        named = {subject for finding in findings for subject in finding.subjects}
        cells, runs = cells + len(study.cells), runs + len(study.runs)
        doubted_cells += sum(subject.kind == "cell" for subject in named)
        doubted_runs += sum(subject.kind == "run" for subject in named)
        by_rule.update(finding.rule for finding in findings)
    return FalseFindings(cells, doubted_cells, runs, doubted_runs, by_rule)


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
    words_by_world,
    words_by_layout,
    words_by_world_across_days,
    many_statements,
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
    parser.add_argument("--write", type=Path, help="write the page here")
    options = parser.parse_args(arguments)
    page = report(options.repetitions, current_commit())
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
