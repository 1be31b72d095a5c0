"""The charts of a cell with their texts and tables."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.intervals import (
    MIN_HODGES_LEHMANN_RUNS,
    MeanInterval,
    hodges_lehmann,
    mean_interval,
)
from benchmarks.comparison.cell_details import CellSamples
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.models import Cell
from benchmarks.parsing.tool import find_percentile, summarized_metric
from dashboard import wording
from dashboard.charts.bars_and_lines import ChartPoint, curve_points, sweep_plot
from dashboard.charts.chart import EMPTY_CHART
from dashboard.kit import formatting
from dashboard.kit.report_elements import ChartWithTable
from dashboard.pages.cell.charts import (
    QUANTILES,
    ChartRun,
    SampleSeries,
    SpeedMode,
    bin_range_text,
    ecdf_chart,
    histogram_chart,
    quantiles,
    run_order_plot,
    shared_bins,
    strip_plot,
    with_distribution,
)
from dashboard.wording import DASH, value_with_unit, verdicts

ROWS_SHOWN = 500
MAX_RUNS_PAIRED = 1_000  # 500,000 pairs
# Two runs give a faint interval and no verdict (docs/method.md).
FAINT_RUN_COUNT = 2
SIDE_COLORS = ("series-2", "series-1")


def has_single_figure(cell: Cell) -> bool:
    return not cell.shape_codes


def speed_modes(cell: Cell) -> list[SpeedMode]:
    modes: list[dict[str, Any]] = (cell.shape or {}).get("modes", [])
    if len(modes) < 2:
        return []
    centres = formatting.round_to_difference(*(mode["centre"] for mode in modes))
    return [
        SpeedMode(
            _("%(centre)s (%(percent)s%%)")
            % {
                "centre": wording.quantity(centre, cell.case.unit),
                "percent": formatting.number(100 * mode["share"], ".0f"),
            },
            mode["centre"],
            mode["count"],
        )
        for mode, centre in zip(modes, centres, strict=True)
    ]


def cell_charts(
    cells: Sequence[Cell], samples: Sequence[CellSamples]
) -> tuple[ChartWithTable, ...]:
    names = (_("this result"), _("baseline"))
    sides = [
        _side(cell, samples_of_cell, name, color)
        for cell, samples_of_cell, name, color in zip(
            cells, samples, names, SIDE_COLORS, strict=False
        )
    ]
    if not any(side.has_iterations or len(side.runs) > 1 for side in sides):
        return ()
    case_unit = next((side.unit for side in sides if side.unit), "") or _("value")
    unit = wording.unit_name(cells[0].case.metric, case_unit)
    charts = [_strip(sides, cells, unit)]
    if any(len(side.runs) > 1 for side in sides):
        if any(side.has_order for side in sides):
            charts += [_order(sides, unit)]
        if with_distribution(sides):
            charts += [_histogram(sides, unit), _ecdf(sides, unit)]
    return tuple(charts)


def latency_chart(rows: Sequence[ComparisonRow]) -> ChartWithTable | None:
    shown = [row for row in rows if row.result.value is not None]
    if len(shown) < 2:
        return None
    unit = shown[0].result.unit
    ticks = [(float(at), summary_name(row)) for at, row in enumerate(shown)]
    points: tuple[list[ChartPoint], list[ChartPoint]] = ([], [])
    for (at, name), row in zip(ticks, shown, strict=True):
        result = row.result
        low, high = result.value_interval or (None, None)
        for side, value, ends in (
            (0, result.value, (low, high)),
            (1, result.baseline_value, (None, None)),
        ):
            if value is not None and value > 0:
                text = f"{name}: {wording.quantity(value, unit)}"
                points[side].append((at, value, *ends, text))
    names = (_("this result"), _("baseline"))
    curves = [
        curve_points(name, color, side_points, is_native=bool(color))
        for color, (name, side_points) in enumerate(zip(names, points, strict=True))
        if side_points
    ]
    return ChartWithTable(
        "latencies",
        _("Latencies: mean and percentiles"),
        _(
            "Each run reports these summaries of its own operations. Each value is the "
            "mean of a summary over the runs: the mean of the runs' p99 is not the p99 "
            "of all operations together."
        ),
        sweep_plot(
            curves,
            ticks,
            titles=("", wording.unit_name(shown[0].case.metric, unit)),
            is_log=(False, True),
        ),
        (
            _("Summary of each run"),
            _("This result"),
            _("Runs"),
            _("Ratio"),
            _("95% CI"),
            _("Verdict"),
        ),
        tuple(_latency_texts(row) for row in shown),
    )


def summary_name(row: ComparisonRow) -> str:
    if percentile := find_percentile(row.case.metric, row.case.parameters):
        return str(percentile)
    return row.case.metric.removeprefix(summarized_metric(row.case.metric)).strip()


def _latency_texts(row: ComparisonRow) -> tuple[str, ...]:
    result = row.result
    assessment = result.assessment
    return (
        summary_name(row),
        wording.quantity(result.value, result.unit, interval=result.value_interval),
        formatting.exact(result.n),
        formatting.ratio(result.ratio, result.interval) if result.ratio else DASH,
        (verdicts.interval_text(assessment) if assessment else "") or DASH,
        verdicts.verdict_text(assessment)
        if assessment and assessment.is_assessed
        else DASH,
    )


def _side(cell: Cell, samples: CellSamples, name: str, color: str) -> SampleSeries:
    stored = cell.shape or {}
    # Indexes in the stored shape are valid only if it was computed from these samples.
    shape = stored if stored.get("n") == len(samples.series) else {}
    speeds = speed_modes(cell)
    quartiles = (cell.minimum, cell.q1, cell.median, cell.q3, cell.maximum)
    box = None
    # With two modes, the middle of a box would be at values that were never measured.
    if cell.n >= MIN_RUNS and not speeds and None not in quartiles:
        low, q1, median, q3, high = (value or 0.0 for value in quartiles)
        box = (low, q1, median, q3, high)
    mean: MeanInterval | None = None
    if cell.mean is not None and cell.m2 is not None and has_single_figure(cell):
        mean = mean_interval(cell.n, cell.mean, cell.m2, cell.resolution)
    return SampleSeries(
        name=name,
        color=color,
        unit=cell.case.unit,
        runs=tuple(
            ChartRun(_("run %(n)s") % {"n": run.run_id}, run.session, run.values)
            for run in samples.runs
        ),
        values=samples.series,
        speeds=tuple(speeds) if shape else (),
        outliers=tuple(shape.get("outliers", ())),
        period=shape.get("period"),
        has_separate_first="first_run" in cell.shape_codes.split(","),
        box=box,
        mean=mean,
        mean_label=_("mean"),
        is_faint=cell.n == FAINT_RUN_COUNT,
        is_ordered=samples.is_ordered,
    )


def _strip(
    sides: Sequence[SampleSeries], cells: Sequence[Cell], unit: str
) -> ChartWithTable:
    with_outliers = [side for side in sides if side.outliers]
    note = [
        _(
            "Each dot is a sample and each row of dots is a run, with the first "
            "run at the top."
        )
    ]
    unordered = [side.name for side in sides if not side.is_ordered]
    if unordered:
        note = [
            _("Each dot is a sample and each row of dots is a run."),
            _("The order of the runs is unknown for: %(names)s.")
            % {"names": ", ".join(unordered)},
        ]
    if any(cell.summarized_runs for cell in cells):
        note.append(_("The dot of a published mean stands for all its runs."))
    if with_outliers:
        note.append(_("Rings mark outliers. Outliers are labeled but never removed."))
    if any(side.is_of_run_means and side.has_iterations for side in with_outliers):
        note.append(_("If a run has several samples, its ring is at their mean."))
    if any(side.speeds for side in sides):
        note.append(_("Tall lines mark the two speeds."))
    if any(side.box for side in sides):
        note.append(_("The box shows the quartiles and the median of the runs."))
    if any(side.mean for side in sides):
        note.append(_("The diamond shows the mean with its 95% confidence interval."))

    columns = [_summary(side, cell) for side, cell in zip(sides, cells, strict=True)]
    values = [column.values() for column in columns]
    return ChartWithTable(
        slug="strip",
        title=_("All samples"),
        note=" ".join(note),
        chart=strip_plot(sides, unit) or EMPTY_CHART,
        header=("", *(side.name for side in sides)),
        rows=tuple(zip(columns[0], *values, strict=True)),
    )


def _summary(side: SampleSeries, cell: Cell) -> dict[str, str]:
    ends = (cell.minimum, None, None, None, cell.maximum)
    low, q1, median, q3, high = side.box or ends
    mean, texts, estimate = side.mean, side.hover_texts(), None
    is_whole = side.is_of_run_means and len(side.values) == cell.n
    # From a truncated list of runs, the estimate would be wrong.
    if side.box and is_whole and MIN_HODGES_LEHMANN_RUNS <= cell.n <= MAX_RUNS_PAIRED:
        estimate = hodges_lehmann(side.values)
    return {
        _("Runs"): str(cell.n),
        _("Samples"): str(cell.sample_count),
        _("Smallest run"): value_with_unit(low, side.unit),
        _("Lower quartile"): value_with_unit(q1, side.unit),
        _("Median"): value_with_unit(median, side.unit),
        _("Upper quartile"): value_with_unit(q3, side.unit),
        _("Largest run"): value_with_unit(high, side.unit),
        _("Mean"): value_with_unit(mean.mean if mean else None, side.unit),
        _("95% confidence interval of the mean"): bin_range_text(mean.low, mean.high)
        if mean
        else DASH,
        _("Hodges-Lehmann estimate (10 or more runs)"): value_with_unit(
            estimate, side.unit
        ),
        _("Bimodal (two speeds)"): ", ".join(speed.label for speed in side.speeds)
        or DASH,
        _("Outliers"): "; ".join(
            f"{index + 1}. {texts[index]}" for index in side.outliers
        )
        or DASH,
    }


def _order(sides: Sequence[SampleSeries], unit: str) -> ChartWithTable:
    shown_sides = [side for side in sides if side.has_order]
    has_iterations = any(side.has_iterations for side in shown_sides)
    note = [_("The runs are shown from left to right in the order of execution.")]
    note += [
        _("Points with the same marker are %(period)s runs apart (%(side)s).")
        % {"period": side.period, "side": side.name}
        for side in shown_sides
        if side.period
    ]
    if has_iterations:
        note.append(_("Thin lines separate the runs."))
    if any(len({run.session for run in side.runs}) > 1 for side in shown_sides):
        note.append(_("Dashed lines separate the sessions."))

    rows = []
    for side in shown_sides:
        sessions = [run.session for run in side.runs]
        if not side.is_of_run_means:
            sessions = [run.session for run in side.runs for _value in run.values]
        labels = [speed.label for speed in side.speeds] or [DASH]
        points = zip(side.values, sessions, side.mode_indexes(), strict=True)
        for position, (value, session, speed) in enumerate(points, start=1):
            text = value_with_unit(value, side.unit)
            rows.append(
                (side.name, str(position), text, session or DASH, labels[speed])
            )

    title = _("sample") if has_iterations else _("run")
    return ChartWithTable(
        slug="order",
        title=_("Run order"),
        note=" ".join(note),
        chart=run_order_plot(shown_sides, unit, title, _("first run")) or EMPTY_CHART,
        header=("", _("Position"), _("Value"), _("Session"), _("Speed")),
        rows=tuple(rows[:ROWS_SHOWN]),
        is_truncated=len(rows) > ROWS_SHOWN,
    )


def _histogram(sides: Sequence[SampleSeries], unit: str) -> ChartWithTable:
    shown_sides = with_distribution(sides)
    count_notes = [
        _("Each bar counts runs.")
        if side.is_of_run_means
        else _("Each bar counts samples, because there are too few runs.")
        for side in shown_sides
    ]
    if len(set(count_notes)) == 1:
        note = count_notes[:1]
    else:
        parts = zip(shown_sides, count_notes, strict=True)
        note = [f"{side.name}: {text}" for side, text in parts]
    if any(side.speeds for side in shown_sides):
        note.append(
            _(
                "Each of the two speeds has its own color. The dashed lines are "
                "their medians."
            )
        )
    if missing := [side.name for side in sides if side not in shown_sides]:
        names = ", ".join(missing)
        note.append(_("Too few runs for a chart: %(names)s.") % {"names": names})

    bins = shared_bins(shown_sides)
    counts = zip(pairwise(bins.edges), *bins.counts, strict=True)
    return ChartWithTable(
        slug="histogram",
        title=_("Histogram"),
        note=" ".join(note),
        chart=histogram_chart(shown_sides, unit, _("count")) or EMPTY_CHART,
        header=(_("Bin"), *(side.name for side in shown_sides)),
        rows=tuple(
            (bin_range_text(*ends), *map(str, numbers)) for ends, *numbers in counts
        ),
    )


def _ecdf(sides: Sequence[SampleSeries], unit: str) -> ChartWithTable:
    shown_sides = with_distribution(sides)
    columns = [
        [value_with_unit(value, side.unit) for value in quantiles(side)]
        for side in shown_sides
    ]
    note = [
        _(
            "Each line shows the percentage of values that are less than or equal to a "
            "value."
        )
    ]
    if len(shown_sides) > 1:
        note.append(_("The result and its baseline differ where the lines are apart."))
    return ChartWithTable(
        slug="ecdf",
        title=_("Cumulative distribution (ECDF)"),
        note=" ".join(note),
        chart=ecdf_chart(shown_sides, unit, _("share of values")) or EMPTY_CHART,
        header=(_("Share of values"), *(side.name for side in shown_sides)),
        rows=tuple(
            (formatting.with_percent_sign(str(fraction)), *values)
            for fraction, *values in zip(QUANTILES, *columns, strict=True)
        ),
    )
