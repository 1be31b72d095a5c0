"""What the compare page shows for a choice: the table, its columns' tools, a chart."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.table import (
    Column,
    ComparisonTable,
    Fact,
    HeadLevel,
    medians,
)
from benchmarks.comparing.verdicts import VerdictMark, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows
from dashboard import wording
from dashboard.charts.chart import Chart
from dashboard.charts.dots import Dot, Series, dot_plot, short_labels
from dashboard.kit import figures
from dashboard.kit.addresses import address
from dashboard.kit.judged_tables import table_of
from dashboard.kit.selections import ENERGY, NATIVE, Chooser, pin_toggled, searched
from dashboard.kit.table_cells import sentence
from dashboard.wording import verdicts
from dashboard.wording.comparability import LightWords, light_words
from dashboard.wording.verdicts import (
    OVERHEAD,
    VALUE,
    written_interval,
    written_ratio,
)

DRAWN_CELLS = 2_000
RELATIVE = {"relative", "reference"}
"""States of cells whose 1 is a system that was chosen, not the native machine."""
UNPAIRED = {"missing", "other_parameters", "unit_mismatch"}
"""States of cells that have nothing to be compared with."""


@dataclass(frozen=True)
class ColumnTool:
    """Something to do with a column, and the address of the page after it."""

    label: str
    title: str
    address: str
    is_done: bool


@dataclass(frozen=True)
class ColumnTools:
    """What can be done with one column."""

    tools: tuple[ColumnTool, ...]
    is_edge: bool


@dataclass(frozen=True)
class ColumnMedian:
    """The median of a column's ratios, and of how many; empty where there is none."""

    text: str
    n: int
    is_edge: bool


@dataclass(frozen=True)
class ComparisonPage:
    """Everything of the page that depends on what was chosen."""

    chooser: Chooser
    reference: System | None
    table: ComparisonTable
    marks: Mapping[int, VerdictMark]
    """What may be said of each cell, by the cell's id."""
    scopes: str
    """Of what the verdicts speak."""

    @property
    def tools(self) -> Iterator[ColumnTools]:
        """What can be done with each column; doing a thing again undoes it."""
        query, chosen = self.chooser.query, self.chooser.selection
        label, other_label = _("baseline"), _("compare")
        use, unuse = _("Use as baseline"), _("Compare with native again")
        pin, unpin = _("Compare directly"), _("Do not compare directly")
        for column in self.table.head.columns:
            key, name = str(column.system_id), wording.column_name(column)
            is_baseline, is_pinned = key == chosen.baseline, key in chosen.pins
            baseline = address(query, baseline=NATIVE if is_baseline else key)
            pinned = address(query, pin=pin_toggled(chosen.pins, key))
            title = f"{unuse if is_baseline else use}: {name}"
            other_title = f"{unpin if is_pinned else pin}: {name}"
            yield ColumnTools(
                (
                    ColumnTool(label, title, baseline, is_baseline),
                    ColumnTool(other_label, other_title, pinned, is_pinned),
                ),
                is_edge=column.is_edge,
            )

    @property
    def medians(self) -> list[ColumnMedian]:
        """The median of what is shown of each column; empty where there is no ratio."""
        show, table = self.chooser.selection.show, self.table
        if not table.ratio_count or show == VALUE:
            return []
        found = medians(searched(table, self.chooser.selection.q).cells)
        write = figures.overhead if show == OVERHEAD else figures.ratio
        return [
            ColumnMedian(write(it.ratio), it.n, column.is_edge)
            if (it := found.get(column.system_id))
            else ColumnMedian("", 0, column.is_edge)
            for column in table.head.columns
        ]

    @property
    def in_common(self) -> list[str]:
        """What all cells have in common: runs, scenario, properties."""
        table, texts = self.table, []
        if table.runs:
            runs = ngettext("%(n)s run per result", "%(n)s runs per result", table.runs)
            texts.append(runs % {"n": table.runs})
        if table.scenario:
            scenario = wording.scenario_name(table.scenario)
            texts.append(_("Scenario %(scenario)s") % {"scenario": scenario})
        return [*texts, *map(wording.fact_text, table.head.constants)]

    @property
    def head_levels(self) -> tuple[HeadLevel, ...]:
        """The headings over the columns, from the uppermost down."""
        return (self.table.head.lead, *self.table.head.levels)

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
        is_nothing = not self.table.ratio_count and UNPAIRED & self.table.states.keys()
        return bool(is_nothing) and not self.is_energy

    @property
    def has_native(self) -> bool:
        """Whether a machine without a hypervisor is among what is shown."""
        return any(column.is_native for column in self.table.head.columns)

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
    def lights(self) -> tuple[LightWords, ...]:
        """How far the cells and what they are compared with may be compared."""
        rows = (row for group in self.table.groups for row in group.rows)
        return light_words(cell.shown for row in rows for cell in row.cells if cell)

    @property
    def _shown_marks(self) -> list[VerdictMark]:
        """What may be said of the cells that have a ratio."""
        rows = (row for group in self.table.groups for row in group.rows)
        cells = (cell for row in rows for cell in row.cells if _has_ratio(cell))
        return [self.marks[it.id] for it in cells if it and it.id in self.marks]

    @property
    def weak_count(self) -> int:
        """How many verdicts rest on an assumption about when runs were made."""
        return sum(
            mark.is_weak and mark.verdict in verdicts.SIGNS
            for mark in self._shown_marks
        )

    @property
    def strengths(self) -> str:
        """What hollow and faint marks of the chart mean, if it has any."""
        return verdicts.strength_notes({mark.strength for mark in self._shown_marks})

    @property
    def chart(self) -> Chart | None:
        """The chart without hover texts; None if there is too much to read."""
        if not 0 < self.table.ratio_count <= DRAWN_CELLS:
            return None
        table = searched(self.table, self.chooser.selection.q)
        return comparison_chart(
            table, is_energy=self.is_energy, is_told=False, marks=self.marks
        )

    @property
    def evidence_link(self) -> tuple[str, str]:
        """Where a cell's runs are shown: what stands before and after its id.

        Seen from the compare page: a whole address would be repeated in every cell.
        """
        query = self.chooser.cell_query(self.chooser.selection.baseline)
        return "../cells/", f"/{query}"


