"""Any systems of any studies beside each other."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.comparing.answers import Indirect
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
from dashboard.wording.comparability import ComparabilityWords, comparability_words
from dashboard.wording.verdicts import (
    drawn_judgement,
    ratio_range_text,
    ratio_text,
    shown_interval,
)


@dataclass(frozen=True)
class PairPage:
    pair: SidePair
    comparability: ComparabilityWords

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.pair.one, self.pair.other

    @property
    def names(self) -> tuple[str, str]:
        one, other = (wording.system_name(side.system) for side in self.sides)
        return one, other

    @property
    def is_emulated(self) -> bool:
        return any(side.system.is_emulated for side in self.sides)

    @property
    def swapped(self) -> str:
        chosen = {"one": str(self.pair.other.key), "other": str(self.pair.one.key)}
        return f"?{urlencode(chosen)}"

    @property
    def whole(self) -> str:
        """Where the second one stands beside all others of its machine."""
        host = self.pair.other.system.host
        chosen = {
            "host": f"{host.lab.slug}/{host.slug}",
            "against": str(self.pair.other.key),
        }
        return f"{reverse('dashboard:across')}?{urlencode(chosen)}"

    @property
    def margin_percent(self) -> str:
        return figures.number(100 * self.pair.margin)

    @cached_property
    def verdicts(self) -> Mapping[str, int]:
        judged = (line["judgement"] for _group, lines in self.groups for line in lines)
        return dict(Counter(it.verdict for it in judged if it).most_common())

    @cached_property
    def groups(self) -> list[tuple[object, list[dict[str, Any]]]]:
        pair = self.pair
        directs = [row.direct for row in pair.rows if row.direct]
        judged = [it for row in directs if (it := drawn_judgement(row))]
        axis = reach(judged, pair.margin)
        return [
            (group.group, [self._line(row, axis) for row in group.rows])
            for group in pair.groups
        ]

    def _line(self, row: PairRow, axis: float) -> dict[str, Any]:
        direct, judgement, bar = row.direct, None, None
        ratio = shade = interval = state = ""
        if direct:
            judgement = drawn_judgement(direct)
            ratio = ratio_text(direct, "") or ratio_range_text(direct, "")
            if direct.shown.ratio is not None:
                shade = figures.heat(direct.shown.ratio)
            interval = shown_interval(direct, "")
            if judgement:
                bar = interval_bar(judgement, self.pair.margin, axis)
            if not ratio:
                state = wording.said(direct.shown.reason)
        elif row.indirect:
            ratio = figures.ratio(row.indirect.ratio)
            interval = _ends(row.indirect)
        return {
            "row": row,
            "sides": tuple(
                _side(side, cell)
                for side, cell in zip(self.sides, (row.one, row.other), strict=True)
            ),
            "ratio": ratio,
            "shade": shade,
            "interval": interval,
            "bar": bar,
            "judgement": judgement,
            "state": state,
            "natives": self._natives(row),
        }

    def _natives(self, row: PairRow) -> str:
        if not row.natives or self.pair.is_refused or not row.one:
            return ""
        if max(row.natives) / min(row.natives) <= 1 + self.pair.margin:
            return ""
        unit = row.one.shown.unit
        one, other = (wording.quantity(value, unit) for value in row.natives)
        return _("native: %(one)s / %(other)s") % {"one": one, "other": other}


def pair_page(pair: SidePair) -> PairPage:
    """Return the page of two systems."""
    return PairPage(pair, comparability_words(pair.one.study, pair.compared))


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


def _ends(indirect: Indirect) -> str:
    if indirect.interval is None:
        return ""
    low, high = map(figures.ratio, indirect.interval)
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


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
