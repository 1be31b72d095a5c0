"""What the compare page shows for one choice: the table, its columns' tools, a chart.

The same table with what may be said of each cell is `judged_table`: for files and the
chart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.table import (
    Column,
    ComparisonTable,
    comparison_table,
    rows_with_ratios,
)
from benchmarks.comparing.verdicts import VerdictMark, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows, tested
from dashboard.charts.chart import Chart
from dashboard.charts.outlines import Outline, outline
from dashboard.kit.selections import (
    ENERGY,
    NATIVE,
    Chooser,
    Selection,
    address,
    chooser,
    pin_toggled,
    searched,
)
from dashboard.pages.compare.figure import column_name, comparison_figure

DRAWN_CELLS = 2_000


@dataclass(frozen=True)
class ColumnTools:
    """A column with the addresses of the page after each action."""

    name: str
    is_edge: bool
    is_reference: bool
    reference: str
    is_pinned: bool
    pin: str


def column_tools(
    columns: tuple[Column, ...], chosen: Selection, query: Mapping[str, str]
) -> Iterator[ColumnTools]:
    """Yield the tools of each column; doing a thing again undoes it."""
    for column in columns:
        key = str(column.system_id)
        is_reference = key == chosen.baseline
        yield ColumnTools(
            name=column_name(column),
            is_edge=column.is_edge,
            is_reference=is_reference,
            reference=address(query, baseline=NATIVE if is_reference else key),
            is_pinned=key in chosen.pins,
            pin=address(query, pin=pin_toggled(chosen.pins, key)),
        )


@dataclass(frozen=True)
class ComparisonPage:
    """Everything of the page that depends on what was chosen."""

    chooser: Chooser
    reference: System | None
    table: ComparisonTable
    marks: Mapping[int, VerdictMark]
    """What may be said of each cell, by the cell's id."""

    @property
    def tools(self) -> Iterator[ColumnTools]:
        """What can be done with each column."""
        columns = self.table.head.columns
        return column_tools(columns, self.chooser.selection, self.chooser.query)

    @property
    def search(self) -> str:
        """The query of this page's address."""
        return address(self.chooser.query)

    @property
    def is_bare(self) -> bool:
        """Whether nothing has been measured in the study, whatever is chosen."""
        return not self.chooser.facets.scenarios

    @property
    def is_relative(self) -> bool:
        """Whether any ratio is one to a reference system."""
        return "relative" in self.table.states

    @property
    def has_no_baseline(self) -> bool:
        """Whether there is not one ratio because there is nothing to compare with."""
        is_nothing = not self.table.ratio_count and "missing" in self.table.states
        return is_nothing and not self.is_energy

    @property
    def is_energy(self) -> bool:
        """Whether the cells tell energy per work."""
        return self.chooser.selection.show == ENERGY

    @property
    def has_no_power(self) -> bool:
        """Whether energy was asked for and no power was measured."""
        return self.is_energy and not self.table.groups

    @property
    def is_only_native(self) -> bool:
        """Whether nothing but machines without a hypervisor is shown."""
        columns = self.table.head.columns
        is_nothing = not self.table.ratio_count and not self.is_energy
        return is_nothing and all(column.is_native for column in columns)

    @property
    def outline(self) -> Outline | None:
        """What the chart of the ratios takes of the page; None if it cannot be read."""
        if not 0 < self.table.ratio_count <= DRAWN_CELLS:
            return None
        table = searched(self.table, self.chooser.selection.q)
        figure = comparison_figure(table, self.is_energy, is_told=False)
        return outline(figure) if figure else None

    @property
    def evidence_link(self) -> tuple[str, str]:
        """Where a cell's runs are shown: what stands before and after its id.

        Seen from the compare page: a whole address would be repeated in every cell.
        """
        return (
            "../cells/",
            f"/{self.chooser.cell_query(self.chooser.selection.baseline)}",
        )


def comparison_page(study: Study, choice: Chooser) -> ComparisonPage:
    """Return the page for what was chosen."""
    system, chosen = choice.baseline, choice.selection
    rows = _rows(study, choice, system)
    if chosen.show == ENERGY:
        # The signs below the table are those of speeds: these stand in their cards.
        rows, marks = energy_rows(rows, cell_energies(study, system)), {}
    else:
        marks = study_verdicts(study, system).marks()
    return ComparisonPage(
        chooser=choice,
        reference=system or study.reference_system,
        table=_shaped(rows, chosen),
        marks=marks,
    )


def _rows(
    study: Study, choice: Chooser, system: System | None, **judged: Any
) -> list[ComparisonRow]:
    """Return the cells that were chosen, against native or a chosen system."""
    return comparison_rows(
        study,
        systems=choice.facets.systems,
        filters=choice.selection.filters(),
        reference=Reference.of(study, system) if system else None,
        **judged,
    )


def _shaped(rows: Sequence[ComparisonRow], chosen: Selection) -> ComparisonTable:
    """Return rows as the table that was chosen."""
    shown = rows_with_ratios(rows) if chosen.only else rows
    return comparison_table(shown, group=chosen.group, order=chosen.order)


@dataclass(frozen=True)
class JudgedTable:
    """A table with what may be said of each cell, as a file takes it along.

    ``show`` is what its cells show; ``reference`` None: native. ``tested`` is of how
    many cells together the verdicts were corrected for, ``narrowed`` what is left of
    the study, by the names of the page's query.
    """

    table: ComparisonTable
    reference: System | None
    show: str
    tested: int
    narrowed: Mapping[str, str]


def judged_table(study: Study, query: Mapping[str, str]) -> JudgedTable:
    """Return what the page shows for a query, with the judgement of each cell.

    Of two pinned systems the second is the baseline of the first; rows in which the
    words of a search do not stand are left out.
    """
    choice = chooser(study, query)
    chosen, pinned = choice.selection, choice.pinned
    system, narrowed = choice.baseline, chosen.narrowed()
    if choice.is_direct:
        system = pinned[-1]
        narrowed["pin"] = ",".join(str(each.pk) for each in pinned)
    if chosen.show == ENERGY:
        energies = cell_energies(study, system)
        rows = energy_rows(_rows(study, choice, system), energies)
        count = tested(energies)
    else:
        verdicts = study_verdicts(study, system)
        rows = _rows(study, choice, system, verdicts=verdicts)
        count = verdicts.tested
    if choice.is_direct:
        rows = [row for row in rows if row.system.id in {each.pk for each in pinned}]
    return JudgedTable(
        searched(_shaped(rows, chosen), chosen.q),
        system or study.reference_system,
        chosen.show,
        count,
        narrowed,
    )


def figure_of(study: Study, query: Mapping[str, str]) -> Chart | None:
    """Return the same table's ratios as a chart, each judged in words."""
    judged = judged_table(study, query)
    is_readable = judged.table.ratio_count <= DRAWN_CELLS
    is_energy = judged.show == ENERGY
    return comparison_figure(judged.table, is_energy) if is_readable else None
