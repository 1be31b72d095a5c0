"""Search: studies, systems, hosts, benchmarks and labs, as far as one may see them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from benchmarks.finding import found
from dashboard.kit.viewers import query_of, viewer_of

LONGEST = 200


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Show what was found for the words of the query."""
    text = query_of(request).get("q", "").strip()[:LONGEST]
    result = found(viewer_of(request), text)
    return render(request, "search/search.html", {"text": text, "found": result})


urlpatterns = [
    path("search/", search, name="search"),
]
