"""How long a run took against how long it should have taken, or its meter read."""

import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import Final

from benchmarks.analysis.energy import METERS
from benchmarks.plausibility.facts import RunFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, rule, subjects
from benchmarks.sentences import Sentence

LONGER: Final = 0.03
SHORTER: Final = 0.01
METER_TIME: Final = "meter time"
OFF: Final = 0.05
REQUESTS: Final = (
    "seconds",
    "runtime",
    "duration",
    "length",
    "test_length",
    "run_time",
)
# Bounded: parameters hold any text, and too many digits are inf.
_REQUEST: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([a-z]*)", re.ASCII)
ENDLESS: Final = 1e9
"""A time so many times another one was not the time of anything."""
SECONDS: Final = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "ms": 1e-3}


@rule("meter-window", "The meter read for longer than the work", "implausible")
def meter_window(study: StudyFacts) -> Iterator[Doubt]:
    """A power meter's time is more than 3 % longer, or more than 1 % shorter, than the
    work that it was read for: the longest run of the same co-run, by its duration, its
    elapsed time or the total time that its tool printed. A shorter one is impossible.

    Why: the energy between the end of the work and the end of the reading is that of an
    idle machine. In the UOC study one OLTP test shows 15 % more energy than the others
    because its meter ran 40 % longer.

    What to do: integrate the meter's samples over the work's window only; where only
    the total is left, use mean power times the duration of the work and say so.
    """
    groups: dict[str, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.corun:
            groups[run.corun].append(run)
    for name, runs in groups.items():
        work = [run for run in runs if run.tool not in METERS and run.took_s]
        for meter in runs:
            times = [s.value for s in meter.samples if s.metric == METER_TIME]
            own_s = meter.duration_s if meter.tool in METERS else None
            read_s = max(times, default=own_s)
            if not work or not read_s:
                continue
            work_s = max(run.took_s or 0 for run in work)
            share = read_s / work_s - 1
            if -SHORTER <= share <= LONGER or share > ENDLESS:
                continue
            yield Doubt(
                Sentence(
                    'The meter of "{name}" read for {read:g} s, the work took {work:g} '
                    "s: {share:.1%} {how}.",
                    name=name,
                    read=read_s,
                    work=work_s,
                    share=abs(share),
                    how=Sentence("longer") if share > 0 else Sentence("shorter"),
                ),
                (
                    *subjects("run", (meter.id, *(run.id for run in work))),
                    *subjects("cell", (s.cell for s in meter.samples if s.cell)),
                ),
                {
                    "meter_s": read_s,
                    "work_s": work_s,
                    "off_percent": round(100 * share, 3),
                },
                (read_s, work_s),
                None if share > 0 else "impossible",
            )


@rule("elapsed-not-requested", "A run of another length than requested", "implausible")
def elapsed_not_requested(study: StudyFacts) -> Iterator[Doubt]:
    """A run took more than 5 % longer or shorter than it was told to (its request, or a
    parameter such as ``seconds`` or ``runtime``). Where no request is stated, the
    elapsed times that the runs of one tool and table print tell it, if there are four
    or more and three of four of them agree to 2 %: then the others are flagged.

    Why: a test that ends early never reached its steady state; one that hangs averages
    over the time in which it did nothing. A netperf run of 100 s in the Heidelberg
    study took 137.9 s.

    What to do: read the raw output for errors and retries; repeat the run.
    """
    tables: dict[object, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        run_s, requested_s = run.elapsed_s or run.duration_s, _requested_s(run)
        if run_s and requested_s and run_s / requested_s < ENDLESS:
            if abs(run_s / requested_s - 1) > OFF:
                yield _off(run, run_s, requested_s, Sentence("it was asked for"))
        elif run.elapsed_s:
            tables[run.tool, run.document, run.table].append(run)
    for runs in tables.values():
        times = [run.elapsed_s or 0 for run in runs]
        middle = median(times)
        alike = sum(abs(time_s / middle - 1) <= 0.02 for time_s in times)
        # Three runs are too few to say what the usual length is.
        if len(runs) < 4 or 4 * alike < 3 * len(runs):
            continue
        for run, run_s in zip(runs, times, strict=True):
            if OFF < abs(run_s / middle - 1) < ENDLESS:
                others = Sentence("the others of its table took")
                yield _off(run, run_s, middle, others)


def _off(run: RunFact, run_s: float, expected_s: float, whose: Sentence) -> Doubt:
    name = run.name
    parameters = run.samples[0].parameters if run.samples else {}
    one, other = parameters.get("from"), parameters.get("to")
    if one and other:
        name = Sentence("{name} ({one} to {other})", name=name, one=one, other=other)
    return Doubt(
        Sentence(
            "{name} took {took:g} s, {whose} {asked:g} s ({off:+.1%}).",
            name=name,
            took=run_s,
            whose=whose,
            asked=expected_s,
            off=run_s / expected_s - 1,
        ),
        subjects("run", (run.id,)),
        {"elapsed_s": run_s, "expected_s": expected_s},
        (run_s, expected_s),
    )


def _requested_s(run: RunFact) -> float | None:
    """What the run was told: stated, or a parameter that all its samples share."""
    if run.requested_s:
        return run.requested_s
    stated = set()
    for named in (run.facts, *(sample.parameters for sample in run.samples)):
        for key in named.keys() & set(REQUESTS):
            match = _REQUEST.fullmatch(str(named[key]).strip())
            if match and match[2] in SECONDS:
                stated.add(float(match[1]) * SECONDS[match[2]])
    # Of two different lengths nothing tells which one was meant.
    return stated.pop() if len(stated) == 1 else None
