from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext_lazy

from benchmarks.comparison.coruns import CoRunResult, study_coruns
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.coruns import corun_charts, corun_row_names
from dashboard.kit import formatting
from dashboard.kit.page_cache import cached_study_page, study_view
from dashboard.kit.report_elements import ChartWithTable
from dashboard.kit.routes import Tab, page
from dashboard.kit.table_cells import value_text
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters, parse_id
from dashboard.wording import DASH, ratio_or_dash
from dashboard.wording.coruns import corun_remarks, corun_summary


def corun_page(
    _viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
    study_result, withheld = study_coruns(study), study.flags.cells_without_verdict()
    cases = {corun.slots.case.pk: corun.slots.case for corun in study_result.coruns}
    with_direction = (case for case in cases.values() if case.better != "neither")
    first = next(with_direction, None) or next(iter(cases.values()), None)
    chosen = cases.get(parse_id(query.get("case", "")), first)
    parts = []
    # `study_coruns` sorts by component, then by case.
    for component, members in groupby(
        study_result.coruns, key=lambda corun: corun.slots.case.component
    ):
        coruns = list(members)
        rows = tuple(_case_rows(coruns, chosen))
        summary = corun_summary(coruns, withheld)
        parts.append({"component": component, "summary": summary, "cases": rows})
    charts: tuple[ChartWithTable, ...] = ()
    if chosen:
        coruns = [
            corun for corun in study_result.coruns if corun.slots.case.pk == chosen.pk
        ]
        curves = [curve for curve in study_result.curves if curve.case.pk == chosen.pk]
        charts = corun_charts(coruns, curves)
    return {
        "parts": tuple(parts),
        "chosen": chosen,
        "tool": require_tool(chosen.tool).title if chosen else "",
        "charts": charts,
        "ignored_parameters": ignored_parameters(query, {"case": chosen.pk})
        if chosen
        else (),
    }


def _case_rows(
    coruns: Sequence[CoRunResult], chosen: Case | None
) -> Iterator[dict[str, Any]]:
    for case_id, members in groupby(coruns, key=lambda corun: corun.slots.case.pk):
        case_coruns = list(members)
        case = case_coruns[0].slots.case
        # Times of several VMs are combined by their mean, rates by their sum.
        is_time = case.better == "lower"
        combined_values = [
            corun.figures.mean if is_time else corun.figures.sum
            for corun in case_coruns
        ]
        single_values = [
            slot.value
            for corun in case_coruns
            for slot in corun.slots.slots
            if slot.figure.value_interval is None
        ]
        decimals = formatting.shared_decimals([*combined_values, *single_values])
        rows = []
        for name, corun, value in zip(
            corun_row_names(case_coruns), case_coruns, combined_values, strict=True
        ):
            figures = corun.figures
            slots = [
                value_text(slot.figure, decimals=decimals) for slot in corun.slots.slots
            ]
            rows.append(
                {
                    "name": name,
                    "slots": " · ".join(slots) or DASH,
                    "together": wording.quantity(value, case.unit, decimals=decimals)
                    or DASH,
                    "to_single": ratio_or_dash(
                        figures.slowdown if is_time else figures.scaling
                    ),
                    "to_native": ratio_or_dash(figures.scaling_to_native),
                    "jain": ratio_or_dash(figures.jain),
                    "remarks": tuple(corun_remarks(corun)),
                }
            )
        yield {
            "case": case,
            "tool": require_tool(case.tool).title,
            "is_chosen": chosen is not None and chosen.pk == case_id,
            "rows": tuple(rows),
        }


urlpatterns = [
    page(
        f"{STUDY_PATH}co-runs/",
        cached_study_page(study_view("coruns/coruns.html", corun_page)),
        "co-runs",
        id_queries=("case={case}",),
        tab=Tab(gettext_lazy("Co-runs"), 30, required_attribute="has_coruns"),
    ),
]
