"""The compare page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.comparison_page import comparison_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@vary_on_headers("HX-Request")
def show_comparison(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show a campaign's cases against its systems; htmx gets only what changes."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = comparison_page(viewer, campaign, query_of(request))
    is_part = request.headers.get("HX-Target") == "comparison"
    template = "_comparison.html" if is_part else "compare.html"
    context = {"campaign": campaign, "page": page}
    return render(request, f"dashboard/{template}", context)
