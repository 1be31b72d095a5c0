"""The charts of a cell with their words, each with the same numbers as a table."""

from collections.abc import Sequence
from itertools import pairwise

from django.utils.translation import gettext as _

from benchmarks.analysis.intervals import LEAST_RUNS, hodges_lehmann
from benchmarks.models import Cell
from dashboard.charts.drawings import NONE, Drawing, number
from dashboard.kit.figures import brief
from dashboard.pages.cell.distributions import (
    QUANTILES,
    bins_of,
    described,
    ecdf,
    histogram,
    quantiles,
    spanned,
)
from dashboard.pages.cell.order import order
from dashboard.pages.cell.side import Side
from dashboard.pages.cell.strip import strip

ROWS_SHOWN = 500
MOST_PAIRED = 1_000  # runs: half a million pairs


def cell_charts(sides: Sequence[Side], cells: Sequence[Cell]) -> tuple[Drawing, ...]:
    """Return what can be drawn honestly: single samples not at all, and of single runs
    their iterations only.
    """
    if not any(side.has_iterations or len(side.strands) > 1 for side in sides):
        return ()
    charts = [_strip(sides, cells)]
    if any(len(side.strands) > 1 for side in sides):
        charts += [_order(sides)]
        charts += [_histogram(sides), _ecdf(sides)] if described(sides) else []
    return tuple(charts)


def _strip(sides: Sequence[Side], cells: Sequence[Cell]) -> Drawing:
    columns = [_summary(side, cell) for side, cell in zip(sides, cells, strict=True)]
    names = [name for name, _value in columns[0]]
    values = [[value for _name, value in column] for column in columns]
    return Drawing(
        slug="strip",
        title=_("Every sample"),
        note=" ".join(_strip_words(sides)),
        figure=strip(sides, _value_title(sides)) or {},
        head=("", *(side.name for side in sides)),
        rows=tuple(zip(names, *values, strict=True)),
    )


def _strip_words(sides: Sequence[Side]) -> list[str]:
    words = [_("Each dot is a sample, each line of dots a run, the first on top.")]
    if any(side.outliers for side in sides):
        words.append(_("Rings are outliers: labelled, never deleted."))
    if any(side.outliers and _is_ring_of_means(side) for side in sides):
        words.append(_("Where a run has several samples its ring is at their mean."))
    if any(side.speeds for side in sides):
        words.append(_("Tall lines are the two speeds."))
    if any(side.box for side in sides):
        words.append(_("The box has the quartiles and the median of the runs."))
    if any(side.mean for side in sides):
        words.append(_("The diamond is the mean with its 95 % interval."))
    return words


def _is_ring_of_means(side: Side) -> bool:
    return side.is_of_run_means and side.has_iterations


def _summary(side: Side, cell: Cell) -> list[tuple[str, str]]:
    low, q1, median, q3, high = side.box or (
        cell.minimum,
        None,
        None,
        None,
        cell.maximum,
    )
    mean = side.mean
    interval = f"{brief(mean.low)} \N{EN DASH} {brief(mean.high)}" if mean else NONE
    return [
        (_("Runs"), str(cell.n)),
        (_("Samples"), str(cell.sample_count)),
        (_("Smallest run"), _said(low, side)),
        (_("Lower quartile"), _said(q1, side)),
        (_("Median"), _said(median, side)),
        (_("Upper quartile"), _said(q3, side)),
        (_("Largest run"), _said(high, side)),
        (_("Mean"), _said(mean.mean if mean else None, side)),
        (_("95 % interval of the mean"), interval),
        (_("Hodges-Lehmann, from 10 runs on"), _said(_paired(side, cell), side)),
        (_("Two speeds"), ", ".join(speed.label for speed in side.speeds) or NONE),
        (_("Outliers"), _outliers(side)),
    ]


def _paired(side: Side, cell: Cell) -> float | None:
    is_whole = side.is_of_run_means and len(side.series) == cell.n
    if side.box is None or not is_whole or not LEAST_RUNS <= cell.n <= MOST_PAIRED:
        return None
    return hodges_lehmann(side.series)


