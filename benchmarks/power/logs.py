"""Logs of power meters: stored as they come, integrated over the windows of runs."""

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

from benchmarks.analysis.energy import WORK_TIMES
from benchmarks.analysis.power_trace import (
    ServerTime,
    Span,
    Trace,
    Window,
    clusters,
    corrected_traces,
    energy_within,
    external_window,
    hull,
    joined_traces,
    known_window,
    moment,
    quietest_w,
    trace_of_counter,
    trace_of_power,
    way_of,
)
from benchmarks.database import despite_others
from benchmarks.errors import UnknownNameError, exists_otherwise, key_reused
from benchmarks.labs.quotas import admit_uploads
from benchmarks.models import Agent, Host, Meter, PowerChunk, Run, RunEnergy, RunWindow
from benchmarks.power.meters import (
    METER_TOOLS,
    OPERATIONS,
    operations_of,
    samples_by_run,
    sum_of_all,
    took_s,
)
from benchmarks.sentences import Sentence
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind, put_energies
from benchmarks.viewer import Viewer

_MICROSECONDS = 1e6
Document = Mapping[str, Any]


@dataclass(frozen=True)
class Kept:
    """What became of a piece of a log."""

    chunk: PowerChunk
    repeated: bool


@dataclass(frozen=True)
class LogTrace:
    """One log on the time server's clock."""

    way: ServerTime
    trace: Trace

    def distance_s(self, moment_s: float) -> float:
        first, last = self.trace.starts_s[0], self.trace.ends_s[-1]
        return float(max(first - moment_s, moment_s - last, 0.0))


@dataclass(frozen=True)
class ServerTrace:
    """All that one meter measured in a span, on the time server's clock."""

    logs: tuple[LogTrace, ...]
    trace: Trace

    @property
    def ends_s(self) -> Span:
        return float(self.trace.starts_s[0]), float(self.trace.ends_s[-1])

    @property
    def error_s(self) -> float:
        return max(log.way.error_s for log in self.logs)

    def sees(self, span: Span) -> bool:
        return self.ends_s[0] < span[1] and self.ends_s[1] > span[0]

    def span_of(self, window: Window) -> Span:
        """Return a run's window on the clock of the log that it fell into."""
        log = min(self.logs, key=lambda log: log.distance_s(window.begin_s))
        return window.span_on(log.way)


def keep_power(*, agent: Agent, document: dict[str, Any]) -> Kept:
    """Store a piece of a power log and queue the changed energies. Idempotent.

    Raises ConflictError or UnknownNameError.
    """
    admit_uploads(agent.lab_id, runs=1, size=len(orjson.dumps(document)))
    return despite_others(partial(_keep, agent, document))


def _keep(agent: Agent, document: dict[str, Any]) -> Kept:
    text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    key, digest = UUID(document["key"]), sha256(text.encode()).hexdigest()
    known = PowerChunk.objects.filter(agent=agent, key=key).first()
    if known is not None:
        if known.digest != digest and not _is_repeated(known, document):
            raise key_reused(key)
        return Kept(known, repeated=True)
    chunk = PowerChunk.objects.create(
        lab=agent.lab,
        meter=_meter(agent, document["host"], document["meter"]),
        agent=agent,
        key=key,
        digest=digest,
        log=UUID(document["log"]),
        number=document["number"],
        text=text,
        stamps=document.get("stamps", []),
        sample_count=len(document["samples"]),
    )
    _set_on_the_clock(chunk, document)
    # Where the pieces that it corrects stood nothing was measured any more.
    corrected = PowerChunk.objects.filter(
        log=chunk.log, number=chunk.number, lab=chunk.lab
    )
    host_id = chunk.meter.host_id
    gone = corrected.exclude(pk=chunk.pk).exclude(first_at=None)
    put_energies((host_id, old.first_at, old.last_at) for old in gone)
    return Kept(chunk, repeated=False)


def _is_repeated(chunk: PowerChunk, document: Document) -> bool:
    """Return whether a log by the wall clock is sent again, with other stamps."""
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
        raise exists_otherwise(
            "meter_exists",
            Sentence("power meter"),
            meter.name,
            differing,
            Sentence("Another meter at this machine needs another name."),
        )
    return meter


def _set_on_the_clock(chunk: PowerChunk, document: dict[str, Any]) -> None:
    """Date the log's pieces as far as its stamps allow."""
    pieces = PowerChunk.objects.filter(lab=chunk.lab, log=chunk.log)
    # Two pieces of one log that arrive at once must see each other's stamps.
    Meter.objects.select_for_update().get(pk=chunk.meter_id)
    known = pieces.order_by("number").values_list("stamps", flat=True)
    way = way_of(document["axis"], known)
    if way is None:
        return
    waiting = list(pieces.filter(first_at=None))
    for piece in waiting:
        samples = orjson.loads(piece.text)["samples"]
        ends = way.seconds([samples[0][0], samples[-1][0]])
        piece.first_at, piece.last_at = (moment(end) for end in ends)
    PowerChunk.objects.bulk_update(waiting, ["first_at", "last_at"])
    host_id = chunk.meter.host_id
    put_energies((host_id, piece.first_at, piece.last_at) for piece in waiting)
    # `waiting` held this row as another object.
    chunk.refresh_from_db(fields=["first_at", "last_at"])


