"""Two systems against each other: their runs alone, without the native baseline."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.lights import hosts_beside, systems_compared
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow
from benchmarks.models import Study, System
from dashboard.kit import figures
from dashboard.kit.addresses import address
from dashboard.kit.judged_tables import judged_rows, table_of
from dashboard.kit.selections import ENERGY, Chooser, is_found
from dashboard.kit.table_cells import IntervalBar, interval_bar, reach
from dashboard.wording.comparability import ComparabilityWords, comparability_words
from dashboard.wording.verdicts import (
    OVERHEAD,
    drawn_judgement,
    ratio_range_text,
    ratio_text,
    shown_interval,
    strength_notes,
)

Reasons = tuple[str, ...]
# What so many rows say alike is not repeated in each.
OFTEN = 3


def stated_reasons(judgement: Judgement) -> Reasons:
    """Return what decided, or stands against a verdict, and what would help."""
    return tuple(filter(None, (*judgement.sentences, judgement.advice)))


@dataclass(frozen=True)
class DirectRow:
    """A case on both systems; ``one`` carries the ratio and its judgement."""

    row: CaseRow
    one: ComparisonRow | None
    other: ComparisonRow | None
    bar: IntervalBar | None
    judgement: Judgement | None
    """What may be said of the ratio, where there is one."""
    ratio: str
    ratio_range: str
    """The ratios of the extremes, where there is no single figure."""
    interval: str
    is_found: bool
    """Whether a search leaves it."""

    @property
    def sides(self) -> tuple[ComparisonRow | None, ComparisonRow | None]:
        """Both measured values."""
        return self.one, self.other

    @property
    def reasons(self) -> Reasons:
        """What stands behind the verdict."""
        return stated_reasons(self.judgement) if self.judgement else ()


@dataclass(frozen=True)
class DirectGroup:
    """The rows of one tool and component."""

    group: CaseGroup
    rows: tuple[DirectRow, ...]

    @property
    def is_found(self) -> bool:
        """Whether a search leaves any row of it."""
        return any(row.is_found for row in self.rows)


@dataclass(frozen=True)
class DirectPage:
    """``one`` / ``other``, case by case: of their speeds, or of their energies."""

    chooser: Chooser
    one: System
    other: System
    groups: tuple[DirectGroup, ...]
    verdicts: Mapping[str, int]
    """How many cases there are of each verdict."""
    tested: int
    equivalence_margin_percent: str
    comparability: ComparabilityWords
    """Whether the two differ in one studied thing, in several, or in more."""

    @property
    def rows(self) -> list[DirectRow]:
        return [row for group in self.groups for row in group.rows]

    @property
    def is_found(self) -> bool:
        """Whether a search leaves any row; with nothing to search, none is missed."""
        return not self.groups or any(group.is_found for group in self.groups)

    @property
    def has_intervals(self) -> bool:
        """Whether any ratio has an interval to draw."""
        return any(row.bar for row in self.rows)

    @property
    def strengths(self) -> str:
        """What hollow and faint bars mean, if there are any."""
        return strength_notes({row.bar.strength for row in self.rows if row.bar})

    @property
    def columns(self) -> int:
        """How many columns the table has beside that of the cases."""
        return 5 if self.has_intervals else 4

    @property
    def often(self) -> Reasons:
        """What keeps many cases from a verdict alike: told once, above the table."""
        judged = [row.judgement for row in self.rows if row.judgement]
        withheld = [judgement for judgement in judged if not judgement.is_assessed]
        counts = Counter(map(stated_reasons, withheld))
        often, count = next(iter(counts.most_common(1)), ((), 0))
        return often if count >= OFTEN else ()

    @property
    def unpinned(self) -> str:
        """The query of the whole table, to which this page then leads."""
        return address(self.chooser.query, pin="")

    @property
    def swapped(self) -> str:
        """The query of the same comparison the other way round."""
        return address(self.chooser.query, pin=f"{self.other.pk},{self.one.pk}")

    @property
    def cell_query(self) -> str:
        """What a cell's page has to know: the second is its baseline."""
        return self.chooser.cell_query(str(self.other.pk))

    @property
    def is_energy(self) -> bool:
        """Whether it is told how many joules the same work took."""
        return self.chooser.selection.show == ENERGY

    @property
    def is_overhead(self) -> bool:
        """Whether a ratio is written as what the first loses against the second."""
        return self.chooser.selection.show == OVERHEAD


def direct_page(study: Study, choice: Chooser) -> DirectPage:
    """Compare two systems by the runs of both; all else that was chosen counts too."""
    chosen, pinned = choice.selection, choice.pinned
    one, other = pinned
    rows, count = judged_rows(
        study,
        other,
        chosen.show,
        systems=pinned,
        filters={**chosen.filters(), "system_id__in": [one.pk, other.pk]},
    )
    hosts = None
    if one.host_id != other.host_id:
        hosts = hosts_beside(study, other.host_id).get(one.host_id)
    margin = study.equivalence_margin_percent / 100
    judged = [judgement for row in rows if (judgement := drawn_judgement(row))]
    # One axis for all rows, so that their bars can be compared.
    axis = reach(judged, margin)
    groups = tuple(
        DirectGroup(
            group,
            tuple(
                _row(group, row, choice, margin=margin, axis=axis) for row in group.rows
            ),
        )
        for group in table_of(rows, replace(chosen, only="", order=""), {}).groups
    )
    return DirectPage(
        choice,
        one,
        other,
        groups,
        dict(Counter(judgement.verdict for judgement in judged).most_common()),
        count,
        figures.number(study.equivalence_margin_percent),
        comparability_words(study, systems_compared(study, one, other, hosts)),
    )


def _row(
    group: CaseGroup, row: CaseRow, choice: Chooser, *, margin: float, axis: float
) -> DirectRow:
    # Rows that a search leaves out come along, hidden: the script gives them back.
    cells = {cell.system.id: cell for cell in row.cells if cell}
    one, other = (cells.get(system.pk) for system in choice.pinned)
    judgement = drawn_judgement(one) if one else None
    show = choice.selection.show
    return DirectRow(
        row,
        one,
        other,
        bar=interval_bar(judgement, margin, axis) if judgement else None,
        judgement=judgement,
        ratio=ratio_text(one, show) if one else "",
        ratio_range=ratio_range_text(one, show) if one else "",
        interval=shown_interval(one, show) if one else "",
        is_found=is_found(choice.selection.q, group, row),
    )
