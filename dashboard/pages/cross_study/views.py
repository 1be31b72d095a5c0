from collections import Counter
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.cross_study import (
    CrossStudyFilters,
    SystemInStudy,
    SystemInStudyKey,
    cross_study_table,
    find_system_in_study,
)
from benchmarks.comparison.pair_comparison import PairRow, SystemPair, compare_pair
from benchmarks.hypervisor_names import canonical_hypervisor
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.kit.routes import page
from dashboard.kit.table_cells import bar_axis_limit, full_value_text, interval_bar
from dashboard.kit.url_parts import parse_id
from dashboard.kit.viewers import query_params, signed_in_user, viewer_of
from dashboard.pages.cross_study.page import CrossStudyPage
from dashboard.wording.comparability import comparability_details
from dashboard.wording.pairs import pair_sentence, short_names
from dashboard.wording.verdicts import (
    charted_assessment,
    displayed_interval,
    ratio_range_text,
    ratio_text,
)


def cross_study_pair(pair: SystemPair) -> dict[str, Any]:
    sides = (pair.first, pair.second)
    keys = {"first": str(pair.second.key), "second": str(pair.first.key)}
    host = pair.second.system.host
    table_query = {
        "host": f"{host.lab.slug}/{host.slug}",
        "reference": str(pair.second.key),
    }
    directs = [row.direct for row in pair.rows if row.direct]
    axis = bar_axis_limit(
        [assessment for row in directs if (assessment := charted_assessment(row))],
        pair.margin,
    )
    groups = [
        (group.group, [_line(pair, row, axis) for row in group.rows])
        for group in pair.groups
    ]
    assessments = (line["assessment"] for _group, lines in groups for line in lines)
    names = short_names(pair.first.system, pair.second.system)
    ratios: dict[str, list[float]] = {}
    for group in pair.groups:
        ratios.setdefault(group.group.component, []).extend(
            ratio for row in group.rows if (ratio := _ratio(row))
        )
    return {
        "pair": pair,
        "comparability": comparability_details(pair.first.study, pair.comparability),
        "sides": [(wording.system_name(side.system), side) for side in sides],
        "names": names,
        "answer": pair_sentence(*names, ratios, pair.margin),
        "is_emulated": any(side.system.is_emulated for side in sides),
        "swapped": f"?{urlencode(keys)}",
        # All systems of the second system's machine, compared with it.
        "whole": f"{reverse('dashboard:cross-study')}?{urlencode(table_query)}",
        "margin_percent": formatting.number(100 * pair.margin),
        "verdicts": dict(
            Counter(
                assessment.verdict for assessment in assessments if assessment
            ).most_common()
        ),
        "groups": groups,
    }


def _ratio(row: PairRow) -> float | None:
    if row.direct:
        return row.direct.result.ratio
    return row.indirect.ratio if row.indirect else None


def _line(pair: SystemPair, row: PairRow, axis: float) -> dict[str, Any]:
    direct, assessment, bar = row.direct, None, None
    ratio = shade = interval = state = natives = ""
    if direct:
        assessment = charted_assessment(direct)
        ratio = ratio_text(direct, "") or ratio_range_text(direct, "")
        if direct.result.ratio is not None:
            shade = formatting.ratio_shade(direct.result.ratio)
        interval = displayed_interval(direct, "")
        if assessment:
            bar = interval_bar(assessment, pair.margin, axis)
        if not ratio:
            state = wording.translate_text(direct.result.reason)
    elif row.indirect:
        ratio = formatting.ratio(row.indirect.ratio)
        if row.indirect.interval is not None:
            interval = wording.range_text(*map(formatting.ratio, row.indirect.interval))
    native_ratio = (
        max(row.native_means) / min(row.native_means) if row.native_means else 1.0
    )
    if (
        row.native_means
        and row.first
        and not pair.is_incomparable
        and native_ratio > 1 + pair.margin
    ):
        unit = row.first.result.unit
        first_mean, second_mean = (
            wording.quantity(mean, unit) for mean in row.native_means
        )
        natives = _("native: %(first)s / %(second)s") % {
            "first": first_mean,
            "second": second_mean,
        }
    return {
        "row": row,
        "sides": (_side(pair.first, row.first), _side(pair.second, row.second)),
        "ratio": ratio,
        "shade": shade,
        "interval": interval,
        "bar": bar,
        "assessment": assessment,
        "state": state,
        "natives": natives,
    }


def _side(side: SystemInStudy, row: ComparisonRow | None) -> dict[str, Any] | None:
    if row is None:
        return None
    url_args = [side.study.lab.slug, side.study.slug, row.id]
    result = row.result
    return {
        "value_text": f"{full_value_text(row)}, n\N{NO-BREAK SPACE}{row.result.n}",
        "performance": formatting.ratio(result.ratio or 0.0)
        if result.ratio_kind == "efficiency"
        else "",
        "url": reverse("dashboard:cell", args=url_args),
    }


@cached_page
def show_cross_study(request: HttpRequest) -> PageContent:
    query = query_params(request)
    reference = query.get("reference", "")
    filters = CrossStudyFilters(
        host=query.get("host", ""),
        work_class=query.get("work", ""),
        case_id=parse_id(query.get("benchmark", "")) or None,
        hypervisors=frozenset(
            canonical_hypervisor(name)
            for name in request.GET.getlist("hypervisor")
            if name and "\0" not in name
        ),
        guest=query.get("guest", ""),
        reference=SystemInStudyKey.parse(reference),
        page=parse_id(query.get("page", "")) or 1,
    )
    if filters.work_class and filters.work_class not in WORK_CLASSES:
        raise Http404(_("Work class not found."))
    if reference and filters.reference is None:
        raise Http404(_("System not found."))
    viewer = viewer_of(request)
    table = cross_study_table(viewer, filters)
    page = CrossStudyPage(table, signed_in_user(request))
    return PageContent("cross_study/cross_study.html", {"page": page})


@cached_page
def show_cross_study_pair(request: HttpRequest) -> PageContent:
    """Compare two systems; on different machines, relative to native."""
    viewer, query = viewer_of(request), query_params(request)
    keys = (SystemInStudyKey.parse(query.get(name, "")) for name in ("first", "second"))
    system, other_system = (find_system_in_study(viewer, key) for key in keys)
    return PageContent(
        "cross_study/pair.html",
        {"page": cross_study_pair(compare_pair(system, other_system))},
    )


urlpatterns = [
    page(
        "compare/",
        show_cross_study,
        "cross-study",
        example_urls=("", "?host=all&work=cpu-integer", "?hypervisor=nothing"),
        query_count_urls=("/compare/", "/compare/?host=all"),
    ),
    page(
        "compare/pair/",
        show_cross_study_pair,
        "cross-study-pair",
        example_urls=("?first={study}-{one}&second={study}-{other}",),
        query_count_urls=("/compare/pair/?first={study}-{one}&second={study}-{other}",),
        is_private=True,
    ),
]
