"""What platforms keep of native speed in one class of work. PURE.

A platform is a version of a hypervisor on one machine, or a hypervisor over all
machines. Nothing is pooled here (`benchmarks.evidence` does that).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import exp, log, log1p
from typing import Final, Literal, NamedTuple

from benchmarks.analysis.verdicts import SURE

FEWEST_LABS: Final = 3
"""Below these the evidence is weak, whatever the runs say (rule set 2, section 11)."""
REPEATED: Final = 3
MARGIN: Final = 0.02
"""Platforms that differ by less do not stand apart."""
Kind = Literal["compared", "alone", "nothing"]


class Effects(NamedTuple):
    """A system's stored effects in one class of work.

    ``low``, ``high`` and ``total`` are of the natural logarithms of ``ratios`` of the
    ``cells``; ``fewest`` and ``most`` count runs; ``impossible`` cells are in none of
    these.
    """

    study: int
    system: int
    host: int
    work: str
    cells: int
    ratios: int
    low: float = 0.0
    high: float = 0.0
    total: float = 0.0
    fewest: int = 0
    most: int = 0
    flagged: int = 0
    impossible: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """What a platform keeps of native speed; ``mean`` is the mean natural logarithm."""

    hypervisor: str
    name: str
    low: float
    high: float
    mean: float
    systems: int
    hosts: frozenset[int]
    studies: int
    labs: int
    fewest: int
    most: int
    flagged: int

    @property
    def is_single_run(self) -> bool:
        return self.most < 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one class of work, the fastest platform first.

    ``unusable`` platforms have no ratio that counts, ``missing`` ones were not
    measured, ``left_out`` counts impossible results by platform.
    """

    work: str
    standings: tuple[Standing, ...]
    unusable: tuple[str, ...]
    missing: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        if len(self.standings) > 1:
            return "compared"
        return "alone" if self.standings else "nothing"

    @property
    def is_same_host(self) -> bool:
        return len({host for each in self.standings for host in each.hosts}) == 1

    @property
    def are_single_runs(self) -> bool:
        return bool(self.standings) and all(it.is_single_run for it in self.standings)

    @property
    def labs(self) -> int:
        """How many labs stand behind the platform that has the fewest."""
        return min((each.labs for each in self.standings), default=0)

    @property
    def is_weak(self) -> bool:
        """Too few labs, or nothing was repeated: no more than a hint."""
        return self.labs < FEWEST_LABS or any(
            each.fewest < REPEATED for each in self.standings
        )

    @property
    def flagged(self) -> int:
        return sum(each.flagged for each in self.standings)

    @property
    def apart(self) -> float:
        """The distance of the two most different platforms' means by their spreads.

        Two even ranges that just touch have 1; 0 is a difference below the margin.
        """
        return max(map(_apart, combinations(self.standings, 2)), default=0.0)


def _apart(pair: tuple[Standing, Standing]) -> float:
    one, other = pair
    distance = abs(one.mean - other.mean)
    if distance < log1p(MARGIN):
        return 0.0
    spread = (_log_range(one) + _log_range(other)) / 2
    return distance / max(spread, log1p(MARGIN))


def _log_range(standing: Standing) -> float:
    return log(standing.high / standing.low)


def answers(
    effects: Iterable[Effects],
    names: Mapping[tuple[int, int], tuple[str, str, str]],
    asked_for: Collection[str],
) -> dict[str, Answer]:
    """Answer every class of work; ``names`` are hypervisor, platform and lab."""
    by_work: dict[str, dict[str, list[Effects]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for each in effects:
        if each.work:
            platform = names[each.study, each.system][1]
            by_work[each.work][platform].append(each)
    return {
        work: _answer(work, platforms, names, asked_for)
        for work, platforms in by_work.items()
    }


def _answer(
    work: str,
    platforms: Mapping[str, Sequence[Effects]],
    names: Mapping[tuple[int, int], tuple[str, str, str]],
    asked_for: Collection[str],
) -> Answer:
    standings, unusable, measured = [], [], set()
    left_out = {}
    for platform, members in platforms.items():
        first = members[0]
        hypervisor = names[first.study, first.system][0]
        measured.add(hypervisor)
        if impossible := sum(each.impossible for each in members):
            left_out[platform] = impossible
        known = [each for each in members if each.ratios]
        if not known:
            unusable.append(platform)
            continue
        ratios = sum(each.ratios for each in known)
        # Measured it was, whatever a flag says of the number.
        compared = [each for each in members if each.ratios or each.impossible]
        standings.append(
            Standing(
                hypervisor=hypervisor,
                name=platform,
                low=exp(min(each.low for each in known)),
                high=exp(max(each.high for each in known)),
                mean=sum(each.total for each in known) / ratios,
                systems=len({(each.study, each.system) for each in compared}),
                hosts=frozenset(each.host for each in known),
                studies=len({each.study for each in known}),
                labs=len({names[each.study, each.system][2] for each in known}),
                fewest=min(each.fewest for each in known),
                most=max(each.most for each in known),
                flagged=sum(each.flagged for each in known),
            )
        )
    return Answer(
        work,
        tuple(sorted(standings, key=lambda it: (-it.mean, it.name))),
        tuple(sorted(unusable)),
        tuple(name for name in asked_for if name not in measured),
        left_out,
    )


def telling(found: Mapping[str, Answer]) -> Answer | None:
    """Return the answer to begin with: of most platforms, where they stand apart."""
    return max(
        found.values(),
        key=lambda it: (len(it.standings), it.apart, it.work),
        default=None,
    )


@dataclass(frozen=True, slots=True)
class Indirect:
    """A ratio of two ratios to native on two machines, with its 95 % interval."""

    ratio: float
    interval: tuple[float, float] | None


def indirect(
    one: tuple[float, float | None], other: tuple[float, float | None]
) -> Indirect:
    """Combine two log ratios and their variances (rule set 2, section 11)."""
    distance = one[0] - other[0]
    if one[1] is None or other[1] is None:
        return Indirect(exp(distance), None)
    half = SURE * (one[1] + other[1]) ** 0.5
    return Indirect(exp(distance), (exp(distance - half), exp(distance + half)))
