"""Cells of a comparison as flat records, the same in CSV and JSON. PURE.

A file of energies has no column ``value`` or ``ratio``: no program can take joules for
a speed.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ComparisonTable

# What a cell is, and where it comes from, by the names of a file's columns.
NAMED: dict[str, str] = {
    "id": "id",
    "study": "study",
    "component": "case.component",
    "tool": "case.tool",
    "metric": "case.metric",
    "case": "case.label",
    "parameters": "case.parameters",
    "scenario": "scenario",
    "vms": "vms",
    "slot": "slot",
    "load": "load",
    "host": "system.host",
    "system_id": "system.id",
    "system": "system.label",
    "hypervisor": "system.hypervisor",
    "hypervisor_version": "system.hypervisor_version",
    "virtualization": "system.virtualization",
    "guest_os": "system.guest_os",
    "guest_bits": "system.guest_bits",
    "vcpus": "system.vcpus",
    "memory_bytes": "system.memory_bytes",
    "options": "system.options",
}
KINDS = ("efficiency", "relative", "scaling")
OVERHEADS = ("overhead", "overhead_low", "overhead_high")
STATED = ("state", "reason", "document", "table")
# Where a file is from, in each of its lines: a line may leave the others.
SOURCED = ("against", "address", "made_on")
FIELDS = (
    *NAMED,
    "value",
    "speeds",
    "unit",
    "better",
    "n",
    "baseline_value",
    "baseline_n",
    "baseline_system_id",
    "kind",
    "ratio",
    "low",
    "high",
    "verdict",
    "reasons",
    *STATED,
    *OVERHEADS,
)
ENERGY_FIELDS = (
    *NAMED,
    "energy",
    "energy_least",
    "energy_greatest",
    "energy_unit",
    "metered_runs",
    "meter",
    "baseline_energy",
    "baseline_metered_runs",
    "baseline_system_id",
    "energy_ratio",
    "energy_low",
    "energy_high",
    "verdict",
    "reasons",
    *STATED,
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

    Of energies (`ENERGY_FIELDS`) ``energy`` and ``baseline_energy`` are means over the
    metered runs in ``energy_unit``, J or J for a unit of work; ``energy_ratio`` is
    own / baseline with ``energy_low`` to ``energy_high`` as its 95 % interval.
    """
    for group in table.groups:
        for line in group.rows:
            for row in filter(None, line.cells):
                judged = row.shown.judgement
                record = {
                    **{name: attrgetter(path)(row) for name, path in NAMED.items()},
                    **(_energy(row) if row.shown.is_energy else _speed(row)),
                    "baseline_system_id": row.shown.baseline_system_id,
                    "verdict": judged.verdict if judged else None,
                    "reasons": list(judged.codes) if judged else [],
                    "state": row.shown.state,
                    "reason": row.shown.reason,
                    "document": row.document,
                    "table": row.table,
                }
                fields = ENERGY_FIELDS if row.shown.is_energy else FIELDS
                yield {name: record[name] for name in fields}


def _speed(row: ComparisonRow) -> dict[str, Any]:
    shown, judged = row.shown, row.shown.judgement
    kinds = {name: getattr(shown, name) for name in KINDS}
    low, high = (judged.low, judged.high) if judged else (None, None)
    # The more is lost, the less is the ratio.
    ends = (shown.ratio, high, low)
    is_lost = shown.ratio is not None and shown.scaling is None
    return {
        "value": shown.value,
        "speeds": list(shown.speeds),
        "unit": shown.unit,
        "better": shown.better,
        "n": shown.n,
        "baseline_value": shown.baseline_value,
        "baseline_n": shown.baseline_n,
        "kind": next((name for name in KINDS if kinds[name] is not None), None),
        "ratio": shown.ratio,
        "low": low,
        "high": high,
        **{
            name: 1 - end if is_lost and end is not None else None
            for name, end in zip(OVERHEADS, ends, strict=True)
        },
    }


def _energy(row: ComparisonRow) -> dict[str, Any]:
    shown, energy, judged = row.shown, row.shown.energy, row.shown.judgement
    costs = energy.costs if energy else ()
    # What the meter saw: its processors only, or the whole machine.
    meter = ("machine", "cpu")[energy.meter.is_cpu_only] if energy else None
    return {
        "energy": shown.value,
        "energy_least": min(costs, default=None),
        "energy_greatest": max(costs, default=None),
        "energy_unit": shown.unit,
        "metered_runs": shown.n,
        "meter": meter,
        "baseline_energy": shown.baseline_value,
        "baseline_metered_runs": shown.baseline_n,
        "energy_ratio": shown.joules.ratio if shown.joules else None,
        "energy_low": judged.low if judged else None,
        "energy_high": judged.high if judged else None,
    }
