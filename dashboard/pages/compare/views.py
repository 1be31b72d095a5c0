"""The compare page and its chart."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.vary import vary_on_headers

from benchmarks.models import Study
from benchmarks.studies.data_versions import study_version
from benchmarks.viewer import ANYONE
from dashboard.charts.plotly import figure
from dashboard.kit.addresses import STUDY, address
from dashboard.kit.embedding import embeddable, embedded, snippets
from dashboard.kit.judged_tables import judged_table
from dashboard.kit.kept import Answer, Content, kept_part, kept_study_page
from dashboard.kit.routes import HIDDEN, UOC, Tab, page, route
from dashboard.kit.selections import ALL, chooser
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.compare.page import comparison_chart, comparison_page, grid_rows


# A browser keeps the whole page and the part of one address apart.
@vary_on_headers("HX-Request", "HX-Target")
@kept_study_page
def show_comparison(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show a study's cases against its systems; htmx gets only what changes."""
    study = study_or_404(viewer_of(request), lab, slug)
    choice = chooser(study, query_of(request))
    if choice.is_direct:
        whole = reverse("dashboard:direct", args=[lab, slug])
        return redirect(f"{whole}?{request.GET.urlencode()}")
    target = request.headers.get("HX-Target")
    if target == "medians":
        medians = comparison_page(study, choice).medians
        return Content("compare/_medians.html", {"medians": medians})

    def content() -> dict[str, Any]:
        page, query = comparison_page(study, choice), query_of(request)
        return {
            "study": study,
            "page": page,
            "rows": grid_rows(page, is_whole=query.get("rows") == ALL),
            "is_part": target == "comparison",
            "all_rows": address(query, rows=ALL),
            "search": address(query),
            "snippets": _snippets(request, study) if study.is_public else [],
        }

    version = study_version(study)
    comparison = kept_part(request, version, "compare/_comparison.html", content)
    if target == "comparison":
        return HttpResponse(comparison)
    context = {"study": study, "chooser": choice, "comparison": comparison}
    return Content("compare/compare.html", context)


def _snippets(request: HttpRequest, study: Study) -> list[tuple[str, str, str]]:
    place, query = [study.lab.slug, study.slug], address(query_of(request))
    return snippets(
        request,
        reverse("dashboard:embed-compare", args=place) + query,
        study.title,
        reverse("dashboard:compare", args=place) + query,
    )


def draw_comparison(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Answer with the chart of the same address, each dot with its sentence."""
    study = study_or_404(viewer_of(request), lab, slug)
    judged = judged_table(study, query_of(request))
    chart = comparison_chart(judged.table, judged.show)
    return JsonResponse(figure(chart) if chart else {})


@embeddable
def embed_comparison(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show a comparison's chart in a frame of another site."""
    study = study_or_404(ANYONE, lab, slug)
    judged = judged_table(study, query_of(request))
    chart = comparison_chart(judged.table, judged.show, is_told=False)
    return embedded(
        request,
        chart,
        study.title,
        _("Ratios of this study's cells to their baseline"),
        reverse("dashboard:compare", args=[lab, slug])
        + address(query_of(request), theme=""),
    )


urlpatterns = [
    route(
        f"embed/{STUDY}compare/",
        embed_comparison,
        "embed-compare",
        kind="part",
        own=HIDDEN,
    ),
    page(
        f"{STUDY}compare/",
        show_comparison,
        "compare",
        walked=(
            "",
            "?component=nothing",
            f"{UOC}compare/?show=value&q=hdd",
        ),
        counted=(
            "compare/",
            "compare/?scenario=all",
            "compare/?scenario=all&show=overhead&q=read",
            "compare/?baseline={system}",
        ),
        ids=("pin={system}", "baseline={system}"),
        tab=Tab(gettext_lazy("Compare"), 10),
    ),
    page(
        f"{STUDY}compare/chart/",
        draw_comparison,
        "chart",
        kind="part",
        counted=("compare/chart/",),
        ids=("baseline={system}",),
    ),
]
