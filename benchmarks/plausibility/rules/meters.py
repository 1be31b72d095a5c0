"""How long a run took against how long it should have taken, or its meter read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from benchmarks.analysis.energy import METERS
from benchmarks.plausibility.facts import RunFact, StudyFacts
from benchmarks.plausibility.findings import subjects
from benchmarks.plausibility.registry import Doubt, rule
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
_REQUEST: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([a-z]*)", re.ASCII)
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
            read_s = _metered_s(meter)
            if work and read_s:
                yield from _compared(name, meter, read_s, work)


def _compared(
    name: str, meter: RunFact, read_s: float, work: Sequence[RunFact]
) -> Iterator[Doubt]:
    work_s = max(run.took_s or 0 for run in work)
    share = read_s / work_s - 1
    if -SHORTER <= share <= LONGER:
        return
    how = Sentence("longer") if share > 0 else Sentence("shorter")
    yield Doubt(
        Sentence(
            'The meter of "{name}" read for {read:g} s, the work took {work:g} s: '
            "{share:.1%} {how}.",
            name=name,
            read=read_s,
            work=work_s,
            share=abs(share),
            how=how,
        ),
        (
            *subjects("run", (meter.id, *(run.id for run in work))),
            *subjects("cell", (each.cell for each in meter.samples if each.cell)),
        ),
        {"meter_s": read_s, "work_s": work_s, "off_percent": round(100 * share, 3)},
        (read_s, work_s),
        None if share > 0 else "impossible",
    )


def _metered_s(run: RunFact) -> float | None:
    times = [each.value for each in run.samples if each.metric == METER_TIME]
    return max(times, default=run.duration_s if run.tool in METERS else None)


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
        run_s, asked_s = _elapsed_s(run), _asked_s(run)
        if run_s and asked_s:
            if abs(run_s / asked_s - 1) > OFF:
                yield _off(run, run_s, asked_s, Sentence("it was asked for"))
        elif run.elapsed_s:
            tables[run.tool, run.document, run.table].append(run)
    for runs in tables.values():
        yield from _unlike_the_others(runs)


def _unlike_the_others(runs: Sequence[RunFact]) -> Iterator[Doubt]:
    times = [_elapsed_s(run) or 0 for run in runs]
    middle = median(times)
    alike = sum(abs(each / middle - 1) <= 0.02 for each in times)
    if len(runs) < 4 or 4 * alike < 3 * len(runs):
        return
    for run, this_s in zip(runs, times, strict=True):
        if abs(this_s / middle - 1) > OFF:
            yield _off(run, this_s, middle, Sentence("the others of its table took"))


def _off(run: RunFact, run_s: float, asked_s: float, whose: Sentence) -> Doubt:
    return Doubt(
        Sentence(
            "{name} took {took:g} s, {whose} {asked:g} s ({off:+.1%}).",
            name=_named(run),
            took=run_s,
            whose=whose,
            asked=asked_s,
            off=run_s / asked_s - 1,
        ),
        subjects("run", (run.id,)),
        {"elapsed_s": run_s, "expected_s": asked_s},
        (run_s, asked_s),
    )


def _named(run: RunFact) -> str:
    parameters = run.samples[0].parameters if run.samples else {}
    ends = [parameters.get("from"), parameters.get("to")]
    if not all(ends):
        return run.name
    one, other = (str(end) for end in ends)
    return Sentence("{name} ({one} to {other})", name=run.name, one=one, other=other)


def _elapsed_s(run: RunFact) -> float | None:
    return run.elapsed_s or run.duration_s


def _asked_s(run: RunFact) -> float | None:
    """What the run was told: stated, or a parameter that all its samples share."""
    if run.requested_s:
        return run.requested_s
    stated = [*_requests(run.facts.items())]
    for each in run.samples:
        stated += _requests(each.parameters.items())
    return stated[0] if len(set(stated)) == 1 else None


def _requests(pairs: Iterable[tuple[str, object]]) -> Iterator[float]:
    for key, value in pairs:
        if key in REQUESTS:
            found = _REQUEST.fullmatch(str(value).strip())
            if found and found[2] in SECONDS:
                yield float(found[1]) * SECONDS[found[2]]
