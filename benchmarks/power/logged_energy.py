"""Energy of the work of a study from logs of power meters, by system."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import orjson

from benchmarks.analysis.assessment import energy_ratio
from benchmarks.analysis.clock_stamps import Span, enclosing_span
from benchmarks.analysis.energy_ratio import (
    RUN_TIME_METRICS,
    EnergyPerWork,
    EnergyRatio,
    per_work,
)
from benchmarks.analysis.power_trace import WorkEnergy, energy_within, work_energy
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.errors import ParseError
from benchmarks.models import Meter, Run, RunEnergy, RunMean, Study, System
from benchmarks.natural_sort import natural_sort_key
from benchmarks.parsing.decoding import decode
from benchmarks.power.meter_logs import measured_power, run_window
from benchmarks.power.metered_workloads import (
    OPERATION_METRICS,
    MeterReading,
    run_duration_s,
    run_operations,
    samples_by_run,
)
from benchmarks.power.printed_energy import mean_of_known, reference_first
from benchmarks.sentences import Sentence, join_sentences, template
from benchmarks.studies.cell_session_statistics import study_sessions
from benchmarks.tools.power_csv import read_tables
from benchmarks.tools.watts_up import read_logs

MAX_TEXT_LENGTH = 4_000_000
MIN_IDLE_SAMPLES = 3
# A chart shows only this time before and after the work, because a log covers
# everything that a machine did.
MIN_CONTEXT_S, MAX_CONTEXT_S = 10.0, 120.0
CONTEXT_PART = 0.2
_MICROSECONDS = 1e6
# The year 2001: no log counts so many seconds from its own start.
_FIRST_DATE_S = 1e9


@dataclass(frozen=True)
class MeteredWork:
    """Runs that overlapped on a machine (often a single run), with their common
    energy.
    """

    runs: tuple[Run, ...]
    energy: RunEnergy

    @property
    def meter(self) -> Meter:
        return self.energy.meter

    @property
    def lead_run(self) -> Run:
        return self.runs[0]

    @property
    def sentence(self) -> str:
        energy = self.energy
        missing_s = energy.duration_s - energy.measured_s
        amounts = {
            "missing": f"{missing_s:.3g}",
            "all": f"{energy.duration_s:.6g}",
            "share": f"{100 * missing_s / energy.duration_s:.2g}",
        }
        remarks = []
        if energy.mean_w is None:
            text = template(
                "The meter measured nothing during the {all} s of the work."
            )
        elif not energy.is_covered:
            text = template(
                "{missing} s of the {all} s of the work ({share}%) were not measured, "
                "which is too much to calculate the energy."
            )
        else:
            text = template(
                "{missing} s of the {all} s of the work ({share}%) were not measured."
            )
        if not energy.is_covered or missing_s > 1e-6 * energy.duration_s:
            remarks.append(Sentence(text, **amounts))
        if energy.is_shared:
            shared = template(
                "{n} runs overlapped on the machine; this is their combined energy."
            )
            remarks.append(Sentence(shared, n=energy.overlapping_runs))
        if not energy.is_external_clock:
            unchecked = Sentence(
                "The times of the run come from its own clock, which was not "
                "compared with the meter's clock."
            )
            remarks.append(unchecked)
        return join_sentences(remarks) if remarks else ""


@dataclass(frozen=True, kw_only=True)
class LoggedSystem:
    """The energy of one system for a workload, measured by one meter.

    Fields are means over the runs. ``per_work`` has one value per run, in J per
    operation or, if not all runs counted operations, in J; ``sessions`` are the session
    ids of these runs.
    """

    system: System
    meter: Meter
    metered_works: tuple[MeteredWork, ...]
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
    def unmeasured_run_count(self) -> int:
        """Number of runs without energy, because too little of their duration was
        measured.
        """
        return sum(work.energy.energy_j is None for work in self.metered_works)

    @property
    def n(self) -> int:
        return len(self.metered_works) - self.unmeasured_run_count


@dataclass(frozen=True)
class LoggedTable:
    workload: str
    is_cpu_only: bool
    systems: tuple[LoggedSystem, ...]


@dataclass(frozen=True, slots=True)
class PowerLog:
    """Power samples and their times in seconds.

    Times are since 1970 if ``is_absolute``, otherwise since an unknown start.
    """

    times_s: tuple[float, ...]
    watts: tuple[float, ...]

    @property
    def is_absolute(self) -> bool:
        return self.times_s[0] >= _FIRST_DATE_S

    def shift_to(self, start_s: float) -> "PowerLog":
        first = self.times_s[0]
        times = tuple(start_s + time - first for time in self.times_s)
        return PowerLog(times, self.watts)


@dataclass(frozen=True)
class LoggedWindow:
    """The time of one run in a power log, and its energy.

    Times are in seconds since the first sample. ``reason`` explains a missing energy.
    """

    run: Run
    start_s: float
    end_s: float
    energy: WorkEnergy | None
    per_work: EnergyPerWork | None
    above_idle_j: float | None
    reason: str = ""


@dataclass(frozen=True)
class MeteredRun:
    """A power log as a chart shows it, with the windows of the work."""

    run: Run
    log: PowerLog | None = None
    windows: tuple[LoggedWindow, ...] = ()
    idle_w: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class WorkSpan:
    """The start and end of a run in seconds since 1970, and its operations."""

    run: Run
    start_s: float
    end_s: float
    operations: float | None


def run_energies(study: Study) -> tuple[MeteredWork, ...]:
    rows = (
        RunEnergy.objects.filter(run__study=study, run__status=Run.Status.PARSED)
        .select_related("run__system__host", "run__corun", "meter__host")
        .order_by("lead_run", "meter__name", "meter", "run")
    )
    groups: dict[tuple[int, int], list[RunEnergy]] = defaultdict(list)
    for row in rows:
        groups[row.lead_run_id, row.meter_id].append(row)
    # Each member's row holds the energy of all, so a failed run spoils it for all.
    return tuple(
        MeteredWork(tuple(row.run for row in members), members[0])
        for members in groups.values()
        if not any(row.run.is_failed for row in members)
    )


def logged_energy(
    study: Study, metered_works: Sequence[MeteredWork]
) -> tuple[LoggedTable, ...]:
    """Return a table for each workload, in two queries; overlapping runs are
    omitted.
    """
    single = [work for work in metered_works if not work.energy.is_shared]
    leads = [work.lead_run for work in single]
    means = RunMean.objects.filter(
        lab__in={lead.lab_id for lead in leads}, run__in=[lead.pk for lead in leads]
    )
    cases: dict[int, set[int]] = defaultdict(set)
    for run_id, case_id in means.values_list("run", "case"):
        cases[run_id].add(case_id)
    groups: dict[tuple[Any, ...], list[MeteredWork]] = defaultdict(list)
    for work in single:
        run = work.lead_run
        case_ids = tuple(sorted(cases[run.pk]))
        conditions = (run.scenario, run.vms or 0, run.load)
        key = (run.tool, _step(work), work.meter.is_cpu_only, conditions, case_ids)
        groups[key].append(work)
    days = study_sessions(study).days
    return tuple(_table(study, groups[key], days) for key in sorted(groups, key=str))


def _step(work: MeteredWork) -> str:
    order = work.lead_run.facts.get("order")
    step = order.get("step") if isinstance(order, dict) else None
    return step if isinstance(step, str) else ""


def _table(
    study: Study, works: Sequence[MeteredWork], days: Mapping[int, str]
) -> LoggedTable:
    by_system: dict[tuple[int, int], list[MeteredWork]] = defaultdict(list)
    for work in works:
        by_system[work.lead_run.system_id, work.meter.pk].append(work)
    systems = [_logged_system(members) for members in by_system.values()]
    systems.sort(key=lambda row: (natural_sort_key(row.system.label), row.meter.name))
    reference, *rest = reference_first(study, systems)
    reference_facts = reference.meter.comparison_facts
    first = works[0]
    title = require_tool(first.lead_run.tool).title
    return LoggedTable(
        workload=", ".join(filter(None, [title, _step(first)])),
        is_cpu_only=first.meter.is_cpu_only,
        systems=(
            reference,
            *(
                replace(
                    system,
                    ratio=energy_ratio(
                        system.per_work,
                        reference.per_work,
                        (system.meter.comparison_facts, reference_facts),
                        (system.sessions, reference.sessions),
                        days,
                    ),
                )
                for system in rest
            ),
        ),
    )


def _logged_system(works: Sequence[MeteredWork]) -> LoggedSystem:
    metered = [work for work in works if work.energy.energy_j is not None]
    measured = [work.energy for work in metered]
    work_energies = [energy.per_work for energy in measured]
    per_operation = [work.joules_per_operation for work in work_energies if work]
    joules_per_work = [value for value in per_operation if value is not None]
    if not joules_per_work or len(joules_per_work) < len(measured):
        metered = [work for work in metered if work.energy.energy_j]
        joules_per_work = [work.energy.energy_j or 0.0 for work in metered]
    sessions = (work.lead_run.session for work in metered)
    return LoggedSystem(
        system=works[0].lead_run.system,
        meter=works[0].meter,
        metered_works=tuple(works),
        energy_j=mean_of_known(energy.energy_j for energy in measured),
        work_s=mean_of_known(energy.duration_s for energy in measured),
        mean_w=mean_of_known(energy.mean_w for energy in measured),
        idle_w=mean_of_known(energy.idle_w for energy in measured),
        above_idle_j=mean_of_known(energy.above_idle_j for energy in measured),
        operations=mean_of_known(energy.operations for energy in measured),
        joules_per_operation=mean_of_known(per_operation),
        operations_per_joule=mean_of_known(
            w.operations_per_joule if w else None for w in work_energies
        ),
        energy_delay_js=mean_of_known(
            w.energy_delay_js if w else None for w in work_energies
        ),
        per_work=tuple(joules_per_work),
        sessions=tuple(
            UNKNOWN_TIME if session is None else session.counted_with_id or session.pk
            for session in sessions
        ),
    )


def metered_run(reading: MeterReading) -> MeteredRun:
    """Integrate an uploaded power log over the time of the work, in three queries."""
    run = Run.objects.get(pk=reading.run.pk)
    try:
        log = power_log(run.tool, _text(run))
        if not log.is_absolute:
            if run.started_at is None:
                raise ParseError(
                    Sentence(
                        "The log has times relative to its start, and the "
                        "start is not known."
                    )
                )
            log = log.shift_to(run.started_at.timestamp())
    except ParseError as error:
        return MeteredRun(run, problem=error.sentence)
    spans = _spans(reading.work.runs)
    outside = [
        watts
        for time, watts in zip(log.times_s, log.watts, strict=True)
        if not any(span.start_s <= time <= span.end_s for span in spans)
    ]
    idle_w = fmean(outside) if len(outside) >= MIN_IDLE_SAMPLES else None
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
        problem = Sentence("The start or duration of at least one run is not known.")
    return MeteredRun(
        run,
        PowerLog(tuple(time - first for time in log.times_s), log.watts),
        tuple(windows),
        idle_w,
        problem,
    )


def power_log(tool: str, output: str) -> PowerLog:
    """Raise ParseError if there is not exactly one log, or if it has no times."""
    if tool == "power-csv":
        logs = [
            PowerLog(
                tuple(time / _MICROSECONDS for time in rows.times),
                tuple(watts * rows.factor for watts in rows.watts),
            )
            for rows in read_tables(decode(output))
        ]
    elif tool == "watts-up":
        logs = []
        for log in read_logs(decode(output)):
            times = tuple(time / _MICROSECONDS for time in log.times)
            if not times and log.interval and not log.has_holes:
                # Packets have no times, but each covers the requested interval.
                steps = range(len(log.watts))
                times = tuple(float(step * log.interval) for step in steps)
            logs.append(PowerLog(times, tuple(log.watts)))
    else:
        raise ParseError("The samples of this meter are not stored with times.")
    logs = [log for log in logs if log.watts]
    if len(logs) != 1:
        raise ParseError(
            "This part of the upload contains {logs} logs instead of one.",
            logs=len(logs),
        )
    if len(logs[0].times_s) != len(logs[0].watts) or len(logs[0].watts) < 2:
        raise ParseError("The log does not contain the times of its samples.")
    return logs[0]


def _text(run: Run) -> str:
    """Return the lines of the upload that contain the run's log, or raise
    ParseError.
    """
    document = orjson.loads(run.upload.text)
    output = document.get("output") if isinstance(document, dict) else None
    if not isinstance(output, str):
        raise ParseError(
            Sentence("Only summary values were uploaded, not the meter's log.")
        )
    if len(output) > MAX_TEXT_LENGTH:
        raise ParseError(
            Sentence("The log is too long for a chart. Its summary is shown above.")
        )
    # The line numbers must match the parser's.
    plain = output.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(plain[(run.first_line or 1) - 1 : run.last_line]) + "\n"


def _spans(runs: Sequence[Run]) -> list[WorkSpan]:
    timed = samples_by_run(runs, (*RUN_TIME_METRICS, *OPERATION_METRICS))
    spans = []
    for run in runs:
        samples = timed[run.pk]
        seconds = run_duration_s(run, samples)
        if run.started_at and seconds:
            begin = run.started_at.timestamp()
            spans.append(WorkSpan(run, begin, begin + seconds, run_operations(samples)))
    return spans


def work_power(work: MeteredWork) -> MeteredRun | None:
    """Return the logged power during some work, and shortly before and after it.

    None if the log was deleted or the times of the work are unknown.
    """
    windows = [window for run in work.runs if (window := run_window(run))]
    if not windows:
        return None
    approximate = enclosing_span(
        [(w.begin_s, w.begin_s + w.duration_s) for w in windows]
    )
    context_s = (approximate[1] - approximate[0]) * CONTEXT_PART
    context_s = min(max(context_s, MIN_CONTEXT_S), MAX_CONTEXT_S)
    power = measured_power(
        work.meter, approximate[0] - context_s, approximate[1] + context_s
    )
    if power is None:
        return None
    spans = [power.window_span(window) for window in windows]
    work_span = enclosing_span(spans)
    visible = power.trace.within(work_span[0] - context_s, work_span[1] + context_s)
    if not visible.starts_s.size:
        return None
    first = float(visible.starts_s[0])
    times, watts = (visible.starts_s + visible.ends_s) / 2, visible.first_w
    # Power is linear between two samples.
    if not visible.is_from_counter:
        times = np.append(visible.starts_s, visible.ends_s[-1])
        watts = np.append(visible.first_w, visible.last_w[-1])
    stored = work.energy
    measure = partial(energy_within, power.trace)
    logged = _window(stored.run, work_span, first, measure, stored.operations)
    is_covered = logged.energy is not None and logged.energy.is_covered
    return MeteredRun(
        run=work.lead_run,
        log=PowerLog(tuple((times - first).tolist()), tuple(watts.tolist())),
        windows=(
            replace(
                logged,
                per_work=logged.per_work if is_covered else None,
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
    energy_per_work: EnergyPerWork | None = None
    reason = ""
    try:
        energy = measure(span)
    except ValueError as error:
        reason = str(error)
    # A tool may report 0 operations.
    if energy is not None and energy.energy_j > 0:
        energy_per_work = per_work(
            energy.energy_j, energy.duration_s, operations or None
        )
    begin_s, end_s = span[0] - first_s, span[1] - first_s
    return LoggedWindow(run, begin_s, end_s, energy, energy_per_work, None, reason)
