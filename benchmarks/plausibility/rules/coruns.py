"""Runs that were meant to run together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.plausibility.facts import RunFact, StudyFacts
from benchmarks.plausibility.findings import Evidence, subjects
from benchmarks.plausibility.registry import Doubt, rule
from benchmarks.sentences import Sentence

ENOUGH_OVERLAP: Final = 0.9
METERS: Final = frozenset({"watts-up", "power-csv", "ipmi-dcmi"})
"""They run around the work, on purpose longer than it."""

WORK_TIMES: Final = frozenset({"total time", "test duration"})
"""Metrics that say how long the whole run took; other times are parts of it."""


def took_s(run: RunFact) -> float | None:
    """How long a run took: by its clock, its facts, or what its tool printed."""
    if length_s := run.duration_s or run.elapsed_s:
        return length_s
    times = [each.value for each in run.samples if each.metric in WORK_TIMES]
    return max(times, default=None)


@rule("corun-overlap", "Slots that did not run together", "implausible")
def corun_overlap(study: StudyFacts) -> Iterator[Doubt]:
    """The time that all slots of a co-run share is less than 90 % of its longest run
    (method, section 5). Power meters and runs whose start or duration is not known are
    left out.

    Why: a slot that runs alone for the rest is faster then, and the sum of the slots is
    larger than the machine ever delivered.

    What to do: start the slots on a barrier, or evaluate the common window only.
    """
    groups: dict[str, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.corun and run.tool not in METERS and run.started_at and took_s(run):
            groups[run.corun].append(run)
    for name, runs in groups.items():
        if len(runs) < 2:
            continue
        share = _overlap(runs)
        if share < ENOUGH_OVERLAP:
            yield Doubt(
                Sentence(
                    'The {n} runs of "{name}" share {share:.0%} of the longest '
                    "one's time; {needed:.0%} are needed.",
                    n=len(runs),
                    name=name,
                    share=share,
                    needed=ENOUGH_OVERLAP,
                ),
                subjects("run", (run.id for run in runs)),
                {"overlap": round(share, 4), "runs": [_window(run) for run in runs]},
                tuple(value for run in runs for value in _key(run)),
            )


def _overlap(runs: Sequence[RunFact]) -> float:
    begins = [run.started_at.timestamp() for run in runs if run.started_at]
    lengths_s = [took_s(run) or 0 for run in runs]
    ends = [begin + length for begin, length in zip(begins, lengths_s, strict=True)]
    return max(0.0, min(ends) - max(begins)) / max(lengths_s)


def _window(run: RunFact) -> dict[str, Evidence]:
    started = run.started_at.isoformat() if run.started_at else None
    return {"slot": run.slot, "started_at": started, "duration_s": took_s(run)}


def _key(run: RunFact) -> tuple[str, float]:
    started = run.started_at.isoformat() if run.started_at else ""
    return started, took_s(run) or 0.0
