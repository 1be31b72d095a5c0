"""/factor-effects/: which parameters moved the results of a study, and how much."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import COMPONENTS
from api.factor_effect_answers import StudyEffectsSerializer
from api.kit.fields import Choice
from api.kit.study_views import StudyQuery, StudyView
from benchmarks.comparing.factor_effects import study_effects
from benchmarks.comparing.factor_responses import RESPONSES
from benchmarks.comparing.ordering import SCENARIOS


class FactorEffectsQuery(StudyQuery):
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="The study's first one, unless told.",
    )
    component = Choice(choices=COMPONENTS, required=False)
    response = Choice(
        choices=RESPONSES,
        required=False,
        help_text="The efficiency where there is one, else the value, unless told.",
    )


class FactorEffectsView(StudyView):
    """Which parameters of its systems moved a study's results."""

    query_class = FactorEffectsQuery

    @extend_schema(
        summary="Find which parameters moved the results of a study",
        operation_id="factor_effects_retrieve",
        responses=StudyEffectsSerializer,
    )
    def get(self, request: Request) -> Response:
        chosen = {**self.query}
        del chosen["study"]
        found = study_effects(self.viewer, self.study, **chosen)
        return Response(self.shown(StudyEffectsSerializer, found))