def visible_meters(viewer: Viewer) -> QuerySet[Meter]:
    """Return a lab's own meters: a log tells of all that its machine did."""
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


def power_of(meter: Meter, begin_s: float, end_s: float) -> ServerTrace | None:
    """Return what a meter measured between two moments; None if nothing.

    Corrected pieces, and the last of overlapping CSV files, replace earlier ones.
    """
    newer = PowerChunk.objects.filter(
        meter=OuterRef("meter"),
        log=OuterRef("log"),
        number=OuterRef("number"),
        pk__gt=OuterRef("pk"),
    )
    pieces = PowerChunk.objects.filter(
        ~Exists(newer),
        meter=meter,
        first_at__lt=moment(end_s),
        last_at__gt=moment(begin_s),
    )
    documents: dict[UUID, list[Document]] = defaultdict(list)
    sent: dict[UUID, int] = {}
    for piece in pieces.order_by("number", "pk"):
        documents[piece.log].append(orjson.loads(piece.text))
        sent[piece.log] = max(piece.pk, sent.get(piece.log, 0))
    # The stamps of whole logs: any of them ties their clock to the server's.
    stamps: dict[UUID, list[Any]] = defaultdict(list)
    rows = PowerChunk.objects.filter(log__in=list(documents)).order_by("number")
    for log, taken in rows.values_list("log", "stamps"):
        stamps[log].append(taken)
    in_order = sorted(documents, key=sent.__getitem__)
    found = (_log_trace(documents[log], stamps[log]) for log in in_order)
    logs = tuple(log for log in found if log is not None)
    traces = [log.trace for log in logs]
    if meter.kind == Meter.Kind.CSV:
        traces = corrected_traces(traces)
    trace = joined_traces(traces)
    return None if trace is None else ServerTrace(logs, trace)


def _log_trace(documents: Sequence[Document], stamps: list[Any]) -> LogTrace | None:
    first = documents[0]
    way = way_of(first["axis"], stamps)
    channels = first["channels"]
    total = first.get("total") or channels
    # The columns of a sample that make up the machine's power.
    columns = [n for n, name in enumerate(channels, start=1) if name in total]
    # By moment: pieces may arrive in any order.
    amounts = {
        sample[0]: sum(sample[column] for column in columns)
        for document in documents
        for sample in document["samples"]
    }
    if way is None or len(amounts) < 2:
        return None
    moments_us = sorted(amounts)
    in_order = [amounts[moment_us] for moment_us in moments_us]
    trace_of = trace_of_counter if first["measures"] == "energy" else trace_of_power
    try:
        return LogTrace(way, trace_of(way.seconds(moments_us).tolist(), in_order))
    except ValueError:  # a counter that only fell tells nothing
        return None


def window_of(run: Run) -> Window | None:
    """Return a run's window by server stamps, else as stated; None if unknown."""
    external = external_window(run.facts)
    if external is not None:
        return external
    if run.started_at is None:
        return None
    execution = run.facts.get("execution")
    local_us = execution.get("local_us") if isinstance(execution, dict) else None
    if isinstance(local_us, int) and local_us > 0:
        begin_s = run.started_at.timestamp()
        return known_window(Window(begin_s, local_us / _MICROSECONDS))
    seconds = took_s(run, samples_by_run([run], WORK_TIMES)[run.pk])
    if not seconds:
        return None
    return known_window(Window(run.started_at.timestamp(), seconds))


def operations_done(runs: Sequence[Run]) -> float | None:
    """Return what runs did together; None unless every one of them counted it."""
    counted = samples_by_run(runs, OPERATIONS)
    return sum_of_all(operations_of(samples) for samples in counted.values())


QUIET = timedelta(seconds=1)
# How far around the work its idle power is looked for.
AROUND = timedelta(minutes=10)
# The sweeper has plans to look after too.
HOSTS_A_CALL = 20
KEPT = (
    *("lead_id", "together", "is_external", "duration_s", "covered_s", "mean_w"),
    *("idle_w", "samples", "interval_s", "edge_error_j", "clock_error_s"),
    *("operations", "reason"),
)


def integrate_due(quiet: timedelta = QUIET) -> int:
    """Integrate what was noted a moment ago or earlier; return for how many hosts."""
    old = timezone.now() - quiet
    due = queue.units(Kind.ENERGY, created_at__lte=old)[:HOSTS_A_CALL]
    return sum(queue.run(Kind.ENERGY, unit.subject_id) for unit in due)


