"""The logs of a machine's power meters: kept as they come, read back as traces."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet

from benchmarks.analysis.energy import WORK_TIMES
from benchmarks.analysis.power_trace import (
    ServerTime,
    Span,
    Trace,
    Window,
    corrected_traces,
    external_window,
    joined_traces,
    known_window,
    moment,
    trace_of_counter,
    trace_of_power,
    way_of,
)
from benchmarks.database import despite_others
from benchmarks.errors import UnknownNameError, exists_otherwise, key_reused
from benchmarks.labs.quotas import admit_uploads
from benchmarks.models import Agent, Host, Meter, PowerChunk, Run
from benchmarks.power.meters import (
    OPERATIONS,
    operations_of,
    samples_by_run,
    sum_of_all,
    took_s,
)
from benchmarks.sentences import Sentence
from benchmarks.unattended.queue import put_energies
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
        if known.digest != digest and not _says_the_same(known, document):
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


def _says_the_same(chunk: PowerChunk, document: Document) -> bool:
    """Whether a log by the wall clock is sent again: each time it has other stamps."""
    known = orjson.loads(chunk.text)
    plain = [{**one, "stamps": None} for one in (known, document)]
    return bool(document["axis"] == "wall") and plain[0] == plain[1]


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
