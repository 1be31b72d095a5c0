"""Factor effects of a study: its systems' responses and their analysis."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from benchmarks.analysis.factor_effects.effects import (
    FactorAnalysis,
    InteractionMeans,
    estimate_factor_effects,
    interaction_means,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
    log_m2,
)
from benchmarks.comparison.comparison_row import ComparisonRow, State
from benchmarks.comparison.comparison_table import (
    OPTIONS,
    PROPERTIES,
    Fact,
    comparison_table,
    rank_by_order,
)
from benchmarks.comparison.row_queries import StudyFacets, comparison_rows, study_facets
from benchmarks.comparison.study_verdicts import primary_cases_of_rows
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Cell, CellSession, Study
from benchmarks.viewer import Viewer

Response = Literal["relative_performance", "value"]
ExclusionCode = Literal["no_ratio", "not_positive", "implausible", "no_speed"]
RESPONSES: tuple[Response, ...] = ("relative_performance", "value")
DIRECTIONS = ("higher", "lower")
VARIANCE_FIELDS = ("m2", "efficiency__baseline_id", "efficiency__baseline__m2")
SESSION_FIELDS = ("own_sessions", "baseline_sessions")
MAX_EFFICIENCY = 100.0
"""Larger ratios, and those below its reciprocal, are taken for unit errors."""


@dataclass(frozen=True)
class RowWithScatter:
    row: ComparisonRow
    m2: float | None
    baseline_id: int | None
    baseline_m2: float | None
    sessions: frozenset[int | None] = frozenset()
    baseline_sessions: frozenset[int | None] = frozenset()


@dataclass(frozen=True)
class CaseResponses:
    observations: Mapping[int, Observation]
    excluded: Mapping[ExclusionCode, int]
    are_sessions_different: bool = False


@dataclass(frozen=True)
class CaseSubject:
    case_id: int
    case: str
    tool: str
    unit: str
    better: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ResponseAnalysis:
    """The effects on one case, or on the mean of a component's cases."""

    component: str
    subjects: tuple[CaseSubject, ...]
    observations: tuple[Observation, ...]
    excluded: Mapping[ExclusionCode, int]
    are_sessions_different: bool = False

    @cached_property
    def effects(self) -> FactorAnalysis:
        return estimate_factor_effects(
            self.observations, are_sessions_different=self.are_sessions_different
        )

    @cached_property
    def interaction_means(self) -> tuple[InteractionMeans, ...]:
        return interaction_means(self.effects, self.observations)


@dataclass(frozen=True)
class ComponentAnalysis:
    component: str
    overall: ResponseAnalysis | None
    per_case: tuple[ResponseAnalysis, ...]


@dataclass(frozen=True)
class StudyFactorEffects:
    study: Study
    scenario: str
    response: Response
    facets: StudyFacets
    components: tuple[ComponentAnalysis, ...]


def study_factor_effects(
    viewer: Viewer,
    study: Study,
    *,
    scenario: str = "",
    component: str = "",
    response: Response | None = None,
) -> StudyFactorEffects:
    """Analyze the systems of a study, in five queries.

    Native machines are included only if no guest was measured.
    """
    facets = study_facets(study)
    chosen_scenario = scenario or next(iter(facets.scenarios), "")
    filters = {"scenario": chosen_scenario}
    if component:
        filters["case__component"] = component
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0, **filters)
    dated = cells.annotate(
        own_sessions=_sessions_of("pk"),
        baseline_sessions=_sessions_of("efficiency__baseline_id"),
    )
    scatter_by_cell = {
        pk: values
        for pk, *values in dated.values_list("pk", *VARIANCE_FIELDS, *SESSION_FIELDS)
    }
    measured = []
    for row in comparison_rows(study, systems=facets.systems, filters=filters):
        # `comparison_rows` does not check access; `cells` does.
        if row.id in scatter_by_cell:
            m2, baseline_id, baseline_m2, own_sessions, baseline_sessions = (
                scatter_by_cell[row.id]
            )
            scatter = m2, baseline_id, baseline_m2
            measured.append(
                RowWithScatter(
                    row, *scatter, frozenset(own_sessions), frozenset(baseline_sessions)
                )
            )
    guests = [cell for cell in measured if cell.row.system.hypervisor != NATIVE]
    measured = guests or measured

    has_efficiency = any(
        cell.row.result.ratio_kind == "efficiency" for cell in measured
    )
    chosen_response = response or (
        "relative_performance" if has_efficiency else "value"
    )
    return StudyFactorEffects(
        study=study,
        scenario=chosen_scenario,
        response=chosen_response,
        facets=facets,
        components=tuple(_components(measured, chosen_response)),
    )


def _sessions_of(cell: str) -> ArraySubquery:
    sessions = CellSession.objects.filter(cell_id=OuterRef(cell))
    return ArraySubquery(sessions.values("session_id"))


def _components(
    measured: Sequence[RowWithScatter], response: Response
) -> Iterator[ComponentAnalysis]:
    by_id = {cell.row.id: cell for cell in measured}
    table = comparison_table([cell.row for cell in measured])
    # Metrics that follow from others are not independent of them.
    primary = primary_cases_of_rows((cell.row for cell in measured), with_tails=False)
    for component, groups in groupby(table.groups, key=lambda group: group.component):
        cases = []
        for row in (row for group in groups for row in group.rows):
            cells = [cell for cell in row.cells if cell is not None]
            first = cells[0]
            subject = CaseSubject(
                case_id=first.case.id,
                case=first.case.label,
                tool=first.tool_title,
                unit=first.result.unit,
                better=first.result.better,
                facts=row.facts,
            )
            responses = case_responses([by_id[cell.id] for cell in cells], response)
            cases.append((subject, responses))
        yield ComponentAnalysis(
            component=component,
            overall=_component_analysis(
                component, [case for case in cases if case[0].case_id in primary]
            ),
            per_case=tuple(
                ResponseAnalysis(
                    component,
                    (subject,),
                    tuple(responses.observations.values()),
                    responses.excluded,
                    responses.are_sessions_different,
                )
                for subject, responses in cases
            ),
        )


