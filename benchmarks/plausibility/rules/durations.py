"""Rules about durations that do not match the request or the work."""

import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Final

from benchmarks.analysis.energy_ratio import EXTERNAL_METER_TOOLS
from benchmarks.plausibility.findings import Finding, rule, unique_subjects
from benchmarks.plausibility.study_facts import RunFact, StudyFacts
from benchmarks.sentences import Sentence, Template, template

MAX_EXCESS: Final = 0.03
MAX_DEFICIT: Final = 0.01
METER_TIME: Final = "meter time"
MAX_DURATION_ERROR: Final = 0.05
DURATION_PARAMETERS: Final = (
    "seconds",
    "runtime",
    "duration",
    "length",
    "test_length",
    "run_time",
)
# Bounded: parameters may hold any text.
_REQUEST: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([a-z]*)", re.ASCII)
MAX_TIME_RATIO: Final = 1e9
"""Numbers that differ by more than this factor are not durations."""
REQUESTED_DURATION: Final = template(
    "{name} took {took:g} s, but the requested duration is {expected:g} s ({off:+.1%})."
)
USUAL_DURATION: Final = template(
    "{name} took {took:g} s, but the median of the runs in its table is "
    "{expected:g} s ({off:+.1%})."
)
SECONDS: Final = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "ms": 1e-3}


@rule(
    "meter-window",
    "Meter duration does not match the work",
    "implausible",
    family="meters",
)
def meter_window(study: StudyFacts) -> Iterator[Finding]:
    """Flags a power meter that ran more than 3% longer or more than 1% shorter than the
    work it measured. The work is as long as the longest run of the same co-run. A run's
    duration is its recorded duration, its elapsed time, or the total time printed by
    its tool. If the meter ran shorter than the work, the severity is impossible.

    Why: after the work ends, the meter measures an idle machine.

    Remedy: integrate the meter's samples over the time of the work only. If only the
    total is available, use mean power multiplied by the duration of the work, and state
    this.
    """
    groups: dict[str, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.corun:
            groups[run.corun].append(run)
    for name, runs in groups.items():
        work = [
            run
            for run in runs
            if run.tool not in EXTERNAL_METER_TOOLS and run.effective_duration_s
        ]
        for meter in runs:
            times = [s.value for s in meter.samples if s.metric == METER_TIME]
            own_s = meter.duration_s if meter.tool in EXTERNAL_METER_TOOLS else None
            read_s = max(times, default=own_s)
            if not work or not read_s:
                continue
            work_s = max(run.effective_duration_s or 0 for run in work)
            excess = read_s / work_s - 1
            if -MAX_DEFICIT <= excess <= MAX_EXCESS or excess > MAX_TIME_RATIO:
                continue
            yield Finding(
                Sentence(
                    'The power meter of the co-run "{name}" ran for {read:g} s, but '
                    "the work took {work:g} s. The meter ran {share:.1%} {how}.",
                    name=name,
                    read=read_s,
                    work=work_s,
                    share=abs(excess),
                    how=Sentence("longer") if excess > 0 else Sentence("shorter"),
                ),
                (
                    *unique_subjects("run", (meter.id, *(run.id for run in work))),
                    *unique_subjects("cell", (s.cell for s in meter.samples if s.cell)),
                ),
                {
                    "meter_s": read_s,
                    "work_s": work_s,
                    "off_percent": round(100 * excess, 3),
                },
                (read_s, work_s),
                None if excess > 0 else "impossible",
            )


@rule(
    "elapsed-not-requested",
    "Unexpected run duration",
    "implausible",
    family="meters",
)
def elapsed_not_requested(study: StudyFacts) -> Iterator[Finding]:
    """Flags a run that took more than 5% longer or shorter than requested, either by
    the duration uploaded with the run or by a parameter such as ``seconds`` or
    ``runtime``. Runs without a requested duration are compared with the other runs of
    their tool in the same table: if at least four of them printed elapsed times, and at
    least three of four are within 2% of the median, runs that differ from the median by
    more than 5% are flagged.

    Why: a test that ends early never reached its steady state. A test that hangs
    includes time in which it did nothing.

    Remedy: check the raw output for errors and retries. Repeat the run.
    """
    tables: dict[object, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        run_s, requested_s = run.elapsed_s or run.duration_s, _requested_s(run)
        if run_s and requested_s and run_s / requested_s < MAX_TIME_RATIO:
            if abs(run_s / requested_s - 1) > MAX_DURATION_ERROR:
                yield _duration_finding(REQUESTED_DURATION, run, run_s, requested_s)
        elif run.elapsed_s:
            tables[run.tool, run.document, run.table].append(run)
    for runs in tables.values():
        times = [run.elapsed_s or 0 for run in runs]
        middle = median(times)
        similar = sum(abs(time_s / middle - 1) <= 0.02 for time_s in times)
        if len(runs) < 4 or 4 * similar < 3 * len(runs):
            continue
        for run, run_s in zip(runs, times, strict=True):
            if MAX_DURATION_ERROR < abs(run_s / middle - 1) < MAX_TIME_RATIO:
                yield _duration_finding(USUAL_DURATION, run, run_s, middle)


def _duration_finding(
    text: Template, run: RunFact, run_s: float, expected_s: float
) -> Finding:
    name = run.description
    parameters = run.samples[0].parameters if run.samples else {}
    source, target = parameters.get("from"), parameters.get("to")
    if source and target:
        name = Sentence(
            "{name} ({one} to {other})", name=name, one=source, other=target
        )
    return Finding(
        Sentence(
            text,
            name=name,
            took=run_s,
            expected=expected_s,
            off=run_s / expected_s - 1,
        ),
        unique_subjects("run", (run.id,)),
        {"elapsed_s": run_s, "expected_s": expected_s},
        (run_s, expected_s),
    )


def _requested_s(run: RunFact) -> float | None:
    if run.requested_s:
        return run.requested_s
    durations = set()
    for values in (run.facts, *(sample.parameters for sample in run.samples)):
        for key in values.keys() & set(DURATION_PARAMETERS):
            match = _REQUEST.fullmatch(str(values[key]).strip())
            if match and match[2] in SECONDS:
                durations.add(float(match[1]) * SECONDS[match[2]])
    return durations.pop() if len(durations) == 1 else None
