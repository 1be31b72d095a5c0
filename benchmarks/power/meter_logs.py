"""Logs of power meters, stored on arrival and integrated over the time of each run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmarks.analysis.clock_stamps import (
    ServerClock,
    Span,
    TimeWindow,
    clamped_datetime,
    enclosing_span,
    overlapping_groups,
    server_clock,
    stamped_window,
    valid_window,
)
from benchmarks.analysis.energy_ratio import RUN_TIME_METRICS
from benchmarks.analysis.power_trace import (
    PowerTrace,
    corrected_traces,
    energy_within,
    idle_power_w,
    joined_traces,
    trace_of_counter,
    trace_of_power,
)
from benchmarks.database import retry_on_conflict
from benchmarks.errors import UnknownNameError, already_exists_error, key_reused_error
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs, enqueue_energy
from benchmarks.labs.quotas import admit_uploads
from benchmarks.models import Agent, Host, Meter, PowerChunk, Run, RunEnergy, RunWindow
from benchmarks.power.metered_workloads import (
    METER_TOOLS,
    OPERATION_METRICS,
    run_duration_s,
    run_operations,
    samples_by_run,
    sum_if_all_known,
)
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

_MICROSECONDS = 1e6
Document = Mapping[str, Any]


@dataclass(frozen=True)
class StoredChunk:
    chunk: PowerChunk
    is_repeated: bool


@dataclass(frozen=True)
class LogTrace:
    """The power of one log by the server's clock, and the relation of the clocks."""

    server_clock: ServerClock
    trace: PowerTrace

    def distance_s(self, moment_s: float) -> float:
        first, last = self.trace.starts_s[0], self.trace.ends_s[-1]
        return float(max(first - moment_s, moment_s - last, 0.0))


@dataclass(frozen=True)
class ServerTrace:
    """The power that all logs of a meter measured, by the server's clock."""

    logs: tuple[LogTrace, ...]
    trace: PowerTrace

    @property
    def span_s(self) -> Span:
        return float(self.trace.starts_s[0]), float(self.trace.ends_s[-1])

    @property
    def error_s(self) -> float:
        return max(log.server_clock.error_s for log in self.logs)

    def overlaps(self, span: Span) -> bool:
        return self.span_s[0] < span[1] and self.span_s[1] > span[0]

    def window_span(self, window: TimeWindow) -> Span:
        log = min(self.logs, key=lambda log: log.distance_s(window.begin_s))
        return window.span(log.server_clock)


def store_power_chunk(*, agent: Agent, document: dict[str, Any]) -> StoredChunk:
    """Store a chunk of a power log and queue its energies. Idempotent.

    Raise ConflictError if the key or the meter's name is used for something else, and
    UnknownNameError if the host is unknown.
    """
    admit_uploads(agent.lab_id, runs=1, size=len(orjson.dumps(document)))
    return retry_on_conflict(partial(_store_chunk, agent, document))


def _store_chunk(agent: Agent, document: dict[str, Any]) -> StoredChunk:
    text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    key, digest = UUID(document["key"]), sha256(text.encode()).hexdigest()
    existing = PowerChunk.objects.filter(agent=agent, key=key).first()
    if existing is not None:
        if existing.digest != digest and not _is_repeated(existing, document):
            raise key_reused_error(key)
        return StoredChunk(existing, is_repeated=True)
    chunk = PowerChunk.objects.create(
        lab=agent.lab,
        meter=_meter(agent, document["host"], document["meter"]),
        agent=agent,
        key=key,
        digest=digest,
        log=UUID(document["log"]),
        chunk_number=document["number"],
        text=text,
        clock_stamps=document.get("stamps", []),
        sample_count=len(document["samples"]),
    )
    _set_times(chunk, document)
    # Recalculate also where corrected chunks had measurements.
    corrected = PowerChunk.objects.filter(
        log=chunk.log, chunk_number=chunk.chunk_number, lab=chunk.lab
    )
    host_id = chunk.meter.host_id
    replaced = corrected.exclude(pk=chunk.pk).exclude(first_at=None)
    enqueue_energy(
        (host_id, replaced_chunk.first_at, replaced_chunk.last_at)
        for replaced_chunk in replaced
    )
    return StoredChunk(chunk, is_repeated=False)


