"""The card of one cell: all that stands behind its number, in short."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import Http404

from benchmarks.models import Campaign, Efficiency, Flag, System
from benchmarks.selectors.comparison_rows import comparison_rows
from benchmarks.selectors.comparisons import ComparisonRow, Reference
from benchmarks.selectors.flags import visible_flags
from benchmarks.selectors.verdicts import campaign_verdicts
from benchmarks.viewer import Viewer
from dashboard.interval_bars import IntervalBar, interval_bar, reach

LONGEST_ID = 18


@dataclass(frozen=True)
class CellCard:
    """A cell against its baseline, with the bar of its interval and its flags."""

    row: ComparisonRow
    system: System
    baseline: System | None
    bar: IntervalBar | None
    flags: tuple[Flag, ...]


def cell_card(viewer: Viewer, campaign: Campaign, query: Mapping[str, str]) -> CellCard:
    """Return the card of a campaign's cell, against native or a chosen system."""
    cell_id = _number(query.get("cell", ""))
    systems = System.objects.select_related("host")
    system = systems.filter(cells__pk=cell_id, cells__campaign=campaign).first()
    if system is None:
        raise Http404("There is no such cell.")
    chosen = systems.filter(
        cells__campaign=campaign, pk=_number(query.get("baseline", "-1"))
    ).first()
    verdicts = campaign_verdicts(campaign, chosen)
    (row,) = comparison_rows(
        campaign,
        systems=[system],
        filters={"pk": cell_id},
        reference=Reference.of(campaign, chosen) if chosen else None,
        verdicts=verdicts,
    )
    band = campaign.band_percent / 100
    said = row.judgement if row.ratio is not None else None
    doubted = [cell_id] if chosen else [cell_id, *_baseline_cells(cell_id)]
    return CellCard(
        row=row,
        system=system,
        baseline=chosen or systems.filter(pk=row.baseline_system_id or -1).first(),
        bar=interval_bar(said, band, reach([said], band)) if said else None,
        flags=tuple(visible_flags(viewer, cells__in=doubted).distinct()),
    )


def _baseline_cells(cell_id: int) -> list[int]:
    found = Efficiency.objects.filter(cell=cell_id, baseline__isnull=False)
    return list(found.values_list("baseline_id", flat=True))


def _number(text: str) -> int:
    """Return an id; -1, which nothing has, for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST_ID
    return int(text) if is_number else -1
