from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.study_factor_effects import (
    RESPONSES,
    CaseSubject,
    ComponentAnalysis,
    Response,
    ResponseAnalysis,
    StudyFactorEffects,
    study_factor_effects,
)
from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.factor_effects import response_detail
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.page_cache import cached_study_page, study_view
from dashboard.kit.routes import ESXI_STUDY, Tab, page
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters
from dashboard.wording.factor_effects import effect_sentences, subject_name

QUERY_PARAMETERS = ("scenario", "response", "component", "case")


def effects_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
    response: Response | None = next(
        (name for name in RESPONSES if name == query.get("response")), None
    )
    effects = study_factor_effects(
        viewer, study, scenario=query.get("scenario", ""), response=response
    )
    components = effects.components
    matching = (
        component
        for component in components
        if component.component == query.get("component")
    )
    affected = (
        component
        for component in components
        if component.overall and component.overall.effects.clear_terms
    )
    component = next(chain(matching, affected, components), None)
    analysis, shown = None, dict[str, object]()
    if component is not None:
        key = query.get("case")
        cases = (
            case
            for case in component.per_case
            if effects_case_key(case.subjects[0]) == key
        )
        overall = [component.overall] if component.overall else []
        analysis = next(chain(cases, overall, component.per_case), None)
        # An analysis without observations has no subjects.
        case = analysis and analysis.subjects and effects_case_key(analysis.subjects[0])
        shown = {
            "response": response,
            "component": component.component,
            "case": case,
        }
    nothing = _(
        "No result in this scenario has a relative performance or a value above 0."
    )
    return {
        "summaries": [
            {
                "component": answer.component,
                "query": _query(query, component=answer.component, case=""),
                "is_chosen": answer is component,
                "lines": list(effect_sentences(answer.overall))
                if answer.overall
                else [nothing],
            }
            for answer in components
        ],
        "rows": _choices(effects, query),
        "cases": _cases(component, analysis, query) if component else None,
        "title": _title(component, analysis) if component and analysis else "",
        "detail": response_detail(analysis, effects.response) if analysis else None,
        "is_value": effects.response == "value",
        "ignored_parameters": ignored_parameters(query, shown),
    }


def _query(query: Mapping[str, str], **changes: str) -> str:
    parameters = {
        name: query[name] for name in QUERY_PARAMETERS if name in query
    } | changes
    return urlencode({name: text for name, text in parameters.items() if text})


def _choices(effects: StudyFactorEffects, query: Mapping[str, str]) -> list[ChipRow]:
    # Links to other scenarios drop component and case, which may not exist there.
    scenarios = tuple(
        Chip(
            wording.scenario_name(name),
            _query(query, scenario=name, component="", case=""),
            name == effects.scenario,
        )
        for name in effects.facets.scenarios
    )
    names = {
        "relative_performance": _("Relative performance"),
        "value": _("Measured value"),
    }
    responses = tuple(
        Chip(
            names[response],
            _query(query, response=response),
            response == effects.response,
        )
        for response in RESPONSES
    )
    rows = [ChipRow(_("Scenario"), scenarios)] if len(scenarios) > 1 else []
    return [*rows, ChipRow(_("Effects on"), responses)]


def _cases(
    component: ComponentAnalysis,
    chosen: ResponseAnalysis | None,
    query: Mapping[str, str],
) -> ChipRow:
    name, overall = component.component, component.overall
    chips = [
        Chip(
            subject_name(case.subjects[0]),
            _query(query, component=name, case=effects_case_key(case.subjects[0])),
            case is chosen,
        )
        for case in component.per_case
        if len(case.observations) > 1
    ]
    if overall:
        address = _query(query, component=name, case="")
        chips.insert(0, Chip(_("Together"), address, overall is chosen))
    return ChipRow(_("Benchmarks"), chips)


def _title(component: ComponentAnalysis, analysis: ResponseAnalysis) -> str:
    name = wording.component_name(component.component)
    subjects = analysis.subjects
    if analysis is not component.overall or len(subjects) == 1:
        return f"{name}: {subject_name(subjects[0])}"
    return _("%(component)s: mean of %(n)s benchmarks measured on all systems") % {
        "component": name,
        "n": len(subjects),
    }


def effects_case_key(subject: CaseSubject) -> str:
    return "|".join([str(subject.case_id), *(fact.value for fact in subject.facts)])


urlpatterns = [
    page(
        f"{STUDY_PATH}factor-effects/",
        cached_study_page(
            study_view("factor_effects/factor_effects.html", effects_page)
        ),
        "factor-effects",
        example_urls=(f"{ESXI_STUDY}factor-effects/?component=network",),
        id_queries=("case={case}",),
        tab=Tab(gettext_lazy("Factor effects"), 20),
    ),
]
