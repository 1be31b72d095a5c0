from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from textwrap import wrap
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.comparison.overhead_profile import ComponentMean, Profile
from dashboard import wording
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    VERTICAL_STROKE,
    Bars,
    Chart,
    ChartAxis,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    symbol_style,
)
from dashboard.charts.scales import scale_for_axis
from dashboard.kit.report_elements import (
    ChartWithTable,
    ReportFigure,
    ReportTable,
    plain_table,
)
from dashboard.wording import verdicts

MAX_CHART_SYSTEMS: Final = 40
PANELS_PER_ROW: Final = 4
SYSTEM_LINE_PX, BAND_PADDING_PX = 15, 6
NAME_CHARACTERS: Final = 26
BELOW_PANELS_PX: Final = 50
"""Height of the labels below a row of panels and of the titles of the next row."""
PLAIN_RATIOS_PX, INTERVAL_LINE_PX, BAND_GAP_PX = 20, 7, 10
"""Heights of the line of ratios without intervals, an interval's line, and a gap."""
MAX_REPORT_RATIO: Final = 20.0
"""More extreme ratios are drawn as arrows at the edge."""


SystemMeans = tuple[str, Sequence[ComponentMean | None]]
"""Name of a system, and its mean for each component."""


@dataclass(frozen=True)
class PlottedRatio:
    ratio: float
    low: float | None = None
    high: float | None = None
    strength: str = ""

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def is_off_scale(self) -> bool:
        return not 1 / MAX_REPORT_RATIO <= self.ratio <= MAX_REPORT_RATIO


