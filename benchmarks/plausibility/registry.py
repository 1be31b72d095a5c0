"""The rules: each a pure function from a study to its doubts, with an id and a page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.plausibility.facts import CellFact, StudyFacts
from benchmarks.plausibility.findings import (
    Evidence,
    Finding,
    Severity,
    Subject,
    subjects,
)
from benchmarks.sentences import counted


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a rule yields: a finding without the rule's name.

    ``severity`` only where it differs from the rule's own.
    """

    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()
    severity: Severity | None = None


Check = Callable[[StudyFacts], Iterator[Doubt]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as people read it, and the function that applies it.

    ``documentation`` is the function's docstring: what is flagged and from which
    threshold on, why, and what to do.
    """

    id: str
    title: str
    family: str
    severity: Severity
    check: Check = field(repr=False)

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.check) or ""

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands among the others: by its family."""
        return (self.family, self.id)

    def findings(self, study: StudyFacts) -> Iterator[Finding]:
        """What this rule doubts about a study."""
        for doubt in self.check(study):
            yield Finding(
                rule=self.id,
                severity=doubt.severity or self.severity,
                sentence=doubt.sentence,
                subjects=doubt.subjects,
                evidence=doubt.evidence,
                values=doubt.values,
            )


REGISTERED: Final[dict[str, Rule]] = {}


def rule(id: str, title: str, severity: Severity) -> Callable[[Check], Check]:
    """Register a function as a rule; two rules of one id are a mistake."""

    def register(check: Check) -> Check:
        if id in REGISTERED:
            raise ValueError(f'two rules are called "{id}"')
        family = check.__module__.rpartition(".")[2]
        REGISTERED[id] = Rule(id, title, family, severity, check)
        return check

    return register


def further(name: str, number: int) -> str:
    """A case and how many more the sentence speaks of: "... and 2 more cases"."""
    if not number:
        return name
    return counted(
        "{name} and {n} more case", "{name} and {n} more cases", name=name, n=number
    )


def about_cells(
    sentence: str,
    cells: Iterable[CellFact],
    severity: Severity | None = None,
    **evidence: Evidence,
) -> Doubt:
    """A doubt about cells that rests on their means."""
    members = tuple(cells)
    return Doubt(
        sentence,
        subjects("cell", (cell.id for cell in members)),
        evidence,
        tuple(cell.mean for cell in members),
        severity,
    )