def _outliers(side: Side) -> str:
    texts = side.texts()
    return "; ".join(f"{at + 1}. {texts[at]}" for at in side.outliers) or NONE


def _said(value: float | None, side: Side) -> str:
    return number(value, side.unit)


def _order(sides: Sequence[Side]) -> Drawing:
    drawn = [side for side in sides if len(side.series) > 1]
    rows = [row for side in drawn for row in _ordered_rows(side)]
    title = _("sample") if any(side.has_iterations for side in drawn) else _("run")
    return Drawing(
        slug="order",
        title=_("Run order"),
        note=" ".join([_("Left to right as they were done."), *_order_words(drawn)]),
        figure=order(drawn, _value_title(sides), title, _("first run")) or {},
        head=("", _("Number"), _("Value"), _("Session"), _("Speed")),
        rows=tuple(rows[:ROWS_SHOWN]),
        is_cut=len(rows) > ROWS_SHOWN,
    )


def _order_words(sides: Sequence[Side]) -> list[str]:
    words = [
        _("Marks of one form are %(period)s runs apart in %(side)s.")
        % {"period": side.period, "side": side.name}
        for side in sides
        if side.period
    ]
    if any(side.has_iterations for side in sides):
        words.append(_("Thin lines part the runs."))
    if any(len({strand.session for strand in side.strands}) > 1 for side in sides):
        words.append(_("Dashed lines part the sessions."))
    return words


def _ordered_rows(side: Side) -> list[tuple[str, ...]]:
    sessions = [strand.session for strand in side.strands]
    if not side.is_of_run_means:
        sessions = [each.session for each in side.strands for _value in each.values]
    labels = [speed.label for speed in side.speeds] or [NONE]
    each = zip(side.series, sessions, side.speed_of(), strict=True)
    return [
        (side.name, str(at), _said(value, side), session or NONE, labels[speed])
        for at, (value, session, speed) in enumerate(each, start=1)
    ]


def _histogram(sides: Sequence[Side]) -> Drawing:
    drawn = described(sides)
    bins = bins_of(drawn)
    return Drawing(
        slug="histogram",
        title=_("Histogram"),
        note=_distribution_note(sides, drawn),
        figure=histogram(drawn, _value_title(sides), _("number")) or {},
        head=(_("Bin"), *(side.name for side in drawn)),
        rows=tuple(
            (spanned(low, high), *map(str, counts))
            for (low, high), *counts in zip(
                pairwise(bins.edges), *bins.counts, strict=True
            )
        ),
    )


def _distribution_note(sides: Sequence[Side], drawn: Sequence[Side]) -> str:
    words = [_counted(side) for side in drawn]
    if len(set(words)) == 1:
        words = words[:1]
    else:
        words = [
            f"{side.name}: {said}" for side, said in zip(drawn, words, strict=True)
        ]
    if any(side.speeds for side in drawn):
        words.append(
            _("Two speeds have a colour each; the dashed lines are their medians.")
        )
    if missing := [side.name for side in sides if side not in drawn]:
        names = ", ".join(missing)
        words.append(_("Too few runs to draw: %(names)s.") % {"names": names})
    return " ".join(words)


def _counted(side: Side) -> str:
    if side.is_of_run_means:
        return _("One count is one run.")
    return _("One count is one sample: there are too few runs.")


def _ecdf(sides: Sequence[Side]) -> Drawing:
    drawn = described(sides)
    columns = [[_said(value, side) for value in quantiles(side)] for side in drawn]
    words = [_("How many percent of the values are at most so large.")]
    if len(drawn) > 1:
        words.append(_("Where the two lines lie apart, the sides differ."))
    return Drawing(
        slug="ecdf",
        title=_("Cumulative distribution (ECDF)"),
        note=" ".join(words),
        figure=ecdf(drawn, _value_title(sides), _("share")) or {},
        head=(_("Share"), *(side.name for side in drawn)),
        rows=tuple(
            (f"{share} %", *values)
            for share, *values in zip(QUANTILES, *columns, strict=True)
        ),
    )


def _value_title(sides: Sequence[Side]) -> str:
    return next((side.unit for side in sides if side.unit), "") or _("value")
