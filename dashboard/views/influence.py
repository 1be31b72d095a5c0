"""The influence page."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from dashboard.influence.page import influence_page
from dashboard.kept_pages import Content, kept_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@kept_page
def show_influence(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show which parameters moved a campaign's results."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = influence_page(viewer, campaign, query_of(request))
    return Content("dashboard/influence.html", {"campaign": campaign, "page": page})
