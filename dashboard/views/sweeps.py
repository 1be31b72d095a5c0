"""The sweep page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.sweep.page import sweep_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
def show_sweep(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show how a campaign's values go over a numeric parameter."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = sweep_page(viewer, campaign, query_of(request))
    context = {"campaign": campaign, "page": page}
    return render(request, "dashboard/sweep.html", context)
