"""Find the native case nearest to a case without a native partner, and what differs."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from benchmarks.analysis.baselines import Difference, differences
from benchmarks.sentences import Sentence, joined, template
from benchmarks.units import find

Kind = Literal["other_parameters", "unit_mismatch"]

# What these say is what was measured, not how: a copy is no read with other parameters.
SUBJECTS: Final = frozenset(
    {
        *("access", "by", "container", "counter", "disk", "domain", "function"),
        *("instance", "interface", "job", "method", "object", "operation", "part"),
        *("path", "percentile", "phase", "protocol", "resource", "specification"),
        *("stressor", "test", "type", "uri", "vcpu", "workload"),
    }
)
# More is another benchmark rather than another setting of this one.
MOST_DIFFERENCES: Final = 3

OF_NATIVE: Final[Mapping[Kind, str]] = {
    "other_parameters": template(
        "Native ran it with {other}, this guest with {own}: another measurement."
    ),
    "unit_mismatch": template(
        "Native was measured in {other}, this guest in {own}: another unit."
    ),
}
OF_CHOSEN: Final[Mapping[Kind, str]] = {
    "other_parameters": template(
        "The baseline ran it with {other}, this system with {own}: another measurement."
    ),
    "unit_mismatch": template(
        "The baseline was measured in {other}, this system in {own}: another unit."
    ),
}

_NUMBER = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)\b ?(\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCase:
    """A measured case: canonical ``parameters``, and ``shown`` as people wrote them.

    ``same_work`` are metrics that say the same in another unit (operations/s, MB/s).
    """

    tool: str
    metric: str
    unit: str
    better: str
    component: str
    parameters: Mapping[str, str]
    shown: Mapping[str, str] = field(default_factory=dict)
    same_work: frozenset[str] = frozenset()

    def written(self, name: str) -> str:
        """A parameter's value for people; empty where it is not stated."""
        return self.shown.get(name) or self.parameters.get(name, "")


@dataclass(frozen=True, slots=True)
class NearCase:
    """A case that is nearly the wanted one: the wanted side first in ``differing``."""

    kind: Kind
    wanted: MeasuredCase
    case: MeasuredCase
    differing: tuple[Difference, ...]

    def sentence(self, *, is_native: bool = True) -> Sentence:
        """Say what the other side ran: the native one, or one that somebody chose."""
        if self.kind == "unit_mismatch":
            unit = self.differing[0]
            sides = [side or Sentence("a count") for side in (unit.one, unit.other)]
        else:
            names = [it.name for it in self.differing]
            sides = [
                joined([_stated(name, case.written(name)) for name in names], ", ")
                for case in (self.wanted, self.case)
            ]
        return Sentence(
            OF_NATIVE[self.kind] if is_native else OF_CHOSEN[self.kind],
            own=sides[0],
            other=sides[1],
        )


def nearest(wanted: MeasuredCase, others: Iterable[MeasuredCase]) -> NearCase | None:
    """Return the nearest case that a native machine ran, or None.

    Few, close parameter differences first, then the same case in another unit.
    """
    found = ((_rank(near), near) for other in others if (near := _near(wanted, other)))
    best = min(found, key=lambda ranked: ranked[0], default=None)
    return best[1] if best else None


def _near(wanted: MeasuredCase, other: MeasuredCase) -> NearCase | None:
    if other.tool != wanted.tool:
        return None
    differing = differences(wanted.parameters, other.parameters)
    unit = Difference("unit", wanted.unit, other.unit)
    if other.metric == wanted.metric:
        if unit.one != unit.other:
            return NearCase("unit_mismatch", wanted, other, (unit,))
        # Equal in all: the same case, which other circumstances made no partner.
        is_near = 0 < len(differing) <= MOST_DIFFERENCES
        is_same_subject = not any(it.name in SUBJECTS for it in differing)
        if is_near and is_same_subject:
            return NearCase("other_parameters", wanted, other, differing)
        return None
    is_same_work = not differing and other.metric in wanted.same_work
    # A latency follows from a rate, but nobody would call it that in another unit.
    is_same_work &= other.better == wanted.better
    # Nor is a latency in ms the whole time in s: what can be converted is no hindrance.
    is_same_work &= not _is_convertible(wanted.unit, other.unit)
    if is_same_work and unit.one != unit.other:
        return NearCase("unit_mismatch", wanted, other, (unit,))
    return None


def _is_convertible(one: str, other: str) -> bool:
    units = find(one), find(other)
    return all(units) and len({it.dimension for it in units if it}) == 1


def _rank(near: NearCase) -> tuple[object, ...]:
    # The texts come last, so that the choice does not hang on the order of the cases.
    far = sum(_distance(it) for it in near.differing)
    texts = tuple((it.name, it.other) for it in near.differing)
    is_unit = near.kind == "unit_mismatch"
    # A value that is not stated tells less than one that differs.
    unstated = sum(not (it.one and it.other) for it in near.differing)
    return (is_unit, len(near.differing), unstated, far, texts, near.case.metric)


def _distance(difference: Difference) -> float:
    """How far two values of a parameter are apart: numbers by their ratio."""
    one, other = map(_NUMBER.fullmatch, (difference.one, difference.other))
    if not one or not other or one[2] != other[2]:
        return math.inf
    values = [abs(float(it[1])) for it in (one, other)]
    if not all(0 < value < math.inf for value in values):
        return math.inf
    # Of the logarithms: the ratio of 1e-300 and 1e300 is none.
    return abs(math.log(values[0]) - math.log(values[1]))


def _stated(name: str, value: str) -> Sentence:
    if not value:
        return Sentence("{name} not stated", name=name)
    return Sentence("{name}={value}", name=name, value=value)
