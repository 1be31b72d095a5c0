"""Decide whether two hosts may stand for each other (``docs/method.md``, baselines)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.analysis.comparability import Comparability, Difference, differences
from benchmarks.analysis.intervals import NO_WARNINGS, Rollups, log_ratio_intervals
from benchmarks.sentences import Sentence, joined

CONFIDENCE: Final = 0.95
MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class NativeRuns:
    """What two hosts ran natively alike, an entry a case, in the same order."""

    labels: Sequence[str]
    one: Rollups
    other: Rollups


@dataclass(frozen=True, slots=True)
class HostsCompared:
    """Whether two hosts count as alike; ``differing`` are their facts that do not."""

    is_alike: bool
    differing: tuple[Difference, ...]
    sentence: Sentence


def host_differences(
    one: Mapping[str, object], other: Mapping[str, object]
) -> tuple[Difference, ...]:
    """Return the facts that two hosts do not share; an empty text is not stated."""
    return differences(_texts(one), _texts(other))


@NO_WARNINGS
def compare_hosts(
    names: tuple[str, str],
    facts: tuple[Mapping[str, object], Mapping[str, object]],
    natives: NativeRuns | None = None,
    *,
    margin: float,
) -> HostsCompared:
    """Compare two machines by their stated facts and their native runs.

    Native runs agree if no case differs by more than the margin beyond its 95 %
    interval (Bonferroni over cases) and their geometric mean is within the margin.
    """
    named = {"one": names[0], "other": names[1]}
    differing = host_differences(*facts)
    if differing:
        listed = [fact.sentence for fact in differing[:MOST_NAMED]]
        more = len(differing) - MOST_NAMED
        rest = [Sentence("{n} more facts", n=more)] if more > 0 else []
        text = Sentence(
            "Different hosts, {one} / {other}: {facts}.",
            facts=joined([*listed, *rest], "; "),
            **named,
        )
    elif not _texts(facts[0]):
        text = Sentence(
            "Different hosts, {one} / {other}, of which no facts are stated.", **named
        )
    elif natives is None or not len(natives.labels):
        text = Sentence(
            "Different hosts, {one} / {other}: their facts are equal, but no "
            "benchmark was "
            "run natively on both.",
            **named,
        )
    elif (worst := _worst(natives, margin)) is None:
        text = Sentence(
            "Hosts {one} and {other} count as alike: their facts are equal, and so are "
            "their native runs of {n} benchmarks.",
            n=len(natives.labels),
            **named,
        )
        return HostsCompared(True, (), text)
    else:
        text = Sentence(
            "Different hosts, {one} / {other}: their facts are equal, but their native "
            "runs are not ({case}: {ratio:.3g}).",
            case=natives.labels[worst],
            ratio=float(natives.one.mean[worst] / natives.other.mean[worst]),
            **named,
        )
    return HostsCompared(False, differing or (Difference("host", *names),), text)


def beside_hosts(compared: Comparability, hosts: HostsCompared) -> Comparability:
    """Compare two systems on these hosts: red, with the hosts' differences, unless
    alike."""
    if hosts.is_alike:
        return replace(compared, sentence=joined([compared.sentence, hosts.sentence]))
    unwanted = (*hosts.differing, *compared.unwanted)
    return replace(compared, light="red", unwanted=unwanted, sentence=hosts.sentence)


def _worst(natives: NativeRuns, margin: float) -> int | None:
    """Return the case that tells the two apart most; None where none does."""
    ratios = natives.one.mean / natives.other.mean
    # Readings of 0 on both sides are equal.
    is_equal = natives.one.mean == natives.other.mean
    distance = np.where(is_equal, 0.0, np.abs(np.log(ratios)))
    confidence = 1 - (1 - CONFIDENCE) / len(ratios)
    intervals = log_ratio_intervals(
        natives.one, natives.other, True, confidence=confidence
    )
    # Without an interval (a single run) the figures themselves have to agree.
    reach = np.nan_to_num(intervals.log_half_width, nan=0.0, posinf=0.0)
    beyond = np.nan_to_num(distance, nan=np.inf) - reach
    worst = int(np.argmax(beyond))
    together = float(np.mean(np.where(is_equal, 0.0, np.log(ratios))))
    is_apart = beyond[worst] > np.log1p(margin) or abs(together) > np.log1p(margin)
    return worst if is_apart else None


def _texts(facts: Mapping[str, object]) -> dict[str, str]:
    """Return facts as texts that can be compared; what is empty is not stated."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in facts.items()
        if value not in ("", None, [], {})
    }
