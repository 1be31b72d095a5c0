"""The sweep page."""

from django.http import HttpRequest
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, query_of, viewer_of
from dashboard.pages.sweep.page import sweep_page


@require_safe
@kept_page
def show_sweep(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a campaign's values go over a numeric parameter."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = sweep_page(viewer, campaign, query_of(request))
    return Content("sweep/sweep.html", {"campaign": campaign, "page": page})


urlpatterns = [
    path(f"{CAMPAIGN}sweep/", show_sweep, name="sweep"),
]
