"""Which parameters moved a study's efficiencies, per component and per case."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from benchmarks.analysis.factor_effects.design import Observation, Side, log_m2
from benchmarks.analysis.factor_effects.effects import (
    FactorEffects,
    Means,
    factor_effects,
    pictures,
)
from benchmarks.comparing.row import ComparisonRow, State
from benchmarks.comparing.rows import Facets, comparison_rows, facets
from benchmarks.comparing.table import (
    OPTIONS,
    PROPERTIES,
    Fact,
    comparison_table,
    rank,
)
from benchmarks.comparing.verdicts import primary_rows
from benchmarks.models import Cell, CellSession, Study
from benchmarks.platforms import NATIVE
from benchmarks.viewer import Viewer

Response = Literal["efficiency", "value"]
LeftOut = Literal["no_ratio", "not_positive", "implausible", "no_speed"]
RESPONSES: tuple[Response, ...] = ("efficiency", "value")
DIRECTED = ("higher", "lower")
SCATTER = ("m2", "efficiency__baseline_id", "efficiency__baseline__m2")
SESSIONS = ("own_sessions", "baseline_sessions")
FARTHEST = 100.0
"""An efficiency farther from 1 is a slip of a unit, not a hypervisor's doing."""


@dataclass(frozen=True)
class MeasuredRow:
    """A cell and its baseline with squared deviations; session None: time unknown."""

    row: ComparisonRow
    m2: float
    baseline_id: int | None
    baseline_m2: float
    sessions: frozenset[int | None] = frozenset()
    baseline_sessions: frozenset[int | None] = frozenset()


@dataclass(frozen=True)
class Responses:
    """The responses of one case by system, and what was left out and why."""

    observations: Mapping[int, Observation]
    left_out: Mapping[LeftOut, int]
    are_days_apart: bool = False


