"""The history page."""

from django.http import HttpRequest
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, query_of, viewer_of
from dashboard.pages.trend.page import history_page


@require_safe
@kept_page
def show_history(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a case went over dates and hypervisor versions."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = history_page(viewer, campaign, query_of(request))
    return Content("trend/trend.html", {"campaign": campaign, "page": page})


urlpatterns = [
    path(f"{CAMPAIGN}history/", show_history, name="history"),
]
