"""The energy of a study's work as its machines' meters logged it, by system."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import orjson

from benchmarks.analysis.energy import (
    WORK_TIMES,
    EnergyRatio,
    PerWork,
    per_work,
)
from benchmarks.analysis.judgement import energy_ratio
from benchmarks.analysis.power_trace import (
    Span,
    WorkEnergy,
    energy_within,
    hull,
    work_energy,
)
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.errors import ParseError
from benchmarks.models import Meter, Run, RunEnergy, RunMean, Study, System
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.decoding import decode
from benchmarks.power.energy_tables import known_mean, reference_first
from benchmarks.power.logs import power_of, window_of
from benchmarks.power.meters import (
    OPERATIONS,
    MeterReading,
    operations_of,
    samples_by_run,
    took_s,
)
from benchmarks.sentences import Sentence, joined, template
from benchmarks.studies.cell_sessions import study_sessions
from benchmarks.text import natural
from benchmarks.tools.power_csv import tables_of
from benchmarks.tools.watts_up import logs_of

LONGEST_TEXT = 4_000_000
FEWEST_IDLE = 3
# So much is shown before and after the work: what the machine takes at rest. Not more,
# for a log tells of all that a machine did.
LEAST_AROUND_S, MOST_AROUND_S = 10.0, 120.0
PART_AROUND = 0.2
_MICROSECONDS = 1e6
# The year 2001: no log counts so many seconds from its own start.
_FIRST_DATE_S = 1e9


@dataclass(frozen=True)
class MeteredWork:
    """The energy of one run's work, or of the work of runs that ran together."""

    runs: tuple[Run, ...]
    energy: RunEnergy

    @property
    def meter(self) -> Meter:
        return self.energy.meter

    @property
    def lead(self) -> Run:
        return self.runs[0]

    @property
    def sentence(self) -> str:
        """What the reader must know of this figure, in numbers; may be empty."""
        energy = self.energy
        missing_s = energy.duration_s - energy.covered_s
        amounts = {
            "missing": f"{missing_s:.3g}",
            "all": f"{energy.duration_s:.6g}",
            "share": f"{100 * missing_s / energy.duration_s:.2g}",
        }
        remarks = []
        if energy.mean_w is None:
            text = template("Of the {all} s of the work the meter measured nothing.")
        elif not energy.is_covered:
            text = template(
                "{missing} s of the {all} s ({share} %) were not measured: too much "
                "for an energy."
            )
        else:
            text = template("{missing} s of the {all} s ({share} %) were not measured.")
        if not energy.is_covered or missing_s > 1e-6 * energy.duration_s:
            remarks.append(Sentence(text, **amounts))
        if energy.is_shared:
            shared = template(
                "{n} runs overlapped on the machine: this is the energy of all "
                "together."
            )
            remarks.append(Sentence(shared, n=energy.together))
        if not energy.is_external:
            unchecked = Sentence(
                "Its own clock says when it ran, and was not compared with the meter's."
            )
            remarks.append(unchecked)
        return joined(remarks) if remarks else ""


@dataclass(frozen=True, kw_only=True)
class LoggedSystem:
    """What one system took for a workload by one meter, as J per operation or J."""

    system: System
    meter: Meter
    works: tuple[MeteredWork, ...]
    energy_j: float | None
    work_s: float | None
    mean_w: float | None
    idle_w: float | None
    above_idle_j: float | None
    operations: float | None
    joules_per_operation: float | None
    operations_per_joule: float | None
    energy_delay_js: float | None
    per_work: tuple[float, ...]
    sessions: tuple[int, ...]
    ratio: EnergyRatio | None = None

    @property
    def unmeasured(self) -> int:
        """Of how many runs too little was measured."""
        return sum(work.energy.energy_j is None for work in self.works)

    @property
    def n(self) -> int:
        return len(self.works) - self.unmeasured


@dataclass(frozen=True)
class LoggedTable:
    """One workload on the systems it was metered on; the reference comes first."""

    workload: str
    is_cpu_only: bool
    systems: tuple[LoggedSystem, ...]


