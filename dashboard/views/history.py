"""The history page."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from dashboard.history.page import history_page
from dashboard.kept_pages import Content, kept_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@kept_page
def show_history(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a case went over dates and hypervisor versions."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = history_page(viewer, campaign, query_of(request))
    return Content("dashboard/history.html", {"campaign": campaign, "page": page})
