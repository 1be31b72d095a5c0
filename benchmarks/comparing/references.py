"""A system that somebody chose to compare with, instead of the native machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from benchmarks.comparing.row import CIRCUMSTANCES, Against, State
from benchmarks.models import Cell, Study, System
from benchmarks.models.cell import ratio_of_means
from benchmarks.parsing.contract import Better
from benchmarks.sentences import Sentence


@dataclass(frozen=True)
class Reference:
    """What was measured on a system that somebody chose to compare with."""

    system: System
    measured: Mapping[tuple[Any, ...], tuple[float | None, int, str]]

    @classmethod
    def of(cls, study: Study, system: System) -> "Reference":
        """Look up a system's cells of a study, in one query."""
        cells = Cell.objects.filter(study=study, system=system, n__gt=0)
        found = cells.values_list(*CIRCUMSTANCES, "mean", "n", "shape_codes")
        return cls(system, {tuple(row[:-3]): tuple(row[-3:]) for row in found})

    def against_cell(self, cell: Cell) -> Against:
        """Set a cell against this system's cell of the same case and scenario."""
        circumstances = tuple(getattr(cell, name) for name in CIRCUMSTANCES)
        return self.against(
            cell.system_id, circumstances, cell.mean, cast(Better, cell.case.better)
        )

    def against(
        self,
        system_id: int,
        circumstances: tuple[Any, ...],
        mean: float | None,
        better: Better,
    ) -> Against:
        """Do the same for a cell of which only its values are at hand."""
        if system_id == self.system.pk:
            return Against(State.REFERENCE)
        if better == "neither":
            return Against(State.UNDIRECTED)
        other = self.measured.get(circumstances)
        if other is None:
            return Against(
                State.MISSING, reason=Sentence("The reference has no such cell.")
            )
        other_mean, n, doubts = other
        ratio, reason = ratio_of_means(mean, other_mean, better)
        pk = self.system.pk
        return Against(State.RELATIVE, ratio, other_mean, n, pk, reason, doubts)