def _is_repeated(chunk: PowerChunk, document: Document) -> bool:
    """Return whether a log with wall-clock times was sent again with other clock
    stamps.
    """
    if document["axis"] != "wall":
        return False
    stored = orjson.loads(chunk.text)
    return {**stored, "stamps": None} == {**document, "stamps": None}


def _meter(agent: Agent, slug: str, stated: dict[str, Any]) -> Meter:
    host = Host.objects.filter(lab=agent.lab, slug=slug).first()
    if host is None:
        slugs = Host.objects.filter(lab=agent.lab).values_list("slug", flat=True)
        raise UnknownNameError("host", slug, slugs)
    fields = {"kind": stated["kind"], "gain_error": stated.get("gain_error")}
    meter, _ = Meter.objects.get_or_create(
        lab=agent.lab, host=host, name=stated["name"], defaults=fields
    )
    differing = [name for name in fields if getattr(meter, name) != fields[name]]
    if differing:
        raise already_exists_error(
            "meter_exists",
            Sentence("power meter"),
            meter.name,
            differing,
            Sentence("Use a different name for another meter on this machine."),
        )
    return meter


def _set_times(chunk: PowerChunk, document: dict[str, Any]) -> None:
    """Set the times of all chunks of a log, once a stamp relates its clock to the
    server's.
    """
    chunks = PowerChunk.objects.filter(lab=chunk.lab, log=chunk.log)
    # Concurrent chunks of one log must see each other's stamps.
    Meter.objects.select_for_update().get(pk=chunk.meter_id)
    stamps = chunks.order_by("chunk_number").values_list("clock_stamps", flat=True)
    clock = server_clock(document["axis"], stamps)
    if clock is None:
        return
    untimed = list(chunks.filter(first_at=None))
    for log_chunk in untimed:
        samples = orjson.loads(log_chunk.text)["samples"]
        ends = clock.to_server_seconds([samples[0][0], samples[-1][0]])
        log_chunk.first_at, log_chunk.last_at = (clamped_datetime(end) for end in ends)
    PowerChunk.objects.bulk_update(untimed, ["first_at", "last_at"])
    host_id = chunk.meter.host_id
    enqueue_energy(
        (host_id, log_chunk.first_at, log_chunk.last_at) for log_chunk in untimed
    )
    # `untimed` has this row as another object.
    chunk.refresh_from_db(fields=["first_at", "last_at"])


def visible_meters(viewer: Viewer) -> QuerySet[Meter]:
    """Even meters of public studies are private: their logs show everything that a
    machine did.
    """
    untimed = Count("chunks", filter=Q(chunks__first_at=None))
    return (
        Meter.objects.filter(lab_id__in=viewer.lab_ids)
        .select_related("host")
        .annotate(
            piece_count=Count("chunks"),
            untimed_count=untimed,
            first_at=Min("chunks__first_at"),
            last_at=Max("chunks__last_at"),
        )
    )


def measured_power(meter: Meter, begin_s: float, end_s: float) -> ServerTrace | None:
    """Return a meter's power between two moments (seconds since 1970).

    Return None if it measured nothing. A corrected chunk replaces the earlier one. Of
    overlapping CSV files, the last one counts.
    """
    newer = PowerChunk.objects.filter(
        meter=OuterRef("meter"),
        log=OuterRef("log"),
        chunk_number=OuterRef("chunk_number"),
        pk__gt=OuterRef("pk"),
    )
    chunks = PowerChunk.objects.filter(
        ~Exists(newer),
        meter=meter,
        first_at__lt=clamped_datetime(end_s),
        last_at__gt=clamped_datetime(begin_s),
    )
    documents: dict[UUID, list[Document]] = defaultdict(list)
    last_pk: dict[UUID, int] = {}
    for chunk in chunks.order_by("chunk_number", "pk"):
        documents[chunk.log].append(orjson.loads(chunk.text))
        last_pk[chunk.log] = max(chunk.pk, last_pk.get(chunk.log, 0))
    stamps: dict[UUID, list[Any]] = defaultdict(list)
    rows = PowerChunk.objects.filter(log__in=list(documents)).order_by("chunk_number")
    for log, chunk_stamps in rows.values_list("log", "clock_stamps"):
        stamps[log].append(chunk_stamps)
    ordered = sorted(documents, key=last_pk.__getitem__)
    log_traces = (_log_trace(documents[log], stamps[log]) for log in ordered)
    logs = tuple(log for log in log_traces if log is not None)
    traces = [log.trace for log in logs]
    if meter.kind == Meter.Kind.CSV:
        traces = corrected_traces(traces)
    trace = joined_traces(traces)
    return None if trace is None else ServerTrace(logs, trace)


