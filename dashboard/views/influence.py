"""The influence page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.influence.page import influence_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
def show_influence(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show which parameters moved a campaign's results."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = influence_page(viewer, campaign, query_of(request))
    context = {"campaign": campaign, "page": page}
    return render(request, "dashboard/influence.html", context)
