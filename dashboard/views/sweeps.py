"""The sweep page."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from dashboard.kept_pages import Content, kept_page
from dashboard.sweep.page import sweep_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@kept_page
def show_sweep(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a campaign's values go over a numeric parameter."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = sweep_page(viewer, campaign, query_of(request))
    return Content("dashboard/sweep.html", {"campaign": campaign, "page": page})
