"""One meter's log over time, with the windows of the work it was read for."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import orjson

from benchmarks.analysis.energy import PerWork, WorkEnergy, per_work, work_energy
from benchmarks.errors import ParseError
from benchmarks.models import Run, Sample
from benchmarks.parsing.power_logs import PowerLog, power_log
from benchmarks.plausibility.rules.coruns import WORK_TIMES
from benchmarks.power.meters import OPERATIONS, MeterReading, operations_of, took_s
from benchmarks.sentences import Sentence

LONGEST_TEXT = 4_000_000
FEWEST_IDLE = 3


@dataclass(frozen=True)
class Window:
    """The time of one run of work, and what the meter read in it.

    ``energy`` is None where the meter saw nothing of it; ``reason`` says so.
    """

    run: Run
    start_s: float
    end_s: float
    energy: WorkEnergy | None
    per_work: PerWork | None
    above_idle_j: float | None
    reason: str = ""


@dataclass(frozen=True)
class MeteredRun:
    """A log with its windows; ``problem`` says why it cannot be integrated.

    Times count from the first sample. ``idle_w`` is the mean outside all windows.
    """

    run: Run
    log: PowerLog | None = None
    windows: tuple[Window, ...] = ()
    idle_w: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class Span:
    """When a run of work ran, in seconds since 1970, and how much it did."""

    run: Run
    start_s: float
    end_s: float
    operations: float | None


def metered_run(reading: MeterReading) -> MeteredRun:
    """Read a meter's upload again and integrate it over the work, in two queries."""
    run = Run.objects.select_related("output", "source__output").get(pk=reading.run.pk)
    try:
        log = _on_the_clock(run, power_log(run.tool, _text(run)))
    except ParseError as error:
        return MeteredRun(run, problem=error.sentence)
    spans, untimed = _spans(reading.work.runs)
    first = log.times_s[0]
    shown = PowerLog(tuple(time - first for time in log.times_s), log.watts)
    idle_w = _idle_w(log, spans)
    windows = tuple(_window(log, idle_w, span) for span in spans)
    problem = ""
    if untimed or not spans:
        problem = Sentence(
            "Of a run of work it is not known when it began or how long it took."
        )
    return MeteredRun(run, shown, windows, idle_w, problem)


def _text(run: Run) -> str:
    """Return the lines that a run was read from."""
    document = orjson.loads(run.upload.text)
    output = document.get("output") if isinstance(document, dict) else None
    if not isinstance(output, str):
        raise ParseError(Sentence("Only figures were sent, not the meter's log."))
    if len(output) > LONGEST_TEXT:
        raise ParseError(
            Sentence("The log is too long to be drawn; its summary stands above.")
        )
    plain = output.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(plain[(run.first_line or 1) - 1 : run.last_line]) + "\n"


def _on_the_clock(run: Run, log: PowerLog) -> PowerLog:
    if log.is_absolute:
        return log
    if run.started_at is None:
        raise ParseError(
            Sentence("The log counts from its own start, which is not known.")
        )
    return log.started_at(run.started_at.timestamp())


def _spans(runs: Sequence[Run]) -> tuple[list[Span], int]:
    """Return the windows of the runs of work, and how many have none."""
    timed = Sample.objects.filter(
        run__in=[run.pk for run in runs], case__metric__in=(*WORK_TIMES, *OPERATIONS)
    )
    by_run: dict[int, list[Sample]] = {run.pk: [] for run in runs}
    for sample in timed.select_related("case"):
        by_run[sample.run_id].append(sample)
    spans = []
    for run in runs:
        samples = by_run[run.pk]
        seconds = took_s(run, samples)
        if run.started_at and seconds:
            begin = run.started_at.timestamp()
            spans.append(Span(run, begin, begin + seconds, operations_of(samples)))
    return spans, len(runs) - len(spans)


def _idle_w(log: PowerLog, spans: Sequence[Span]) -> float | None:
    """Return the mean power outside all work, if there is enough of it."""
    outside = [
        watts
        for time, watts in zip(log.times_s, log.watts, strict=True)
        if not any(span.start_s <= time <= span.end_s for span in spans)
    ]
    return fmean(outside) if len(outside) >= FEWEST_IDLE else None


def _window(log: PowerLog, idle_w: float | None, span: Span) -> Window:
    first = log.times_s[0]
    begin, end = span.start_s - first, span.end_s - first
    try:
        energy = work_energy(log.times_s, log.watts, (span.start_s, span.end_s))
    except ValueError as error:
        return Window(span.run, begin, end, None, None, None, str(error))
    return Window(
        run=span.run,
        start_s=begin,
        end_s=end,
        energy=energy,
        per_work=per_work(energy.energy_j, energy.duration_s, span.operations),
        above_idle_j=energy.above_idle_j(idle_w) if idle_w is not None else None,
    )
