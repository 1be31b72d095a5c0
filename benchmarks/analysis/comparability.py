"""Comparability of two systems by their facts."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence, join_sentences

ComparabilityRating = Literal["full", "limited", "none"]
Facts = Mapping[str, str]
MACHINE_FACTS: Final = {"host_kernel": "kernel", "host_firmware": "firmware"}


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
