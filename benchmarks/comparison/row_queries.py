"""Comparison rows of a study, loaded from the database."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from django.db.models import Case as Choice
from django.db.models import F, JSONField, Q, QuerySet, When

from benchmarks.analysis.assessment import CellAssessment, TableRatio
from benchmarks.comparison.comparison_row import (
    CIRCUMSTANCES,
    FAILED,
    BaselineComparison,
    CellFields,
    ComparisonRow,
    State,
    build_row,
    failed_comparison,
)
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.comparison.study_verdicts import StudyVerdicts
from benchmarks.comparison.system_comparability import (
    NO_COMPARABILITY,
    ComparabilityCache,
    ReferenceSystem,
    systems_by_id,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.database import ids_subquery
from benchmarks.models import Case, Cell, Study, System
from benchmarks.models.cell import SHOWN_CELLS, ratio_of_means
from benchmarks.models.run import SCENARIOS
from benchmarks.natural_sort import natural_sort_key
from benchmarks.parsing.tool import Better
from benchmarks.sentences import Sentence, join_sentences
from benchmarks.viewer import Viewer

# Shapes are large, so read only those without a single figure.
SHAPE_IF_NEEDED = Choice(
    When(~Q(shape_codes=""), then=F("shape")), default=None, output_field=JSONField()
)
EFFICIENCY_FIELDS = (
    *("state", "ratio", "baseline_mean", "baseline_n", "baseline__system", "reason"),
    "baseline__shape_codes",
)
"""In the order of `BaselineComparison`."""
NOT_COMPARED = BaselineComparison()
REFERENCE_KEY = ("case_id", *CIRCUMSTANCES)
"""The first fields of `CellFields`."""
REFERENCE_FIELDS = (*REFERENCE_KEY, "mean", "n", "shape_codes")
READ_FIELDS = (
    *CellFields._fields[:-1],
    "doubted_shape",
    *(f"efficiency__{name}" for name in EFFICIENCY_FIELDS),
)


@dataclass(frozen=True)
class ReferenceCells(ReferenceSystem):
    """A reference system and its cells: mean, number of runs and shape codes."""

    statistics: Mapping[tuple[Any, ...], tuple[float | None, int, str]]
    has_near_cases: bool = True

    @classmethod
    def load(
        cls, study: Study, system: System, *, other_study: Study | None = None
    ) -> "ReferenceCells":
        cells = Cell.objects.filter(study=study, system=system, n__gt=0)
        return cls(
            study,
            system,
            {tuple(row[:-3]): row[-3:] for row in cells.values_list(*REFERENCE_FIELDS)},
            other_study=None if other_study == study else other_study,
        )

    @classmethod
    def load_several(
        cls, study: Study, systems: Sequence[System]
    ) -> "dict[int, ReferenceCells]":
        """Return several references by id, in one query, without near cases."""
        cells = Cell.objects.filter(study=study, system__in=systems, n__gt=0)
        statistics: dict[int, dict[tuple[Any, ...], Any]] = defaultdict(dict)
        for pk, *row in cells.values_list("system_id", *REFERENCE_FIELDS):
            statistics[pk][tuple(row[:-3])] = row[-3:]
        hosts: dict[int, Any] = {}
        return {
            system.pk: cls(
                study,
                system,
                statistics[system.pk],
                host_cache=hosts,
                has_near_cases=False,
            )
            for system in systems
        }

    def compare(
        self,
        cell: CellFields,
        case: Case,
        host_id: int,
        stored_comparison: BaselineComparison,
    ) -> BaselineComparison:
        # `study_verdicts.REFERENCE_SQL` decides the same, in this order. Only SQL
        # detects stale baselines and other sessions.
        better = case.better
        if stored_comparison.state == FAILED:
            return stored_comparison
        if stored_comparison.state == State.NO_SPEED:
            return BaselineComparison(State.NO_SPEED, reason=stored_comparison.reason)
        if self.is_reference(cell.system_id):
            return BaselineComparison(State.REFERENCE)
        if better == "neither":
            return BaselineComparison(State.UNDIRECTED)
        key = cell[: len(REFERENCE_KEY)]
        if key not in self.statistics:
            near = self.has_near_cases and self.nearest_case(case, key[1:])
            if not near:
                no_match = Sentence("The reference system has no matching result.")
                return BaselineComparison(State.MISSING, reason=no_match)
            return BaselineComparison(near.kind, reason=near.sentence)
        mean, n, codes = self.statistics[key]
        ratio, reason = ratio_of_means(cell.mean, mean, cast(Better, better))
        pk, state = self.system.pk, State.AGAINST_REFERENCE
        hosts = self.hosts.get(host_id)
        if hosts is not None and not hosts.is_alike:
            state, reason = State.OTHER_HOST, join_sentences([reason, hosts.sentence])
            if self.is_host_incomparable(host_id):
                ratio = None
        return BaselineComparison(state, ratio, mean, n, pk, reason, codes)


class AnnotatedCell(Protocol):
    baseline_system_id: int | None
    baseline_shape_codes: str | None


@dataclass(frozen=True)
class StudyFacets:
    scenarios: tuple[str, ...]
    components: tuple[str, ...]
    tools: tuple[tuple[str, str], ...]
    guest_oses: tuple[str, ...]
    guest_bits: tuple[int, ...]
    systems: tuple[System, ...]


CELL_FIELD_COUNT = len(CellFields._fields)


def split_columns(values: Sequence[Any]) -> tuple[CellFields, BaselineComparison]:
    """Split values of `READ_FIELDS` into the fields of a cell and its stored
    comparison.
    """
    cell = CellFields._make(values[:CELL_FIELD_COUNT])
    if not cell.n:
        return cell, failed_comparison(cell)
    state, *stored, baseline_codes = values[CELL_FIELD_COUNT:]
    if not state:
        return cell, NOT_COMPARED
    return cell, BaselineComparison._make([state, *stored, baseline_codes or ""])


def comparison_rows(
    study: Study,
    *,
    systems: Iterable[System],
    filters: Mapping[str, Any],
    reference: ReferenceCells | None = None,
    verdicts: StudyVerdicts | None = None,
    table_ratios: Mapping[int, TableRatio] | None = None,
    includes_failed: bool = False,
) -> list[ComparisonRow]:
    """Return a study's cells of these systems as rows.

    With ``includes_failed``, also return cells whose runs all failed, without a value.
    With ``verdicts``, rows have assessments. ``table_ratios``, by cell id, are for
    tables without assessments.
    """
    shown = SHOWN_CELLS if includes_failed else Q(n__gt=0)
    measured, cases = measured_cells(study, shown, **filters)
    by_id = {system.pk: system for system in systems}
    # A baseline may be a system of another study.
    baseline_ids = (
        {reference.system.pk}
        if reference
        else {comparison.baseline_system_id for _, comparison in measured}
    )
    all_systems = systems_by_id(by_id.values(), baseline_ids)
    comparability = ComparabilityCache(study, all_systems, reference)
    ratios = table_ratios or {}
    rows = []
    for cell, comparison in measured:
        system = by_id.get(cell.system_id)
        if system is None:
            continue  # stored after these systems were read
        case = cases[cell.case_id]
        if reference is not None:
            comparison = reference.compare(cell, case, system.host_id, comparison)
        rows.append(
            build_row(
                cell,
                study,
                case,
                system,
                comparison,
                verdicts.assessment(cell.pk) if verdicts else None,
                comparability.level(cell.system_id, comparison),
                ratios.get(cell.pk),
            )
        )
    return rows


def measured_cells(
    study: Study, *conditions: Q, **filters: Any
) -> tuple[list[tuple[CellFields, BaselineComparison]], dict[int, Case]]:
    """Return cells with their stored comparisons, and their cases by id."""
    cells = Cell.objects.filter(*conditions, study=study, **filters).order_by("pk")
    annotated = cells.annotate(doubted_shape=SHAPE_IF_NEEDED)
    measured = [split_columns(values) for values in annotated.values_list(*READ_FIELDS)]
    return measured, cases_by_id({cell.case_id for cell, _ in measured})


def cases_by_id(ids: Iterable[int]) -> dict[int, Case]:
    return {case.pk: case for case in Case.objects.filter(pk__in=ids_subquery(ids))}


def compared_cells(
    viewer: Viewer,
    *,
    study: Study | None = None,
    filters: Mapping[str, Any] | None = None,
) -> QuerySet[Cell]:
    """Return visible cells with everything that a row needs, in five queries."""
    cells = Cell.objects.visible_to(viewer).filter(SHOWN_CELLS, **(filters or {}))
    if study is not None:
        cells = cells.filter(study=study)
    return (
        cells.select_related("efficiency")
        .annotate(
            baseline_system_id=F("efficiency__baseline__system_id"),
            baseline_shape_codes=F("efficiency__baseline__shape_codes"),
        )
        .prefetch_related("case", "system__host", "study")
        .order_by("pk")
    )


def comparison_row(
    cell: Cell,
    reference: ReferenceCells | None = None,
    assessment: CellAssessment | None = None,
    comparability: ComparabilityCache | None = None,
) -> ComparisonRow:
    fields = CellFields._make(getattr(cell, name) for name in CellFields._fields)
    comparison = NOT_COMPARED
    stored = getattr(cell, "efficiency", None)
    if not cell.n:
        comparison = failed_comparison(fields)
    elif stored is not None:
        annotated = cast(AnnotatedCell, cell)
        comparison = BaselineComparison(
            state=stored.state,
            ratio=stored.ratio,
            baseline_value=stored.baseline_mean,
            baseline_n=stored.baseline_n,
            baseline_system_id=annotated.baseline_system_id,
            reason=stored.reason,
            baseline_shape_codes=annotated.baseline_shape_codes or "",
        )
    if reference is not None:
        comparison = reference.compare(
            fields, cell.case, cell.system.host_id, comparison
        )
    level = (
        comparability.level(cell.system_id, comparison)
        if comparability
        else NO_COMPARABILITY
    )
    return build_row(
        fields, cell.study, cell.case, cell.system, comparison, assessment, level
    )


def study_facets(study: Study) -> StudyFacets:
    cells = Cell.objects.filter(SHOWN_CELLS, study=study).order_by()
    names = ("scenario", "case__component", "case__tool", "system")
    rows = list(cells.values_list(*names).distinct())
    scenarios, components, slugs, ids = (
        {row[column] for row in rows} for column in range(len(names))
    )
    systems = sorted(
        System.objects.filter(pk__in=ids).select_related("host"),
        key=lambda system: (
            not system.is_native,
            natural_sort_key(system.label),
            system.pk,
        ),
    )
    return StudyFacets(
        scenarios=tuple(
            sorted(scenarios, key=lambda name: rank_by_order(SCENARIOS, name))
        ),
        components=tuple(
            sorted(components, key=lambda name: rank_by_order(COMPONENTS, name))
        ),
        tools=tuple((slug, require_tool(slug).title) for slug in sorted(slugs)),
        guest_oses=tuple(sorted({system.guest_os for system in systems} - {""})),
        guest_bits=tuple(
            sorted({system.guest_bits for system in systems if system.guest_bits})
        ),
        systems=tuple(systems),
    )
