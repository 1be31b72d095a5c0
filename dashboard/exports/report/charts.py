"""The charts of a report: profiles, ratios, and the drawings of the pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from textwrap import wrap
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.comparing.profile import Profile, Share
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from dashboard import wording
from dashboard.charts.chart import (
    FRAME_PX,
    STROKE,
    Axis,
    Bars,
    Chart,
    Panel,
    Points,
    Rule,
    marked,
    row_axis,
)
from dashboard.charts.scales import scale_of
from dashboard.kit.document import Drawing, Figure, Table, plain_table
from dashboard.wording import verdicts

MOST_ROWS: Final = 40
"""More systems than a page takes are in the table alone."""
ACROSS: Final = 4
LINE_PX, ROOM_PX = 15, 6
NAME_LETTERS: Final = 26
BELOW_PX: Final = 50
"""The names below a line of panels, and the titles of the next."""
STRIP, LINE, GAP = 20, 7, 10
"""Pixels of a band: for its plain values, for each interval, to the next band."""
FARTHEST: Final = 20.0
"""A ratio farther from 1 is an arrow on the edge: most likely a slip of a unit."""


SystemShares = tuple[str, Sequence[Share | None]]
"""A system with its share of each component."""


@dataclass(frozen=True)
class Ratio:
    """A cell against its baseline; ``low`` and ``high`` where it has an interval.

    ``strength`` is that of the interval (`chart.marked`).
    """

    ratio: float
    low: float | None = None
    high: float | None = None
    strength: str = ""

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def is_beyond(self) -> bool:
        return not 1 / FARTHEST <= self.ratio <= FARTHEST


def profile_plot(components: Sequence[str], systems: Sequence[SystemShares]) -> Chart:
    """Return means with their intervals and ranges, a panel for each component."""
    rows = row_axis([name for name, _shares in systems])
    panels = tuple(
        Panel(
            x=Axis(scale="log"),
            y=rows,
            title=component,
            series=tuple(_means([shares[at] for _name, shares in systems])),
            rules=(Rule(at=1, axis="x"),),
        )
        for at, component in enumerate(components)
    )
    lines = -(-len(panels) // ACROSS)
    longest = max(
        (len(wrap(name, NAME_LETTERS)) for name, _shares in systems), default=1
    )
    height = FRAME_PX + lines * max(len(systems), 2) * (LINE_PX * longest + ROOM_PX)
    gap = BELOW_PX / height if lines > 1 else 0
    return Chart(panels=panels, height=height, across=ACROSS, gap=gap)


def _means(means: Sequence[Share | None]) -> Iterator[Points]:
    """Yield ranges thin, intervals thick, means as dots; open ones have no interval."""
    placed = [(row, mean) for row, mean in enumerate(means) if mean]
    for is_sure in (True, False):
        some = [
            (row, mean) for row, mean in placed if (mean.low is not None) == is_sure
        ]
        if not some:
            continue
        rows, shown = [row for row, _mean in some], [mean for _row, mean in some]
        middles = [mean.mean for mean in shown]
        yield Points(
            x=middles,
            y=rows,
            low=[mean.minimum for mean in shown],
            high=[mean.maximum for mean in shown],
            along="x",
            interval_width=1,
        )
        yield Points(
            x=middles,
            y=rows,
            low=[mean.low for mean in shown] if is_sure else (),
            high=[mean.high for mean in shown] if is_sure else (),
            along="x",
            interval_width=4,
            symbol="circle" if is_sure else "circle-open",
        )


def ratio_plot(groups: Sequence[tuple[str, Sequence[Ratio]]], axis_title: str) -> Chart:
    """Return every ratio at its place, a band for each group.

    A ratio with an interval is a dot on its bar, the bars of a band one below the other
    in the order of their ratios; one without is a stroke.
    """
    ratios = [one.ratio for _name, group in groups for one in group]
    held = [min(max(ratio, 1 / FARTHEST), FARTHEST) for ratio in ratios]
    # The axis includes 1, with some room on both sides, whatever the ratios are.
    scale = scale_of(Axis(scale="log"), [0.9, 1.1, *held])
    ticks, bars = [], list[tuple[float, Ratio]]()
    strokes, low, high = (list[tuple[float, Ratio]]() for _form in range(3))
    y = 0.0
    for name, group in groups:
        sure = sorted(
            (ratio for ratio in group if ratio.has_interval),
            key=attrgetter("ratio"),
        )
        for one in group:
            if not one.has_interval:
                form = (low if one.ratio < 1 else high) if one.is_beyond else strokes
                form.append((y + STRIP / 2, one))
        # Without plain values the bars are in the middle of the band.
        first = y + (STRIP if len(sure) < len(group) else STRIP / 2)
        bars += [(first + LINE * line, ratio) for line, ratio in enumerate(sure)]
        height = STRIP + LINE * len(sure)
        ticks.append((y + height / 2, name))
        y += height + GAP
    forms = (
        *(
            _with_intervals([bar for bar in bars if bar[1].strength == strength])
            for strength in ("", "faint", "hollow")
        ),
        _marks(strokes, STROKE, STRIP - 2),
        _marks(low, "triangle-left-open", 9, scale.low),
        _marks(high, "triangle-right-open", 9, scale.high),
    )
    panel = Panel(
        x=Axis(title=axis_title, scale="log", ends=(scale.first, scale.last)),
        y=Axis(scale="category", ends=(y, 0), ticks=tuple(ticks), has_grid=False),
        series=tuple(form for form in forms if form.x),
        rules=(Rule(at=1, axis="x"),),
    )
    return Chart(panels=(panel,), height=FRAME_PX + y)


def _with_intervals(bars: Sequence[tuple[float, Ratio]]) -> Points:
    symbol, opacity = marked("circle", bars[0][1].strength if bars else "")
    return Points(
        x=[bar.ratio for _y, bar in bars],
        y=[y for y, _ratio in bars],
        low=[bar.low for _y, bar in bars],
        high=[bar.high for _y, bar in bars],
        along="x",
        # A range that says nothing about other days is thinner than an interval.
        interval_width=1.2 if symbol != "circle" else 2,
        symbol=symbol,
        opacity=opacity,
        size=6,
    )


def _marks(
    placed: Sequence[tuple[float, Ratio]],
    symbol: str,
    size: float,
    edge: float | None = None,
) -> Points:
    return Points(
        x=[edge or mark.ratio for _y, mark in placed],
        y=[y for y, _mark in placed],
        symbol=symbol,
        size=size,
    )


def profile_chart(profile: Profile) -> tuple[Figure, ...]:
    """Draw what each system costs, component by component."""
    if not 0 < len(profile.rows) <= MOST_ROWS:
        return ()
    names = [wording.component_name(name) for name in profile.components]
    alt = _("The mean ratio of each system in %(components)s.") % {
        "components": ", ".join(names)
    }
    systems = [(wording.column_name(row.column), row.shares) for row in profile.rows]
    caption = [
        _(
            "Overhead profile: the geometric mean of each system's ratios (log scale; "
            "the dashed line is 1), and the range from its worst to its best case."
        )
    ]
    sure = [share.low is not None for row in profile.rows for share in row.stated]
    if any(sure):
        caption.append(_("Thick bars are 95\N{NO-BREAK SPACE}% intervals of means."))
    if not all(sure):
        caption.append(
            _("An open dot has no interval: it is a value, not an estimate.")
        )
    return (Figure(" ".join(caption), alt, profile_plot(names, systems)),)


def ratio_chart(rows: Sequence[ComparisonRow]) -> tuple[Figure, ...]:
    """Draw every ratio of a scenario, a band for each component and platform."""
    shown = [row for row in rows if row.shown.ratio and row.shown.kind != "slowdown"]
    groups = list(_groups(shown))
    if not groups:
        return ()
    ratios = [ratio for _name, group in groups for ratio in group]
    alt = _("%(n)s ratios in %(bands)s bands, by component and platform.") % {
        "n": len(ratios),
        "bands": len(groups),
    }
    caption = [_("Relative performance by component: every ratio at its place.")]
    with_interval = sum(ratio.has_interval for ratio in ratios)
    if with_interval:
        caption.append(
            _("A dot on a bar is a ratio with its 95\N{NO-BREAK SPACE}% interval.")
        )
    if notes := verdicts.strength_notes({ratio.strength for ratio in ratios}):
        caption.append(notes)
    if with_interval < len(ratios):
        caption.append(_("A stroke is a plain value, without an interval."))
    if any(ratio.is_beyond for ratio in ratios):
        caption.append(_("Arrows lie beyond the ends of the axis."))
    title = _("Ratio to the baseline, 1 = as fast (log scale)")
    return (Figure(" ".join(caption), alt, ratio_plot(groups, title)),)


def _groups(rows: Sequence[ComparisonRow]) -> Iterator[tuple[str, list[Ratio]]]:
    def place(row: ComparisonRow) -> tuple[Any, ...]:
        system = row.system
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        return rank(COMPONENTS, row.case.component), row.case.component, platform

    for (_rank, component, platform), members in groupby(
        sorted(rows, key=place), place
    ):
        name = f"{wording.component_name(component)}: {platform}"
        yield name, list(map(_ratio, members))


def _ratio(row: ComparisonRow) -> Ratio:
    judged = row.shown.judgement
    if judged is None or judged.low is None:
        return Ratio(row.shown.ratio or 0.0)
    ratio = row.shown.ratio or 0.0
    return Ratio(ratio, judged.low, judged.high, judged.strength)


def drawn(drawing: Drawing, name: str, at: int) -> tuple[tuple[Figure, ...], Table]:
    """Return a drawing of the pages as figure and table; one value has no figure."""
    title = f"{name}: {drawing.title}"
    table = plain_table(title, drawing.head, drawing.rows, numbers_from=1)
    values = [
        value
        for series in drawing.figure.series
        if isinstance(series, (Bars, Points))
        for value in (series.values if isinstance(series, Bars) else series.x)
        if value is not None
    ]
    if len(values) < 2:
        return (), table
    alt = _("%(title)s: %(rows)s") % {
        "title": title,
        "rows": "; ".join(row[0] for row in drawing.rows[:MOST_ROWS]),
    }
    return (Figure(f"{title}. {drawing.note}", alt, drawing.figure, of=(at,)),), table
