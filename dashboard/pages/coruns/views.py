"""What the page of a study's co-runs shows: answers, a table, one case drawn."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext_lazy

from benchmarks.comparing.coruns import ComparedCoRun, study_coruns
from benchmarks.models import Case, Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.coruns import drawings, row_names
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, id_in, unmet
from dashboard.kit.document import Drawing
from dashboard.kit.kept import kept_study_page, study_view
from dashboard.kit.routes import Tab, page
from dashboard.kit.table_cells import row_figure
from dashboard.wording import NONE, shown_ratio
from dashboard.wording.coruns import corun_answer, remarks


def corun_page(
    _viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
    compared, withheld = study_coruns(study), study.flags.withheld_cells()
    cases = {corun.of.case.pk: corun.of.case for corun in compared.coruns}
    directed = (case for case in cases.values() if case.better != "neither")
    first = next(directed, None) or next(iter(cases.values()), None)
    chosen = cases.get(id_in(query.get("case", "")), first)
    parts = []
    # `study_coruns` sorts by component, then by case.
    for component, members in groupby(
        compared.coruns, key=lambda corun: corun.of.case.component
    ):
        coruns = list(members)
        rows = tuple(_case_rows(coruns, chosen))
        answer = corun_answer(coruns, withheld)
        parts.append({"component": component, "answer": answer, "cases": rows})
    drawn: tuple[Drawing, ...] = ()
    if chosen:
        coruns = [corun for corun in compared.coruns if corun.of.case.pk == chosen.pk]
        curves = [curve for curve in compared.curves if curve.case.pk == chosen.pk]
        drawn = drawings(coruns, curves)
    return {
        "parts": tuple(parts),
        "chosen": chosen,
        "tool": known_tool(chosen.tool).title if chosen else "",
        "drawings": drawn,
        "unmet": unmet(query, {"case": chosen.pk}) if chosen else (),
    }


def _case_rows(
    coruns: Sequence[ComparedCoRun], chosen: Case | None
) -> Iterator[dict[str, Any]]:
    for case_id, members in groupby(coruns, key=lambda corun: corun.of.case.pk):
        of_case = list(members)
        case = of_case[0].of.case
        # Of times their mean together, of rates their sum.
        is_time = case.better == "lower"
        together = [
            corun.figures.mean if is_time else corun.figures.sum for corun in of_case
        ]
        alone = [
            slot.value
            for corun in of_case
            for slot in corun.of.slots
            if slot.figure.within is None
        ]
        decimals = figures.decimals_beside([*together, *alone])
        rows = []
        for name, corun, value in zip(
            row_names(of_case), of_case, together, strict=True
        ):
            found = corun.figures
            slots = [
                row_figure(slot.figure, decimals=decimals) for slot in corun.of.slots
            ]
            rows.append(
                {
                    "name": name,
                    "slots": " · ".join(slots) or NONE,
                    "together": wording.quantity(value, case.unit, decimals=decimals)
                    or NONE,
                    "to_single": shown_ratio(
                        found.slowdown if is_time else found.scaling
                    ),
                    "to_native": shown_ratio(found.scaling_to_native),
                    "jain": shown_ratio(found.jain),
                    "remarks": tuple(remarks(corun)),
                }
            )
        yield {
            "case": case,
            "tool": known_tool(case.tool).title,
            "is_chosen": chosen is not None and chosen.pk == case_id,
            "rows": tuple(rows),
        }


urlpatterns = [
    page(
        f"{STUDY}co-runs/",
        kept_study_page(study_view("coruns/coruns.html", corun_page)),
        "coruns",
        ids=("case={case}",),
        tab=Tab(gettext_lazy("Co-runs"), 30, needs="has_coruns"),
    ),
]
