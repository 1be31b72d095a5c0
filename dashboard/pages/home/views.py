from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.http import HttpRequest

from benchmarks.collaboration.saved_views import visible_views
from benchmarks.comparison.overhead_profile import SpectrumBand, spectrum
from benchmarks.evidence.queries import evidence_matrix
from benchmarks.studies.overview import study_cards
from benchmarks.studies.study_rollups import tour_examples
from dashboard.kit import formatting
from dashboard.kit.evidence_matrix import matrix_context
from dashboard.kit.page_cache import PageContent, cached_fragment, cached_page
from dashboard.kit.routes import page
from dashboard.kit.viewers import edits_any_lab, signed_in_user, viewer_of
from dashboard.pages.home.tour import tour_links

# An axis up to an outlier, such as a unit error (0.001), would squeeze all other lines.
LOWEST, HIGHEST = 0.1, 4.0
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
LABELED_TICKS = (0.25, 1.0, 4.0)
NEUTRAL_DISTANCE = 0.02


def ratio_strips(bands: Sequence[SpectrumBand]) -> dict[str, Any] | None:
    """Return the positions of all ratios on a logarithmic axis; None without bands.

    Positions are texts, because CSS needs a decimal point in every language.
    """
    if not bands:
        return None
    low = max(min(0.25, *(band.lowest for band in bands)) * 0.85, LOWEST)
    high = min(max(1.25, *(band.highest for band in bands)) * 1.15, HIGHEST)

    def position(ratio: float) -> str:
        return f"{100 * formatting.axis_position(ratio, low, high):.2f}%"

    groups = []
    for component, members in groupby(bands, key=lambda band: band.component):
        strips = []
        for band in members:
            lines = []
            for ratio in band.lines:
                side = "below" if ratio < 1 else "above"
                if abs(ratio - 1) <= NEUTRAL_DISTANCE:
                    side = "near"
                if low <= ratio <= high:
                    lines.append({"x": position(ratio), "side": side})
            strip = {
                "band": band,
                "lines": lines,
                "goes_below": band.lowest < low,
                "goes_above": band.highest > high,
            }
            strips.append(strip)
        groups.append({"component": component, "strips": strips})
    return {
        "groups": groups,
        "ticks": [
            (position(tick), formatting.number(tick, ".3g"), tick in LABELED_TICKS)
            for tick in TICKS
            if low <= tick <= high
        ],
        "native": position(1.0),
        "pairs": sum(band.pairs for band in bands),
        "has_doubts": any(
            band.is_lowest_flagged or band.is_highest_flagged for band in bands
        ),
    }


@cached_page
def show_home(request: HttpRequest) -> PageContent:
    viewer, person = viewer_of(request), signed_in_user(request)
    cards = study_cards(viewer)
    evidence = evidence_matrix(viewer)
    ratios = [
        (card.study.pk, str(card.study), card.rollup.bins)
        for card in cards
        if card.rollup.bins
    ]
    context = {
        "cards": cards,
        # A system that was measured in two studies counts twice.
        "totals": {
            name: f"{sum(getattr(card.counts, name) for card in cards):,}"
            for name in ("systems", "runs", "compared_cells")
        }
        | {"studies": f"{len(cards):,}"},
        "spectrum": cached_fragment(
            request,
            repr(ratios),
            "home/_spectrum.html",
            lambda: {"strips": ratio_strips(spectrum(cards))},
        ),
        "matrix": cached_fragment(
            request,
            repr(evidence),
            "home/_matrix.html",
            lambda: {"matrix": matrix_context(evidence)},
        ),
        "is_first_visit": person is None,
        "views": visible_views(viewer, person) if person else (),
        "can_create": edits_any_lab(request),
        "links": tour_links(
            tour_examples((card.study, card.rollup.example_ids) for card in cards)
        ),
    }
    return PageContent("home/home.html", context)


urlpatterns = [
    page("", show_home, "home", query_count_urls=("/",)),
]
