"""The network page."""

from django.http import HttpRequest
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, query_of, viewer_of
from dashboard.pages.network.page import network_page


@require_safe
@kept_page
def show_network(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what went from each node of a campaign to each other."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = network_page(viewer, campaign, query_of(request))
    return Content("network/network.html", {"campaign": campaign, "page": page})


urlpatterns = [
    path(f"{CAMPAIGN}network/", show_network, name="network"),
]
