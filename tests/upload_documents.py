"""Uploads as an agent sends them."""

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any


def network_run(
    value: float = 52.97, *, host: str, study: str, **changes: Any
) -> dict[str, Any]:
    """Return a native network run of one sample, with changes.

    ``system`` changes properties of the system; ``value`` is the only sample.
    """
    system = {
        "host": host,
        "hypervisor": "native",
        "guest_os": "Ubuntu Server 9.04",
        "guest_bits": 32,
        **changes.pop("system", {}),
    }
    sample = {
        "metric": "network throughput",
        "parameters": {"operation": "write"},
        "value": value,
        "unit": "MB/s",
    }
    return {
        "key": str(uuid.uuid4()),
        "study": study,
        "system": system,
        "tool": "iometer",
        "samples": [sample],
        **changes,
    }


def published_mean(
    document: dict[str, Any], runs: int, deviation: float | None = None
) -> dict[str, Any]:
    """State that the first sample of a document is the mean of ``runs`` runs."""
    document["samples"][0]["runs"] = runs
    if deviation is not None:
        document["samples"][0]["standard_deviation"] = deviation
    return document


def in_turn(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make each of these runs start a minute after the previous one."""
    began = datetime(2026, 3, 2, 10, tzinfo=UTC)
    return [
        {**document, "started_at": (began + timedelta(minutes=turn)).isoformat()}
        for turn, document in enumerate(documents)
    ]


def interleaved(*sides: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make the runs of several systems start in turns, a minute apart."""
    turns = zip_longest(*sides)
    return in_turn(run for turn in turns for run in turn if run is not None)
