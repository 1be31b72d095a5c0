"""What all addresses share that answer about one campaign as a whole."""

from functools import cached_property

from api.kit.queries import Query, campaign_parameter
from api.kit.views import ApiView
from benchmarks.models import Campaign
from benchmarks.studies.lists import find_campaign


class CampaignQuery(Query):
    """The campaign; a subclass declares what else its view takes."""

    campaign = campaign_parameter(required=True)


class CampaignView(ApiView):
    """A view that answers about the campaign which its query names."""

    query_class: type[Query] = CampaignQuery

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign, if whoever asks may see it; else 404."""
        return find_campaign(self.viewer, self.query["campaign"])
