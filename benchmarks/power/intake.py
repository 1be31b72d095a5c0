"""Take the logs of power meters in: each piece once, unchanged, with its moments."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from benchmarks.analysis.server_time import moment, way_of
from benchmarks.errors import KeyReusedError, MeterExistsError, UnknownHostError
from benchmarks.models import Agent, Host, Meter, PowerChunk
from benchmarks.studies.due_work import note_due_energy

SIMULTANEOUS_TRIES = 3


@dataclass(frozen=True)
class Kept:
    """What became of a piece of a log."""

    chunk: PowerChunk
    repeated: bool


def keep_power(*, agent: Agent, document: dict[str, Any]) -> Kept:
    """Keep a piece of a power log and note what it changes. The same twice is one.

    Raises KeyReusedError, UnknownHostError or MeterExistsError; nothing is stored then.
    """
    text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()
    for left in reversed(range(SIMULTANEOUS_TRIES)):
        try:
            with transaction.atomic():
                return _kept(agent, document, text)
        except IntegrityError:
            # Somebody stored this key or this meter at this very moment: look again.
            if not left:
                raise
    raise AssertionError("unreachable")


def _kept(agent: Agent, document: dict[str, Any], text: str) -> Kept:
    key, digest = UUID(document["key"]), sha256(text.encode()).hexdigest()
    known = PowerChunk.objects.filter(agent=agent, key=key).first()
    if known is not None:
        if known.digest != digest:
            raise KeyReusedError(str(key))
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
    return Kept(chunk, repeated=False)


def _meter(agent: Agent, slug: str, stated: dict[str, Any]) -> Meter:
    host = Host.objects.filter(lab=agent.lab, slug=slug).first()
    if host is None:
        slugs = Host.objects.filter(lab=agent.lab).values_list("slug", flat=True)
        raise UnknownHostError(slug, slugs)
    told = {"kind": stated["kind"], "gain_error": stated.get("gain_error")}
    meter, _ = Meter.objects.get_or_create(
        lab=agent.lab, host=host, name=stated["name"], defaults=told
    )
    differing = [name for name, value in told.items() if getattr(meter, name) != value]
    if differing:
        raise MeterExistsError(meter.name, differing)
    return meter


def _set_on_the_clock(chunk: PowerChunk, document: dict[str, Any]) -> None:
    """Say when the log's pieces were measured, as far as its stamps tell it by now.

    A piece without any stamp waits for one: the log's clock is the same all along.
    """
    pieces = PowerChunk.objects.filter(lab=chunk.lab, log=chunk.log)
    # Two pieces of one log that arrive at once must see each other's stamps.
    Meter.objects.select_for_update().get(pk=chunk.meter_id)
    known = pieces.order_by("number").values_list("stamps", flat=True)
    way = way_of(document["axis"], known)
    if way is None:
        return
    waiting = list(pieces.filter(first_at=None))
    for each in waiting:
        samples = orjson.loads(each.text)["samples"]
        ends = way.seconds([samples[0][0], samples[-1][0]])
        each.first_at, each.last_at = (moment(end) for end in ends)
        note_due_energy([chunk.meter.host_id], each.first_at, each.last_at)
    PowerChunk.objects.bulk_update(waiting, ["first_at", "last_at"])
    chunk.refresh_from_db(fields=["first_at", "last_at"])
