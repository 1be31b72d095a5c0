"""What the compare page shows for one choice: menus, table, chart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.urls import reverse

from benchmarks.models import Campaign, System
from benchmarks.selectors.comparison_table import ComparisonTable, comparison_table
from benchmarks.selectors.comparisons import (
    Reference,
    compared_cells,
    comparison_row,
)
from benchmarks.selectors.facets import facets
from benchmarks.selectors.verdicts import campaign_verdicts
from benchmarks.viewer import Viewer
from dashboard.cells import CellView, cell_view
from dashboard.comparison_figure import comparison_figure
from dashboard.selections import NATIVE, Menu, Selection, menus, selection


@dataclass(frozen=True)
class ComparisonPage:
    """Everything of the page that depends on what was chosen."""

    address: str
    selection: Selection
    reference: System | None
    menus: list[Menu]
    table: ComparisonTable
    views: Mapping[int, CellView]
    """What each cell shows, by the cell's id."""
    figure: dict[str, Any] | None

    @property
    def is_relative(self) -> bool:
        """Whether any ratio is one to a reference system."""
        return "relative" in self.table.states

    @property
    def has_no_baseline(self) -> bool:
        """Whether there is not one ratio because there is nothing to compare with."""
        return self.figure is None and "missing" in self.table.states

    @property
    def evidence_link(self) -> str:
        """Where the runs behind a cell are shown; the cell's id comes after it."""
        chosen = self.selection.baseline
        query = "cell=" if chosen == NATIVE else f"baseline={quote(chosen)}&cell="
        return f"{self.address}?{query}"


def comparison_page(
    viewer: Viewer, campaign: Campaign, query: Mapping[str, str]
) -> ComparisonPage:
    """Return the page for the choice that a URL's query names."""
    found = facets(campaign)
    chosen = selection(query, found)
    system = chosen.reference(found)
    reference = Reference.of(campaign, system) if system else None
    cells = compared_cells(viewer, campaign=campaign, filters=chosen.filters())
    verdicts = campaign_verdicts(campaign, system)
    rows = [comparison_row(cell, reference, verdicts.of(cell.pk)) for cell in cells]
    table, views = comparison_table(rows), {row.id: cell_view(row) for row in rows}
    return ComparisonPage(
        address=reverse("dashboard:runs", args=[campaign.lab.slug, campaign.slug]),
        selection=chosen,
        reference=system or campaign.reference_system,
        menus=menus(chosen, found, campaign),
        table=table,
        views=views,
        figure=comparison_figure(table, views),
    )