@dataclass(frozen=True, slots=True)
class PowerLog:
    """Power samples in order; times are since 1970 if ``is_absolute``."""

    times_s: tuple[float, ...]
    watts: tuple[float, ...]

    @property
    def is_absolute(self) -> bool:
        return self.times_s[0] >= _FIRST_DATE_S

    def started_at(self, start_s: float) -> "PowerLog":
        """The log with its first sample at a moment that is known from elsewhere."""
        first = self.times_s[0]
        times = tuple(start_s + time - first for time in self.times_s)
        return PowerLog(times, self.watts)


@dataclass(frozen=True)
class LoggedWindow:
    """The time of one run of work, and the energy in it or the reason for none."""

    run: Run
    start_s: float
    end_s: float
    energy: WorkEnergy | None
    per_work: PerWork | None
    above_idle_j: float | None
    reason: str = ""


@dataclass(frozen=True)
class MeteredRun:
    """A log with its windows in seconds from the first sample, or its ``problem``."""

    run: Run
    log: PowerLog | None = None
    windows: tuple[LoggedWindow, ...] = ()
    idle_w: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class WorkSpan:
    """When a run of work ran, in seconds since 1970, and how much it did."""

    run: Run
    start_s: float
    end_s: float
    operations: float | None


def run_energies(study: Study) -> tuple[MeteredWork, ...]:
    """Return the energy of a study's work by each meter, in one query."""
    rows = (
        RunEnergy.objects.filter(run__study=study, run__status=Run.Status.PARSED)
        .select_related("run__system__host", "run__corun", "meter__host")
        .order_by("lead", "meter__name", "meter", "run")
    )
    groups: dict[tuple[int, int], list[RunEnergy]] = defaultdict(list)
    for row in rows:
        groups[row.lead_id, row.meter_id].append(row)
    # Each member's row holds the energy of all, so any of them will do.
    return tuple(
        MeteredWork(tuple(row.run for row in members), members[0])
        for members in groups.values()
    )


def logged_energy(
    study: Study, works: Sequence[MeteredWork]
) -> tuple[LoggedTable, ...]:
    """Return a table for each workload, in two queries; what ran together is none."""
    alone = [work for work in works if not work.energy.is_shared]
    leads = [work.lead for work in alone]
    means = RunMean.objects.filter(
        lab__in={lead.lab_id for lead in leads}, run__in=[lead.pk for lead in leads]
    )
    cases: dict[int, set[int]] = defaultdict(set)
    for run_id, case_id in means.values_list("run", "case"):
        cases[run_id].add(case_id)
    # Two runs are the same work by tool, step, circumstances and cases.
    groups: dict[tuple[Any, ...], list[MeteredWork]] = defaultdict(list)
    for work in alone:
        run = work.lead
        done = tuple(sorted(cases[run.pk]))
        place = (run.scenario, run.vms or 0, run.load)
        key = (run.tool, _step(work), work.meter.is_cpu_only, place, done)
        groups[key].append(work)
    days = study_sessions(study).days
    return tuple(_table(study, groups[key], days) for key in sorted(groups, key=str))


def _step(work: MeteredWork) -> str:
    order = work.lead.facts.get("order")
    step = order.get("step") if isinstance(order, dict) else None
    return step if isinstance(step, str) else ""


def _table(
    study: Study, works: Sequence[MeteredWork], days: Mapping[int, str]
) -> LoggedTable:
    by_place: dict[tuple[int, int], list[MeteredWork]] = defaultdict(list)
    for work in works:
        by_place[work.lead.system_id, work.meter.pk].append(work)
    systems = [_system(members) for members in by_place.values()]
    systems.sort(key=lambda row: (natural(row.system.label), row.meter.name))
    base, *others = reference_first(study, systems)
    against = base.meter.facts
    first = works[0]
    title = known_tool(first.lead.tool).title
    return LoggedTable(
        workload=", ".join(filter(None, [title, _step(first)])),
        is_cpu_only=first.meter.is_cpu_only,
        systems=(
            base,
            *(
                replace(
                    own,
                    ratio=energy_ratio(
                        own.per_work,
                        base.per_work,
                        (own.meter.facts, against),
                        (own.sessions, base.sessions),
                        days,
                    ),
                )
                for own in others
            ),
        ),
    )


