"""What the factor effects page shows for one choice."""

from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.factor_effects import (
    RESPONSES,
    Analysis,
    CaseSubject,
    ComponentEffects,
    Response,
    StudyEffects,
    study_effects,
)
from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.effects import detail
from dashboard.kit.addresses import STUDY, Chip, ChipRow, unmet
from dashboard.kit.kept import kept_study_page, study_view
from dashboard.kit.routes import ESXI, Tab, page
from dashboard.wording.factor_effects import statements, subject_name

PARAMETERS = ("scenario", "response", "component", "case")


def effects_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
    response: Response | None = next(
        (it for it in RESPONSES if it == query.get("response")), None
    )
    effects = study_effects(
        viewer, study, scenario=query.get("scenario", ""), response=response
    )
    # Of the component asked for, else of the first one that something moved.
    components = effects.components
    named = (it for it in components if it.component == query.get("component"))
    moved = (it for it in components if it.whole and it.whole.found.clear_terms)
    component = next(chain(named, moved, components), None)
    analysis, shown = None, dict[str, object]()
    if component is not None:
        key = query.get("case")
        cases = (case for case in component.cases if case_key(case.subjects[0]) == key)
        whole = [component.whole] if component.whole else []
        analysis = next(chain(cases, whole, component.cases), None)
        # Where nothing was measured at all, the page says so in other words.
        case = analysis and analysis.subjects and case_key(analysis.subjects[0])
        shown = {
            "response": response,
            "component": component.component,
            "case": case,
        }
    nothing = _("No result here has a relative performance, or a value above 0.")
    return {
        "answers": [
            {
                "component": answer.component,
                "query": _query(query, component=answer.component, case=""),
                "is_chosen": answer is component,
                "lines": list(statements(answer.whole)) if answer.whole else [nothing],
            }
            for answer in components
        ],
        "rows": _choices(effects, query),
        "cases": _cases(component, analysis, query) if component else None,
        "title": _title(component, analysis) if component and analysis else "",
        "detail": detail(analysis, effects.response) if analysis else None,
        "is_value": effects.response == "value",
        "unmet": unmet(query, shown),
    }


def _query(query: Mapping[str, str], **changes: str) -> str:
    kept = {name: query[name] for name in PARAMETERS if name in query} | changes
    return urlencode({name: text for name, text in kept.items() if text})


def _choices(effects: StudyEffects, query: Mapping[str, str]) -> list[ChipRow]:
    # Another scenario may have neither this component nor this case.
    scenarios = tuple(
        Chip(
            wording.scenario_name(name),
            _query(query, scenario=name, component="", case=""),
            name == effects.scenario,
        )
        for name in effects.facets.scenarios
    )
    names = {"efficiency": _("Relative performance"), "value": _("Measured value")}
    responses = tuple(
        Chip(
            names[response],
            _query(query, response=response),
            response == effects.response,
        )
        for response in RESPONSES
    )
    rows = [ChipRow(_("Scenario"), scenarios)] if len(scenarios) > 1 else []
    return [*rows, ChipRow(_("What is explained"), responses)]


def _cases(
    component: ComponentEffects, chosen: Analysis | None, query: Mapping[str, str]
) -> ChipRow:
    name, whole = component.component, component.whole
    chips = [
        Chip(
            subject_name(case.subjects[0]),
            _query(query, component=name, case=case_key(case.subjects[0])),
            case is chosen,
        )
        for case in component.cases
        # A single system has nothing to differ from.
        if len(case.observations) > 1
    ]
    if whole:
        address = _query(query, component=name, case="")
        chips.insert(0, Chip(_("Together"), address, whole is chosen))
    return ChipRow(_("Benchmarks"), chips)


def _title(component: ComponentEffects, analysis: Analysis) -> str:
    name = wording.component_name(component.component)
    subjects = analysis.subjects
    if analysis is not component.whole or len(subjects) == 1:
        return f"{name}: {subject_name(subjects[0])}"
    return _("%(component)s: mean of %(n)s benchmarks that all systems have") % {
        "component": name,
        "n": len(subjects),
    }


def case_key(subject: CaseSubject) -> str:
    """Return what names a case in its circumstances in a URL."""
    return "|".join([str(subject.case_id), *(fact.value for fact in subject.facts)])


urlpatterns = [
    page(
        f"{STUDY}factor-effects/",
        kept_study_page(study_view("factor_effects/factor_effects.html", effects_page)),
        "factor-effects",
        walked=(f"{ESXI}factor-effects/?component=network",),
        ids=("case={case}",),
        tab=Tab(gettext_lazy("Factor effects"), 20),
    ),
]
