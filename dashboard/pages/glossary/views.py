"""The glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.kit.routes import page
from dashboard.wording.glossary import CHAPTERS


def show_glossary(request: HttpRequest) -> HttpResponse:
    """Show what every word of the pages means."""
    return render(request, "glossary/glossary.html", {"chapters": CHAPTERS})


urlpatterns = [page("glossary/", show_glossary, "glossary")]