def _system(works: Sequence[MeteredWork]) -> LoggedSystem:
    metered = [work for work in works if work.energy.energy_j is not None]
    measured = [work.energy for work in metered]
    done = [energy.per_work for energy in measured]
    per_operation = [work.joules_per_operation for work in done if work]
    known = [joules for joules in per_operation if joules is not None]
    # J per operation only where every run counted: the two cannot be compared.
    if not known or len(known) < len(measured):
        metered = [work for work in metered if work.energy.energy_j]
        known = [work.energy.energy_j or 0.0 for work in metered]
    sittings = (work.lead.sitting_id for work in metered)
    return LoggedSystem(
        system=works[0].lead.system,
        meter=works[0].meter,
        works=tuple(works),
        energy_j=known_mean(energy.energy_j for energy in measured),
        work_s=known_mean(energy.duration_s for energy in measured),
        mean_w=known_mean(energy.mean_w for energy in measured),
        idle_w=known_mean(energy.idle_w for energy in measured),
        above_idle_j=known_mean(energy.above_idle_j for energy in measured),
        operations=known_mean(energy.operations for energy in measured),
        joules_per_operation=known_mean(per_operation),
        operations_per_joule=known_mean(
            w.operations_per_joule if w else None for w in done
        ),
        energy_delay_js=known_mean(w.energy_delay_js if w else None for w in done),
        per_work=tuple(known),
        sessions=tuple(UNKNOWN_TIME if pk is None else pk for pk in sittings),
    )


def metered_run(reading: MeterReading) -> MeteredRun:
    """Read a meter's upload again and integrate it over the work, in three queries."""
    run = Run.objects.get(pk=reading.run.pk)
    try:
        log = power_log(run.tool, _text(run))
        if not log.is_absolute:
            if run.started_at is None:
                raise ParseError(
                    Sentence("The log counts from its own start, which is not known.")
                )
            log = log.started_at(run.started_at.timestamp())
    except ParseError as error:
        return MeteredRun(run, problem=error.sentence)
    spans = _spans(reading.work.runs)
    outside = [
        watts
        for time, watts in zip(log.times_s, log.watts, strict=True)
        if not any(span.start_s <= time <= span.end_s for span in spans)
    ]
    idle_w = fmean(outside) if len(outside) >= FEWEST_IDLE else None
    first = log.times_s[0]
    measure = partial(work_energy, log.times_s, log.watts)
    windows = []
    for span in spans:
        ends = (span.start_s, span.end_s)
        window = _window(span.run, ends, first, measure, span.operations)
        if idle_w is not None and window.energy:
            above_idle_j = window.energy.above_idle_j(idle_w)
            window = replace(window, above_idle_j=above_idle_j)
        windows.append(window)
    problem = ""
    if not spans or len(spans) < len(reading.work.runs):
        problem = Sentence(
            "For one piece of work it is not known when it began or how long it took."
        )
    return MeteredRun(
        run,
        PowerLog(tuple(time - first for time in log.times_s), log.watts),
        tuple(windows),
        idle_w,
        problem,
    )


def power_log(tool: str, output: str) -> PowerLog:
    """Return the samples of the only log in a text; raise ParseError without times."""
    if tool == "power-csv":
        logs = [
            PowerLog(
                tuple(time / _MICROSECONDS for time in rows.times),
                tuple(watts * rows.factor for watts in rows.watts),
            )
            for rows in tables_of(decode(output))
        ]
    elif tool == "watts-up":
        logs = []
        for log in logs_of(decode(output)):
            times = tuple(time / _MICROSECONDS for time in log.times)
            if not times and log.interval and not log.has_holes:
                # No packet says when it was sent, but each stands for the interval that
                # was asked for.
                steps = range(len(log.watts))
                times = tuple(float(step * log.interval) for step in steps)
            logs.append(PowerLog(times, tuple(log.watts)))
    else:
        raise ParseError("This meter's samples are not kept with their times.")
    logs = [log for log in logs if log.watts]
    if len(logs) != 1:
        raise ParseError(
            "This part of the upload holds {logs} logs, not one.", logs=len(logs)
        )
    if len(logs[0].times_s) != len(logs[0].watts) or len(logs[0].watts) < 2:
        raise ParseError("The log does not say when its samples were taken.")
    return logs[0]


