"""The compare page, its chart and its exports."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.compare import export_views
from dashboard.pages.compare.grid import grid_rows
from dashboard.pages.compare.judged_table import figure_of
from dashboard.pages.compare.page import comparison_page


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@kept_page
def show_comparison(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show a study's cases against its systems; htmx gets only what changes."""
    study = study_or_404(viewer_of(request), lab, slug)
    page = comparison_page(study, query_of(request))
    is_part = request.headers.get("HX-Target") == "comparison"
    template = "_comparison.html" if is_part else "compare.html"
    context = {
        "study": study,
        "page": page,
        "rows": None if page.direct else grid_rows(page),
        "is_part": is_part,
    }
    return Content(f"compare/{template}", context)


@require_safe
def draw_comparison(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Answer with the chart of the same address, once somebody comes near it."""
    study = study_or_404(viewer_of(request), lab, slug)
    return JsonResponse(figure_of(study, query_of(request)) or {})


urlpatterns = [
    path(f"{STUDY}compare/", show_comparison, name="compare"),
    path(f"{STUDY}compare.<str:form>", export_views.export_comparison, name="export"),
    path(f"{STUDY}cite.<str:form>", export_views.export_citation, name="cite"),
    path(f"{STUDY}compare/chart/", draw_comparison, name="chart"),
]
