"""Findings of plausibility rules, and the registry of rules.

A rule is a pure function from a study to doubts; its docstring is its section in
``docs/flags.md``.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from benchmarks.plausibility.facts import CellFact, Id, StudyFacts
from benchmarks.sentences import counted

# A fingerprint says a rule by its first name: people have decided about those doubts.
FIRST_NAMES: Final = {"slots-do-not-add-up": "seats-do-not-add-up"}
Severity = Literal["impossible", "implausible", "check"]
Kind = Literal["cell", "run", "system", "study"]
Evidence = (
    bool | int | float | str | Sequence["Evidence"] | Mapping[str, "Evidence"] | None
)

SEVERITIES: Final[tuple[Severity, ...]] = ("impossible", "implausible", "check")
"""From a number that cannot be right to one that needs a word of explanation. The
first two withhold the verdict until a person decides; a check is only shown."""


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a finding is about. ``id`` is the text of the row's id."""

    kind: Kind
    id: str


def subjects(kind: Kind, ids: Iterable[Id]) -> tuple[Subject, ...]:
    """Subjects of one kind, each once, in the order of their first mention."""
    return tuple(Subject(kind, id) for id in dict.fromkeys(map(str, ids)))


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt of one rule, to be confirmed or dismissed by a person.

    ``evidence`` is JSON; ``values`` are the readings it rests on; only viewers of all
    studies that it ``quotes`` see it.
    """

    rule: str
    severity: Severity
    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()
    quotes: tuple[Id, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Return a key of the doubt and its values, in any order."""
        about = sorted([subject.kind, subject.id] for subject in self.subjects)
        # Twelve digits: a mean summed in another order is the same value.
        values = sorted(
            value if isinstance(value, str) else f"{value:.12g}"
            for value in self.values
        )
        rule = FIRST_NAMES.get(self.rule, self.rule)
        text = json.dumps([rule, about, values], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A finding without its rule; ``severity`` only if not the rule's."""

    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()
    severity: Severity | None = None
    quotes: tuple[Id, ...] = ()


Check = Callable[[StudyFacts], Iterator[Doubt]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its function, whose docstring is the ``documentation``.

    ``looks_beside``: it reads cells of other studies or baselines, and no runs.
    """

    id: str
    title: str
    family: str
    severity: Severity
    check: Check = field(repr=False)
    looks_beside: bool = False

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.check) or ""

    @property
    def place(self) -> tuple[str, str]:
        """Where it stands among the others: by its family."""
        return (self.family, self.id)

    def findings(self, study: StudyFacts) -> Iterator[Finding]:
        """What this rule doubts about a study."""
        # Any rule may look at an efficiency, and so at a baseline in another study.
        leant_on = study.leant_on
        for doubt in self.check(study):
            yield Finding(
                rule=self.id,
                severity=doubt.severity or self.severity,
                sentence=doubt.sentence,
                subjects=doubt.subjects,
                evidence=doubt.evidence,
                values=doubt.values,
                quotes=tuple({*leant_on, *doubt.quotes}),
            )


REGISTERED: Final[dict[str, Rule]] = {}


def rule(
    id: str,
    title: str,
    severity: Severity,
    *,
    looks_beside: bool = False,
    family: str = "",
) -> Callable[[Check], Check]:
    """Register a function as a rule; two rules of one id are a mistake.

    ``family`` is what readers see; by default the name of the module.
    """

    def register(check: Check) -> Check:
        # A copied rule that keeps its id would silently take the other one's place.
        if id in REGISTERED:
            raise ValueError(f'two rules are called "{id}"')
        named = family or check.__module__.rpartition(".")[2]
        REGISTERED[id] = Rule(id, title, named, severity, check, looks_beside)
        return check

    return register


def further(name: str, number: int) -> str:
    """A case and how many more the sentence speaks of: "... and 2 more benchmarks"."""
    if not number:
        return name
    return counted(
        "{name} and {n} more benchmark",
        "{name} and {n} more benchmarks",
        name=name,
        n=number,
    )


def about_cells(
    sentence: str,
    cells: Iterable[CellFact],
    severity: Severity | None = None,
    quotes: tuple[Id, ...] = (),
    **evidence: Evidence,
) -> Doubt:
    """A doubt about cells that rests on their means, beside those of other studies."""
    members = tuple(cells)
    return Doubt(
        sentence,
        subjects("cell", (cell.id for cell in members)),
        evidence,
        tuple(cell.mean for cell in members),
        severity,
        quotes,
    )
