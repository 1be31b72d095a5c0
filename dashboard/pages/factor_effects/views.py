"""What the factor effects page shows for one choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from urllib.parse import urlencode

from django.http import HttpRequest
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
from dashboard.charts.effects import Detail, detail
from dashboard.kit.addresses import MOST_CHIPS, STUDY, Chip, ChipRow, unmet
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import ESXI, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.wording.factor_effects import statements, subject_name

PARAMETERS = ("scenario", "response", "component", "case")


@dataclass(frozen=True)
class ComponentAnswer:
    component: str
    query: str
    is_chosen: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class EffectsPage:
    effects: StudyEffects
    component: ComponentEffects | None
    analysis: Analysis | None
    query: Mapping[str, str]

    @property
    def answers(self) -> list[ComponentAnswer]:
        nothing = _("No result here has a relative performance, or a value above 0.")
        return [
            ComponentAnswer(
                component=component.component,
                query=self._query(component=component.component, case=""),
                is_chosen=component is self.component,
                lines=tuple(
                    statements(component.whole) if component.whole else [nothing]
                ),
            )
            for component in self.effects.components
        ]

    @property
    def rows(self) -> list[ChipRow]:
        scenarios = tuple(
            Chip(
                wording.scenario_name(name),
                # Another scenario may have neither this component nor this case.
                self._query(scenario=name, component="", case=""),
                name == self.effects.scenario,
            )
            for name in self.effects.facets.scenarios
        )
        names = {"efficiency": _("Relative performance"), "value": _("Measured value")}
        responses = tuple(
            Chip(
                names[response],
                self._query(response=response),
                response == self.effects.response,
            )
            for response in RESPONSES
        )
        rows = [ChipRow(_("Scenario"), scenarios)] if len(scenarios) > 1 else []
        return [*rows, ChipRow(_("What is explained"), responses)]

    @cached_property
    def cases(self) -> ChipRow | None:
        if self.component is None:
            return None
        component, whole = self.component.component, self.component.whole
        chips = [
            Chip(
                subject_name(case.subjects[0]),
                self._query(component=component, case=case_key(case.subjects[0])),
                case is self.analysis,
            )
            for case in self.component.cases
            # A single system has nothing to differ from.
            if len(case.observations) > 1
        ]
        if whole:
            query = self._query(component=component, case="")
            chips.insert(0, Chip(_("Together"), query, whole is self.analysis))
        return ChipRow(_("Benchmarks"), tuple(chips), is_long=len(chips) > MOST_CHIPS)

    @property
    def title(self) -> str:
        if self.component is None or self.analysis is None:
            return ""
        name = wording.component_name(self.component.component)
        subjects = self.analysis.subjects
        if self.analysis is not self.component.whole or len(subjects) == 1:
            return f"{name}: {subject_name(subjects[0])}"
        return _("%(component)s: mean of %(n)s benchmarks that all systems have") % {
            "component": name,
            "n": len(subjects),
        }

    @cached_property
    def detail(self) -> Detail | None:
        if self.analysis is None:
            return None
        return detail(self.analysis, self.effects.response)

    @property
    def is_value(self) -> bool:
        return self.effects.response == "value"

    @property
    def unmet(self) -> tuple[str, ...]:
        # Where nothing was measured at all, the page says so in other words.
        if self.component is None:
            return ()
        analysis, response = self.analysis, self.query.get("response")
        case = analysis and analysis.subjects and case_key(analysis.subjects[0])
        shown = {
            "response": response if response in RESPONSES else None,
            "component": self.component.component,
            "case": case,
        }
        return unmet(self.query, shown)

    def _query(self, **changes: str) -> str:
        kept = {name: self.query[name] for name in PARAMETERS if self.query.get(name)}
        return urlencode(
            {name: text for name, text in (kept | changes).items() if text}
        )


def effects_page(viewer: Viewer, study: Study, query: Mapping[str, str]) -> EffectsPage:
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
    analysis = None
    if component is not None:
        key = query.get("case")
        cases = (case for case in component.cases if case_key(case.subjects[0]) == key)
        whole = [component.whole] if component.whole else []
        analysis = next(chain(cases, whole, component.cases), None)
    return EffectsPage(effects, component, analysis, query)


def case_key(subject: CaseSubject) -> str:
    """Return what names a case in its circumstances in a URL."""
    return "|".join([str(subject.case_id), *(fact.value for fact in subject.facts)])


@kept_study_page
def show_factor_effects(request: HttpRequest, lab: str, slug: str) -> Content:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    page = effects_page(viewer, study, query_of(request))
    return Content("factor_effects/factor_effects.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}factor-effects/",
        show_factor_effects,
        "factor-effects",
        walked=(f"{ESXI}factor-effects/?component=network",),
        ids=("case={case}",),
        tab=Tab(gettext_lazy("Factor effects"), 20),
    ),
]
