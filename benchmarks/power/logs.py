"""The logs of a machine's power meters, read back from what was uploaded."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from benchmarks.analysis.power_trace import (
    Trace,
    joined,
    trace_of_counter,
    trace_of_power,
)
from benchmarks.analysis.server_time import ServerTime, Span, Window, moment, way_of
from benchmarks.models import Meter, PowerChunk

Document = Mapping[str, Any]


@dataclass(frozen=True)
class LogTrace:
    """One log on the time server's clock."""

    way: ServerTime
    trace: Trace

    def distance_s(self, moment_s: float) -> float:
        """How far a moment lies outside of it."""
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
        """How far its moments may be off."""
        return max(each.way.error_s for each in self.logs)

    def sees(self, span: Span) -> bool:
        """Whether the meter was read at all while this went on."""
        return self.ends_s[0] < span[1] and self.ends_s[1] > span[0]

    def span_of(self, window: Window) -> Span:
        """Return a run's window on the clock of the log that it fell into."""
        log = min(self.logs, key=lambda each: each.distance_s(window.begin_s))
        return window.span_on(log.way)


def power_of(meter: Meter, begin_s: float, end_s: float) -> ServerTrace | None:
    """Return what a meter measured from one moment to another; None if nothing."""
    pieces = PowerChunk.objects.filter(
        meter=meter, first_at__lt=moment(end_s), last_at__gt=moment(begin_s)
    )
    documents: dict[UUID, list[Document]] = defaultdict(list)
    for piece in pieces.order_by("number", "pk"):
        documents[piece.log].append(orjson.loads(piece.text))
    stamps = _stamps(list(documents))
    logs = tuple(
        log
        for pk, found in documents.items()
        if (log := _log_trace(found, stamps[pk])) is not None
    )
    trace = joined(log.trace for log in logs)
    return None if trace is None else ServerTrace(logs, trace)


def _stamps(logs: Sequence[UUID]) -> dict[UUID, list[Any]]:
    """Return the stamps of whole logs: any of them ties their clock to the server's."""
    found: dict[UUID, list[Any]] = defaultdict(list)
    rows = PowerChunk.objects.filter(log__in=logs).order_by("number")
    for log, stamps in rows.values_list("log", "stamps"):
        found[log].append(stamps)
    return found


def _log_trace(documents: Sequence[Document], stamps: list[Any]) -> LogTrace | None:
    first = documents[0]
    way = way_of(first["axis"], stamps)
    counted = _counted(first)
    told = {
        sample[0]: sum(sample[at] for at in counted)
        for document in documents
        for sample in document["samples"]
    }
    if way is None or len(told) < 2:
        return None
    moments_us = sorted(told)
    amounts = [told[moment_us] for moment_us in moments_us]
    made = trace_of_counter if first["measures"] == "energy" else trace_of_power
    try:
        return LogTrace(way, made(way.seconds(moments_us).tolist(), amounts))
    except ValueError:  # a counter that only fell tells nothing
        return None


def _counted(document: Document) -> list[int]:
    """Return the columns of a sample that make up the machine's power."""
    channels = document["channels"]
    total = document.get("total") or channels
    return [at for at, name in enumerate(channels, start=1) if name in total]
