"""The chart of what each further VM adds to the sum, with its table twin."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from benchmarks.analysis.consolidation import Point
from benchmarks.selectors.coruns import Curve
from dashboard import wording
from dashboard.bar_charts import Line, line_chart
from dashboard.drawings import NONE, Drawing, number, ratio


def curve_drawing(curves: Sequence[Curve]) -> Drawing | None:
    """Draw the sum over the number of VMs, with a ring where it rose last."""
    if not curves:
        return None
    return Drawing(
        slug="curve",
        title=_("What each further VM adds"),
        note=_(
            "The sum over the number of VMs; the ring is the last one that raised it."
        ),
        figure=line_chart(
            [_line(each) for each in curves],
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
