import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence, join_sentences, template
from benchmarks.units import find_unit

ComparabilityRating = Literal["full", "limited", "none"]
Facts = Mapping[str, str]
MACHINE_FACTS: Final = {"host_kernel": "kernel", "host_firmware": "firmware"}
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
MAX_LISTED_DIFFERENCES: Final = 3

NATIVE_NEAR_CASE_SENTENCES: Final[Mapping[NearCaseKind, str]] = {
    "other_parameters": template("Parameters: native {other}, this guest {own}."),
    "unit_mismatch": template("Units: native {other}, this guest {own}."),
}
REFERENCE_NEAR_CASE_SENTENCES: Final[Mapping[NearCaseKind, str]] = {
    "other_parameters": template("Parameters: baseline {other}, this system {own}."),
    "unit_mismatch": template("Units: baseline {other}, this system {own}."),
}

_NUMBER = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)\b ?(\S*)")


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact with two different values; empty means not reported."""

    name: str
    first: str
    second: str

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> Sentence:
        not_stated = Sentence("not reported")
        name, one, other = self.name, self.first, self.second
        if name.endswith("_bytes"):
            name = name.removesuffix("_bytes")
            one, other = map(_in_mib, (one, other))
        fact = name.replace("_", " ")
        one, other = (value or not_stated for value in (one, other))
        return Sentence("{fact}: {one} / {other}", fact=fact, one=one, other=other)


@dataclass(frozen=True, slots=True)
class Comparability:
    """Whether the results of two systems can be compared, and why.

    The rating is full if only studied facts differ. It is limited if other facts
    (``unwanted``) or several studied facts differ, and none if the results cannot be
    compared.
    """

    rating: ComparabilityRating
    studied: tuple[Difference, ...]
    unwanted: tuple[Difference, ...]
    sentence: str


def other_os_sentence(guest: str, host: str) -> Sentence:
    not_stated = Sentence("not reported")
    return Sentence(
        "Different operating systems: guest {guest}, host {host}.",
        guest=guest or not_stated,
        host=host or not_stated,
    )


def efficiency(
    value: float, baseline: float, better: Literal["higher", "lower", "neither"]
) -> float:
    """Return value / baseline if higher is better, baseline / value if lower is better.

    Raise InvalidError if neither is better or the ratio is not a finite number above 0.
    """
    if better == "neither":
        raise InvalidError(
            "undirected_metric",
            "For this metric, neither higher nor lower is better, so it has no "
            "relative performance.",
        )
    sides = ((Sentence("value"), value), (Sentence("baseline"), baseline))
    for side, number in sides:
        if number == 0:
            raise InvalidError(
                "zero_reading",
                "The {side} is 0, so no ratio can be calculated.",
                side=side,
            )
        if not 0 < number < math.inf:
            raise InvalidError(
                "value_rejected",
                "The {side} is {number}, so no ratio can be calculated.",
                side=side,
                number=number,
            )
    ratio = value / baseline if better == "higher" else baseline / value
    if not 0 < ratio < math.inf:
        raise InvalidError(
            "value_rejected",
            "{value} and its baseline {baseline} are too far apart to calculate a "
            "ratio.",
            value=value,
            baseline=baseline,
        )
    return ratio


def compare_facts(
    one: Facts, other: Facts, *, studied_names: Collection[str]
) -> Comparability:
    """Compare the facts (canonical values) of two systems.

    A fact that only one system reports is a difference.
    """
    differing = differences(one, other)
    studied = tuple(fact for fact in differing if fact.name in studied_names)
    unwanted = tuple(fact for fact in differing if fact.name not in studied_names)
    if unwanted:
        text = Sentence(
            "Differences outside the studied factors: {found}.",
            found=_join_differences(unwanted),
        )
        return Comparability("limited", studied, unwanted, text)
    text = Sentence(
        "Only studied factors differ: {found}.", found=_join_differences(studied)
    )
    no_differences = Sentence("No differences.")
    return Comparability("full", studied, (), text if studied else no_differences)


def warn_on_several_changes(
    comparability: Comparability, platform: Collection[str]
) -> Comparability:
    """Return ``comparability``, rated limited if several studied facts differ at once.

    The facts named in ``platform`` count as one.
    """
    names = {
        "" if fact.name in platform else fact.name for fact in comparability.studied
    }
    if comparability.rating != "full" or len(names) <= 1:
        return comparability
    listed = _join_differences(comparability.studied)
    text = Sentence("Several studied factors differ at once: {found}.", found=listed)
    return replace(comparability, rating="limited", sentence=text)


def differences(one: Facts, other: Facts) -> tuple[Difference, ...]:
    return tuple(
        Difference(name, one.get(name, ""), other.get(name, ""))
        for name in sorted(one.keys() | other.keys())
        if one.get(name, "") != other.get(name, "")
    )


def _in_mib(size: str) -> str:
    return f"{int(size) / 2**20:g} MiB" if size.isdecimal() else size


def _join_differences(differing: tuple[Difference, ...]) -> Sentence:
    return join_sentences([fact.sentence for fact in differing], "; ")


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

    def sentence(self, *, is_native: bool = True) -> Sentence:
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
        return Sentence(
            NATIVE_NEAR_CASE_SENTENCES[self.kind]
            if is_native
            else REFERENCE_NEAR_CASE_SENTENCES[self.kind],
            own=sides[0],
            other=sides[1],
        )


def nearest_case(
    wanted: MeasuredCase, others: Iterable[MeasuredCase]
) -> NearCase | None:
    """Return the most similar case, or None if all are too different.

    Cases in another unit come last.
    """
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
        is_near = 0 < len(differing) <= MAX_LISTED_DIFFERENCES
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
