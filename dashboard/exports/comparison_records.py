"""Comparison cells as flat records, and records as CSV (RFC 4180). PURE.

Energies have other columns than ``value`` and ``ratio``, so that programs cannot
mistake joules for a speed. Texts that look like formulas are prefixed with an
apostrophe (OWASP, "CSV injection").
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import ComparisonTable

FORMULA_STARTS = ("=", "+", "-", "@", "|", "\t", "\r", "\n")
IDENTITY_COLUMNS: dict[str, str] = {
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
STATE_COLUMNS = ("state", "state_message", "document", "table")
# Every line repeats the source, because lines may be copied separately.
SOURCE_COLUMNS = ("compared_with", "url", "created_on")
DESIGN_COLUMNS = (
    "design",
    "scope",
    "session_count",
    "baseline_session_count",
    "shared_session_count",
    "between_session_sd",
    "is_weak",
    "rule_set",
)
SPEED_COLUMNS = (
    *IDENTITY_COLUMNS,
    "value",
    "mode_medians",
    "unit",
    "better",
    "n",
    "failed_runs",
    "failure",
    "baseline_value",
    "baseline_n",
    "baseline_system_id",
    "kind",
    "ratio",
    "low",
    "high",
    "verdict",
    "reason_codes",
    *STATE_COLUMNS,
    "overhead",
    "overhead_low",
    "overhead_high",
    "ratio_range_low",
    "ratio_range_high",
    *DESIGN_COLUMNS,
)
ENERGY_COLUMNS = (
    *IDENTITY_COLUMNS,
    "energy",
    "energy_min",
    "energy_max",
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
    "reason_codes",
    *STATE_COLUMNS,
    *DESIGN_COLUMNS,
)
# Kinds of ratios that have another name in files than in the code.
RATIO_KINDS = {
    "efficiency": "relative_performance",
    "relative": "relative_to_reference",
}
COLUMNS_BY_MEASURE: Mapping[str, Sequence[str]] = {
    "speed": SPEED_COLUMNS,
    "energy": ENERGY_COLUMNS,
}


def table_csv(table: ComparisonTable, source: Mapping[str, Any]) -> str:
    repeated = {name: source[name] for name in SOURCE_COLUMNS}
    cells = ({**record, **repeated} for record in comparison_records(table))
    return csv_text(
        [*COLUMNS_BY_MEASURE.get(source["quantity"], SPEED_COLUMNS), *SOURCE_COLUMNS],
        cells,
    )


def csv_text(fields: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(csv_lines(fields, records))


def csv_lines(
    fields: Sequence[str], records: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    # The csv module writes only to file objects.
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
    return escape_formula(str(value))


def escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def comparison_records(table: ComparisonTable) -> Iterator[dict[str, Any]]:
    """Yield a record for each cell; None means missing.

    ``low`` to ``high`` is the 95% confidence interval of ``ratio``; ``overhead`` is
    1 - ratio. Results without a single value have a range of ratios
    (``ratio_range_low``, ``ratio_range_high``). ``energy_ratio`` is the system's energy
    divided by the baseline's.
    """
    for group in table.groups:
        for case_row in group.rows:
            for row in filter(None, case_row.cells):
                assessment = row.result.assessment
                record = {
                    **{
                        name: attrgetter(path)(row)
                        for name, path in IDENTITY_COLUMNS.items()
                    },
                    **RECORD_BUILDERS[row.result.measure.name](row),
                    **_design_fields(assessment),
                    "baseline_system_id": row.result.baseline_system_id,
                    "verdict": assessment.verdict if assessment else None,
                    "reason_codes": list(assessment.reason_codes) if assessment else [],
                    "state": row.result.state,
                    "state_message": row.result.reason,
                    "document": row.document,
                    "table": row.table,
                }
                yield {
                    name: record[name]
                    for name in COLUMNS_BY_MEASURE[row.result.measure.name]
                }


def _speed_fields(row: ComparisonRow) -> dict[str, Any]:
    result, assessment = row.result, row.result.assessment
    low, high = (assessment.low, assessment.high) if assessment else (None, None)

    def overhead(ratio: float | None) -> float | None:
        has_overhead = result.ratio_kind in ("efficiency", "relative")
        return 1 - ratio if has_overhead and ratio is not None else None

    return {
        "value": result.value,
        "mode_medians": list(result.mode_medians),
        "unit": result.unit,
        "better": result.better,
        "n": result.n,
        "failed_runs": result.failed_runs,
        "failure": result.failure,
        "baseline_value": result.baseline_value,
        "baseline_n": result.baseline_n,
        "kind": RATIO_KINDS.get(result.ratio_kind, result.ratio_kind) or None,
        "ratio": result.ratio,
        "low": low,
        "high": high,
        "overhead": overhead(result.ratio),
        "overhead_low": overhead(high),
        "overhead_high": overhead(low),
    }


def _design_fields(assessment: CellAssessment | None) -> dict[str, Any]:
    low, high = (assessment and assessment.range) or (None, None)
    counts = (assessment and assessment.sessions) or (None, None, None)
    session_count, baseline_session_count, shared_session_count = counts
    return {
        "ratio_range_low": low,
        "ratio_range_high": high,
        "design": assessment.design if assessment else "",
        "scope": assessment.scope if assessment else "",
        "session_count": session_count,
        "baseline_session_count": baseline_session_count,
        "shared_session_count": shared_session_count,
        "between_session_sd": assessment.between_sd if assessment else None,
        "is_weak": assessment.is_weak if assessment else None,
        "rule_set": assessment.rule_set if assessment else None,
    }


def _energy_fields(row: ComparisonRow) -> dict[str, Any]:
    result, energy, assessment = row.result, row.result.energy, row.result.assessment
    costs = energy.joules_per_unit if energy else ()
    meter = None
    if energy:
        meter = "cpu" if energy.meter.is_cpu_only else "machine"
    return {
        "energy": result.value,
        "energy_min": min(costs, default=None),
        "energy_max": max(costs, default=None),
        "energy_unit": result.unit,
        "metered_runs": result.n,
        "meter": meter,
        "baseline_energy": result.baseline_value,
        "baseline_metered_runs": result.baseline_n,
        "energy_ratio": result.energy_ratio.ratio if result.energy_ratio else None,
        "energy_low": assessment.low if assessment else None,
        "energy_high": assessment.high if assessment else None,
    }


RECORD_BUILDERS: Mapping[str, Callable[[ComparisonRow], dict[str, Any]]] = {
    "speed": _speed_fields,
    "energy": _energy_fields,
}
