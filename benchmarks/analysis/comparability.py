"""How far two sides may be compared: their facts, and the nearest case of a case."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from benchmarks.errors import InvalidError
from benchmarks.sentences import Sentence, joined, template
from benchmarks.units import find

Light = Literal["green", "amber", "red"]
Facts = Mapping[str, str]
# Facts under which a machine is another one than it was.
MACHINE_FACTS: Final = {"host_kernel": "kernel", "host_firmware": "firmware"}
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
        not_stated = Sentence("not stated")
        name, one, other = self.name, self.one, self.other
        if name.endswith("_bytes"):
            name = name.removesuffix("_bytes")
            one, other = map(_in_mib, (one, other))
        fact = name.replace("_", " ")
        one, other = (side or not_stated for side in (one, other))
        return Sentence("{fact}: {one} / {other}", fact=fact, one=one, other=other)


@dataclass(frozen=True, slots=True)
class Comparability:
    """Green: only what is studied differs. Amber: more does. Red: not comparable.

    ``studied`` differences are the subject of the comparison, ``unwanted`` ones are
    not.
    """

    light: Light
    studied: tuple[Difference, ...]
    unwanted: tuple[Difference, ...]
    sentence: str


def other_os(guest: str, host: str) -> Sentence:
    """Say that a guest is compared with its machine under another operating system."""
    not_stated = Sentence("not stated")
    return Sentence(
        "Another operating system: guest {guest}, host {host}.",
        guest=guest or not_stated,
        host=host or not_stated,
    )


def efficiency(
    value: float, baseline: float, better: Literal["higher", "lower", "neither"]
) -> float:
    """Return VM / native where higher is better, native / VM where lower is.

    Raises InvalidError without a better direction and for a reading of 0.
    """
    if better == "neither":
        raise InvalidError(
            "undirected_metric",
            "More of this metric is neither better nor worse: it has no relative "
            "performance.",
        )
    sides = ((Sentence("value"), value), (Sentence("baseline"), baseline))
    for side, number in sides:
        if number == 0:
            raise InvalidError(
                "zero_reading", "The {side} is 0: no ratio can be formed.", side=side
            )
        if not 0 < number < math.inf:
            raise InvalidError(
                "value_refused",
                "The {side} is {number}: no ratio can be formed.",
                side=side,
                number=number,
            )
    # Two floats above 0 may still give a ratio of 0 or infinity.
    ratio = value / baseline if better == "higher" else baseline / value
    if not 0 < ratio < math.inf:
        raise InvalidError(
            "value_refused",
            "{value} and its baseline {baseline} are too far apart for a ratio.",
            value=value,
            baseline=baseline,
        )
    return ratio


def comparability(
    one: Facts, other: Facts, *, studied: Collection[str]
) -> Comparability:
    """Compare two systems' canonical facts, given the ``studied`` ones ("hypervisor").

    A fact that one side does not state differs from one that is stated.
    """
    differing = differences(one, other)
    wanted = tuple(fact for fact in differing if fact.name in studied)
    unwanted = tuple(fact for fact in differing if fact.name not in studied)
    if unwanted:
        text = Sentence(
            "More than what is studied differs: {found}.", found=_listed(unwanted)
        )
        return Comparability("amber", wanted, unwanted, text)
    text = Sentence("Only what is studied differs: {found}.", found=_listed(wanted))
    nothing = Sentence("Nothing differs.")
    return Comparability("green", wanted, (), text if wanted else nothing)


def one_at_a_time(compared: Comparability, platform: Collection[str]) -> Comparability:
    """Return amber instead of green where several studied dimensions differ at once.

    The facts of the ``platform`` (hypervisor, version, type) are one dimension.
    """
    # The empty name stands for the platform, whichever of its facts differ.
    names = {"" if fact.name in platform else fact.name for fact in compared.studied}
    if compared.light != "green" or len(names) <= 1:
        return compared
    listed = _listed(compared.studied)
    text = Sentence("Several things that are studied differ: {found}.", found=listed)
    return replace(compared, light="amber", sentence=text)


def differences(one: Facts, other: Facts) -> tuple[Difference, ...]:
    """Return what two sets of facts do not share, by name."""
    return tuple(
        Difference(name, one.get(name, ""), other.get(name, ""))
        for name in sorted(one.keys() | other.keys())
        if one.get(name, "") != other.get(name, "")
    )


def _in_mib(size: str) -> str:
    return f"{int(size) / 2**20:g} MiB" if size.isdecimal() else size


def _listed(differing: tuple[Difference, ...]) -> Sentence:
    return joined([fact.sentence for fact in differing], "; ")


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
    known, wanted = find(one), find(other)
    return bool(known and wanted and known.dimension == wanted.dimension)


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
