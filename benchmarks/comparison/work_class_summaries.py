"""Relative performance of platforms in one class of work.

A platform is a version of a hypervisor on one machine, or a hypervisor over all
machines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import exp, log, log1p
from typing import Final, Literal, NamedTuple

from benchmarks.analysis.verdicts import NORMAL_QUANTILE

MIN_LABS: Final = 3
MIN_REPEATED_RUNS: Final = 3
MIN_DIFFERENCE: Final = 0.02
SummaryKind = Literal["compared", "alone", "nothing"]


class SystemEffects(NamedTuple):
    """A system's stored effects in one class of work (`EffectSummary`).

    Screened cells are excluded from all numbers that do not begin with ``screened``.
    """

    study: int
    system: int
    host: int
    work_class: str
    cell_count: int
    ratio_count: int
    min_log_ratio: float = 0.0
    max_log_ratio: float = 0.0
    log_ratio_sum: float = 0.0
    min_runs: int = 0
    max_runs: int = 0
    doubtful_count: int = 0
    sure_min_log_ratio: float = 0.0
    sure_max_log_ratio: float = 0.0
    screened_count: int = 0
    screened_min_log_ratio: float = 0.0
    screened_max_log_ratio: float = 0.0

    @property
    def sure_count(self) -> int:
        return self.ratio_count - self.doubtful_count


@dataclass(frozen=True, slots=True)
class PlatformRange:
    """The range of relative performance of a platform in one class of work.

    It is that of ``results`` results of ``systems`` systems. ``sure`` is the range
    without the ``doubtful`` ones of these (None if all are), ``with_screened`` the
    range with ``screened`` further results. ``log_mean`` is the mean of the natural
    logarithms of the ratios.
    """

    hypervisor: str
    name: str
    low: float
    high: float
    log_mean: float
    results: int
    systems: int
    hosts: frozenset[int]
    studies: int
    labs: int
    min_runs: int
    max_runs: int
    doubtful: int = 0
    sure: tuple[float, float] | None = None
    screened: int = 0
    with_screened: tuple[float, float] | None = None

    @property
    def is_single_run(self) -> bool:
        return self.max_runs < 2


@dataclass(frozen=True, slots=True)
class WorkClassSummary:
    """The results of one class of work, the fastest platform first."""

    work_class: str
    ranges: tuple[PlatformRange, ...]
    without_ratio: tuple[str, ...]
    not_measured: tuple[str, ...]
    screened_by_platform: Mapping[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> SummaryKind:
        if len(self.ranges) > 1:
            return "compared"
        return "alone" if self.ranges else "nothing"

    @property
    def is_same_host(self) -> bool:
        return len({host for platform in self.ranges for host in platform.hosts}) == 1

    @property
    def are_single_runs(self) -> bool:
        return bool(self.ranges) and all(
            platform.is_single_run for platform in self.ranges
        )

    @property
    def min_labs(self) -> int:
        return min((platform.labs for platform in self.ranges), default=0)

    @property
    def is_weak(self) -> bool:
        return self.min_labs < MIN_LABS or any(
            platform.min_runs < MIN_REPEATED_RUNS for platform in self.ranges
        )

    @property
    def doubtful(self) -> int:
        return sum(platform.doubtful for platform in self.ranges)

    @property
    def separation(self) -> float:
        """The largest distance of two platforms, relative to the width of their ranges.

        Two uniform ranges that just touch have 1.
        """
        return max(map(_pair_separation, combinations(self.ranges, 2)), default=0.0)


def _pair_separation(pair: tuple[PlatformRange, PlatformRange]) -> float:
    first, second = pair
    distance = abs(first.log_mean - second.log_mean)
    if distance < log1p(MIN_DIFFERENCE):
        return 0.0
    spread = (_log_range(first) + _log_range(second)) / 2
    return distance / max(spread, log1p(MIN_DIFFERENCE))


def _log_range(platform: PlatformRange) -> float:
    return log(platform.high / platform.low)


def work_class_summaries(
    effects: Iterable[SystemEffects],
    platform_names: Mapping[tuple[int, int], tuple[str, str, str]],
    hypervisors: Collection[str],
) -> dict[str, WorkClassSummary]:
    by_work: dict[str, dict[str, list[SystemEffects]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for effect in effects:
        if effect.work_class:
            platform = platform_names[effect.study, effect.system][1]
            by_work[effect.work_class][platform].append(effect)
    return {
        work: _summarize(work, platforms, platform_names, hypervisors)
        for work, platforms in by_work.items()
    }


def _summarize(
    work: str,
    platforms: Mapping[str, Sequence[SystemEffects]],
    names: Mapping[tuple[int, int], tuple[str, str, str]],
    hypervisors: Collection[str],
) -> WorkClassSummary:
    ranges, without_ratio, measured = [], [], set()
    screened_counts = {}
    for platform, members in platforms.items():
        first = members[0]
        hypervisor = names[first.study, first.system][0]
        measured.add(hypervisor)
        screened = [effect for effect in members if effect.screened_count]
        if screened:
            screened_counts[platform] = sum(e.screened_count for e in screened)
        usable = [effect for effect in members if effect.ratio_count]
        if not usable:
            without_ratio.append(platform)
            continue
        results = sum(effect.ratio_count for effect in usable)
        ends = [(effect.min_log_ratio, effect.max_log_ratio) for effect in usable]
        low, high = _ratio_range(ends)
        sure = [
            (effect.sure_min_log_ratio, effect.sure_max_log_ratio)
            for effect in usable
            if effect.sure_count
        ]
        screened_ends = [
            (effect.screened_min_log_ratio, effect.screened_max_log_ratio)
            for effect in screened
        ]
        ranges.append(
            PlatformRange(
                hypervisor=hypervisor,
                name=platform,
                low=low,
                high=high,
                log_mean=sum(effect.log_ratio_sum for effect in usable) / results,
                results=results,
                systems=len({(effect.study, effect.system) for effect in usable}),
                hosts=frozenset(effect.host for effect in usable),
                studies=len({effect.study for effect in usable}),
                labs=len({names[effect.study, effect.system][2] for effect in usable}),
                min_runs=min(effect.min_runs for effect in usable),
                max_runs=max(effect.max_runs for effect in usable),
                doubtful=sum(effect.doubtful_count for effect in usable),
                sure=_ratio_range(sure) if sure else None,
                screened=screened_counts.get(platform, 0),
                with_screened=_ratio_range([*ends, *screened_ends])
                if screened
                else None,
            )
        )
    return WorkClassSummary(
        work,
        tuple(
            sorted(
                ranges,
                key=lambda platform_range: (
                    -platform_range.log_mean,
                    platform_range.name,
                ),
            )
        ),
        tuple(sorted(without_ratio)),
        tuple(name for name in hypervisors if name not in measured),
        screened_counts,
    )


def _ratio_range(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return exp(min(low for low, _ in ends)), exp(max(high for _, high in ends))


def clearest_summary(
    summaries: Mapping[str, WorkClassSummary],
) -> WorkClassSummary | None:
    return max(
        summaries.values(),
        key=lambda summary: (
            len(summary.ranges),
            summary.separation,
            summary.work_class,
        ),
        default=None,
    )


@dataclass(frozen=True, slots=True)
class IndirectRatio:
    ratio: float
    interval: tuple[float, float] | None


def indirect_ratio(
    one: tuple[float, float | None], other: tuple[float, float | None]
) -> IndirectRatio:
    """Return the ratio of two systems from their log ratios to native and the variances
    of these.
    """
    distance = one[0] - other[0]
    if one[1] is None or other[1] is None:
        return IndirectRatio(exp(distance), None)
    half = NORMAL_QUANTILE * (one[1] + other[1]) ** 0.5
    return IndirectRatio(exp(distance), (exp(distance - half), exp(distance + half)))
