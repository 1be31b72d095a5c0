"""Comparison rows that tell energy per work instead of speed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from benchmarks.analysis.energy import SENTENCES, EnergyRatio
from benchmarks.comparing.row import IS_ONE_FIGURE, ComparisonRow
from benchmarks.power.energy_per_work import CellEnergy
from benchmarks.sentences import Sentence

METERED, UNMETERED, MISSING = "metered", "unmetered", "missing"
BASES = ("native", "reference")
NOTHING: Final[dict[str, Any]] = {
    **IS_ONE_FIGURE,
    "value": None,
    "unit": "",
    "n": 0,
    "baseline_value": None,
    "baseline_n": None,
    "efficiency": None,
    "relative": None,
    "scaling": None,
    "judgement": None,
    "better": "lower",
    "state": UNMETERED,
    "reason": "",
}


@dataclass(frozen=True)
class EnergyRow(ComparisonRow):
    """A row whose value is J for a unit of work.

    Its ``efficiency`` is the work for a joule against the baseline's, so that 1 is
    the baseline and less is worse, as everywhere; ``joules`` is the ratio of joules,
    and ``judgement`` is of that. Runs that no single figure describes have no single
    energy either: ``range`` then has the least and the greatest.
    """

    energy: CellEnergy | None = None

    @property
    def joules(self) -> EnergyRatio | None:
        """The ratio of joules, where it may be told."""
        is_told = self.energy is not None and self.efficiency is not None
        return self.energy.ratio if self.energy and is_told else None


def energy_rows(
    rows: Iterable[ComparisonRow], energies: Mapping[int, CellEnergy]
) -> list[ComparisonRow]:
    """Return the rows with their energy; those of cases that nobody metered go."""
    found = list(rows)
    units = {_line(row): energies[row.id].unit for row in found if row.id in energies}
    systems = {row.system_id for row in found if row.id in energies}
    return [
        energy_row(row, energies.get(row.id), unit=units[_line(row)])
        for row in found
        if _line(row) in units and row.system_id in systems
    ]


def _line(row: ComparisonRow) -> tuple[object, ...]:
    return (row.case_id, row.scenario, row.vms, row.load, row.slot)


def energy_row(
    row: ComparisonRow, energy: CellEnergy | None, unit: str = ""
) -> EnergyRow:
    """Return one row with its energy; without any it says so, and not a 0.

    ``unit`` is that of the case's other cells.
    """
    said = {field.name: getattr(row, field.name) for field in fields(ComparisonRow)}
    told = _told(row, energy) if energy else {"unit": unit}
    return EnergyRow(**said | NOTHING | told, energy=energy)


def _told(row: ComparisonRow, energy: CellEnergy) -> dict[str, Any]:
    is_one_figure = not (row.doubts or row.baseline_doubts)
    ratio = energy.ratio if is_one_figure else None
    state = _state(row, energy)
    return {
        "doubts": row.doubts,
        "baseline_doubts": row.baseline_doubts,
        "shape": row.shape,
        "range": (min(energy.costs), max(energy.costs)) if row.doubts else None,
        "value": None if row.doubts else energy.mean,
        "unit": energy.unit,
        "n": len(energy.costs),
        "baseline_value": None if row.baseline_doubts else energy.base,
        "baseline_n": energy.base_n or None,
        "efficiency": 1 / ratio.ratio if ratio else None,
        "judgement": energy.judgement,
        "state": state,
        "reason": _reason(row, energy, state) if is_one_figure else row.reason,
    }


def _state(row: ComparisonRow, energy: CellEnergy) -> str:
    if row.state in BASES:
        return row.state
    return METERED if energy.ratio else MISSING


def _reason(row: ComparisonRow, energy: CellEnergy, state: str) -> str:
    """Return why there is no ratio, or none with an interval."""
    if energy.ratio:
        reason = energy.ratio.reason
        return Sentence(SENTENCES[reason]) if reason else ""
    if state != MISSING or row.state == MISSING:
        return row.reason
    if energy.base is not None:
        return Sentence(
            "One side was metered at the wall, the other by the processor's own "
            "counters: the two are never compared."
        )
    return Sentence("No power was measured for its baseline that belongs to it alone.")
