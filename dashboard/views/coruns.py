"""The page of a campaign's co-runs."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.coruns.page import corun_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
def show_coruns(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show what several VMs of a campaign did together."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    page = corun_page(campaign, query_of(request))
    context = {"campaign": campaign, "page": page}
    return render(request, "dashboard/co_runs.html", context)