@dataclass(frozen=True)
class CaseSubject:
    """A case in its circumstances; ``facts`` tell it from its neighbours."""

    case_id: int
    case: str
    tool: str
    unit: str
    better: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Analysis:
    """The effects on one response: of a case, or the mean of a component's cases."""

    component: str
    subjects: tuple[CaseSubject, ...]
    observations: tuple[Observation, ...]
    left_out: Mapping[LeftOut, int]
    are_days_apart: bool = False

    @cached_property
    def found(self) -> FactorEffects:
        return factor_effects(self.observations, are_days_apart=self.are_days_apart)

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

    The default scenario is the first one, the default response the efficiency if any.
    Native machines belong to the design only if nothing else was measured.
    """
    menu = facets(study)
    chosen = scenario or next(iter(menu.scenarios), "")
    filters = {"scenario": chosen}
    if component:
        filters["case__component"] = component
    cells = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0, **filters)
    dated = cells.annotate(
        own_sessions=_sessions_of("pk"),
        baseline_sessions=_sessions_of("efficiency__baseline_id"),
    )
    read = {pk: rest for pk, *rest in dated.values_list("pk", *SCATTER, *SESSIONS)}
    measured = []
    for row in comparison_rows(study, systems=menu.systems, filters=filters):
        # `comparison_rows` does not ask who is looking; `cells` does.
        if row.id in read:
            m2, baseline_id, baseline_m2, own, baselines = read[row.id]
            scatter = m2 or 0.0, baseline_id, baseline_m2 or 0.0
            measured.append(
                MeasuredRow(row, *scatter, frozenset(own), frozenset(baselines))
            )
    guests = [cell for cell in measured if cell.row.system.hypervisor != NATIVE]
    measured = guests or measured

    has_efficiency = any(cell.row.shown.kind == "efficiency" for cell in measured)
    taken = response or ("efficiency" if has_efficiency else "value")
    return StudyEffects(
        study=study,
        scenario=chosen,
        response=taken,
        facets=menu,
        components=tuple(_components(measured, taken)),
    )


def _sessions_of(cell: str) -> ArraySubquery:
    sessions = CellSession.objects.filter(cell_id=OuterRef(cell))
    return ArraySubquery(sessions.values("session_id"))


def _components(
    measured: Sequence[MeasuredRow], response: Response
) -> Iterator[ComponentEffects]:
    by_id = {cell.row.id: cell for cell in measured}
    table = comparison_table([cell.row for cell in measured])
    # One number of each test: what follows from another has no say of its own.
    primary = primary_rows(cell.row for cell in measured)
    for component, groups in groupby(table.groups, key=lambda group: group.component):
        cases = []
        for row in (row for group in groups for row in group.rows):
            cells = [cell for cell in row.cells if cell is not None]
            first = cells[0]
            subject = CaseSubject(
                case_id=first.case.id,
                case=first.case.label,
                tool=first.tool_title,
                unit=first.shown.unit,
                better=first.shown.better,
                facts=row.facts,
            )
            responses = responses_of([by_id[cell.id] for cell in cells], response)
            cases.append((subject, responses))
        yield ComponentEffects(
            component=component,
            whole=_whole(
                component, [case for case in cases if case[0].case_id in primary]
            ),
            cases=tuple(
                Analysis(
                    component,
                    (subject,),
                    tuple(responses.observations.values()),
                    responses.left_out,
                    responses.are_days_apart,
                )
                for subject, responses in cases
            ),
        )


def _whole(
    component: str, cases: Sequence[tuple[CaseSubject, Responses]]
) -> Analysis | None:
    directed = [case for case in cases if case[0].better in DIRECTED]
    places = complete([responses for _, responses in directed])
    if not places:
        return None
    left_out: Counter[LeftOut] = Counter()
    for _, responses in cases:
        left_out.update(responses.left_out)
    return Analysis(
        component,
        tuple(directed[place][0] for place in places),
        averaged([directed[place][1] for place in places]),
        dict(left_out),
        any(directed[place][1].are_days_apart for place in places),
    )


def responses_of(cells: Iterable[MeasuredRow], response: Response) -> Responses:
    cells = list(cells)
    names = {name for cell in cells for name in cell.row.system.options}
    options = sorted(names, key=lambda name: rank(OPTIONS, name))
    observations: dict[int, Observation] = {}
    left_out: Counter[LeftOut] = Counter()
    compared = []
    for cell in cells:
        answer = _observation(cell, response, options)
        if isinstance(answer, Observation):
            observations[cell.row.system.id] = answer
            compared.append(cell)
        else:
            left_out[answer] += 1
    return Responses(observations, dict(left_out), _are_days_apart(compared, response))


def _are_days_apart(cells: Sequence[MeasuredRow], response: Response) -> bool:
    """Return whether some sides of the comparison share no session."""
    if response == "efficiency":
        return any(cell.sessions.isdisjoint(cell.baseline_sessions) for cell in cells)
    return bool(cells) and not frozenset.intersection(
        *(cell.sessions for cell in cells)
    )


def complete(cases: Sequence[Responses]) -> tuple[int, ...]:
    """Return the cases that the same systems have: most systems first, then cases."""
    sets = Counter(frozenset(case.observations) for case in cases if case.observations)
    if not sets:
        return ()
    # The ids decide between equals: the order of the cases must not.
    systems = max(
        sets, key=lambda systems: (len(systems), sets[systems], sorted(systems))
    )
    return tuple(
        place for place, case in enumerate(cases) if case.observations.keys() >= systems
    )


def averaged(cases: Sequence[Responses]) -> tuple[Observation, ...]:
    """Average the logarithms of complete cases, their errors taken as independent."""
    means = []
    for system in sorted(set.intersection(*(set(case.observations) for case in cases))):
        same = [case.observations[system] for case in cases]
        baselines = tuple(answer.baseline for answer in same)
        mean = replace(
            same[0],
            log_response=math.fsum(answer.log_response for answer in same) / len(same),
            runs=_mean_side([answer.runs for answer in same]),
            # One whose native run is not known shares its error with nobody.
            baseline=None if None in baselines else baselines,
            baseline_runs=_mean_side([answer.baseline_runs for answer in same]),
        )
        means.append(mean)
    return tuple(means)


def levels_of(row: ComparisonRow, options: Sequence[str]) -> dict[str, str]:
    """Return every parameter of a system in one order, empty if not stated."""
    host, *others = PROPERTIES
    names = (host, "hypervisor", "hypervisor_version", *others)
    stated = {name: getattr(row.system, name) for name in names}
    stated |= {name: row.system.options.get(name) for name in options}
    return {name: "" if it is None else str(it) for name, it in stated.items()}


def _observation(
    cell: MeasuredRow, response: Response, options: Sequence[str]
) -> Observation | LeftOut:
    row = cell.row
    if row.shown.state == State.NO_SPEED:
        return "no_speed"
    levels = levels_of(row, options)
    if row.shown.value is None or row.shown.value <= 0:
        return "not_positive"
    own = Side(row.shown.n, log_m2(cell.m2, row.shown.value))
    if response == "value":
        sign = -1 if row.shown.better == "lower" else 1
        return Observation(levels, sign * math.log(row.shown.value), own)
    ratio = row.shown.ratio if row.shown.kind == "efficiency" else None
    if ratio is None or not row.shown.baseline_value:
        return "no_ratio"
    if not 1 / FARTHEST < ratio < FARTHEST:
        return "implausible"
    return Observation(
        levels,
        math.log(ratio),
        own,
        cell.baseline_id,
        Side(
            row.shown.baseline_n or 1,
            log_m2(cell.baseline_m2, row.shown.baseline_value),
        ),
    )


def _mean_side(sides: Sequence[Side]) -> Side:
    n = min(side.n for side in sides)
    if n < 2:
        return Side(n)
    variances = math.fsum(side.log_m2 / (side.n - 1) for side in sides)
    # So that m2 / (n - 1) is the variance of the mean: that of K cases, by K.
    return Side(n, (n - 1) * variances / len(sides) ** 2)
