"""Cells of a comparison as flat records, the same in CSV and JSON. PURE."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ComparisonTable

KINDS = ("efficiency", "relative", "scaling")
# What a cell is, and where it comes from: the same in every file.
NAMED = (
    "id",
    "study",
    "component",
    "tool",
    "metric",
    "case",
    "parameters",
    "scenario",
    "vms",
    "slot",
    "load",
    "host",
    "system_id",
    "system",
    "hypervisor",
    "hypervisor_version",
    "virtualization",
    "guest_os",
    "guest_bits",
    "vcpus",
    "memory_bytes",
    "options",
)
MEASURED = (
    "value",
    "speeds",
    "unit",
    "better",
    "n",
    "baseline_value",
    "baseline_n",
    "baseline_system_id",
)
JUDGED = ("low", "high", "verdict")
OVERHEADS = ("overhead", "overhead_low", "overhead_high")
STATED = ("state", "reason", "document", "table")
# Where a file is from, in each of its lines: a line may leave the others.
SOURCED = ("against", "address", "made_on")
FIELDS = (
    *NAMED,
    *MEASURED,
    "kind",
    "ratio",
    *JUDGED,
    "reasons",
    *STATED,
    *OVERHEADS,
)


def sourced(
    cells: Iterable[Mapping[str, Any]], *, against: str, address: str, made_on: str
) -> Iterator[dict[str, Any]]:
    """Add to each record of a table what its ratio is to, and where it is from.

    ``address`` has the query of the page: what the table was narrowed to.
    """
    source = dict(zip(SOURCED, (against, address, made_on), strict=True))
    return ({**cell, **source} for cell in cells)


def records(table: ComparisonTable) -> Iterator[dict[str, Any]]:
    """Return a record a cell, in the order of the table; None is what does not exist.

    ``value`` and ``baseline_value`` are in ``unit``, None where no single figure
    describes the runs: ``reason`` says so, and ``speeds`` has both where there are two.
    ``ratio`` is of the ``kind`` that is named, with ``low`` to ``high`` as its 95 %
    interval; ``overhead`` is 1 less that, which a ``scaling`` has not.
    """
    for group in table.groups:
        for line in group.rows:
            for cell in line.cells:
                if cell is not None:
                    yield _record(cell)


def _record(row: ComparisonRow) -> dict[str, Any]:
    kind = next((name for name in KINDS if getattr(row, name) is not None), None)
    judged = {name: getattr(row.judgement, name, None) for name in JUDGED}
    return {
        **{name: getattr(row, name) for name in (*NAMED, *MEASURED)},
        "speeds": list(row.speeds),
        "kind": kind,
        "ratio": getattr(row, kind) if kind else None,
        **judged,
        "reasons": list(row.judgement.codes) if row.judgement else [],
        **{name: getattr(row, name) for name in STATED},
        **_overheads(row, judged),
    }


def _overheads(row: ComparisonRow, judged: dict[str, Any]) -> dict[str, float | None]:
    """Return what is lost of 1; the more is lost, the less is the ratio."""
    ratio = None if row.scaling is not None else row.ratio
    ends = (ratio, judged["high"], judged["low"])
    return {
        name: None if ratio is None or end is None else 1 - end
        for name, end in zip(OVERHEADS, ends, strict=True)
    }
