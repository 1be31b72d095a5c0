"""Two systems against each other."""

from collections import Counter
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.vary import vary_on_headers

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.lights import hosts_beside, systems_compared
from benchmarks.comparing.table import CaseRow
from benchmarks.models import Study
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, address
from dashboard.kit.judged_tables import judged_rows, table_of
from dashboard.kit.kept import Answer, Content, kept_study_page
from dashboard.kit.routes import DAYS, REDIRECT, page
from dashboard.kit.selections import ENERGY, Chooser, chooser, is_found
from dashboard.kit.table_cells import interval_bar, reach
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.wording.comparability import comparability_words
from dashboard.wording.verdicts import (
    OVERHEAD,
    drawn_judgement,
    ratio_range_text,
    ratio_text,
    shown_interval,
    strength_notes,
)

Reasons = tuple[str, ...]
OFTEN = 3


def stated_reasons(judgement: Judgement) -> Reasons:
    """Return what decided, or stands against a verdict, and what would help."""
    return tuple(filter(None, (*judgement.sentences, judgement.advice)))


def direct_page(study: Study, choice: Chooser) -> dict[str, Any]:
    """Compare two systems by the runs of both; all else that was chosen counts too."""
    chosen, (one, other) = choice.selection, choice.pinned
    rows, tested = judged_rows(
        study,
        other,
        chosen.show,
        systems=choice.pinned,
        filters={**chosen.filters(), "system_id__in": [one.pk, other.pk]},
    )
    hosts = None
    if one.host_id != other.host_id:
        hosts = hosts_beside(study, other.host_id).get(one.host_id)
    margin = study.equivalence_margin_percent / 100
    judged = [judgement for row in rows if (judgement := drawn_judgement(row))]
    # One axis for all rows, so that their bars can be compared.
    axis = reach(judged, margin)
    groups: list[dict[str, Any]] = []
    for group in table_of(rows, replace(chosen, only="", order=""), {}).groups:
        lines = [
            _line(row, choice, margin, axis)
            | {"is_found": is_found(chosen.q, group, row)}
            for row in group.rows
        ]
        is_any_found = any(line["is_found"] for line in lines)
        groups.append({"group": group, "rows": lines, "is_found": is_any_found})
    bars = [line["bar"] for group in groups for line in group["rows"] if line["bar"]]
    withheld = Counter(stated_reasons(it) for it in judged if not it.is_assessed)
    often, count = next(iter(withheld.most_common(1)), ((), 0))
    return {
        "chooser": choice,
        "one": one,
        "other": other,
        "groups": groups,
        "verdicts": dict(Counter(it.verdict for it in judged).most_common()),
        "tested": tested,
        "equivalence_margin_percent": figures.number(study.equivalence_margin_percent),
        "comparability": comparability_words(
            study, systems_compared(study, one, other, hosts)
        ),
        "is_found": not groups or any(group["is_found"] for group in groups),
        "has_intervals": bool(bars),
        "strengths": strength_notes({bar.strength for bar in bars}),
        "columns": 5 if bars else 4,
        "often": often if count >= OFTEN else (),
        "unpinned": address(choice.query, pin=""),
        "swapped": address(choice.query, pin=f"{other.pk},{one.pk}"),
        "cell_query": choice.cell_query(str(other.pk)),
        "is_energy": chosen.show == ENERGY,
        "is_overhead": chosen.show == OVERHEAD,
    }


def _line(row: CaseRow, choice: Chooser, margin: float, axis: float) -> dict[str, Any]:
    """Return a case on both systems; the first one's cell carries the ratio."""
    cells = {cell.system.id: cell for cell in row.cells if cell}
    one, other = (cells.get(system.pk) for system in choice.pinned)
    judgement, show = drawn_judgement(one) if one else None, choice.selection.show
    return {
        "row": row,
        "one": one,
        "sides": (one, other),
        "bar": interval_bar(judgement, margin, axis) if judgement else None,
        "judgement": judgement,
        "reasons": stated_reasons(judgement) if judgement else (),
        "ratio": ratio_text(one, show) if one else "",
        "ratio_range": ratio_range_text(one, show) if one else "",
        "interval": shown_interval(one, show) if one else "",
    }


# A browser keeps the whole page and the part of one address apart.
@vary_on_headers("HX-Request", "HX-Target")
@kept_study_page
def show_direct(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show two systems case by case; the comparison of all where not two are pinned."""
    study = study_or_404(viewer_of(request), lab, slug)
    choice = chooser(study, query_of(request))
    if not choice.is_direct:
        whole = reverse("dashboard:compare", args=[lab, slug])
        return redirect(f"{whole}?{request.GET.urlencode()}")
    is_part = request.headers.get("HX-Target") == "comparison"
    template = "_direct.html" if is_part else "direct.html"
    context = {"study": study, "page": direct_page(study, choice)}
    return Content(f"direct/{template}", context)


urlpatterns = [
    page(
        f"{STUDY}direct/",
        show_direct,
        "direct",
        walked=("?pin={one},{other}", f"{DAYS}direct/?pin={{guest}},{{machine}}"),
        counted=("direct/?pin={one},{other}",),
        # With one system it redirects to the comparison.
        own=REDIRECT,
        ids=("pin={system}",),
    )
]
