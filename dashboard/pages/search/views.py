"""Search: studies, systems, hosts, benchmarks and labs, as far as one may see them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from benchmarks.finding import found, nearest_words
from dashboard.kit.routes import page
from dashboard.kit.viewers import query_of, viewer_of

LONGEST = 200


def search(request: HttpRequest) -> HttpResponse:
    """Show what was found for the words of the query."""
    text = query_of(request).get("q", "").strip()[:LONGEST]
    viewer = viewer_of(request)
    result = found(viewer, text)
    context = {"text": text, "found": result}
    if result and not result.n:
        context["nearest"] = nearest_words(viewer, text)
    return render(request, "search/search.html", context)


urlpatterns = [
    page(
        "search/",
        search,
        "search",
        walked=("?q=xen", "?q=nothing-is-called-so", ""),
        counted=("/search/?q=xen",),
    ),
]
