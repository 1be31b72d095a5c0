"""How many planted mistakes the plausibility rules find, and how many findings are
false.

One mistake is planted in each of many simulated studies; a rule of its class must name
a cell or run that is wrong.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.plausibility.rules import RULES, apply_rules
from tests.benchmarks.plausibility.planted_mistakes import CLASSES
from tests.benchmarks.plausibility.simulated_studies import clean_study

# Every class visits all studies in order, so a bounded cache would never hit.
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
    """Return in how many studies a class of mistakes was found, and the number of
    studies.

    A mistake is found if a rule of its class names a cell or run that is wrong.
    """
    inject, rules = CLASSES[name]
    hits = tried = 0
    for number in range(seed, seed + repetitions):
        # Not the random stream of the study, which depends on its number alone.
        made = inject(np.random.default_rng([number, 1]), _study(number))
        if made is not None:
            study, wrong = made
            named_subjects = {
                subject.id
                for finding in apply_rules(
                    study, [RULES[rule] for rule in sorted(rules)]
                )
                for subject in finding.subjects
            }
            hits += bool(named_subjects & set(map(str, wrong)))
            tried += 1
    return hits, tried


def false_findings(*, repetitions: int, seed: int) -> FalseFindings:
    """Return the findings of all rules in studies without a mistake."""
    cells = runs = doubted_cells = doubted_runs = 0
    by_rule: Counter[str] = Counter()
    for number in range(seed, seed + repetitions):
        study = _study(number)
        findings = apply_rules(study)
        named_subjects = {
            subject for finding in findings for subject in finding.subjects
        }
        cells, runs = cells + len(study.cells), runs + len(study.runs)
        doubted_cells += sum(subject.kind == "cell" for subject in named_subjects)
        doubted_runs += sum(subject.kind == "run" for subject in named_subjects)
        by_rule.update(finding.rule for finding in findings)
    return FalseFindings(cells, doubted_cells, runs, doubted_runs, by_rule)