def _component_analysis(
    component: str, cases: Sequence[tuple[CaseSubject, CaseResponses]]
) -> ResponseAnalysis | None:
    directed = [case for case in cases if case[0].better in DIRECTIONS]
    indices = complete_cases([responses for _, responses in directed])
    if not indices:
        return None
    excluded: Counter[ExclusionCode] = Counter()
    for _, responses in cases:
        excluded.update(responses.excluded)
    return ResponseAnalysis(
        component,
        tuple(directed[index][0] for index in indices),
        mean_responses([directed[index][1] for index in indices]),
        dict(excluded),
        any(directed[index][1].are_sessions_different for index in indices),
    )


def case_responses(
    cells: Iterable[RowWithScatter], response: Response
) -> CaseResponses:
    cells = list(cells)
    names = {name for cell in cells for name in cell.row.system.options}
    options = sorted(names, key=lambda name: rank_by_order(OPTIONS, name))
    observations: dict[int, Observation] = {}
    excluded: Counter[ExclusionCode] = Counter()
    compared = []
    for cell in cells:
        outcome = _observation(cell, response, options)
        if isinstance(outcome, Observation):
            observations[cell.row.system.id] = outcome
            compared.append(cell)
        else:
            excluded[outcome] += 1
    return CaseResponses(
        observations, dict(excluded), _are_sessions_different(compared, response)
    )


def _are_sessions_different(
    cells: Sequence[RowWithScatter], response: Response
) -> bool:
    if response == "relative_performance":
        return any(cell.sessions.isdisjoint(cell.baseline_sessions) for cell in cells)
    return bool(cells) and not frozenset.intersection(
        *(cell.sessions for cell in cells)
    )


def complete_cases(cases: Sequence[CaseResponses]) -> tuple[int, ...]:
    """Return the indices of the cases that include all systems of the case with the
    most systems.
    """
    sets = Counter(frozenset(case.observations) for case in cases if case.observations)
    if not sets:
        return ()
    systems = max(
        sets, key=lambda systems: (len(systems), sets[systems], sorted(systems))
    )
    return tuple(
        index for index, case in enumerate(cases) if case.observations.keys() >= systems
    )


def mean_responses(cases: Sequence[CaseResponses]) -> tuple[Observation, ...]:
    """Return the mean response of each system that has all cases.

    The errors of the cases count as independent.
    """
    means = []
    for system in sorted(set.intersection(*(set(case.observations) for case in cases))):
        observations = [case.observations[system] for case in cases]
        baselines = tuple(observation.baseline_id for observation in observations)
        mean = replace(
            observations[0],
            log_response=math.fsum(
                observation.log_response for observation in observations
            )
            / len(observations),
            scatter=_mean_scatter(
                [observation.scatter for observation in observations]
            ),
            baseline_id=None if None in baselines else baselines,
            baseline_scatter=_mean_scatter(
                [observation.baseline_scatter for observation in observations]
            ),
        )
        means.append(mean)
    return tuple(means)


def parameter_levels(row: ComparisonRow, options: Sequence[str]) -> dict[str, str]:
    """Return all parameters of a system in a fixed order, empty if not reported."""
    host, *others = PROPERTIES
    names = (host, "hypervisor", "hypervisor_version", *others)
    stated = {name: getattr(row.system, name) for name in names}
    stated |= {name: row.system.options.get(name) for name in options}
    return {name: "" if value is None else str(value) for name, value in stated.items()}


def _observation(
    cell: RowWithScatter, response: Response, options: Sequence[str]
) -> Observation | ExclusionCode:
    row = cell.row
    if row.result.state == State.NO_SPEED:
        return "no_speed"
    levels = parameter_levels(row, options)
    if row.result.value is None or row.result.value <= 0:
        return "not_positive"
    own = _scatter(row.result.n, cell.m2, row.result.value)
    if response == "value":
        sign = -1 if row.result.better == "lower" else 1
        return Observation(levels, sign * math.log(row.result.value), own)
    ratio = row.result.ratio if row.result.ratio_kind == "efficiency" else None
    if ratio is None or not row.result.baseline_value:
        return "no_ratio"
    if not 1 / MAX_EFFICIENCY < ratio < MAX_EFFICIENCY:
        return "implausible"
    return Observation(
        levels,
        math.log(ratio),
        own,
        cell.baseline_id,
        _scatter(
            row.result.baseline_n or 1, cell.baseline_m2, row.result.baseline_value
        ),
    )


def _scatter(n: int, m2: float | None, mean: float) -> RunScatter:
    """Without a known deviation, return the scatter of one run."""
    return RunScatter(1) if m2 is None else RunScatter(n, log_m2(m2, mean))


def _mean_scatter(scatters: Sequence[RunScatter]) -> RunScatter:
    n = min(scatter.n for scatter in scatters)
    if n < 2:
        return RunScatter(n)
    variances = math.fsum(scatter.log_m2 / (scatter.n - 1) for scatter in scatters)
    # m2 / (n - 1) is the variance of the mean of K cases.
    return RunScatter(n, (n - 1) * variances / len(scatters) ** 2)
