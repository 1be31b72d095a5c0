"""Findings of plausibility rules, and the registry of rules.

A rule is a pure function from the facts of a study to findings. Its docstring becomes
its section in ``docs/flags.md``.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from benchmarks.plausibility.study_facts import CellFact, Id, StudyFacts
from benchmarks.sentences import pluralized

# Decisions are stored by fingerprint, so renamed rules keep their original id.
ORIGINAL_RULE_IDS: Final = {"slots-do-not-add-up": "seats-do-not-add-up"}
Severity = Literal["impossible", "implausible", "check"]
SubjectKind = Literal["cell", "run", "system", "study"]
Evidence = (
    bool | int | float | str | Sequence["Evidence"] | Mapping[str, "Evidence"] | None
)

SEVERITIES: Final[tuple[Severity, ...]] = ("impossible", "implausible", "check")
"""From severe to harmless."""


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    kind: SubjectKind
    id: str


def unique_subjects(kind: SubjectKind, ids: Iterable[Id]) -> tuple[Subject, ...]:
    return tuple(Subject(kind, id) for id in dict.fromkeys(map(str, ids)))


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding of a rule, which becomes a flag that people confirm or dismiss.

    ``values`` are the numbers and codes to which a person's decision applies: if one
    changes, it is another finding. Only people who may view all ``quoted_studies`` see
    the finding.
    """

    rule: str
    severity: Severity
    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()
    quoted_studies: tuple[Id, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A digest of rule, subjects and values, independent of their order."""
        about = sorted([subject.kind, subject.id] for subject in self.subjects)
        # The mean depends on the order of the sum.
        values = sorted(
            value if isinstance(value, str) else f"{value:.12g}"
            for value in self.values
        )
        rule = ORIGINAL_RULE_IDS.get(self.rule, self.rule)
        text = json.dumps([rule, about, values], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding without its rule; see `RuleFinding`.

    ``severity``, if given, replaces the severity of the rule.
    """

    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()
    severity: Severity | None = None
    quoted_studies: tuple[Id, ...] = ()


Check = Callable[[StudyFacts], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A plausibility rule.

    If ``uses_other_studies``, the rule reads cells of other studies, and no runs; such
    rules are also checked when only other studies changed.
    """

    id: str
    title: str
    family: str
    severity: Severity
    check: Check = field(repr=False)
    uses_other_studies: bool = False

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.check) or ""

    @property
    def sort_key(self) -> tuple[str, str]:
        return (self.family, self.id)

    def findings(self, study: StudyFacts) -> Iterator[RuleFinding]:
        # Any rule may use relative performance, and so a baseline in another study.
        baseline_studies = study.baseline_studies
        for finding in self.check(study):
            yield RuleFinding(
                rule=self.id,
                severity=finding.severity or self.severity,
                sentence=finding.sentence,
                subjects=finding.subjects,
                evidence=finding.evidence,
                values=finding.values,
                quoted_studies=tuple({*baseline_studies, *finding.quoted_studies}),
            )


RULE_REGISTRY: Final[dict[str, Rule]] = {}


def rule(
    id: str,
    title: str,
    severity: Severity,
    *,
    uses_other_studies: bool = False,
    family: str = "",
) -> Callable[[Check], Check]:
    """Return a decorator that registers a function as a rule.

    It raises ValueError if the id is taken. ``family`` is the group in which the rule
    is listed (default: the name of the module).
    """

    def register(check: Check) -> Check:
        if id in RULE_REGISTRY:
            raise ValueError(f'two rules are called "{id}"')
        group = family or check.__module__.rpartition(".")[2]
        RULE_REGISTRY[id] = Rule(id, title, group, severity, check, uses_other_studies)
        return check

    return register


def name_and_more(name: str, number: int) -> str:
    if not number:
        return name
    return pluralized(
        "{name} and {n} more benchmark",
        "{name} and {n} more benchmarks",
        name=name,
        n=number,
    )


def cell_finding(
    sentence: str,
    cells: Iterable[CellFact],
    severity: Severity | None = None,
    quoted_studies: tuple[Id, ...] = (),
    **evidence: Evidence,
) -> Finding:
    members = tuple(cells)
    return Finding(
        sentence,
        unique_subjects("cell", (cell.id for cell in members)),
        evidence,
        tuple(cell.mean for cell in members),
        severity,
        quoted_studies,
    )
