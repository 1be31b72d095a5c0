"""Two systems against each other, of whichever studies."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.answers import Indirect
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.side_by_side import Side
from benchmarks.comparing.side_pairs import PairRow, SidePair
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.table_cells import IntervalBar, full_figure, interval_bar, reach
from dashboard.wording.comparability import ComparabilityWords, comparability_words
from dashboard.wording.verdicts import (
    drawn_judgement,
    ratio_range_text,
    ratio_text,
    shown_interval,
)


@dataclass(frozen=True)
class SideText:
    """What a system reads: its figure and its ratio to its own native."""

    figure: str
    kept: str
    address: str


@dataclass(frozen=True)
class PairLine:
    """A row in words; ``bar`` is the interval of a direct ratio."""

    row: PairRow
    sides: tuple[SideText | None, ...]
    ratio: str
    shade: str
    interval: str
    bar: IntervalBar | None
    judgement: Judgement | None
    state: str
    natives: str


@dataclass(frozen=True)
class PairPage:
    """Everything of the page."""

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
        judged = (line.judgement for _group, lines in self.groups for line in lines)
        return dict(Counter(it.verdict for it in judged if it).most_common())

    @cached_property
    def groups(self) -> list[tuple[object, list[PairLine]]]:
        pair = self.pair
        directs = [row.direct for row in pair.rows if row.direct]
        judged = [it for row in directs if (it := drawn_judgement(row))]
        axis = reach(judged, pair.margin)
        return [
            (group.group, [self._line(row, axis) for row in group.rows])
            for group in pair.groups
        ]

    def _line(self, row: PairRow, axis: float) -> PairLine:
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
        return PairLine(
            row,
            tuple(
                _side(side, cell)
                for side, cell in zip(self.sides, (row.one, row.other), strict=True)
            ),
            ratio,
            shade,
            interval,
            bar,
            judgement,
            state,
            self._natives(row),
        )

    def _natives(self, row: PairRow) -> str:
        """Say that both studies' native runs differ, where they do."""
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


def _side(side: Side, row: ComparisonRow | None) -> SideText | None:
    if row is None:
        return None
    place = [side.study.lab.slug, side.study.slug, row.id]
    efficiency = row.shown.efficiency
    return SideText(
        f"{full_figure(row)}, n\N{NO-BREAK SPACE}{row.shown.n}",
        figures.ratio(efficiency) if efficiency is not None else "",
        reverse("dashboard:cell", args=place),
    )


def _ends(indirect: Indirect) -> str:
    if indirect.interval is None:
        return ""
    low, high = map(figures.ratio, indirect.interval)
    return _("%(low)s to %(high)s") % {"low": low, "high": high}
