"""Any systems of any studies beside each other."""

from collections import Counter
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.side_by_side import (
    Choice,
    Side,
    SideKey,
    find_side,
    side_by_side,
)
from benchmarks.comparing.side_pairs import PairRow, SidePair, side_pair
from benchmarks.platforms import canonical_hypervisor
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import id_in
from dashboard.kit.kept import Content, kept_page
from dashboard.kit.routes import page
from dashboard.kit.table_cells import full_figure, interval_bar, reach
from dashboard.kit.viewers import person_of, query_of, viewer_of
from dashboard.pages.across.page import AcrossPage
from dashboard.wording.comparability import comparability_words
from dashboard.wording.verdicts import (
    drawn_judgement,
    ratio_range_text,
    ratio_text,
    shown_interval,
)


def pair_page(pair: SidePair) -> dict[str, Any]:
    sides = (pair.one, pair.other)
    keys = {"one": str(pair.other.key), "other": str(pair.one.key)}
    host = pair.other.system.host
    whole = {"host": f"{host.lab.slug}/{host.slug}", "against": str(pair.other.key)}
    directs = [row.direct for row in pair.rows if row.direct]
    axis = reach([it for row in directs if (it := drawn_judgement(row))], pair.margin)
    groups = [
        (group.group, [_line(pair, row, axis) for row in group.rows])
        for group in pair.groups
    ]
    judged = (line["judgement"] for _group, lines in groups for line in lines)
    return {
        "pair": pair,
        "comparability": comparability_words(pair.one.study, pair.compared),
        "sides": sides,
        "names": [wording.system_name(side.system) for side in sides],
        "is_emulated": any(side.system.is_emulated for side in sides),
        "swapped": f"?{urlencode(keys)}",
        # The second system beside all others of its machine.
        "whole": f"{reverse('dashboard:across')}?{urlencode(whole)}",
        "margin_percent": figures.number(100 * pair.margin),
        "verdicts": dict(Counter(one.verdict for one in judged if one).most_common()),
        "groups": groups,
    }


def _line(pair: SidePair, row: PairRow, axis: float) -> dict[str, Any]:
    direct, judgement, bar = row.direct, None, None
    ratio = shade = interval = state = natives = ""
    if direct:
        judgement = drawn_judgement(direct)
        ratio = ratio_text(direct, "") or ratio_range_text(direct, "")
        if direct.shown.ratio is not None:
            shade = figures.heat(direct.shown.ratio)
        interval = shown_interval(direct, "")
        if judgement:
            bar = interval_bar(judgement, pair.margin, axis)
        if not ratio:
            state = wording.said(direct.shown.reason)
    elif row.indirect:
        ratio = figures.ratio(row.indirect.ratio)
        if row.indirect.interval is not None:
            interval = wording.span_text(*map(figures.ratio, row.indirect.interval))
    apart = max(row.natives) / min(row.natives) if row.natives else 1.0
    if row.natives and row.one and not pair.is_refused and apart > 1 + pair.margin:
        unit = row.one.shown.unit
        one, other = (wording.quantity(value, unit) for value in row.natives)
        natives = _("native: %(one)s / %(other)s") % {"one": one, "other": other}
    return {
        "row": row,
        "sides": (_side(pair.one, row.one), _side(pair.other, row.other)),
        "ratio": ratio,
        "shade": shade,
        "interval": interval,
        "bar": bar,
        "judgement": judgement,
        "state": state,
        "natives": natives,
    }


def _side(side: Side, row: ComparisonRow | None) -> dict[str, Any] | None:
    if row is None:
        return None
    place = [side.study.lab.slug, side.study.slug, row.id]
    seen = row.shown
    return {
        "figure": f"{full_figure(row)}, n\N{NO-BREAK SPACE}{row.shown.n}",
        "kept": figures.ratio(seen.ratio or 0.0) if seen.kind == "efficiency" else "",
        "address": reverse("dashboard:cell", args=place),
    }


@kept_page
def show_across(request: HttpRequest) -> Content:
    """Show what was measured on a machine, or for a class of work, by any study."""
    query = query_of(request)
    against = query.get("against", "")
    choice = Choice(
        host=query.get("host", ""),
        work=query.get("work", ""),
        case=id_in(query.get("benchmark", "")) or None,
        hypervisors=frozenset(
            canonical_hypervisor(name)
            for name in request.GET.getlist("hypervisor")
            if name and "\0" not in name
        ),
        guest=query.get("guest", ""),
        against=SideKey.read(against),
        page=id_in(query.get("page", "")) or 1,
    )
    if choice.work and choice.work not in WORK_CLASSES:
        raise Http404(_("There is no such class of work."))
    if against and choice.against is None:
        raise Http404(_("There is no such system."))
    viewer = viewer_of(request)
    found = side_by_side(viewer, choice)
    page = AcrossPage(found, person_of(request))
    return Content("across/across.html", {"page": page})


@kept_page
def show_pair(request: HttpRequest) -> Content:
    """Show two systems case by case; on two machines by their natives alone."""
    viewer, query = viewer_of(request), query_of(request)
    keys = (SideKey.read(query.get(name, "")) for name in ("one", "other"))
    one, other = (find_side(viewer, key) for key in keys)
    return Content("across/pair.html", {"page": pair_page(side_pair(one, other))})


urlpatterns = [
    page(
        "compare/",
        show_across,
        "across",
        walked=("", "?host=all&work=cpu-integer", "?hypervisor=nothing"),
        counted=("/compare/", "/compare/?host=all"),
    ),
    page(
        "compare/direct/",
        show_pair,
        "across-pair",
        walked=("?one={study}-{one}&other={study}-{other}",),
        counted=("/compare/direct/?one={study}-{one}&other={study}-{other}",),
        is_private=True,
    ),
]
