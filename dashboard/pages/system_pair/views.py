from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.vary import vary_on_headers

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import CaseRow
from benchmarks.comparison.study_verdicts import primary_rows
from benchmarks.comparison.system_comparability import (
    compare_study_hosts,
    compare_systems,
)
from benchmarks.models import Study
from dashboard.kit import formatting
from dashboard.kit.comparison_form import (
    ENERGY,
    ComparisonForm,
    comparison_form,
    matches_search,
)
from dashboard.kit.comparison_from_url import assessed_rows, selected_table
from dashboard.kit.page_cache import PageContent, ViewResult, cached_study_page
from dashboard.kit.routes import MULTI_DAY_STUDY, REDIRECTED, page
from dashboard.kit.table_cells import bar_axis_limit, interval_bar
from dashboard.kit.url_parts import STUDY_PATH, query_string
from dashboard.kit.viewers import query_params, study_or_404, viewer_of
from dashboard.wording.comparability import comparability_details
from dashboard.wording.pairs import pair_sentence, short_names
from dashboard.wording.verdicts import (
    OVERHEAD,
    charted_assessment,
    displayed_interval,
    interval_style_notes,
    ratio_range_text,
    ratio_text,
)

VerdictReasons = tuple[str, ...]
COMMON_REASON_FROM = 3


def assessment_reasons(assessment: CellAssessment) -> VerdictReasons:
    return tuple(filter(None, (*assessment.sentences, assessment.advice)))


def system_pair_page(study: Study, form: ComparisonForm) -> dict[str, Any]:
    selection, (first_system, second_system) = form.selection, form.pinned
    rows, tested_count = assessed_rows(
        study,
        second_system,
        selection.quantity,
        systems=form.pinned,
        filters={
            **selection.cell_lookups(),
            "system_id__in": [first_system.pk, second_system.pk],
        },
    )
    hosts = None
    if first_system.host_id != second_system.host_id:
        hosts = compare_study_hosts(study, second_system.host_id).get(
            first_system.host_id
        )
    margin = study.equivalence_margin_percent / 100
    assessments = [
        assessment for row in rows if (assessment := charted_assessment(row))
    ]
    # All rows have the same axis, so that their bars can be compared.
    axis = bar_axis_limit(assessments, margin)
    groups: list[dict[str, Any]] = []
    for group in selected_table(
        rows, replace(selection, ratio_filter="", order=""), {}
    ).groups:
        lines = [
            _line(row, form, margin, axis)
            | {"has_matches": matches_search(selection.search, group, row)}
            for row in group.rows
        ]
        is_any_found = any(line["has_matches"] for line in lines)
        groups.append({"group": group, "rows": lines, "has_matches": is_any_found})
    bars = [line["bar"] for group in groups for line in group["rows"] if line["bar"]]
    withheld = Counter(
        assessment_reasons(assessment)
        for assessment in assessments
        if not assessment.is_assessed
    )
    names = short_names(first_system, second_system)
    full_names = tuple(form.system_names[system.pk] for system in form.pinned)
    common_reasons, count = next(iter(withheld.most_common(1)), ((), 0))
    return {
        "chooser": form,
        "names": names,
        "answer": _answer(rows, form, names, margin),
        "full_names": full_names if full_names != names else (),
        "groups": groups,
        "verdicts": dict(
            Counter(assessment.verdict for assessment in assessments).most_common()
        ),
        "tested": tested_count,
        "equivalence_margin_percent": formatting.number(
            study.equivalence_margin_percent
        ),
        "comparability": comparability_details(
            study, compare_systems(study, first_system, second_system, hosts)
        ),
        "has_matches": not groups or any(group["has_matches"] for group in groups),
        "has_intervals": bool(bars),
        "strengths": interval_style_notes({bar.interval_style for bar in bars}),
        "columns": 5 if bars else 4,
        "common_reasons": common_reasons if count >= COMMON_REASON_FROM else (),
        "unpinned": query_string(form.query, pin=""),
        "swapped": query_string(
            form.query, pin=f"{second_system.pk},{first_system.pk}"
        ),
        "cell_query": form.cell_query(str(second_system.pk)),
        "is_energy": selection.quantity == ENERGY,
        "is_overhead": selection.quantity == OVERHEAD,
    }


def _answer(
    rows: Iterable[ComparisonRow],
    form: ComparisonForm,
    names: tuple[str, str],
    margin: float,
) -> str:
    if form.selection.quantity == ENERGY:
        return ""
    ratios: dict[str, list[float]] = {}
    for row in primary_rows(rows, with_tails=False):
        is_first = row.system.id == form.pinned[0].pk
        if is_first and row.result.is_chartable and row.result.ratio:
            ratios.setdefault(row.case.component, []).append(row.result.ratio)
    return pair_sentence(*names, ratios, margin)


def _line(
    row: CaseRow, form: ComparisonForm, margin: float, axis: float
) -> dict[str, Any]:
    cells = {cell.system.id: cell for cell in row.cells if cell}
    first_cell, second_cell = (cells.get(system.pk) for system in form.pinned)
    assessment, show = (
        charted_assessment(first_cell) if first_cell else None,
        form.selection.quantity,
    )
    return {
        "row": row,
        "first_cell": first_cell,
        "sides": (first_cell, second_cell),
        "bar": interval_bar(assessment, margin, axis) if assessment else None,
        "assessment": assessment,
        "reasons": assessment_reasons(assessment) if assessment else (),
        "ratio": ratio_text(first_cell, show) if first_cell else "",
        "ratio_range": ratio_range_text(first_cell, show) if first_cell else "",
        "interval": displayed_interval(first_cell, show) if first_cell else "",
    }


@vary_on_headers("HX-Request", "HX-Target")
@cached_study_page
def show_system_pair(request: HttpRequest, lab: str, slug: str) -> ViewResult:
    study = study_or_404(viewer_of(request), lab, slug)
    form = comparison_form(study, query_params(request))
    if not form.is_pair:
        compare_url = reverse("dashboard:compare", args=[lab, slug])
        return redirect(f"{compare_url}?{request.GET.urlencode()}")
    is_fragment = request.headers.get("HX-Target") == "comparison"
    template = "_pair_table.html" if is_fragment else "system_pair.html"
    context = {"study": study, "page": system_pair_page(study, form)}
    return PageContent(f"system_pair/{template}", context)


urlpatterns = [
    page(
        f"{STUDY_PATH}pair/",
        show_system_pair,
        "system-pair",
        example_urls=(
            "?pin={one},{other}",
            f"{MULTI_DAY_STUDY}pair/?pin={{guest}},{{machine}}",
        ),
        query_count_urls=("pair/?pin={one},{other}",),
        # Tests open the page with one system, for which it redirects.
        member_statuses=REDIRECTED,
        id_queries=("pin={system}",),
    )
]