def _text(run: Run) -> str:
    document = orjson.loads(run.upload.text)
    output = document.get("output") if isinstance(document, dict) else None
    if not isinstance(output, str):
        raise ParseError(Sentence("Only figures were sent, not the meter's log."))
    if len(output) > LONGEST_TEXT:
        raise ParseError(
            Sentence("The log is too long to be drawn; its summary is above.")
        )
    # Ends lines where the reader does, or its line numbers would not fit.
    plain = output.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(plain[(run.first_line or 1) - 1 : run.last_line]) + "\n"


def _spans(runs: Sequence[Run]) -> list[WorkSpan]:
    """Return when those of the runs ran of which it is known."""
    timed = samples_by_run(runs, (*WORK_TIMES, *OPERATIONS))
    spans = []
    for run in runs:
        samples = timed[run.pk]
        seconds = took_s(run, samples)
        if run.started_at and seconds:
            begin = run.started_at.timestamp()
            spans.append(WorkSpan(run, begin, begin + seconds, operations_of(samples)))
    return spans


def work_power(work: MeteredWork) -> MeteredRun | None:
    """Return the power around some work with its window; None if the log is gone."""
    windows = [window for run in work.runs if (window := window_of(run))]
    if not windows:
        return None
    rough = hull([(w.begin_s, w.begin_s + w.duration_s) for w in windows])
    around_s = (rough[1] - rough[0]) * PART_AROUND
    around_s = min(max(around_s, LEAST_AROUND_S), MOST_AROUND_S)
    power = power_of(work.meter, rough[0] - around_s, rough[1] + around_s)
    if power is None:
        return None
    spans = [power.span_of(window) for window in windows]
    whole = hull(spans)
    shown = power.trace.within(whole[0] - around_s, whole[1] + around_s)
    if not shown.starts_s.size:
        return None
    first = float(shown.starts_s[0])
    # Of a counter the middle of each step.
    times, watts = (shown.starts_s + shown.ends_s) / 2, shown.first_w
    # Power is linear between two samples, so the end of the last step is drawn too.
    if not shown.is_counted:
        times = np.append(shown.starts_s, shown.ends_s[-1])
        watts = np.append(shown.first_w, shown.last_w[-1])
    stored = work.energy
    measure = partial(energy_within, power.trace)
    seen = _window(stored.run, whole, first, measure, stored.operations)
    is_covered = seen.energy is not None and seen.energy.is_covered
    return MeteredRun(
        run=work.lead,
        log=PowerLog(tuple((times - first).tolist()), tuple(watts.tolist())),
        windows=(
            replace(
                seen,
                # Of less than 90 % of the window no energy is told.
                per_work=seen.per_work if is_covered else None,
                above_idle_j=stored.above_idle_j,
            ),
        ),
        idle_w=stored.idle_w,
    )


def _window(
    run: Run,
    span: Span,
    first_s: float,
    measure: Callable[[Span], WorkEnergy],
    operations: float | None,
) -> LoggedWindow:
    energy: WorkEnergy | None = None
    done: PerWork | None = None
    reason = ""
    try:
        energy = measure(span)
    except ValueError as error:
        reason = str(error)
    # A tool may have counted nothing: 0 transactions are no divisor.
    if energy is not None and energy.energy_j > 0:
        done = per_work(energy.energy_j, energy.duration_s, operations or None)
    begin_s, end_s = span[0] - first_s, span[1] - first_s
    return LoggedWindow(run, begin_s, end_s, energy, done, None, reason)
