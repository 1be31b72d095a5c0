"""The first page."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from benchmarks.selectors.campaigns import overview
from benchmarks.selectors.examples import examples
from benchmarks.selectors.spectrum import spectrum
from dashboard.kept_pages import Content, kept_page
from dashboard.strips import strips
from dashboard.totals import totals
from dashboard.tour import tour_links
from dashboard.viewers import person_of, viewer_of


@require_safe
@kept_page
def show_overview(request: HttpRequest) -> Content:
    """Show every campaign the viewer may see, all pairs, and where to begin."""
    viewer = viewer_of(request)
    cards = overview(viewer)
    bands = strips(spectrum(viewer))
    context = {
        "cards": cards,
        "totals": totals(cards),
        "strips": bands,
        "is_first_visit": person_of(request) is None,
        "links": tour_links(examples(card.campaign for card in cards)),
    }
    return Content("dashboard/overview.html", context)
