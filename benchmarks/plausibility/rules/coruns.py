"""Runs that were meant to run together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.analysis.energy import METERS
from benchmarks.plausibility.facts import RunFact, StudyFacts
from benchmarks.plausibility.findings import Evidence, subjects
from benchmarks.plausibility.registry import Doubt, rule
from benchmarks.sentences import Sentence


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
        if run.corun and run.tool not in METERS and run.started_at and run.took_s:
            groups[run.corun].append(run)
    for name, runs in groups.items():
        if len(runs) < 2:
            continue
        share = _overlap(runs)
        if share < MIN_OVERLAP:
            yield Doubt(
                Sentence(
                    'The {n} runs of "{name}" share {share:.0%} of the longest '
                    "one's time; {needed:.0%} are needed.",
                    n=len(runs),
                    name=name,
                    share=share,
                    needed=MIN_OVERLAP,
                ),
                subjects("run", (run.id for run in runs)),
                {"overlap": round(share, 4), "runs": [_window(run) for run in runs]},
                tuple(value for run in runs for value in _key(run)),
            )


def _overlap(runs: Sequence[RunFact]) -> float:
    begins = [run.started_at.timestamp() for run in runs if run.started_at]
    lengths_s = [run.took_s or 0 for run in runs]
    ends = [begin + length for begin, length in zip(begins, lengths_s, strict=True)]
    return max(0.0, min(ends) - max(begins)) / max(lengths_s)


def _window(run: RunFact) -> dict[str, Evidence]:
    started = run.started_at.isoformat() if run.started_at else None
    return {"slot": run.slot, "started_at": started, "duration_s": run.took_s}


def _key(run: RunFact) -> tuple[str, float]:
    started = run.started_at.isoformat() if run.started_at else ""
    return started, run.took_s or 0.0
