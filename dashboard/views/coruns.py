"""The page of a campaign's co-runs."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from dashboard.coruns.page import corun_page
from dashboard.kept_pages import Content, kept_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@kept_page
def show_coruns(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what several VMs of a campaign did together."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    page = corun_page(campaign, query_of(request))
    return Content("dashboard/co_runs.html", {"campaign": campaign, "page": page})
