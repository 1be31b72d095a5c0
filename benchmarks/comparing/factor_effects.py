"""Which parameters moved a study's efficiencies, per component and per case."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from benchmarks.analysis.factor_effects.design import Observation
from benchmarks.analysis.factor_effects.effects import (
    FactorEffects,
    Means,
    factor_effects,
    pictures,
)
from benchmarks.comparing.columns import Fact
from benchmarks.comparing.facets import Facets, facets
from benchmarks.comparing.factor_responses import (
    Measured,
    Reason,
    Response,
    Responses,
    averaged,
    complete,
    responses_of,
)
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.table import CaseGroup, comparison_table
from benchmarks.models import Cell, Study, System
from benchmarks.models.study import NATIVE
from benchmarks.viewer import Viewer

DIRECTED = ("higher", "lower")
SCATTER = ("m2", "efficiency__baseline_id", "efficiency__baseline__m2")


@dataclass(frozen=True)
class Subject:
    """A case in its circumstances; ``facts`` tell it from its neighbours."""

    case_id: int
    case: str
    tool: str
    unit: str
    better: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Analysis:
    """What moved one response: a case's, or the mean of a component's cases.

    ``subjects`` are the cases in it; ``left_out`` counts cells without a response. The
    analysis itself is done when somebody wants to see it.
    """

    component: str
    subjects: tuple[Subject, ...]
    observations: tuple[Observation, ...]
    left_out: Mapping[Reason, int]

    @cached_property
    def found(self) -> FactorEffects:
        return factor_effects(self.observations)

    @cached_property
    def pictures(self) -> tuple[Means, ...]:
        return pictures(self.found, self.observations)


@dataclass(frozen=True)
class ComponentEffects:
    """A component as a whole (None without any response), and its single cases."""

    component: str
    whole: Analysis | None
    cases: tuple[Analysis, ...]


@dataclass(frozen=True)
class StudyEffects:
    """The answer for one scenario of a study."""

    study: Study
    scenario: str
    response: Response
    facets: Facets
    components: tuple[ComponentEffects, ...]


def study_effects(
    viewer: Viewer,
    study: Study,
    *,
    scenario: str = "",
    component: str = "",
    response: Response | None = None,
) -> StudyEffects:
    """Analyse the systems of a study, in five queries.

    Without a scenario the study's first one is taken; without a response the
    efficiency where there is one, else the value. Native machines are what guests are
    set against: they belong to the design only where nothing else was measured.
    """
    menu = facets(study)
    chosen = scenario or next(iter(menu.scenarios), "")
    filters = {"scenario": chosen}
    if component:
        filters["case__component"] = component
    measured = _measured(viewer, study, filters, menu.systems)
    taken = response or _response(measured)
    return StudyEffects(
        study=study,
        scenario=chosen,
        response=taken,
        facets=menu,
        components=tuple(_components(measured, taken)),
    )


def _measured(
    viewer: Viewer,
    study: Study,
    filters: Mapping[str, Any],
    systems: Iterable[System],
) -> list[Measured]:
    """Return the cells with their scatter, from plain values, in three queries."""
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0, **filters)
    scatter = {pk: rest for pk, *rest in cells.values_list("pk", *SCATTER)}
    rows = comparison_rows(study, systems=systems, filters=filters)
    found = [_with_scatter(row, *scatter[row.id]) for row in rows if row.id in scatter]
    guests = [each for each in found if each.row.hypervisor != NATIVE]
    return guests or found


def _with_scatter(
    row: ComparisonRow,
    m2: float | None,
    baseline_id: int | None,
    baseline_m2: float | None,
) -> Measured:
    return Measured(
        row=row, m2=m2 or 0.0, baseline_id=baseline_id, baseline_m2=baseline_m2 or 0.0
    )


def _response(measured: Sequence[Measured]) -> Response:
    has_efficiency = any(each.row.efficiency is not None for each in measured)
    return "efficiency" if has_efficiency else "value"


def _components(
    measured: Sequence[Measured], response: Response
) -> Iterator[ComponentEffects]:
    by_id = {each.row.id: each for each in measured}
    table = comparison_table([each.row for each in measured])
    for component, groups in groupby(table.groups, key=lambda group: group.component):
        cases = [
            (subject, responses_of([by_id[row.id] for row in rows], response))
            for group in groups
            for subject, rows in _cases(group)
        ]
        yield ComponentEffects(
            component=component,
            whole=_whole(component, cases),
            cases=tuple(_single(component, *case) for case in cases),
        )


def _cases(group: CaseGroup) -> Iterator[tuple[Subject, list[ComparisonRow]]]:
    for row in group.rows:
        cells = [cell for cell in row.cells if cell is not None]
        first = cells[0]
        yield (
            Subject(
                case_id=first.case_id,
                case=first.case,
                tool=first.tool_title,
                unit=first.unit,
                better=first.better,
                facts=row.facts,
            ),
            cells,
        )


def _single(component: str, subject: Subject, responses: Responses) -> Analysis:
    observations = tuple(responses.observations.values())
    return Analysis(component, (subject,), observations, responses.left_out)


def _whole(
    component: str, cases: Sequence[tuple[Subject, Responses]]
) -> Analysis | None:
    directed = [case for case in cases if case[0].better in DIRECTED]
    taken = [directed[at] for at in complete([answers for _, answers in directed])]
    if not taken:
        return None
    left_out: Counter[Reason] = Counter()
    for _, answers in cases:
        left_out.update(answers.left_out)
    return Analysis(
        component,
        tuple(subject for subject, _ in taken),
        averaged([answers for _, answers in taken]),
        dict(left_out),
    )
