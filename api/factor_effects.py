"""/influence/: which parameters moved the results of a campaign, and how much."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import COMPONENTS
from api.factor_effect_answers import CampaignInfluenceSerializer
from api.kit.fields import Choice
from api.kit.study_views import CampaignQuery, CampaignView
from benchmarks.comparing.factor_effects import campaign_influence
from benchmarks.comparing.factor_responses import RESPONSES
from benchmarks.comparing.ordering import SCENARIOS


class InfluenceQuery(CampaignQuery):
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="The campaign's first one, unless told.",
    )
    component = Choice(choices=COMPONENTS, required=False)
    response = Choice(
        choices=RESPONSES,
        required=False,
        help_text="The efficiency where there is one, else the value, unless told.",
    )


class InfluenceView(CampaignView):
    """Which parameters of its systems moved a campaign's results."""

    query_class = InfluenceQuery

    @extend_schema(
        summary="Find which parameters moved the results of a campaign",
        operation_id="influence_retrieve",
        responses=CampaignInfluenceSerializer,
    )
    def get(self, request: Request) -> Response:
        chosen = {**self.query}
        del chosen["campaign"]
        found = campaign_influence(self.viewer, self.campaign, **chosen)
        return Response(self.shown(CampaignInfluenceSerializer, found))
