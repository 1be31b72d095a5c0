"""The history page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.history.page import history_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
def show_history(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show how a case went over dates and hypervisor versions."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = history_page(viewer, campaign, query_of(request))
    context = {"campaign": campaign, "page": page}
    return render(request, "dashboard/history.html", context)
