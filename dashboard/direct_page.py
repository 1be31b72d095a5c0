"""Two systems against each other: their runs alone, without the native baseline."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.analysis.judgement import Judgement
from benchmarks.models import Campaign, System
from benchmarks.selectors.comparison_rows import comparison_rows
from benchmarks.selectors.comparison_table import CaseGroup, CaseRow, comparison_table
from benchmarks.selectors.comparisons import ComparisonRow, Reference
from benchmarks.selectors.verdicts import campaign_verdicts
from dashboard import figures
from dashboard.interval_bars import IntervalBar, interval_bar, reach


@dataclass(frozen=True)
class DirectRow:
    """A case on both systems; ``one`` carries the ratio and its judgement."""

    row: CaseRow
    one: ComparisonRow | None
    other: ComparisonRow | None
    bar: IntervalBar | None

    @property
    def judgement(self) -> Judgement | None:
        """What may be said of the ratio, where there is one."""
        has_ratio = self.one is not None and self.one.ratio is not None
        return self.one.judgement if self.one and has_ratio else None


@dataclass(frozen=True)
class DirectGroup:
    """The rows of one tool and component."""

    group: CaseGroup
    rows: tuple[DirectRow, ...]


@dataclass(frozen=True)
class DirectPage:
    """``one`` / ``other``, case by case."""

    one: System
    other: System
    groups: tuple[DirectGroup, ...]
    verdicts: Mapping[str, int]
    """How many cases there are of each verdict."""
    tested: int
    band_percent: str


def direct_page(
    campaign: Campaign, filters: Mapping[str, Any], pinned: tuple[System, ...]
) -> DirectPage:
    """Compare two systems by the runs of both; all else that was chosen counts too."""
    one, other = pinned
    verdicts = campaign_verdicts(campaign, other)
    rows = comparison_rows(
        campaign,
        systems=pinned,
        filters={**filters, "system_id__in": [one.pk, other.pk]},
        reference=Reference.of(campaign, other),
        verdicts=verdicts,
    )
    band = campaign.band_percent / 100
    judged = [each.judgement for each in rows if each.judgement and each.ratio]
    table, axis = comparison_table(rows), reach(judged, band)
    groups = tuple(
        DirectGroup(
            group, tuple(_row(row, one.pk, other.pk, band, axis) for row in group.rows)
        )
        for group in table.groups
    )
    found = dict(Counter(each.verdict for each in judged).most_common())
    return DirectPage(
        one,
        other,
        groups,
        found,
        verdicts.tested,
        figures.number(campaign.band_percent),
    )


def _row(row: CaseRow, one: int, other: int, band: float, axis: float) -> DirectRow:
    cells = {cell.system_id: cell for cell in row.cells if cell}
    first = cells.get(one)
    said = first.judgement if first and first.ratio else None
    bar = interval_bar(said, band, axis) if said else None
    return DirectRow(row, first, cells.get(other), bar)
