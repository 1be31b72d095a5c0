"""The glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.wording.glossary import CHAPTERS


@require_safe
def show_glossary(request: HttpRequest) -> HttpResponse:
    """Show what every word of the pages means."""
    return render(request, "glossary/glossary.html", {"chapters": CHAPTERS})


urlpatterns = [
    path("glossary/", show_glossary, name="glossary"),
]
