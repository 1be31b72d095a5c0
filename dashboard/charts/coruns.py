"""The charts of one case that several VMs ran together, each with its table twin."""

from collections.abc import Iterator, Sequence
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.coruns import CurvePoint
from benchmarks.comparing.coruns import ComparedCoRun, Curve, SlotValue
from dashboard import wording
from dashboard.charts.bars import RowValues, bar_chart, line_chart
from dashboard.charts.chart import Points, Stroke
from dashboard.kit.document import Drawing, Row, columns
from dashboard.wording import NONE, in_unit, short_names, shown_ratio
from dashboard.wording.coruns import vms_text

HEADROOM: Final = 1.3
"""The line of undisturbed VMs ends at so many times the highest measured sum."""


def drawings(
    coruns: Sequence[ComparedCoRun], curves: Sequence[Curve]
) -> tuple[Drawing, ...]:
    is_time = coruns[0].of.case.better == "lower"
    drawn = (
        _times(coruns) if is_time else _sums(coruns),
        _slots(coruns),
        curve_drawing(curves),
    )
    return tuple(filter(None, drawn))


def row_names(coruns: Sequence[ComparedCoRun]) -> list[str]:
    names = short_names(corun.of.system for corun in coruns)
    return [
        f"{vms_text(corun.of)}, {names[corun.of.system.pk]}"
        if len(names) > 1
        else vms_text(corun.of)
        for corun in coruns
    ]


def _slot_bars(coruns: Sequence[ComparedCoRun]) -> Iterator[RowValues]:
    names = {slot.slot for corun in coruns for slot in corun.of.slots}
    for name in sorted(names, key=int):
        values = [
            next((slot.value for slot in corun.of.slots if slot.slot == name), None)
            for corun in coruns
        ]
        yield (wording.slot_text(name), values)


def _sums(coruns: Sequence[ComparedCoRun]) -> Drawing | None:
    drawn = [corun for corun in coruns if corun.of.values]
    if not drawn:
        return None
    bars, unit = list(_slot_bars(drawn)), drawn[0].of.case.unit
    lines = _references(drawn)
    # A bar without some of its slots would be taken for a small sum.
    rest = [_unreported(corun) for corun in drawn]
    if any(rest):
        bars.append((_("printed for VMs that were not reported"), rest))
    return Drawing(
        slug="sums",
        title=_("All VMs together"),
        note=_("The VMs of each co-run end to end; the lines are one alone.")
        if lines
        else _("The VMs of each co-run end to end; what one alone does is not known."),
        figure=bar_chart(row_names(drawn), bars, lines, axis_title=unit, mode="stack"),
        **columns(
            [
                (
                    (_("Co-run"), name),
                    (_("Sum"), in_unit(corun.figures.sum, unit)),
                    (_("Printed sum"), in_unit(corun.of.printed.get("sum"), unit)),
                    (_("One VM alone"), _alone(corun.of.single, unit)),
                    (_("Native"), _alone(corun.of.native, unit)),
                    (_("Sum / one VM"), shown_ratio(corun.figures.scaling)),
                    (_("Sum / native"), shown_ratio(corun.figures.scaling_to_native)),
                )
                for name, corun in zip(row_names(drawn), drawn, strict=True)
            ]
        ),
    )


def _alone(one: SlotValue | None, unit: str) -> str:
    return in_unit(one.value if one else None, unit)


def _unreported(corun: ComparedCoRun) -> float | None:
    if not corun.figures.is_sum_printed:
        return None
    rest = (corun.figures.sum or 0.0) - sum(corun.of.values)
    return rest if rest > 0 else None


def _references(coruns: Sequence[ComparedCoRun]) -> list[tuple[str, float]]:
    sides = (
        (_("one VM alone"), {corun.of.single for corun in coruns}),
        (_("native alone"), {corun.of.native for corun in coruns}),
    )
    return [
        (name, one.value)
        for name, values in sides
        if len(values) == 1
        and (one := next(iter(values))) is not None
        and one.value is not None
    ]


def _slots(coruns: Sequence[ComparedCoRun]) -> Drawing | None:
    drawn = [corun for corun in coruns if len(corun.of.values) > 1]
    if not drawn:
        return None
    bars = list(_slot_bars(drawn))
    named = list(zip(row_names(drawn), drawn, strict=True))
    return Drawing(
        slug="slots",
        title=_("Each VM by itself"),
        note=_("How evenly the VMs of a co-run shared; an index of 1 is even."),
        figure=bar_chart(
            row_names(drawn),
            bars,
            _references(drawn),
            axis_title=drawn[0].of.case.unit,
            mode="group",
        ),
        **columns(
            [
                (
                    (_("Co-run"), name),
                    *((slot, in_unit(values[row], "")) for slot, values in bars),
                    (_("Mean"), in_unit(corun.figures.mean, "")),
                    (_("Fairness"), shown_ratio(corun.figures.jain)),
                    (_("Interval"), _interval(corun)),
                )
                for row, (name, corun) in enumerate(named)
            ]
        ),
    )


def _interval(corun: ComparedCoRun) -> str:
    low, high = corun.figures.jain_low, corun.figures.jain_high
    if low is None or high is None:
        return _("needs repeated co-runs") if corun.figures.jain else NONE
    return wording.span_text(shown_ratio(low), shown_ratio(high))


