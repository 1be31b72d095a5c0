"""Cells of a comparison as flat records, and records as CSV. PURE.

Records are the same in CSV and JSON. A file of energies has no column ``value`` or
``ratio``: no program can take joules for a speed.

CSV follows RFC 4180 and is safe to open in a spreadsheet: UTF-8 without a byte order
mark, because programs read it as part of the first column's name; lines end in CR LF.
Texts that a spreadsheet would take for a formula begin with an apostrophe (OWASP, "CSV
injection"); numbers are left as they are.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import ComparisonTable

FORMULAS = ("=", "+", "-", "@", "|", "\t", "\r", "\n")
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
    "host": "system.host.slug",
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
STATED = ("state", "reason", "document", "table")
# Repeated in each line of a file: a line may be copied without the others.
SOURCED = ("against", "address", "made_on")
# What was repeated, and what a verdict therefore speaks of.
REPEATED = (
    "design",
    "scope",
    "own_sessions",
    "baseline_sessions",
    "shared_sessions",
    "between_sd",
    "is_weak",
    "rule_set",
)
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
    "overhead",
    "overhead_low",
    "overhead_high",
    "range_low",
    "range_high",
    *REPEATED,
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
    *REPEATED,
)
# By the names of measures.
COLUMNS: Mapping[str, Sequence[str]] = {"speed": FIELDS, "energy": ENERGY_FIELDS}


def table_csv(table: ComparisonTable, source: Mapping[str, Any]) -> str:
    """Return a table's records as CSV, each with its source (`table_texts.Source`)."""
    repeated = {name: source[name] for name in SOURCED}
    cells = ({**record, **repeated} for record in records(table))
    return csv_text([*COLUMNS.get(source["show"], FIELDS), *SOURCED], cells)


def csv_text(fields: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(csv_lines(fields, records))


def csv_lines(
    fields: Sequence[str], records: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the head, then each record as its line."""
    # csv writes to files only: one that is emptied for each line.
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(fields)
    yield buffer.getvalue()
    for record in records:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(_field(record[name]) for name in fields)
        yield buffer.getvalue()


def _field(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        value = "; ".join(f"{name}={level}" for name, level in value.items())
    elif isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return harmless(str(value))


def harmless(text: str) -> str:
    """Return a text that no spreadsheet computes."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def records(table: ComparisonTable) -> Iterator[dict[str, Any]]:
    """Yield a record a cell, in the order of the table; None does not exist.

    The fields are those of `FIELDS`, or of `ENERGY_FIELDS` for energies: ``low`` to
    ``high`` is the 95 % interval of ``ratio``, ``overhead`` is 1 less the ratio,
    ``range_low`` and ``range_high`` are ratios of extreme runs. Energies are means over
    metered runs in ``energy_unit``; ``energy_ratio`` is own / baseline.
    """
    for group in table.groups:
        for line in group.rows:
            for row in filter(None, line.cells):
                judgement = row.shown.judgement
                record = {
                    **{name: attrgetter(path)(row) for name, path in NAMED.items()},
                    **RECORDED[row.shown.measure.name](row),
                    **_repeated(judgement),
                    "baseline_system_id": row.shown.baseline_system_id,
                    "verdict": judgement.verdict if judgement else None,
                    "reasons": list(judgement.codes) if judgement else [],
                    "state": row.shown.state,
                    "reason": row.shown.reason,
                    "document": row.document,
                    "table": row.table,
                }
                yield {name: record[name] for name in COLUMNS[row.shown.measure.name]}


def _speed(row: ComparisonRow) -> dict[str, Any]:
    shown, judgement = row.shown, row.shown.judgement
    low, high = (judgement.low, judgement.high) if judgement else (None, None)

    def overhead(ratio: float | None) -> float | None:
        has_overhead = shown.kind in ("efficiency", "relative")
        return 1 - ratio if has_overhead and ratio is not None else None

    return {
        "value": shown.value,
        "speeds": list(shown.speeds),
        "unit": shown.unit,
        "better": shown.better,
        "n": shown.n,
        "baseline_value": shown.baseline_value,
        "baseline_n": shown.baseline_n,
        "kind": shown.kind or None,
        "ratio": shown.ratio,
        "low": low,
        "high": high,
        # The ends change places: the highest ratio is the least overhead.
        "overhead": overhead(shown.ratio),
        "overhead_low": overhead(high),
        "overhead_high": overhead(low),
    }


def _repeated(judgement: Judgement | None) -> dict[str, Any]:
    low, high = (judgement and judgement.range) or (None, None)
    counts = (judgement and judgement.sessions) or (None, None, None)
    own, other, shared = counts
    return {
        "range_low": low,
        "range_high": high,
        "design": judgement.design if judgement else "",
        "scope": judgement.scope if judgement else "",
        "own_sessions": own,
        "baseline_sessions": other,
        "shared_sessions": shared,
        "between_sd": judgement.between_sd if judgement else None,
        "is_weak": judgement.is_weak if judgement else None,
        "rule_set": judgement.rule_set if judgement else None,
    }


def _energy(row: ComparisonRow) -> dict[str, Any]:
    shown, energy, judgement = row.shown, row.shown.energy, row.shown.judgement
    costs = energy.costs if energy else ()
    meter = None
    if energy:
        # What the meter saw: its processors only, or the whole machine.
        meter = "cpu" if energy.meter.is_cpu_only else "machine"
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
        "energy_low": judgement.low if judgement else None,
        "energy_high": judgement.high if judgement else None,
    }


RECORDED: Mapping[str, Callable[[ComparisonRow], dict[str, Any]]] = {
    "speed": _speed,
    "energy": _energy,
}
