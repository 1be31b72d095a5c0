"""Every sample of a cell and of its baseline as flat records: what a ratio rests on."""

from collections.abc import Iterator
from typing import Any

from benchmarks.comparing.evidence import sample_lines
from benchmarks.models import Cell

SAMPLED = (
    *("run", "session", "started_at", "clock"),
    *("sequence", "repetition", "value"),
)
CELL = (
    *("side", "host", "system_id", "system", "tool", "case_id", "case", "parameters"),
    *("scenario", "vms", "slot", "load", "unit"),
)
SAMPLE_FIELDS = (*CELL, *SAMPLED, "address", "made_on")


def sample_records(
    cell: Cell, *, side: str, address: str, made_on: str
) -> Iterator[dict[str, Any]]:
    """Yield a record a sample, run by run in the order of their doing.

    ``value`` is in ``unit``. The mean of a run's values is what its cell counts once.
    """
    said = _said(cell, side)
    for line in sample_lines(cell):
        sample = dict(zip(SAMPLED, line, strict=True))
        if sample["started_at"] is not None:
            sample["started_at"] = sample["started_at"].isoformat()
        yield {**said, **sample, "address": address, "made_on": made_on}


def _said(cell: Cell, side: str) -> dict[str, Any]:
    case, system = cell.case, cell.system
    return {
        "side": side,
        "host": system.host.slug,
        "system_id": system.pk,
        "system": system.label,
        "tool": case.tool,
        "case_id": case.pk,
        "case": case.label,
        "parameters": case.parameters,
        "scenario": cell.scenario,
        "vms": cell.vms,
        "slot": cell.slot,
        "load": cell.load,
        "unit": case.unit,
    }
