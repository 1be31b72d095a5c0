"""Comparison rows that tell energy per work instead of speed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from benchmarks.selectors.comparisons import ComparisonRow
from benchmarks.selectors.energy_per_work import CellEnergy

METERED, UNMETERED, MISSING = "metered", "unmetered", "missing"
BASES = ("native", "reference")


@dataclass(frozen=True)
class EnergyRow(ComparisonRow):
    """A row whose value is J for a unit of work.

    Its ``efficiency`` is the work for a joule against the baseline's, so that 1 is
    the baseline and less is worse, as everywhere; ``energy`` has the ratio of joules.
    """

    energy: CellEnergy | None = None


def energy_rows(
    rows: Iterable[ComparisonRow], energies: Mapping[int, CellEnergy]
) -> list[ComparisonRow]:
    """Return the rows with their energy; those of cases that nobody metered go."""
    found = list(rows)
    metered = {_line(row) for row in found if row.id in energies}
    systems = {row.system_id for row in found if row.id in energies}
    return [
        _energy_row(row, energies.get(row.id))
        for row in found
        if _line(row) in metered and row.system_id in systems
    ]


def _line(row: ComparisonRow) -> tuple[object, ...]:
    return (row.case_id, row.scenario, row.vms, row.load, row.seat)


def _energy_row(row: ComparisonRow, energy: CellEnergy | None) -> EnergyRow:
    said = {field.name: getattr(row, field.name) for field in fields(ComparisonRow)}
    ratio = energy.ratio if energy else None
    return EnergyRow(
        **said
        | {
            "value": energy.mean if energy else None,
            "unit": energy.unit if energy else "",
            "n": len(energy.costs) if energy else 0,
            "baseline_value": energy.base if energy else None,
            "baseline_n": energy.base_n if energy else None,
            "efficiency": 1 / ratio.ratio if ratio else None,
            "relative": None,
            "scaling": None,
            "judgement": None,
            "better": "lower",
            "state": _state(row, energy),
            "reason": ratio.reason if ratio else "",
        },
        energy=energy,
    )


def _state(row: ComparisonRow, energy: CellEnergy | None) -> str:
    if energy is None:
        return UNMETERED
    if row.state in BASES:
        return row.state
    return METERED if energy.ratio else MISSING
