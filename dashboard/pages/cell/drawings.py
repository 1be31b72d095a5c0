"""The charts of a cell with their words, each with the same numbers as a table."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.analysis.intervals import (
    LEAST_RUNS,
    MeanInterval,
    hodges_lehmann,
    mean_interval,
)
from benchmarks.analysis.speeds import MIN_RUNS
from benchmarks.comparing.cell_evidence import CellSamples
from benchmarks.models import Cell
from dashboard import wording
from dashboard.charts.chart import NOTHING
from dashboard.kit import figures
from dashboard.kit.document import Drawing
from dashboard.pages.cell.charts import (
    QUANTILES,
    Side,
    Speed,
    Strand,
    bins_of,
    described,
    ecdf,
    histogram,
    order,
    quantiles,
    spanned,
    strip,
)
from dashboard.wording import NONE, in_unit

ROWS_SHOWN = 500
MOST_RUNS_PAIRED = 1_000  # half a million pairs
# Of so many runs the interval is drawn faint, and there is no verdict (docs/method.md).
FAINT_RUNS = 2
COLOURS = ("series-2", "series-1")


def has_single_figure(cell: Cell) -> bool:
    """Whether one figure may stand for the cell's runs."""
    return not cell.shape_codes


def speeds_of(cell: Cell) -> list[Speed]:
    """Return the two speeds of a cell in words and numbers; none where it has one."""
    modes: list[dict[str, Any]] = (cell.shape or {}).get("modes", [])
    if len(modes) < 2:
        return []
    centres = figures.told_apart(*(mode["centre"] for mode in modes))
    return [
        Speed(
            _("%(centre)s (%(percent)s\N{NO-BREAK SPACE}%%)")
            % {
                "centre": wording.quantity(centre, cell.case.unit),
                "percent": figures.number(100 * mode["share"], ".0f"),
            },
            mode["centre"],
            mode["count"],
        )
        for mode, centre in zip(modes, centres, strict=True)
    ]


def cell_charts(
    cells: Sequence[Cell], samples: Sequence[CellSamples]
) -> tuple[Drawing, ...]:
    """Return a cell's charts; single runs have only their iterations drawn."""
    names = (_("this result"), _("baseline"))
    sides = [
        _side(cell, own_samples, name, colour)
        for cell, own_samples, name, colour in zip(
            cells, samples, names, COLOURS, strict=False
        )
    ]
    if not any(side.has_iterations or len(side.strands) > 1 for side in sides):
        return ()
    unit = next((side.unit for side in sides if side.unit), "") or _("value")
    charts = [_strip(sides, cells, unit)]
    if any(len(side.strands) > 1 for side in sides):
        if any(side.has_order for side in sides):
            charts += [_order(sides, unit)]
        if described(sides):
            charts += [_histogram(sides, unit), _ecdf(sides, unit)]
    return tuple(charts)


def _side(cell: Cell, samples: CellSamples, name: str, colour: str) -> Side:
    stored = cell.shape or {}
    # Of more samples than are here the places in the stored shape would be others.
    shape = stored if stored.get("n") == len(samples.series) else {}
    speeds = speeds_of(cell)
    quartiles = (cell.minimum, cell.q1, cell.median, cell.q3, cell.maximum)
    box = None
    # A box around two speeds would have its middle where nothing was measured.
    if cell.n >= MIN_RUNS and not speeds and None not in quartiles:
        low, q1, median, q3, high = (value or 0.0 for value in quartiles)
        box = (low, q1, median, q3, high)
    mean: MeanInterval | None = None
    if cell.mean is not None and cell.m2 is not None and has_single_figure(cell):
        mean = mean_interval(cell.n, cell.mean, cell.m2, cell.resolution)
    return Side(
        name=name,
        colour=colour,
        unit=cell.case.unit,
        strands=tuple(
            Strand(_("run %(n)s") % {"n": run.run_id}, run.session, run.values)
            for run in samples.runs
        ),
        series=samples.series,
        speeds=tuple(speeds) if shape else (),
        outliers=tuple(shape.get("outliers", ())),
        period=shape.get("period"),
        is_first_apart="first_run" in cell.shape_codes.split(","),
        box=box,
        mean=mean,
        mean_label=_("mean"),
        is_faint=cell.n == FAINT_RUNS,
        is_ordered=samples.is_ordered,
    )


def _strip(sides: Sequence[Side], cells: Sequence[Cell], unit: str) -> Drawing:
    ringed = [side for side in sides if side.outliers]
    note = [_("Each dot is a sample, each line of dots a run, the first on top.")]
    unordered = [side.name for side in sides if not side.is_ordered]
    if unordered:
        note = [
            _("Each dot is a sample, each line of dots a run."),
            _("Not known is the order of the runs: %(names)s.")
            % {"names": ", ".join(unordered)},
        ]
    if ringed:
        note.append(_("Rings are outliers: labelled, never deleted."))
    if any(side.is_of_run_means and side.has_iterations for side in ringed):
        note.append(_("Where a run has several samples its ring is at their mean."))
    if any(side.speeds for side in sides):
        note.append(_("Tall lines are the two speeds."))
    if any(side.box for side in sides):
        note.append(_("The box has the quartiles and the median of the runs."))
    if any(side.mean for side in sides):
        note.append(
            _("The diamond is the mean with its 95\N{NO-BREAK SPACE}% interval.")
        )

    columns = [_summary(side, cell) for side, cell in zip(sides, cells, strict=True)]
    values = [column.values() for column in columns]
    return Drawing(
        slug="strip",
        title=_("Every sample"),
        note=" ".join(note),
        figure=strip(sides, unit) or NOTHING,
        head=("", *(side.name for side in sides)),
        rows=tuple(zip(columns[0], *values, strict=True)),
    )


