"""The first page."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from benchmarks.comparing.profile import spectrum
from benchmarks.evidence.pools import evidence_matrix
from benchmarks.studies.examples import examples
from benchmarks.studies.lists import overview
from benchmarks.together.saved_views import visible_views
from dashboard.kit.evidence_matrix import matrix_of
from dashboard.kit.kept import Content, kept_page, kept_part
from dashboard.kit.routes import page
from dashboard.kit.viewers import keeps_any, person_of, viewer_of
from dashboard.pages.overview.page import strips, totals
from dashboard.pages.overview.tour import tour_links


@require_safe
@kept_page
def show_overview(request: HttpRequest) -> Content:
    """Show every study the viewer may see, all pairs, and where to begin."""
    viewer, person = viewer_of(request), person_of(request)
    cards = overview(viewer)
    evidence = evidence_matrix(viewer)
    ratios = [
        (card.study.pk, str(card.study), card.bins) for card in cards if card.bins
    ]
    # Kept beside the page, which another number of runs makes anew.
    context = {
        "cards": cards,
        "totals": totals(cards),
        "spectrum": kept_part(
            request,
            repr(ratios),
            "overview/_spectrum.html",
            lambda: {"strips": strips(spectrum(cards))},
        ),
        "matrix": kept_part(
            request,
            repr(evidence),
            "overview/_matrix.html",
            lambda: {"matrix": matrix_of(evidence)},
        ),
        "is_first_visit": person is None,
        "views": visible_views(viewer, person) if person else (),
        "may_make": keeps_any(request),
        "links": tour_links(examples((card.study, card.places) for card in cards)),
    }
    return Content("overview/overview.html", context)


urlpatterns = [
    page("", show_overview, "overview", counted=("/",)),
]
