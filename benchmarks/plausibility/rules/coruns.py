"""Runs that were meant to run together."""

from collections import defaultdict
from collections.abc import Iterator

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.analysis.energy import METERS
from benchmarks.plausibility.facts import RunFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, rule, subjects
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
        if len(runs) < 2:  # the others may not have arrived yet
            continue
        began = [run.started_at for run in runs if run.started_at]
        took_s = [run.took_s or 0.0 for run in runs]
        starts = [start.timestamp() for start in began]
        ends = [start + length for start, length in zip(starts, took_s, strict=True)]
        share = max(0.0, min(ends) - max(starts)) / max(took_s)
        if share >= MIN_OVERLAP:
            continue
        windows = [
            (run.slot, start.isoformat(), length)
            for run, start, length in zip(runs, began, took_s, strict=True)
        ]
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
            {
                "overlap": round(share, 4),
                "runs": [
                    {"slot": slot, "started_at": start, "duration_s": length}
                    for slot, start, length in windows
                ],
            },
            tuple(value for _, start, length in windows for value in (start, length)),
        )