@queue.job(Kind.ENERGY)
@transaction.atomic
def _integrate(jobs: Jobs) -> None:
    """Integrate power on a host over the spans in which something changed."""
    # Held against other integrations only: systems that are stored refer to the host.
    host_id = jobs[0].subject_id
    Host.objects.select_for_update(no_key=True).get(pk=host_id)
    fresh = _store_windows(host_id)
    # Of these an energy may be stored from when it was still known when they ran.
    RunEnergy.objects.filter(run__in=fresh, run__window__begin_at=None).delete()
    touched = Q(run__in=fresh)
    for job in jobs:
        if job.detail:
            # A span changes idle power as far around it as that is looked for.
            begin, end = map(moment, job.detail)
            first, last = begin - AROUND, end + AROUND
            touched |= Q(begin_at__lt=last, end_at__gt=first)
    # What was uploaded twice ran once: it shares no energy with itself.
    again = RunEnergy.objects.filter(run__system__host=host_id)
    again.exclude(run__duplicate_of=None).delete()
    windows = _counted(host_id).filter(touched, begin_at__isnull=False)
    rows = _with_overlapping(host_id, list(windows))
    spans = [_span(row) for row in rows]
    meters = list(Meter.objects.filter(host=host_id).order_by("pk"))
    energies: list[RunEnergy] = []
    for places in clusters(spans):
        span = hull([spans[place] for place in places])
        members = [rows[place] for place in places]
        for meter in meters:
            energies += _energies(meter, members, span)
    _store([row.run_id for row in rows], energies)
    queue.finish(jobs)


def _store_windows(host_id: int) -> list[int]:
    """Work out when the host's runs ran, where that is not stored; return them."""
    runs = Run.objects.filter(
        system__host=host_id, status=Run.Status.PARSED, window=None
    )
    rows = []
    for run in runs.exclude(tool__in=METER_TOOLS).order_by("pk"):
        row = RunWindow(run=run, lab_id=run.lab_id, host_id=host_id)
        if window := window_of(run):
            row.begin_at = moment(window.begin_s)
            row.end_at = moment(window.begin_s + window.duration_s)
            row.is_external = window.is_external
        rows.append(row)
    RunWindow.objects.bulk_create(rows)
    return [row.run_id for row in rows]


def _with_overlapping(host_id: int, rows: Sequence[RunWindow]) -> list[RunWindow]:
    """Add the windows that overlap these, and those that overlap the added ones."""
    known = {row.pk: row for row in rows}
    while rows:
        begin, end = hull([_span(row) for row in rows])
        near = _counted(host_id).filter(
            begin_at__lt=moment(end), end_at__gt=moment(begin)
        )
        rows = [row for row in near if row.pk not in known]
        known |= {row.pk: row for row in rows}
    return sorted(known.values(), key=lambda row: row.pk)


def _counted(host_id: int) -> QuerySet[RunWindow]:
    """The windows of a host's runs that count: not of those uploaded twice."""
    return RunWindow.objects.filter(host=host_id, run__duplicate_of=None)


def _span(row: RunWindow) -> Span:
    # Every query here leaves out the windows that nobody knows.
    assert row.begin_at is not None
    assert row.end_at is not None
    return (row.begin_at.timestamp(), row.end_at.timestamp())


def _energies(
    meter: Meter, members: Sequence[RunWindow], span: Span
) -> list[RunEnergy]:
    """Return the energy that a meter saw of one run, or of several that overlapped."""
    around_s = AROUND.total_seconds()
    power = power_of(meter, span[0] - around_s, span[1] + around_s)
    if power is None or not power.sees(span):
        return []
    runs = list(Run.objects.filter(pk__in=[row.run_id for row in members]))
    windows = [window for run in runs if (window := window_of(run))]
    work = hull([power.span_of(window) for window in windows])
    begin, end = power.ends_s
    near = RunWindow.objects.filter(
        host=meter.host_id, begin_at__lt=moment(end), end_at__gt=moment(begin)
    )
    # Idle is where no known work ran: others may use the machine meanwhile.
    idle_w = quietest_w(power.trace, [_span(row) for row in near])
    operations = operations_done(runs)
    measured: dict[str, Any] = {"duration_s": work[1] - work[0]}
    try:
        energy = energy_within(power.trace, work)
    except ValueError as error:
        measured["reason"] = error.args[0]
    else:
        measured |= {
            "covered_s": energy.covered_s,
            "mean_w": energy.mean_w,
            "samples": energy.samples,
            "interval_s": energy.interval_s,
            "edge_error_j": energy.edge_error_j,
            "clock_error_s": power.error_s,
        }
    return [
        RunEnergy(
            lab_id=row.lab_id,
            run_id=row.run_id,
            meter=meter,
            lead_id=min(member.run_id for member in members),
            together=len(members),
            is_external=all(member.is_external for member in members),
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
    wanted = {(row.run_id, row.meter_id): row for row in energies}
    gone = [row.pk for key, row in stored.items() if key not in wanted]
    RunEnergy.objects.filter(pk__in=gone).delete()
    kept = attrgetter(*KEPT)
    # Only what differs: a row that is written again is another version of its study.
    RunEnergy.objects.bulk_create(
        [
            row
            for key, row in wanted.items()
            if key not in stored or kept(row) != kept(stored[key])
        ],
        update_conflicts=True,
        unique_fields=["run", "meter"],
        update_fields=[name.removesuffix("_id") for name in KEPT],
    )