def _log_trace(documents: Sequence[Document], stamps: list[Any]) -> LogTrace | None:
    first = documents[0]
    clock = server_clock(first["axis"], stamps)
    channels = first["channels"]
    total = first.get("total") or channels
    columns = [n for n, name in enumerate(channels, start=1) if name in total]
    # Chunks may arrive in any order.
    amounts = {
        sample[0]: sum(sample[column] for column in columns)
        for document in documents
        for sample in document["samples"]
    }
    if clock is None or len(amounts) < 2:
        return None
    moments_us = sorted(amounts)
    ordered_amounts = [amounts[moment_us] for moment_us in moments_us]
    trace_of = trace_of_counter if first["measures"] == "energy" else trace_of_power
    try:
        return LogTrace(
            clock,
            trace_of(clock.to_server_seconds(moments_us).tolist(), ordered_amounts),
        )
    except ValueError:  # a counter that only decreased
        return None


def run_window(run: Run) -> TimeWindow | None:
    """Prefer stamps of the time server to the run's own clock."""
    external = stamped_window(run.facts)
    if external is not None:
        return external
    if run.started_at is None:
        return None
    execution = run.facts.get("execution")
    local_us = execution.get("local_us") if isinstance(execution, dict) else None
    if isinstance(local_us, int) and local_us > 0:
        begin_s = run.started_at.timestamp()
        return valid_window(TimeWindow(begin_s, local_us / _MICROSECONDS))
    seconds = run_duration_s(run, samples_by_run([run], RUN_TIME_METRICS)[run.pk])
    if not seconds:
        return None
    return valid_window(TimeWindow(run.started_at.timestamp(), seconds))


def count_operations(runs: Sequence[Run]) -> float | None:
    counted = samples_by_run(runs, OPERATION_METRICS)
    return sum_if_all_known(run_operations(samples) for samples in counted.values())


SETTLE_TIME = timedelta(seconds=1)
# Idle power is searched this far around the work.
WINDOW_MARGIN = timedelta(minutes=10)
# The sweeper also handles plans.
HOSTS_PER_CALL = 20
ENERGY_FIELDS = (
    *("lead_run_id", "overlapping_runs", "is_external_clock", "duration_s"),
    *("measured_s", "mean_w"),
    *("idle_w", "sample_count", "interval_s", "edge_error_j", "clock_error_s"),
    *("operations", "reason"),
)


def integrate_due(settle_time: timedelta = SETTLE_TIME) -> int:
    """Compute the energies that are due; return the number of hosts that succeeded."""
    latest = timezone.now() - settle_time
    due = queue.due_job_groups(JobKind.ENERGY, created_at__lte=latest)[:HOSTS_PER_CALL]
    return sum(queue.run_due_jobs(JobKind.ENERGY, group.subject_id) for group in due)


@queue.job_handler(JobKind.ENERGY)
@transaction.atomic
def _integrate(jobs: Jobs) -> None:
    """Compute the energies of a host's new runs, and of runs near changed
    measurements.
    """
    # Only blocks other integrations: new systems may still refer to the host.
    host_id = jobs[0].subject_id
    Host.objects.select_for_update(no_key=True).get(pk=host_id)
    new_run_ids = _store_windows(host_id)
    RunEnergy.objects.filter(run__in=new_run_ids, run__window__started_at=None).delete()
    touched = Q(run__in=new_run_ids)
    for job in jobs:
        if job.detail:
            # A changed log may change the idle power of runs within this margin.
            begin, end = map(clamped_datetime, job.detail)
            first, last = begin - WINDOW_MARGIN, end + WINDOW_MARGIN
            touched |= Q(started_at__lt=last, ended_at__gt=first)
    # A run that was uploaded twice does not share energy with itself.
    duplicates = RunEnergy.objects.filter(run__system__host=host_id)
    duplicates.exclude(run__duplicate_of=None).delete()
    windows = _unique_windows(host_id).filter(touched, started_at__isnull=False)
    rows = _with_overlapping(host_id, list(windows))
    spans = [_span(row) for row in rows]
    meters = list(Meter.objects.filter(host=host_id).order_by("pk"))
    energies: list[RunEnergy] = []
    for indices in overlapping_groups(spans):
        span = enclosing_span([spans[index] for index in indices])
        members = [rows[index] for index in indices]
        for meter in meters:
            energies += _energies(meter, members, span)
    _store([row.run_id for row in rows], energies)
    queue.finish(jobs)


