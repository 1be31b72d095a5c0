"""A finding: what a rule doubts, about what, with which evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

# A fingerprint says a rule by its first name: people have decided about those doubts.
FIRST_NAMES: Final = {"slots-do-not-add-up": "seats-do-not-add-up"}
Id = int | str | UUID
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
    return tuple(Subject(kind, each) for each in dict.fromkeys(map(str, ids)))


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt of one rule, to be confirmed or dismissed by a person.

    ``evidence`` is plain JSON for people and programs. ``values`` are the readings that
    the doubt rests on: if one of them changes, it is a new doubt.
    """

    rule: str
    severity: Severity
    sentence: str
    subjects: tuple[Subject, ...]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    values: tuple[float | str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Equal for the same doubt about the same values, in whatever order they came.

        What surrounds them (other cells, the wording, the evidence) is left out, so
        that a person's decision outlives every recomputation.
        """
        about = sorted([each.kind, each.id] for each in self.subjects)
        values = sorted(map(_spelled, self.values))
        rule = FIRST_NAMES.get(self.rule, self.rule)
        text = json.dumps([rule, about, values], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _spelled(value: float | str) -> str:
    """Twelve digits: a mean summed in another order is the same value."""
    return value if isinstance(value, str) else f"{value:.12g}"
