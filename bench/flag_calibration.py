"""How many mistakes the plausibility rules find, and how often they doubt in vain.

Studies of known truth are simulated, one mistake of a class is made in each, and the
rules of that class must name what is wrong. The simulator is the tests' own.
"""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from bench.mistakes import CLASSES
from bench.studies import clean_study
from bench.table import Table
from benchmarks.plausibility.checking import RULES, check

__all__ = ["CLASSES", "FlagRow", "detection", "false_findings", "flag_table", "flags"]

# A study takes about as long as this many repetitions of the other tables.
STUDY_WEIGHT = 100

_study = lru_cache(maxsize=64)(clean_study)


@dataclass(frozen=True)
class FlagRow:
    """One line of the table: how many of how many, and what was demanded."""

    what: str
    count: int
    of: int
    demanded: str

    @property
    def percent(self) -> float:
        return 100 * self.count / self.of if self.of else 0.0


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
    found = tried = 0
    for number in range(seed, seed + repetitions):
        made = inject(np.random.default_rng([number, 1]), _study(number))
        if made is not None:
            study, wrong = made
            named = {
                subject.id
                for finding in check(study, [RULES[each] for each in sorted(rules)])
                for subject in finding.subjects
            }
            found += bool(named & {str(each) for each in wrong})
            tried += 1
    return found, tried


def false_findings(*, repetitions: int, seed: int) -> FalseFindings:
    """Return what every rule together doubts in studies without a mistake."""
    cells = runs = doubted_cells = doubted_runs = 0
    by_rule: Counter[str] = Counter()
    for number in range(seed, seed + repetitions):
        study = _study(number)
        findings = check(study)
        named = {each for finding in findings for each in finding.subjects}
        cells, runs = cells + len(study.cells), runs + len(study.runs)
        doubted_cells += sum(each.kind == "cell" for each in named)
        doubted_runs += sum(each.kind == "run" for each in named)
        by_rule.update(finding.rule for finding in findings)
    return FalseFindings(cells, doubted_cells, runs, doubted_runs, by_rule)


def flag_table(repetitions: int, seed: int) -> list[FlagRow]:
    """Return one row for each class of mistakes and two for clean studies."""
    rows = [
        FlagRow(name, *detection(name, repetitions=repetitions, seed=seed), ">= 95 %")
        for name in CLASSES
    ]
    clean = false_findings(repetitions=repetitions, seed=seed)
    return [
        *rows,
        FlagRow("clean cells doubted", clean.doubted_cells, clean.cells, "< 1 %"),
        FlagRow("clean runs doubted", clean.doubted_runs, clean.runs, "< 1 %"),
    ]


def flags(generator: Generator, repetitions: int) -> Table:
    """Return mistakes found and false doubts as a table of the calibration report."""
    studies = max(repetitions // STUDY_WEIGHT, 2)
    rows = flag_table(studies, seed=int(generator.integers(2**31)))
    return Table(
        "Plausibility flags",
        f"Each class of mistakes is made in {studies} simulated studies, where it "
        "can be made; a flag must name what is wrong. Below, what is doubted in the "
        "same studies without a mistake.",
        ("mistake", "found or doubted, %", "of"),
        tuple(
            (f"{row.what} (wanted {row.demanded})", f"{row.percent:.2f}", str(row.of))
            for row in rows
        ),
    )
