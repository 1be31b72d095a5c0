"""The overview: totals, and every ratio as a line on a strip."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.http import HttpRequest

from benchmarks.comparing.profile import Band, spectrum
from benchmarks.evidence.reading import evidence_matrix
from benchmarks.studies.lists import overview
from benchmarks.studies.rollups import examples
from benchmarks.together.saved_views import visible_views
from dashboard.kit import figures
from dashboard.kit.evidence_matrix import matrix_of
from dashboard.kit.kept import Content, kept_page, kept_part
from dashboard.kit.routes import page
from dashboard.kit.viewers import keeps_any, person_of, viewer_of
from dashboard.pages.overview.tour import tour_links

# A slip of a unit (0.001) would squeeze all other lines into one.
LOWEST, HIGHEST = 0.1, 4.0
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
MAJOR = (0.25, 1.0, 4.0)
NEAR = 0.02


def strips(bands: Sequence[Band]) -> dict[str, Any] | None:
    """Place every ratio of the bands on one logarithmic axis; None without bands.

    Places are percentages as text, as CSS takes a decimal point in every language.
    """
    if not bands:
        return None
    low = max(min(0.25, *(band.lowest for band in bands)) * 0.85, LOWEST)
    high = min(max(1.25, *(band.highest for band in bands)) * 1.15, HIGHEST)

    def place(ratio: float) -> str:
        return f"{100 * figures.place(ratio, low, high):.2f}%"

    groups = []
    for component, members in groupby(bands, key=lambda band: band.component):
        own = []
        for band in members:
            lines = []
            for ratio in band.lines:
                side = "below" if ratio < 1 else "above"
                if abs(ratio - 1) <= NEAR:
                    side = "near"
                # A ratio beyond an end of the axis is not drawn: the strip says so.
                if low <= ratio <= high:
                    lines.append({"x": place(ratio), "side": side})
            strip = {
                "band": band,
                "lines": lines,
                "goes_below": band.lowest < low,
                "goes_above": band.highest > high,
            }
            own.append(strip)
        groups.append({"component": component, "strips": own})
    return {
        "groups": groups,
        "ticks": [
            (place(tick), figures.number(tick, ".3g"), tick in MAJOR)
            for tick in TICKS
            if low <= tick <= high
        ],
        "native": place(1.0),
        "pairs": sum(band.pairs for band in bands),
        "has_doubts": any(
            band.is_lowest_doubted or band.is_highest_doubted for band in bands
        ),
    }


@kept_page
def show_overview(request: HttpRequest) -> Content:
    viewer, person = viewer_of(request), person_of(request)
    cards = overview(viewer)
    evidence = evidence_matrix(viewer)
    ratios = [
        (card.study.pk, str(card.study), card.rollup.bins)
        for card in cards
        if card.rollup.bins
    ]
    context = {
        "cards": cards,
        # A system measured in two studies counts twice.
        "totals": {
            name: f"{sum(getattr(card.tally, name) for card in cards):,}"
            for name in ("systems", "runs", "compared")
        }
        | {"studies": f"{len(cards):,}"},
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
        "links": tour_links(
            examples((card.study, card.rollup.places) for card in cards)
        ),
    }
    return Content("overview/overview.html", context)


urlpatterns = [
    page("", show_overview, "overview", counted=("/",)),
]
