"""What the compare page shows for one choice: menus, chips, table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Facets, Reference, comparison_rows, facets
from benchmarks.comparing.table import (
    ComparisonTable,
    comparison_table,
    rows_with_ratios,
)
from benchmarks.comparing.verdicts import Mark, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows
from dashboard.charts.outlines import Outline, outline
from dashboard.kit.asked import unmet
from dashboard.kit.selections import (
    ENERGY,
    NATIVE,
    SPEED,
    Chip,
    Menu,
    Selection,
    address,
    chips,
    looks,
    menus,
    selection,
)
from dashboard.pages.compare.column_tools import ColumnTools, Pin, column_tools, pins
from dashboard.pages.compare.direct import DirectPage, direct_page
from dashboard.pages.compare.figure import comparison_figure
from dashboard.pages.compare.finding import searched

DRAWN_CELLS = 2_000


@dataclass(frozen=True)
class ComparisonPage:
    """Everything of the page that depends on what was chosen."""

    address: str
    query: Mapping[str, str]
    selection: Selection
    reference: System | None
    pinned: tuple[System, ...]
    menus: list[Menu]
    looks: list[Menu]
    chips: list[Chip]
    table: ComparisonTable
    marks: Mapping[int, Mark]
    """What may be said of each cell, by the cell's id."""
    direct: DirectPage | None = None
    """Two systems against each other, instead of the table."""
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""
    is_bare: bool = False
    """Nothing has been measured in the study, whatever is chosen."""

    @property
    def tools(self) -> Iterator[ColumnTools]:
        """What can be done with each column."""
        return column_tools(self.table.head.columns, self.selection, self.query)

    @property
    def pins(self) -> list[Pin]:
        """What is pinned, each with the way to let it go."""
        return pins(self.pinned, self.query)

    @property
    def unpinned(self) -> str:
        """The address of the whole table."""
        return address(self.query, pin="")

    @property
    def swapped(self) -> str:
        """The address of the direct comparison the other way round."""
        return address(self.query, pin=",".join(self.selection.pins[::-1]))

    @property
    def search(self) -> str:
        """The query of this page's address."""
        return address(self.query)

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
        return self.selection.show == ENERGY

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
        table = searched(self.table, self.selection.q)
        figure = comparison_figure(table, self.is_energy, is_told=False)
        return outline(figure) if figure else None

    @property
    def evidence_link(self) -> tuple[str, str]:
        """Where a cell's runs are shown: what stands before and after its id.

        Seen from the compare page: a whole address would be repeated in every cell.
        """
        return "../cells/", f"/{self.cell_query}"

    @property
    def cell_query(self) -> str:
        """What a cell's page and card have to know: its baseline, and what is shown.

        Of two pinned systems the second is the baseline.
        """
        chosen = self.selection
        base = str(self.direct.other.pk) if self.direct else chosen.baseline
        said = {
            "baseline": "" if base == NATIVE else base,
            "show": "" if chosen.show == SPEED else chosen.show,
        }
        return address(said) if any(said.values()) else ""


def comparison_page(study: Study, query: Mapping[str, str]) -> ComparisonPage:
    """Return the page for the choice that a URL's query names."""
    found = facets(study)
    chosen = selection(query, found)
    system, pinned = chosen.reference(found), chosen.pinned(found)
    is_direct = len(pinned) > 1
    first, look = menus(chosen, found, study), looks(chosen, found)
    return ComparisonPage(
        address=reverse("dashboard:study", args=[study.lab.slug, study.slug]),
        query=query,
        selection=chosen,
        reference=system or study.reference_system,
        pinned=pinned,
        menus=first,
        looks=look,
        chips=chips([*first, *look], query),
        table=comparison_table([]) if is_direct else _table(study, chosen, found),
        marks={} if is_direct else _marks(study, chosen, system),
        direct=direct_page(study, chosen, pinned) if is_direct else None,
        unmet=unmet(query, _followed(chosen, system, pinned)),
        is_bare=not found.scenarios,
    )


def _marks(
    study: Study, chosen: Selection, system: System | None
) -> Mapping[int, Mark]:
    """Return the signs beside speeds; those of energies stand in their cards."""
    if chosen.show == ENERGY:
        return {}
    return study_verdicts(study, system).marks()


def _followed(
    chosen: Selection, system: System | None, pinned: tuple[System, ...]
) -> dict[str, object]:
    """Return what the parts of a query came to that do not only narrow the table."""
    return {
        "baseline": system.pk if system else NATIVE,
        "pin": ",".join(str(each.pk) for each in pinned),
        "show": chosen.show,
        "order": chosen.order,
        "only": chosen.only,
    }


def _table(study: Study, chosen: Selection, found: Facets) -> ComparisonTable:
    system = chosen.reference(found)
    rows = rows_of(study, chosen, found, system)
    if chosen.show == ENERGY:
        rows = energy_rows(rows, cell_energies(study, system))
    return shaped(rows, chosen)


def rows_of(
    study: Study,
    chosen: Selection,
    found: Facets,
    system: System | None,
    **judged: Any,
) -> list[ComparisonRow]:
    """Return the cells that were chosen, against native or a chosen system."""
    return comparison_rows(
        study,
        systems=found.systems,
        filters=chosen.filters(),
        reference=Reference.of(study, system) if system else None,
        **judged,
    )


def shaped(rows: Sequence[ComparisonRow], chosen: Selection) -> ComparisonTable:
    """Return rows as the table that was chosen."""
    shown = rows_with_ratios(rows) if chosen.only else rows
    return comparison_table(shown, group=chosen.group, order=chosen.order)
