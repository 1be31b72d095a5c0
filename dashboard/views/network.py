"""The network page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.network.page import network_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
def show_network(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show what went from each node of a campaign to each other."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = network_page(viewer, campaign, query_of(request))
    context = {"campaign": campaign, "page": page}
    return render(request, "dashboard/network.html", context)
