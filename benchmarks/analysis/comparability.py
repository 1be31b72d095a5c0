"""Whether two systems may be set side by side, and what differs between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.sentences import Sentence, joined

Light = Literal["green", "amber", "red"]
Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that two sides do not share; an empty text was not stated."""

    name: str
    one: str
    other: str

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> Sentence:
        """The fact and its two sides."""
        one, other = (side or Sentence("not stated") for side in (self.one, self.other))
        return Sentence("{fact}: {one} / {other}", fact=self.name, one=one, other=other)


@dataclass(frozen=True, slots=True)
class Comparability:
    """Green: only what is studied differs. Amber: more does. Red: refused.

    ``studied`` are the differences that the comparison is about, ``unwanted`` those
    that make it amber or red.
    """

    light: Light
    studied: tuple[Difference, ...]
    unwanted: tuple[Difference, ...]
    sentence: str


def comparability(
    one: Facts,
    other: Facts,
    *,
    studied: Collection[str],
    one_case: Facts | None = None,
    other_case: Facts | None = None,
) -> Comparability:
    """Compare two systems' facts, given the dimensions that the study studies.

    ``studied`` are names of facts ("hypervisor", "guest_tools"). Facts are canonical
    texts; a fact that one side does not state differs from one that is stated. The
    ``case`` facts are the parameters of what was run, its unit among them: other
    parameters are another measurement, whatever is studied.
    """
    other_parameters = differences(one_case or {}, other_case or {})
    found = differences(one, other)
    wanted = tuple(each for each in found if each.name in studied)
    unwanted = tuple(each for each in found if each.name not in studied)
    if other_parameters:
        text = Sentence(
            "Not comparable, the case itself differs: {found}.",
            found=_listed(other_parameters),
        )
        return Comparability("red", wanted, other_parameters, text)
    if unwanted:
        text = Sentence(
            "More than what is studied differs: {found}.", found=_listed(unwanted)
        )
        return Comparability("amber", wanted, unwanted, text)
    text = Sentence("Only what is studied differs: {found}.", found=_listed(wanted))
    nothing = Sentence("Nothing differs.")
    return Comparability("green", wanted, (), text if wanted else nothing)


def one_at_a_time(found: Comparability, platform: Collection[str]) -> Comparability:
    """Return amber instead of green where several studied dimensions differ at once.

    Then the ratio is of all of them together, and tells of none. The facts of the
    ``platform`` (hypervisor, version, type) are one dimension.
    """
    names = {"" if each.name in platform else each.name for each in found.studied}
    if found.light != "green" or len(names) <= 1:
        return found
    listed = _listed(found.studied)
    text = Sentence("Several things that are studied differ: {found}.", found=listed)
    return replace(found, light="amber", sentence=text)


def differences(one: Facts, other: Facts) -> tuple[Difference, ...]:
    """Return what two sets of facts do not share, by name."""
    return tuple(
        Difference(name, one.get(name, ""), other.get(name, ""))
        for name in sorted(one.keys() | other.keys())
        if one.get(name, "") != other.get(name, "")
    )


def _listed(found: tuple[Difference, ...]) -> Sentence:
    return joined([each.sentence for each in found], "; ")
