"""The first page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmarks.selectors.campaigns import overview
from benchmarks.selectors.examples import examples
from benchmarks.selectors.spectrum import spectrum
from dashboard.strips import strips
from dashboard.totals import totals
from dashboard.tour import tour_links
from dashboard.viewers import viewer_of


@require_safe
def show_overview(request: HttpRequest) -> HttpResponse:
    """Show every campaign the viewer may see, all pairs, and where to begin."""
    viewer = viewer_of(request)
    cards = overview(viewer)
    bands = strips(spectrum(viewer))
    context = {
        "cards": cards,
        "totals": totals(cards),
        "strips": bands,
        "links": tour_links(examples(card.campaign for card in cards)),
    }
    return render(request, "dashboard/overview.html", context)
