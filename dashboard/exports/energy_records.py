"""Energies of a comparison as flat records, the same in CSV and JSON. PURE.

A file of energies has no column ``value`` or ``ratio``: no program can take joules for
a speed.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.comparing.table import ComparisonTable
from benchmarks.power.energy_rows import EnergyRow
from dashboard.exports.records import NAMED, STATED

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


def energy_records(table: ComparisonTable) -> Iterator[dict[str, Any]]:
    """Return a record a cell, in the order of the table; None is what does not exist.

    ``energy`` and ``baseline_energy`` are means over the metered runs in
    ``energy_unit``, J or J for a unit of work; ``energy_ratio`` is own / baseline with
    ``energy_low`` to ``energy_high`` as its 95 % interval.
    """
    for group in table.groups:
        for line in group.rows:
            for cell in line.cells:
                if isinstance(cell, EnergyRow):
                    yield _record(cell)


def _record(row: EnergyRow) -> dict[str, Any]:
    costs, judged = (row.energy.costs if row.energy else ()), row.judgement
    return {
        **{name: getattr(row, name) for name in NAMED},
        "energy": row.value,
        "energy_least": min(costs, default=None),
        "energy_greatest": max(costs, default=None),
        "energy_unit": row.unit,
        "metered_runs": row.n,
        "meter": _meter(row),
        "baseline_energy": row.baseline_value,
        "baseline_metered_runs": row.baseline_n,
        "baseline_system_id": row.baseline_system_id,
        "energy_ratio": row.joules.ratio if row.joules else None,
        "energy_low": judged.low if judged else None,
        "energy_high": judged.high if judged else None,
        "verdict": judged.verdict if judged else None,
        "reasons": list(judged.codes) if judged else [],
        **{name: getattr(row, name) for name in STATED},
    }


def _meter(row: EnergyRow) -> str | None:
    """Return what the meter saw: the whole machine, or its processors only."""
    if row.energy is None:
        return None
    return "cpu" if row.energy.meter.is_cpu_only else "machine"
