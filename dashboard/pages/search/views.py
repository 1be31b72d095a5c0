"""Search for studies, systems, hosts, benchmarks and labs."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from benchmarks.search import corrected_query, search_results
from dashboard.kit.routes import page
from dashboard.kit.viewers import query_params, viewer_of

MAX_QUERY_CHARACTERS = 200


def show_search(request: HttpRequest) -> HttpResponse:
    text = query_params(request).get("q", "").strip()[:MAX_QUERY_CHARACTERS]
    viewer = viewer_of(request)
    result = search_results(viewer, text)
    context = {"text": text, "found": result}
    if result and not result.count:
        context["nearest"] = corrected_query(viewer, text)
    return render(request, "search/search.html", context)


urlpatterns = [
    page(
        "search/",
        show_search,
        "search",
        example_urls=("?q=xen", "?q=nothing-is-called-so", ""),
        query_count_urls=("/search/?q=xen",),
    ),
]
