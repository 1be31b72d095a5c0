"""The chart of what each further VM adds to the sum, with its table twin."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.consolidation import Point
from benchmarks.comparing.coruns import Curve
from dashboard import wording
from dashboard.charts.bars import Line, line_chart
from dashboard.charts.drawings import NONE, Drawing, number, ratio

HEADROOM = 1.3


def curve_drawing(curves: Sequence[Curve]) -> Drawing | None:
    """Draw the sum over the number of VMs, with a ring where it rose last."""
    if not curves:
        return None
    return Drawing(
        slug="curve",
        title=_("What each further VM adds"),
        note=_note(curves),
        figure=line_chart(
            [*map(_line, curves), *_undisturbed(curves)],
            x_title=_("VMs"),
            y_title=curves[0].case.unit,
            counts=True,
            marked=_knees(curves),
        ),
        head=(
            *(_("VMs"), _("Sum"), _("Mean"), _("Fairness")),
            *(_("Sum / one VM"), _("Knee")),
        ),
        rows=tuple(
            row for each in curves for row in _rows(each, is_named=len(curves) > 1)
        ),
    )


def _note(curves: Sequence[Curve]) -> str:
    """Say where the only curve ends, or how to see it of several."""
    how = _("The ring is the last VM that raised the sum.")
    if len(curves) > 1:
        return how
    found = curves[0].consolidation
    words = {"knee": found.knee, "most": found.points[-1].k}
    end = (
        ngettext(
            "From %(knee)s VM on, more add nothing (up to %(most)s were measured).",
            "From %(knee)s VMs on, more add nothing (up to %(most)s were measured).",
            found.knee,
        )
        if found.is_end_reached
        else _("The sum still rises at %(most)s VMs, the most that were measured.")
    )
    return f"{end % words} {how}"


def _undisturbed(curves: Sequence[Curve]) -> Iterator[Line]:
    """Yield what VMs would do that take nothing from each other, as far as it helps.

    Of several curves each would have its own; and a line far above what was measured
    would press that flat.
    """
    points = [point for each in curves for point in each.consolidation.points]
    alone = points[-1].sum / points[-1].scaling if points[-1].scaling else 0.0
    if len(curves) > 1 or alone <= 0:
        return
    first, last = points[0].k, points[-1].k
    end = min(float(last), HEADROOM * max(point.sum for point in points) / alone)
    if end <= first:
        return
    name = _("as many times one VM alone")
    yield Line(
        name, [first, end], [first * alone, end * alone], ["", name], is_dashed=True
    )


def _line(curve: Curve) -> Line:
    points = curve.consolidation.points
    return Line(
        wording.system_name(curve.system),
        [point.k for point in points],
        [point.sum for point in points],
        [_text(curve, point) for point in points],
    )


def _text(curve: Curve, point: Point) -> str:
    return f"{point.k}: {number(point.sum, curve.case.unit)}"


def _knees(curves: Sequence[Curve]) -> Line:
    found = [
        (point.k, point.sum, _text(each, point))
        for each in curves
        for point in each.consolidation.points
        if point.k == each.consolidation.knee
    ]
    return Line(
        _("last VM that raised the sum"),
        [k for k, _sum, _said in found],
        [total for _k, total, _said in found],
        [said for _k, _sum, said in found],
    )


def _rows(curve: Curve, *, is_named: bool) -> Iterator[tuple[str, ...]]:
    name = wording.system_name(curve.system)
    for point in curve.consolidation.points:
        is_knee = point.k == curve.consolidation.knee
        yield (
            f"{name}: {point.k}" if is_named else str(point.k),
            number(point.sum, curve.case.unit),
            number(point.mean, curve.case.unit),
            ratio(point.fairness.jain),
            ratio(point.scaling),
            _end(curve) if is_knee else NONE,
        )


def _end(curve: Curve) -> str:
    if curve.consolidation.is_end_reached:
        return _("more VMs add nothing")
    return _("the end is not reached")