def comparison_page(study: Study, choice: Chooser) -> ComparisonPage:
    """Return the page for what was chosen."""
    system, chosen = choice.baseline, choice.selection
    is_energy = chosen.show == ENERGY
    judged = None if is_energy else study_verdicts(study, system)
    # Not judged in words, a sentence a cell: the table shows signs, cards the rest.
    rows = comparison_rows(
        study,
        systems=choice.facets.systems,
        filters=chosen.filters(),
        reference=Reference.of(study, system) if system else None,
        told=judged.ratios() if judged else None,
    )
    if is_energy:
        # The signs below the table are those of speeds: these stand in their cards.
        rows = energy_rows(rows, cell_energies(study, system))
    if judged:
        marks = judged.marks()
    else:
        told = {row.id: it for row in rows if (it := row.shown.judgement)}
        marks = {pk: _drawn_alone(it) for pk, it in told.items()}
    table = table_of(rows, chosen, marks)
    # Of the cells that are shown.
    if judged:
        scopes = judged.scopes(cell.id for cell in table.cells)
    else:
        scopes = verdicts.judged_scopes(cell.shown.judgement for cell in table.cells)
    return ComparisonPage(
        chooser=choice,
        reference=system or study.reference_system,
        table=table,
        marks=marks,
        scopes=verdicts.scopes_text(scopes),
    )


def _drawn_alone(judgement: Judgement) -> VerdictMark:
    """Return how an energy is drawn: the table's signs are those of speeds."""
    return VerdictMark("", is_flagged=False, strength=judgement.strength)


def comparison_chart(
    table: ComparisonTable,
    *,
    is_energy: bool,
    is_told: bool = True,
    marks: Mapping[int, VerdictMark] | None = None,
) -> Chart | None:
    """Return the table's ratios as dots; None if it has none, or too many to read.

    ``is_told``: each dot has the sentence that hovering tells. ``marks`` say of cells
    that are not judged in words how they are drawn.
    """
    if table.ratio_count > DRAWN_CELLS:
        return None
    columns = table.head.columns
    rows = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(map(_has_ratio, row.cells))
    ]

    # As many properties, beside the platform, as it takes to see two colours.
    drawn = [
        column
        for place, column in enumerate(columns)
        if any(_has_ratio(row.cells[place]) for _group, row in rows)
    ]
    most = len(drawn[0].facts) if drawn else 0
    depths = (
        depth
        for depth in range(most)
        if len({_colour_group(column, depth) for column in drawn}) > 1
    )
    depth = next(depths, most)
    series = [
        Series(
            ", ".join(_brief(column.facts[depth:])) or _colour_group(column, depth),
            _colour_group(column, depth),
        )
        for column in columns
    ]

    names = [wording.column_name(column) for column in columns]
    dots = [
        Dot(
            line,
            place,
            ratio,
            names[place],
            sentence(cell) if is_told else "",
            _strength(cell, marks or {}),
            written_interval(cell),
        )
        for line, (_group, row) in enumerate(rows)
        for place, cell in enumerate(row.cells)
        if cell is not None and _has_ratio(cell)
        if (ratio := written_ratio(cell)) is not None
    ]
    labels = short_labels(
        [
            [
                f"{group.tool}: {row.label}" if group.tool else row.label,
                *map(wording.fact_text, row.facts),
            ]
            for group, row in rows
        ]
    )
    title = _axis_title(bool(RELATIVE & table.states.keys()), is_energy)
    if "slowdown" in table.states and not is_energy:
        title = _("Ratio, 1 = one VM alone, of a sum one machine alone (log scale)")
    return dot_plot(labels, series, dots, axis_title=title)


def _axis_title(is_relative: bool, is_energy: bool) -> str:
    """Return what 1 stands for: a study without native runs has a reference."""
    if is_energy and is_relative:
        return _("Energy for the same work, 1 = the reference system (log scale)")
    if is_energy:
        return _("Energy for the same work, 1 = the baseline (log scale)")
    if is_relative:
        return _("Ratio to the reference system, 1 = as fast (log scale)")
    return _("Ratio to the baseline, 1 = as fast (log scale)")


def _strength(cell: ComparisonRow, marks: Mapping[int, VerdictMark]) -> str:
    if cell.shown.judgement:
        return cell.shown.judgement.strength
    return marks[cell.id].strength if cell.id in marks else ""


def _has_ratio(cell: ComparisonRow | None) -> bool:
    # What is not comparable is no mark beside others.
    if cell is None or cell.shown.light == "red":
        return False
    return cell.shown.ratio is not None


def _colour_group(column: Column, depth: int) -> str:
    return ", ".join([column.platform, *_brief(column.facts[:depth])])


def _brief(facts: Iterable[Fact]) -> list[str]:
    return [wording.fact_in_brief(fact) for fact in facts if fact.value]
