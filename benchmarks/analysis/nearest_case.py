"""The most similar measured case, if the same case was not measured."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from benchmarks.analysis.comparability import Difference, differences
from benchmarks.sentences import Sentence, join_sentences, template
from benchmarks.units import find_unit

NearCaseKind = Literal["other_parameters", "unit_mismatch"]
# Cases that differ in one of these parameters measure different things.
SUBJECT_PARAMETERS: Final = frozenset(
    {
        *("access", "by", "container", "counter", "disk", "domain", "function"),
        *("instance", "interface", "job", "method", "object", "operation", "part"),
        *("path", "percentile", "phase", "protocol", "resource", "specification"),
        *("stressor", "test", "type", "uri", "vcpu", "workload"),
    }
)
# Cases with more differences are different benchmarks, not different settings.
MAX_DIFFERENCES: Final = 3
NEAR_CASE_SENTENCES: Final[Mapping[NearCaseKind, str]] = {
    "other_parameters": template(
        "Parameters differ: baseline {other}, this system {own}."
    ),
    "unit_mismatch": template("Units differ: baseline {other}, this system {own}."),
}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\b ?(\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCase:
    """A case: a metric of a tool with parameters.

    ``equivalent_metrics`` are metrics of the tool that measure the same in another
    unit.
    """

    tool: str
    metric: str
    unit: str
    better: str
    component: str
    parameters: Mapping[str, str]
    display_parameters: Mapping[str, str] = field(default_factory=dict)
    equivalent_metrics: frozenset[str] = frozenset()

    def display_value(self, name: str) -> str:
        return self.display_parameters.get(name) or self.parameters.get(name, "")


@dataclass(frozen=True, slots=True)
class NearCase:
    kind: NearCaseKind
    wanted: MeasuredCase
    case: MeasuredCase
    differences: tuple[Difference, ...]

    @property
    def sentence(self) -> Sentence:
        if self.kind == "unit_mismatch":
            unit = self.differences[0]
            sides = [side or Sentence("count") for side in (unit.first, unit.second)]
        else:
            names = [difference.name for difference in self.differences]
            sides = [
                join_sentences(
                    [
                        _format_parameter(name, case.display_value(name))
                        for name in names
                    ],
                    ", ",
                )
                for case in (self.wanted, self.case)
            ]
        return Sentence(NEAR_CASE_SENTENCES[self.kind], own=sides[0], other=sides[1])


def nearest_case(
    wanted: MeasuredCase, others: Iterable[MeasuredCase]
) -> NearCase | None:
    """Return None if all cases are too different; cases in another unit come last."""
    ranked_cases = (
        (_rank(near), near) for case in others if (near := _near(wanted, case))
    )
    best = min(ranked_cases, key=lambda ranked: ranked[0], default=None)
    return best[1] if best else None


def _near(wanted: MeasuredCase, candidate: MeasuredCase) -> NearCase | None:
    if candidate.tool != wanted.tool:
        return None
    differing = differences(wanted.parameters, candidate.parameters)
    unit = Difference("unit", wanted.unit, candidate.unit)
    if candidate.metric == wanted.metric:
        if unit.first != unit.second:
            return NearCase("unit_mismatch", wanted, candidate, (unit,))
        is_near = 0 < len(differing) <= MAX_DIFFERENCES
        is_same_subject = not any(
            difference.name in SUBJECT_PARAMETERS for difference in differing
        )
        if is_near and is_same_subject:
            return NearCase("other_parameters", wanted, candidate, differing)
        return None
    is_same_work = not differing and candidate.metric in wanted.equivalent_metrics
    is_same_work &= candidate.better == wanted.better
    # Figures in convertible units (a latency in ms, a total time in s) do not measure
    # the same in different units.
    is_same_work &= not _is_convertible(wanted.unit, candidate.unit)
    if is_same_work and unit.first != unit.second:
        return NearCase("unit_mismatch", wanted, candidate, (unit,))
    return None


def _is_convertible(first: str, second: str) -> bool:
    first_unit, second_unit = find_unit(first), find_unit(second)
    return bool(
        first_unit and second_unit and first_unit.dimension == second_unit.dimension
    )


def _rank(near: NearCase) -> tuple[object, ...]:
    far = sum(_distance(difference) for difference in near.differences)
    texts = tuple(
        (difference.name, difference.second) for difference in near.differences
    )
    is_unit = near.kind == "unit_mismatch"
    unstated = sum(
        not (difference.first and difference.second) for difference in near.differences
    )
    return (is_unit, len(near.differences), unstated, far, texts, near.case.metric)


def _distance(difference: Difference) -> float:
    first, second = map(_NUMBER.fullmatch, (difference.first, difference.second))
    if not first or not second or first[2] != second[2]:
        return math.inf
    values = [abs(float(match[1])) for match in (first, second)]
    if not all(0 < value < math.inf for value in values):
        return math.inf
    # Subtract logarithms because the ratio of 1e-300 to 1e300 would underflow.
    return abs(math.log(values[0]) - math.log(values[1]))


def _format_parameter(name: str, value: str) -> Sentence:
    if not value:
        return Sentence("{name} not reported", name=name)
    return Sentence("{name}={value}", name=name, value=value)
