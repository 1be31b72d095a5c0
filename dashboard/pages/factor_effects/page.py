"""What the page shows for one choice: answers, effects, charts, design."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from benchmarks.comparing.factor_effects import (
    RESPONSES,
    Analysis,
    ComponentEffects,
    Response,
    StudyEffects,
    Subject,
    study_effects,
)
from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.factor_effects import Detail, detail
from dashboard.kit.addresses import MOST_CHIPS, Chip, ChipRow, unmet
from dashboard.wording.factor_effects import statements, subject_name

PARAMETERS = ("scenario", "response", "component", "case")


@dataclass(frozen=True)
class Answer:
    """What moved a component, in a few lines."""

    component: str
    query: str
    is_chosen: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class EffectsPage:
    """Everything of the page that depends on what was chosen."""

    answers: tuple[Answer, ...]
    rows: tuple[ChipRow, ...]
    cases: ChipRow | None
    title: str
    detail: Detail | None
    is_value: bool
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def effects_page(viewer: Viewer, study: Study, query: Mapping[str, str]) -> EffectsPage:
    """Return the page for the choice that a URL's query names."""
    asked = query.get("response", "")
    response: Response | None = next((it for it in RESPONSES if it == asked), None)
    found = study_effects(
        viewer, study, scenario=query.get("scenario", ""), response=response
    )
    component = _component(found, query.get("component", ""))
    analysis = _analysis(component, query.get("case", ""))
    return EffectsPage(
        answers=tuple(_answer(each, component, query) for each in found.components),
        rows=_rows(found, query),
        cases=_cases(component, analysis, query) if component else None,
        title=_title(component, analysis),
        detail=detail(analysis, found.response) if analysis else None,
        is_value=found.response == "value",
        unmet=unmet(query, _found(response, component, analysis)),
    )


def _found(
    response: Response | None,
    component: ComponentEffects | None,
    analysis: Analysis | None,
) -> dict[str, object]:
    """Return what the parts of a query came to; nothing at all is said elsewhere."""
    if component is None:
        return {}
    case = analysis and analysis.subjects and case_key(analysis.subjects[0])
    return {"response": response, "component": component.component, "case": case}


def case_key(subject: Subject) -> str:
    """Return what names a case in its circumstances in a URL."""
    return "|".join([str(subject.case_id), *(fact.value for fact in subject.facts)])


def _component(found: StudyEffects, asked: str) -> ComponentEffects | None:
    """Return the component asked for, else the first one that something moved."""
    named = [each for each in found.components if each.component == asked]
    moved = [
        each for each in found.components if each.whole and each.whole.found.clear_terms
    ]
    return next(iter([*named, *moved, *found.components]), None)


def _analysis(component: ComponentEffects | None, asked: str) -> Analysis | None:
    if component is None:
        return None
    for case in component.cases:
        if asked and case_key(case.subjects[0]) == asked:
            return case
    return component.whole or next(iter(component.cases), None)


def _answer(
    each: ComponentEffects,
    chosen: ComponentEffects | None,
    query: Mapping[str, str],
) -> Answer:
    nothing = _("No cell here has an efficiency, or a value above 0.")
    lines = statements(each.whole) if each.whole else [nothing]
    return Answer(
        component=each.component,
        query=_query(query, component=each.component, case=""),
        is_chosen=each is chosen,
        lines=tuple(lines),
    )


def _rows(found: StudyEffects, query: Mapping[str, str]) -> tuple[ChipRow, ...]:
    scenarios = [
        Chip(
            wording.scenario_name(name),
            _query(query, scenario=name, component="", case=""),
            name == found.scenario,
        )
        for name in found.facets.scenarios
    ]
    names = {"efficiency": _("Efficiency"), "value": _("Measured value")}
    responses = [
        Chip(names[each], _query(query, response=each), each == found.response)
        for each in RESPONSES
    ]
    rows = [ChipRow(_("What is explained"), tuple(responses))]
    if len(scenarios) > 1:
        rows.insert(0, ChipRow(_("Scenario"), tuple(scenarios)))
    return tuple(rows)


def _cases(
    component: ComponentEffects, chosen: Analysis | None, query: Mapping[str, str]
) -> ChipRow:
    chips = [
        Chip(
            subject_name(case.subjects[0]),
            _query(
                query,
                component=component.component,
                case=case_key(case.subjects[0]),
            ),
            case is chosen,
        )
        for case in component.cases
        if len(case.observations) > 1
    ]
    if component.whole:
        together = _query(query, component=component.component, case="")
        chips.insert(0, Chip(_("Together"), together, component.whole is chosen))
    return ChipRow(_("Cases"), tuple(chips), is_long=len(chips) > MOST_CHIPS)


def _title(component: ComponentEffects | None, analysis: Analysis | None) -> str:
    if component is None or analysis is None:
        return ""
    name = wording.component_name(component.component)
    if analysis is not component.whole or len(analysis.subjects) == 1:
        return f"{name}: {subject_name(analysis.subjects[0])}"
    return _("%(component)s: mean of %(n)s cases that all systems have") % {
        "component": name,
        "n": len(analysis.subjects),
    }


def _query(query: Mapping[str, Any], **changes: str) -> str:
    kept = {name: query[name] for name in PARAMETERS if query.get(name)}
    return urlencode({key: it for key, it in (kept | changes).items() if it})
