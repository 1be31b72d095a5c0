"""The page of one cell, and what its runs were read from."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.cell.claims import cell_claim
from dashboard.pages.cell.page import cell_page
from dashboard.pages.cell.quoting import NAME, quoted_in, quoted_of
from dashboard.pages.cell.reading import reading_of


@require_safe
@kept_page
def show_cell(request: HttpRequest, lab: str, slug: str, cell_id: int) -> Content:
    """Show everything a cell stands on: both sides, their samples, shapes, runs."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_of(request)
    page = cell_page(viewer, study, cell_id, query)
    context = {
        "study": study,
        "page": page,
        "claim": cell_claim(
            page.evidence,
            page=request.build_absolute_uri(request.path),
            baseline=query.get("baseline", ""),
        ),
        "quoted": quoted_in(query.get(NAME, "")),
        "now": quoted_of(page.evidence.row),
    }
    return Content("cell/cell.html", context)


@require_safe
def show_reading(
    request: HttpRequest, lab: str, slug: str, cell_id: int, run_id: int
) -> HttpResponse:
    """Show what a tool printed in one run beside what was read from it: a part."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    reading = reading_of(viewer, study, cell_id, run_id)
    return render(request, "cell/_reading.html", {"reading": reading})


urlpatterns = [
    path(f"{STUDY}cells/<int:cell_id>/", show_cell, name="cell"),
    path(
        f"{STUDY}cells/<int:cell_id>/runs/<int:run_id>/",
        show_reading,
        name="cell-reading",
    ),
]
