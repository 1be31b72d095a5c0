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
from benchmarks.studies.overview import has_waiting_runs
from benchmarks.viewer import ANYONE
from dashboard.charts.plotly_renderer import plotly_figure
from dashboard.kit.comparison_form import ALL_SCENARIOS, comparison_form
from dashboard.kit.comparison_from_url import assessed_table
from dashboard.kit.embeds import embed_snippets, embeddable, embedded_chart
from dashboard.kit.page_cache import (
    PageContent,
    ViewResult,
    cached_fragment,
    cached_study_page,
)
from dashboard.kit.routes import HIDDEN, KVM_STUDY, Tab, page, route
from dashboard.kit.url_parts import STUDY_PATH, query_string
from dashboard.kit.viewers import query_params, study_or_404, viewer_of
from dashboard.pages.compare.page import comparison_chart, comparison_page, grid_rows


@vary_on_headers("HX-Request", "HX-Target")
@cached_study_page
def show_comparison(request: HttpRequest, lab: str, slug: str) -> ViewResult:
    study = study_or_404(viewer_of(request), lab, slug)
    form = comparison_form(study, query_params(request))
    if form.is_pair:
        pair_url = reverse("dashboard:system-pair", args=[lab, slug])
        return redirect(f"{pair_url}?{request.GET.urlencode()}")
    target = request.headers.get("HX-Target")
    if target == "medians":
        medians = comparison_page(study, form).medians
        return PageContent("compare/_medians.html", {"medians": medians})

    def content() -> dict[str, Any]:
        page, query = comparison_page(study, form), query_params(request)
        return {
            "study": study,
            "page": page,
            "rows": grid_rows(page, includes_all=query.get("rows") == ALL_SCENARIOS),
            "is_part": target == "comparison",
            "all_rows": query_string(query, rows=ALL_SCENARIOS),
            "search": query_string(query),
            "is_unfinished": has_waiting_runs(study),
            "snippets": _snippets(request, study) if study.is_public else [],
        }

    version = study_version(study)
    comparison = cached_fragment(request, version, "compare/_comparison.html", content)
    if target == "comparison":
        return HttpResponse(comparison)
    context = {"study": study, "chooser": form, "comparison": comparison}
    return PageContent("compare/compare.html", context)


def _snippets(request: HttpRequest, study: Study) -> list[tuple[str, str, str]]:
    url_args, query = [study.lab.slug, study.slug], query_string(query_params(request))
    return embed_snippets(
        request,
        reverse("dashboard:embed-compare", args=url_args) + query,
        study.title,
        reverse("dashboard:compare", args=url_args) + query,
    )


def draw_comparison(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Return the chart for the same query as the page, but with hover texts."""
    study = study_or_404(viewer_of(request), lab, slug)
    assessed = assessed_table(study, query_params(request), has_guests_first=True)
    chart = comparison_chart(assessed.table, assessed.quantity)
    return JsonResponse(plotly_figure(chart) if chart else {})


@embeddable
def embed_comparison(request: HttpRequest, lab: str, slug: str) -> PageContent:
    study = study_or_404(ANYONE, lab, slug)
    assessed = assessed_table(study, query_params(request), has_guests_first=True)
    chart = comparison_chart(assessed.table, assessed.quantity, has_hover_texts=False)
    return embedded_chart(
        request,
        chart,
        study.title,
        _("Results of this study relative to their baselines"),
        reverse("dashboard:compare", args=[lab, slug])
        + query_string(query_params(request), theme=""),
    )


urlpatterns = [
    route(
        f"embed/{STUDY_PATH}compare/",
        embed_comparison,
        "embed-compare",
        kind="part",
        member_statuses=HIDDEN,
    ),
    page(
        f"{STUDY_PATH}compare/",
        show_comparison,
        "compare",
        example_urls=(
            "",
            "?component=nothing",
            f"{KVM_STUDY}compare/?show=value&q=hdd",
        ),
        query_count_urls=(
            "compare/",
            "compare/?scenario=all",
            "compare/?scenario=all&show=overhead&q=read",
            "compare/?baseline={system}",
        ),
        id_queries=("pin={system}", "baseline={system}"),
        tab=Tab(gettext_lazy("Compare"), 10),
    ),
    page(
        f"{STUDY_PATH}compare/chart/",
        draw_comparison,
        "comparison-chart",
        kind="part",
        query_count_urls=("compare/chart/",),
        id_queries=("baseline={system}",),
    ),
]