def _summary(side: Side, cell: Cell) -> dict[str, str]:
    ends = (cell.minimum, None, None, None, cell.maximum)
    low, q1, median, q3, high = side.box or ends
    mean, texts, paired = side.mean, side.texts(), None
    is_whole = side.is_of_run_means and len(side.series) == cell.n
    # Only of all runs: of a part it would be another number than the cell's.
    if side.box and is_whole and LEAST_RUNS <= cell.n <= MOST_RUNS_PAIRED:
        paired = hodges_lehmann(side.series)
    return {
        _("Runs"): str(cell.n),
        _("Samples"): str(cell.sample_count),
        _("Smallest run"): in_unit(low, side.unit),
        _("Lower quartile"): in_unit(q1, side.unit),
        _("Median"): in_unit(median, side.unit),
        _("Upper quartile"): in_unit(q3, side.unit),
        _("Largest run"): in_unit(high, side.unit),
        _("Mean"): in_unit(mean.mean if mean else None, side.unit),
        _("95\N{NO-BREAK SPACE}% interval of the mean"): spanned(mean.low, mean.high)
        if mean
        else NONE,
        _("Hodges-Lehmann, from 10 runs on"): in_unit(paired, side.unit),
        _("Bimodal (two speeds)"): ", ".join(speed.label for speed in side.speeds)
        or NONE,
        _("Outliers"): "; ".join(
            f"{place + 1}. {texts[place]}" for place in side.outliers
        )
        or NONE,
    }


def _order(sides: Sequence[Side], unit: str) -> Drawing:
    drawn = [side for side in sides if side.has_order]
    has_iterations = any(side.has_iterations for side in drawn)
    note = [_("Left to right in the order they were run.")]
    note += [
        _("Marks of one form are %(period)s runs apart in %(side)s.")
        % {"period": side.period, "side": side.name}
        for side in drawn
        if side.period
    ]
    if has_iterations:
        note.append(_("Thin lines separate the runs."))
    if any(len({strand.session for strand in side.strands}) > 1 for side in drawn):
        note.append(_("Dashed lines separate the sessions."))

    rows = []
    for side in drawn:
        sessions = [strand.session for strand in side.strands]
        if not side.is_of_run_means:
            sessions = [run.session for run in side.strands for _value in run.values]
        labels = [speed.label for speed in side.speeds] or [NONE]
        points = zip(side.series, sessions, side.speed_of(), strict=True)
        for place, (value, session, speed) in enumerate(points, start=1):
            text = in_unit(value, side.unit)
            rows.append((side.name, str(place), text, session or NONE, labels[speed]))

    title = _("sample") if has_iterations else _("run")
    return Drawing(
        slug="order",
        title=_("Run order"),
        note=" ".join(note),
        figure=order(drawn, unit, title, _("first run")) or NOTHING,
        head=("", _("Number"), _("Value"), _("Session"), _("Speed")),
        rows=tuple(rows[:ROWS_SHOWN]),
        is_cut=len(rows) > ROWS_SHOWN,
    )


def _histogram(sides: Sequence[Side], unit: str) -> Drawing:
    drawn = described(sides)
    counted = [
        _("One count is one run.")
        if side.is_of_run_means
        else _("One count is one sample: there are too few runs.")
        for side in drawn
    ]
    if len(set(counted)) == 1:
        note = counted[:1]
    else:
        parts = zip(drawn, counted, strict=True)
        note = [f"{side.name}: {text}" for side, text in parts]
    if any(side.speeds for side in drawn):
        note.append(
            _("Two speeds have a colour each; the dashed lines are their medians.")
        )
    if missing := [side.name for side in sides if side not in drawn]:
        names = ", ".join(missing)
        note.append(_("Too few runs to draw: %(names)s.") % {"names": names})

    bins = bins_of(drawn)
    counts = zip(pairwise(bins.edges), *bins.counts, strict=True)
    return Drawing(
        slug="histogram",
        title=_("Histogram"),
        note=" ".join(note),
        figure=histogram(drawn, unit, _("number")) or NOTHING,
        head=(_("Bin"), *(side.name for side in drawn)),
        rows=tuple((spanned(*ends), *map(str, numbers)) for ends, *numbers in counts),
    )


def _ecdf(sides: Sequence[Side], unit: str) -> Drawing:
    drawn = described(sides)
    columns = [
        [in_unit(value, side.unit) for value in quantiles(side)] for side in drawn
    ]
    note = [_("How many percent of the values are at most so large.")]
    if len(drawn) > 1:
        note.append(_("Where the two lines lie apart, the sides differ."))
    return Drawing(
        slug="ecdf",
        title=_("Cumulative distribution (ECDF)"),
        note=" ".join(note),
        figure=ecdf(drawn, unit, _("share")) or NOTHING,
        head=(_("Share"), *(side.name for side in drawn)),
        rows=tuple(
            (f"{share} %", *values)
            for share, *values in zip(QUANTILES, *columns, strict=True)
        ),
    )