def _times(coruns: Sequence[ComparedCoRun]) -> Drawing | None:
    drawn = [corun for corun in coruns if corun.figures.mean]
    if not drawn:
        return None
    unit, names = drawn[0].of.case.unit, row_names(drawn)
    rows, ideals, lmus = [], list[float | None](), list[float | None]()
    for name, corun in zip(names, drawn, strict=True):
        it = corun.figures.target
        ideal_s, ideal_ratio = (it.ideal_s, it.ideal_ratio) if it else (None, None)
        lmu_s, lmu_ratio = (it.lmu_s, it.lmu_ratio) if it else (None, None)
        ideals.append(ideal_s)
        lmus.append(lmu_s)
        rows.append(
            (
                (_("Co-run"), name),
                (_("Measured"), in_unit(corun.figures.mean, unit)),
                (_("Target from one VM"), in_unit(ideal_s, unit)),
                (_("Measured / target"), shown_ratio(ideal_ratio)),
                (_("Target from as many VMs as cores"), in_unit(lmu_s, unit)),
                (_("Measured / target"), shown_ratio(lmu_ratio)),
            )
        )
    strokes = (
        (_("target from one VM alone"), ideals),
        (_("target from as many VMs as cores"), lmus),
    )
    return Drawing(
        slug="times",
        title=_("Measured against the target"),
        note=_(
            "What the cores allow: the time of one VM alone, or of as many VMs as "
            "there are cores (the form of the LMU studies), times virtual by "
            "physical cores."
        ),
        figure=bar_chart(
            names,
            [(_("measured"), [corun.figures.mean for corun in drawn])],
            _references(drawn),
            axis_title=unit,
            mode="group",
            targets=[stroke for stroke in strokes if any(stroke[1])],
        ),
        **columns(rows),
    )


def curve_drawing(curves: Sequence[Curve]) -> Drawing | None:
    if not curves:
        return None
    names = wording.system_names(curve.system for curve in curves)
    lines = [
        Points(
            name=names[curve.system.pk],
            x=[point.k for point in curve.consolidation.points],
            y=[point.sum for point in curve.consolidation.points],
            texts=[_text(curve, point) for point in curve.consolidation.points],
            line=Stroke(),
        )
        for curve in curves
    ]
    return Drawing(
        slug="curve",
        title=_("What each further VM adds"),
        note=_note(curves),
        figure=line_chart(
            [*lines, *_undisturbed(curves)],
            x_title=_("VMs"),
            y_title=curves[0].case.unit,
            counts=True,
            marked=_knees(curves),
        ),
        **columns(
            [
                row
                for curve in curves
                for row in _rows(
                    curve, f"{names[curve.system.pk]}: " if len(curves) > 1 else ""
                )
            ]
        ),
    )


def _note(curves: Sequence[Curve]) -> str:
    how = _("The ring is the last VM that raised the sum.")
    if len(curves) > 1:
        return how
    only = curves[0].consolidation
    words = {"knee": only.knee, "most": only.points[-1].k}
    end = (
        ngettext(
            "From %(knee)s VM on, more add nothing (up to %(most)s were measured).",
            "From %(knee)s VMs on, more add nothing (up to %(most)s were measured).",
            only.knee,
        )
        if only.is_end_reached
        else _("The sum still rises at %(most)s VMs, the most that were measured.")
    )
    return f"{end % words} {how}"


def _undisturbed(curves: Sequence[Curve]) -> Iterator[Points]:
    """Yield what VMs would do that take nothing from each other, as far as it helps.

    Of several curves each would have its own; and a line far above what was measured
    would press that flat.
    """
    points = [point for curve in curves for point in curve.consolidation.points]
    # Scaling is the sum over what one VM does alone.
    alone = points[-1].sum / points[-1].scaling if points[-1].scaling else 0.0
    if len(curves) > 1 or alone <= 0:
        return
    first, last = points[0].k, points[-1].k
    end = min(float(last), HEADROOM * max(point.sum for point in points) / alone)
    if end <= first:
        return
    name = _("as many times one VM alone")
    yield Points(
        name=name,
        x=[first, end],
        y=[first * alone, end * alone],
        texts=["", name],
        line=Stroke(dash="dash"),
    )


def _text(curve: Curve, point: CurvePoint) -> str:
    return f"{point.k}: {in_unit(point.sum, curve.case.unit)}"


def _knees(curves: Sequence[Curve]) -> Points:
    knees = [
        (curve, point)
        for curve in curves
        for point in curve.consolidation.points
        if point.k == curve.consolidation.knee
    ]
    return Points(
        name=_("last VM that raised the sum"),
        x=[point.k for _curve, point in knees],
        y=[point.sum for _curve, point in knees],
        texts=[_text(curve, point) for curve, point in knees],
    )


def _rows(curve: Curve, name: str) -> Iterator[Row]:
    unit, end = curve.case.unit, _("the end is not reached")
    if curve.consolidation.is_end_reached:
        end = _("more VMs add nothing")
    for point in curve.consolidation.points:
        yield (
            (_("VMs"), f"{name}{point.k}"),
            (_("Sum"), in_unit(point.sum, unit)),
            (_("Mean"), in_unit(point.mean, unit)),
            (_("Fairness"), shown_ratio(point.fairness.jain)),
            (_("Sum / one VM"), shown_ratio(point.scaling)),
            (_("Knee"), end if point.k == curve.consolidation.knee else NONE),
        )