def profile_plot(components: Sequence[str], systems: Sequence[SystemMeans]) -> Chart:
    names = [name for name, _means_by_component in systems]
    rows = row_axis(names)
    panels = tuple(
        Panel(
            x=ChartAxis(scale="log"),
            y=rows,
            title=component,
            series=tuple(_means([means[index] for _name, means in systems])),
            reference_lines=(ReferenceLine(value=1, axis="x"),),
        )
        for index, component in enumerate(components)
    )
    panel_rows = -(-len(panels) // PANELS_PER_ROW)
    longest = max((len(wrap(name, NAME_CHARACTERS)) for name in names), default=1)
    height = AXES_HEIGHT_PX + panel_rows * max(len(systems), 2) * (
        SYSTEM_LINE_PX * longest + BAND_PADDING_PX
    )
    gap = BELOW_PANELS_PX / height if panel_rows > 1 else 0
    return Chart(panels=panels, height=height, columns=PANELS_PER_ROW, gap=gap)


def _means(means: Sequence[ComponentMean | None]) -> Iterator[Points]:
    """Yield means as dots, with their ranges (thin lines) and intervals (thick).

    Means without an interval are open dots.
    """
    rows_with_means = [(row, mean) for row, mean in enumerate(means) if mean]
    for has_interval in (True, False):
        selected = [
            (row, mean)
            for row, mean in rows_with_means
            if (mean.low is not None) == has_interval
        ]
        if not selected:
            continue
        rows, selected_means = (
            [row for row, _mean in selected],
            [mean for _row, mean in selected],
        )
        middles = [mean.mean for mean in selected_means]
        yield Points(
            x=middles,
            y=rows,
            low=[mean.minimum for mean in selected_means],
            high=[mean.maximum for mean in selected_means],
            interval_axis="x",
            interval_width=1,
        )
        yield Points(
            x=middles,
            y=rows,
            low=[mean.low for mean in selected_means] if has_interval else (),
            high=[mean.high for mean in selected_means] if has_interval else (),
            interval_axis="x",
            interval_width=4,
            symbol="circle" if has_interval else "circle-open",
        )


def ratio_plot(
    groups: Sequence[tuple[str, Sequence[PlottedRatio]]], axis_title: str
) -> Chart:
    """Return a plot of all ratios, with a band for each group."""
    ratios = [ratio.ratio for _name, group in groups for ratio in group]
    clamped = [
        min(max(ratio, 1 / MAX_REPORT_RATIO), MAX_REPORT_RATIO) for ratio in ratios
    ]
    scale = scale_for_axis(ChartAxis(scale="log"), [0.9, 1.1, *clamped])
    ticks, bars = [], list[tuple[float, PlottedRatio]]()
    strokes, low, high = (list[tuple[float, PlottedRatio]]() for _form in range(3))
    y = 0.0
    for name, group in groups:
        with_intervals = sorted(
            (ratio for ratio in group if ratio.has_interval),
            key=attrgetter("ratio"),
        )
        for ratio in group:
            if not ratio.has_interval:
                points = (
                    (low if ratio.ratio < 1 else high)
                    if ratio.is_off_scale
                    else strokes
                )
                points.append((y + PLAIN_RATIOS_PX / 2, ratio))
        # Without ratios that are strokes, the intervals are centered in the band.
        first = y + (
            PLAIN_RATIOS_PX if len(with_intervals) < len(group) else PLAIN_RATIOS_PX / 2
        )
        bars += [
            (first + INTERVAL_LINE_PX * line, ratio)
            for line, ratio in enumerate(with_intervals)
        ]
        height = PLAIN_RATIOS_PX + INTERVAL_LINE_PX * len(with_intervals)
        ticks.append((y + height / 2, name))
        y += height + BAND_GAP_PX
    series = (
        *(
            _interval_points([bar for bar in bars if bar[1].strength == strength])
            for strength in ("", "faint", "hollow")
        ),
        _plain_points(strokes, VERTICAL_STROKE, PLAIN_RATIOS_PX - 2),
        _plain_points(low, "triangle-left-open", 9, scale.low),
        _plain_points(high, "triangle-right-open", 9, scale.high),
    )
    panel = Panel(
        x=ChartAxis(title=axis_title, scale="log", limits=(scale.first, scale.last)),
        y=ChartAxis(
            scale="category", limits=(y, 0), ticks=tuple(ticks), has_grid=False
        ),
        series=tuple(points for points in series if points.x),
        reference_lines=(ReferenceLine(value=1, axis="x"),),
    )
    return Chart(panels=(panel,), height=AXES_HEIGHT_PX + y)


def _interval_points(bars: Sequence[tuple[float, PlottedRatio]]) -> Points:
    symbol, opacity = symbol_style("circle", bars[0][1].strength if bars else "")
    return Points(
        x=[bar.ratio for _y, bar in bars],
        y=[y for y, _plotted_ratio in bars],
        low=[bar.low for _y, bar in bars],
        high=[bar.high for _y, bar in bars],
        interval_axis="x",
        interval_width=1.2 if symbol != "circle" else 2,
        symbol=symbol,
        opacity=opacity,
        size=6,
    )


def _plain_points(
    positioned: Sequence[tuple[float, PlottedRatio]],
    symbol: str,
    size: float,
    edge: float | None = None,
) -> Points:
    return Points(
        x=[edge or ratio.ratio for _y, ratio in positioned],
        y=[y for y, _plotted_ratio in positioned],
        symbol=symbol,
        size=size,
    )


def profile_chart(profile: Profile) -> tuple[ReportFigure, ...]:
    if not 0 < len(profile.rows) <= MAX_CHART_SYSTEMS:
        return ()
    names = [wording.component_name(name) for name in profile.components]
    alt = _("Mean ratio of each system by component: %(components)s.") % {
        "components": ", ".join(names)
    }
    systems = [
        (wording.column_name(row.column), row.component_means) for row in profile.rows
    ]
    caption = [
        _(
            "Overhead profile: the geometric mean of each system's ratios (log "
            "scale; the dashed line is 1), with the range from its worst to its "
            "best benchmark."
        )
    ]
    has_intervals = [
        mean.low is not None for row in profile.rows for mean in row.known_means
    ]
    if any(has_intervals):
        caption.append(_("Thick bars are 95% confidence intervals of the means."))
    if not all(has_intervals):
        caption.append(
            _(
                "Open dots are means without a confidence interval, because a "
                "benchmark has a single run."
            )
        )
    return (ReportFigure(" ".join(caption), alt, profile_plot(names, systems)),)


def ratio_chart(rows: Sequence[ComparisonRow]) -> tuple[ReportFigure, ...]:
    charted = [
        row for row in rows if row.result.ratio and row.result.ratio_kind != "slowdown"
    ]
    groups = list(_groups(charted))
    if not groups:
        return ()
    ratios = [ratio for _name, group in groups for ratio in group]
    alt = _("%(n)s ratios in %(bands)s bands, by component and platform.") % {
        "n": len(ratios),
        "bands": len(groups),
    }
    caption = [_("Relative performance by component. Each mark is one ratio.")]
    interval_count = sum(ratio.has_interval for ratio in ratios)
    if interval_count:
        caption.append(_("A dot on a bar is a ratio with its 95% confidence interval."))
    if notes := verdicts.interval_style_notes({ratio.strength for ratio in ratios}):
        caption.append(notes)
    if interval_count < len(ratios):
        caption.append(_("A short line is a ratio without a confidence interval."))
    if any(ratio.is_off_scale for ratio in ratios):
        caption.append(_("Arrows mark ratios outside the range of the axis."))
    title = _("Ratio to the baseline (log scale, 1 = same speed)")
    return (ReportFigure(" ".join(caption), alt, ratio_plot(groups, title)),)


def _groups(rows: Sequence[ComparisonRow]) -> Iterator[tuple[str, list[PlottedRatio]]]:
    def sort_key(row: ComparisonRow) -> tuple[Any, ...]:
        system = row.system
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        return (
            rank_by_order(COMPONENTS, row.case.component),
            row.case.component,
            platform,
        )

    for (_rank, component, platform), members in groupby(
        sorted(rows, key=sort_key), sort_key
    ):
        name = f"{wording.component_name(component)}: {platform}"
        yield name, list(map(_plotted_ratio, members))


def _plotted_ratio(row: ComparisonRow) -> PlottedRatio:
    assessment = row.result.assessment
    if assessment is None or assessment.low is None:
        return PlottedRatio(row.result.ratio or 0.0)
    ratio = row.result.ratio or 0.0
    return PlottedRatio(
        ratio, assessment.low, assessment.high, assessment.interval_style
    )


def figure_and_table(
    chart_with_table: ChartWithTable, name: str, table_index: int
) -> tuple[tuple[ReportFigure, ...], ReportTable]:
    title = f"{name}: {chart_with_table.title}"
    table = plain_table(
        title, chart_with_table.header, chart_with_table.rows, numbers_from=1
    )
    values = [
        value
        for series in chart_with_table.chart.series
        if isinstance(series, (Bars, Points))
        for value in (series.values if isinstance(series, Bars) else series.x)
        if value is not None
    ]
    if len(values) < 2:
        return (), table
    alt = _("%(title)s: %(rows)s") % {
        "title": title,
        "rows": "; ".join(row[0] for row in chart_with_table.rows[:MAX_CHART_SYSTEMS]),
    }
    return (
        ReportFigure(
            f"{title}. {chart_with_table.note}",
            alt,
            chart_with_table.chart,
            table_indexes=(table_index,),
        ),
    ), table