def _store_windows(host_id: int) -> list[int]:
    runs = Run.objects.filter(
        system__host=host_id, status=Run.Status.PARSED, window=None
    )
    rows = []
    for run in runs.exclude(tool__in=METER_TOOLS).order_by("pk"):
        row = RunWindow(run=run, lab_id=run.lab_id, host_id=host_id)
        if window := run_window(run):
            row.started_at = clamped_datetime(window.begin_s)
            row.ended_at = clamped_datetime(window.begin_s + window.duration_s)
            row.is_external_clock = window.is_external
        rows.append(row)
    RunWindow.objects.bulk_create(rows)
    return [row.run_id for row in rows]


def _with_overlapping(host_id: int, rows: Sequence[RunWindow]) -> list[RunWindow]:
    """Return these windows and all that overlap them, directly or through others."""
    by_pk = {row.pk: row for row in rows}
    while rows:
        begin, end = enclosing_span([_span(row) for row in rows])
        overlapping = _unique_windows(host_id).filter(
            started_at__lt=clamped_datetime(end), ended_at__gt=clamped_datetime(begin)
        )
        rows = [row for row in overlapping if row.pk not in by_pk]
        by_pk |= {row.pk: row for row in rows}
    return sorted(by_pk.values(), key=lambda row: row.pk)


def _unique_windows(host_id: int) -> QuerySet[RunWindow]:
    return RunWindow.objects.filter(host=host_id, run__duplicate_of=None)


def _span(row: RunWindow) -> Span:
    assert row.started_at is not None
    assert row.ended_at is not None
    return (row.started_at.timestamp(), row.ended_at.timestamp())


def _energies(
    meter: Meter, members: Sequence[RunWindow], span: Span
) -> list[RunEnergy]:
    margin_s = WINDOW_MARGIN.total_seconds()
    power = measured_power(meter, span[0] - margin_s, span[1] + margin_s)
    if power is None or not power.overlaps(span):
        return []
    runs = list(Run.objects.filter(pk__in=[row.run_id for row in members]))
    windows = [window for run in runs if (window := run_window(run))]
    work = enclosing_span([power.window_span(window) for window in windows])
    begin, end = power.span_s
    nearby = RunWindow.objects.filter(
        host=meter.host_id,
        started_at__lt=clamped_datetime(end),
        ended_at__gt=clamped_datetime(begin),
    )
    # Other unknown work may run on the machine.
    idle_w = idle_power_w(power.trace, [_span(row) for row in nearby])
    operations = count_operations(runs)
    measured: dict[str, Any] = {"duration_s": work[1] - work[0]}
    try:
        energy = energy_within(power.trace, work)
    except ValueError as error:
        measured["reason"] = error.args[0]
    else:
        measured |= {
            "measured_s": energy.covered_s,
            "mean_w": energy.mean_w,
            "sample_count": energy.samples,
            "interval_s": energy.interval_s,
            "edge_error_j": energy.edge_error_j,
            "clock_error_s": power.error_s,
        }
    return [
        RunEnergy(
            lab_id=row.lab_id,
            run_id=row.run_id,
            meter=meter,
            lead_run_id=min(member.run_id for member in members),
            overlapping_runs=len(members),
            is_external_clock=all(member.is_external_clock for member in members),
            idle_w=idle_w,
            operations=operations,
            **measured,
        )
        for row in members
    ]


def _store(run_ids: Iterable[int], energies: Sequence[RunEnergy]) -> None:
    stored = {
        (row.run_id, row.meter_id): row
        for row in RunEnergy.objects.filter(run__in=run_ids)
    }
    current = {(row.run_id, row.meter_id): row for row in energies}
    removed = [row.pk for key, row in stored.items() if key not in current]
    RunEnergy.objects.filter(pk__in=removed).delete()
    values_of = attrgetter(*ENERGY_FIELDS)
    # A rewritten row changes the study's version.
    RunEnergy.objects.bulk_create(
        [
            row
            for key, row in current.items()
            if key not in stored or values_of(row) != values_of(stored[key])
        ],
        update_conflicts=True,
        unique_fields=["run", "meter"],
        update_fields=[name.removesuffix("_id") for name in ENERGY_FIELDS],
    )
