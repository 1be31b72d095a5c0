from collections.abc import Iterator, Sequence
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.corun_statistics import CurvePoint
from benchmarks.comparison.coruns import ConsolidationCurve, CoRunResult, SlotValue
from dashboard import wording
from dashboard.charts.bars_and_lines import RowValues, bar_chart, line_chart
from dashboard.charts.chart import LineStyle, Points
from dashboard.kit.report_elements import ChartWithTable, TextRow, table_columns
from dashboard.wording import DASH, ratio_or_dash, short_system_names, value_with_unit
from dashboard.wording.coruns import vms_text

HEADROOM: Final = 1.3
"""The line of linear scaling ends at this multiple of the highest measured sum."""


def corun_charts(
    coruns: Sequence[CoRunResult], curves: Sequence[ConsolidationCurve]
) -> tuple[ChartWithTable, ...]:
    is_time = coruns[0].slots.case.better == "lower"
    charts = (
        _times(coruns) if is_time else _sums(coruns),
        _slots(coruns),
        consolidation_chart(curves),
    )
    return tuple(filter(None, charts))


def corun_row_names(coruns: Sequence[CoRunResult]) -> list[str]:
    names = short_system_names(corun.slots.system for corun in coruns)
    return [
        f"{vms_text(corun.slots)}, {names[corun.slots.system.pk]}"
        if len(names) > 1
        else vms_text(corun.slots)
        for corun in coruns
    ]


def _slot_bars(coruns: Sequence[CoRunResult]) -> Iterator[RowValues]:
    names = {slot.slot for corun in coruns for slot in corun.slots.slots}
    for name in sorted(names, key=int):
        values = [
            next((slot.value for slot in corun.slots.slots if slot.slot == name), None)
            for corun in coruns
        ]
        yield (wording.slot_text(name), values)


def _sums(coruns: Sequence[CoRunResult]) -> ChartWithTable | None:
    shown_coruns = [corun for corun in coruns if corun.slots.values]
    if not shown_coruns:
        return None
    bars, unit = list(_slot_bars(shown_coruns)), shown_coruns[0].slots.case.unit
    lines = _references(shown_coruns)
    unreported = [_unreported(corun) for corun in shown_coruns]
    if any(unreported):
        bars.append(
            (_("VMs without a reported value (from the printed sum)"), unreported)
        )
    return ChartWithTable(
        slug="sums",
        title=_("All VMs together"),
        note=_(
            "The VMs of each co-run are stacked. The lines show one VM or the "
            "native machine alone."
        )
        if lines
        else _(
            "The VMs of each co-run are stacked. The result of one VM alone is unknown."
        ),
        chart=bar_chart(
            corun_row_names(shown_coruns), bars, lines, axis_title=unit, mode="stack"
        ),
        **table_columns(
            [
                (
                    (_("Co-run"), name),
                    (_("Sum"), value_with_unit(corun.figures.sum, unit)),
                    (
                        _("Printed sum"),
                        value_with_unit(corun.slots.printed.get("sum"), unit),
                    ),
                    (_("One VM alone"), _slot_value_text(corun.slots.single, unit)),
                    (_("Native"), _slot_value_text(corun.slots.native, unit)),
                    (_("Sum / one VM"), ratio_or_dash(corun.figures.scaling)),
                    (_("Sum / native"), ratio_or_dash(corun.figures.scaling_to_native)),
                )
                for name, corun in zip(
                    corun_row_names(shown_coruns), shown_coruns, strict=True
                )
            ]
        ),
    )


def _slot_value_text(slot: SlotValue | None, unit: str) -> str:
    return value_with_unit(slot.value if slot else None, unit)


def _unreported(corun: CoRunResult) -> float | None:
    if not corun.figures.is_sum_printed:
        return None
    difference = (corun.figures.sum or 0.0) - sum(corun.slots.values)
    return difference if difference > 0 else None


def _references(coruns: Sequence[CoRunResult]) -> list[tuple[str, float]]:
    slots_by_name = (
        (_("one VM alone"), {corun.slots.single for corun in coruns}),
        (_("native alone"), {corun.slots.native for corun in coruns}),
    )
    return [
        (name, slot.value)
        for name, values in slots_by_name
        if len(values) == 1
        and (slot := next(iter(values))) is not None
        and slot.value is not None
    ]


def _slots(coruns: Sequence[CoRunResult]) -> ChartWithTable | None:
    shown_coruns = [corun for corun in coruns if len(corun.slots.values) > 1]
    if not shown_coruns:
        return None
    bars = list(_slot_bars(shown_coruns))
    named_coruns = list(zip(corun_row_names(shown_coruns), shown_coruns, strict=True))
    return ChartWithTable(
        slug="slots",
        title=_("Individual VMs"),
        note=_(
            "The fairness index shows how evenly the VMs of a co-run shared the "
            "resources. An index of 1 means equal shares."
        ),
        chart=bar_chart(
            corun_row_names(shown_coruns),
            bars,
            _references(shown_coruns),
            axis_title=shown_coruns[0].slots.case.unit,
            mode="group",
        ),
        **table_columns(
            [
                (
                    (_("Co-run"), name),
                    *(
                        (slot, value_with_unit(values[row], ""))
                        for slot, values in bars
                    ),
                    (_("Mean"), value_with_unit(corun.figures.mean, "")),
                    (_("Fairness"), ratio_or_dash(corun.figures.jain)),
                    (_("95% CI"), _interval(corun)),
                )
                for row, (name, corun) in enumerate(named_coruns)
            ]
        ),
    )


def _interval(corun: CoRunResult) -> str:
    low, high = corun.figures.jain_low, corun.figures.jain_high
    if low is None or high is None:
        return _("needs repeated co-runs") if corun.figures.jain else DASH
    return wording.range_text(ratio_or_dash(low), ratio_or_dash(high))


def _times(coruns: Sequence[CoRunResult]) -> ChartWithTable | None:
    shown_coruns = [corun for corun in coruns if corun.figures.mean]
    if not shown_coruns:
        return None
    unit, names = shown_coruns[0].slots.case.unit, corun_row_names(shown_coruns)
    rows, ideal_times, full_load_times = [], list[float | None](), list[float | None]()
    for name, corun in zip(names, shown_coruns, strict=True):
        target = corun.figures.target
        ideal_s, ideal_ratio = (
            (target.ideal_s, target.ideal_ratio) if target else (None, None)
        )
        full_load_s, full_load_ratio = (
            (target.full_load_s, target.full_load_ratio) if target else (None, None)
        )
        ideal_times.append(ideal_s)
        full_load_times.append(full_load_s)
        rows.append(
            (
                (_("Co-run"), name),
                (_("Measured"), value_with_unit(corun.figures.mean, unit)),
                (_("Target based on one VM"), value_with_unit(ideal_s, unit)),
                (_("Measured / target"), ratio_or_dash(ideal_ratio)),
                (
                    _("Target based on as many VMs as cores"),
                    value_with_unit(full_load_s, unit),
                ),
                (_("Measured / target"), ratio_or_dash(full_load_ratio)),
            )
        )
    strokes = (
        (_("target based on one VM alone"), ideal_times),
        (_("target based on as many VMs as cores"), full_load_times),
    )
    return ChartWithTable(
        slug="times",
        title=_("Measured time vs. target"),
        note=_(
            "The target is the time expected from the number of cores: the time of "
            "one VM alone, or of as many VMs as there are cores (as in the LMU "
            "studies), multiplied by the ratio of virtual to physical cores."
        ),
        chart=bar_chart(
            names,
            [(_("measured"), [corun.figures.mean for corun in shown_coruns])],
            _references(shown_coruns),
            axis_title=unit,
            mode="group",
            targets=[stroke for stroke in strokes if any(stroke[1])],
        ),
        **table_columns(rows),
    )


def consolidation_chart(curves: Sequence[ConsolidationCurve]) -> ChartWithTable | None:
    if not curves:
        return None
    names = wording.system_names(curve.system for curve in curves)
    lines = [
        Points(
            name=names[curve.system.pk],
            x=[point.vm_count for point in curve.consolidation.points],
            y=[point.sum for point in curve.consolidation.points],
            hover_texts=[
                _hover_text(curve, point) for point in curve.consolidation.points
            ],
            line=LineStyle(),
        )
        for curve in curves
    ]
    return ChartWithTable(
        slug="curve",
        title=_("Sum by number of VMs"),
        note=_note(curves),
        chart=line_chart(
            [*lines, *_linear_scaling(curves)],
            x_title=_("VMs"),
            y_title=curves[0].case.unit,
            counts=True,
            marked=_knees(curves),
        ),
        **table_columns(
            [
                row
                for curve in curves
                for row in _curve_rows(
                    curve, f"{names[curve.system.pk]}: " if len(curves) > 1 else ""
                )
            ]
        ),
    )


def _note(curves: Sequence[ConsolidationCurve]) -> str:
    knee_note = _("The ring marks the last VM that increased the sum.")
    if len(curves) > 1:
        return knee_note
    consolidation = curves[0].consolidation
    values = {"knee": consolidation.knee, "most": consolidation.points[-1].vm_count}
    result = (
        ngettext(
            "Beyond %(knee)s VM, more VMs add nothing (measured up to %(most)s VMs).",
            "Beyond %(knee)s VMs, more VMs add nothing (measured up to %(most)s VMs).",
            consolidation.knee,
        )
        if consolidation.is_knee_observed
        else _("The sum still rises at %(most)s VMs, the largest number measured.")
    )
    return f"{result % values} {knee_note}"


def _linear_scaling(curves: Sequence[ConsolidationCurve]) -> Iterator[Points]:
    points = [point for curve in curves for point in curve.consolidation.points]
    single_vm_value = points[-1].sum / points[-1].scaling if points[-1].scaling else 0.0
    if len(curves) > 1 or single_vm_value <= 0:
        return
    first, last = points[0].vm_count, points[-1].vm_count
    end = min(
        float(last), HEADROOM * max(point.sum for point in points) / single_vm_value
    )
    if end <= first:
        return
    name = _("linear scaling from one VM")
    yield Points(
        name=name,
        x=[first, end],
        y=[first * single_vm_value, end * single_vm_value],
        hover_texts=["", name],
        line=LineStyle(dash="dash"),
    )


def _hover_text(curve: ConsolidationCurve, point: CurvePoint) -> str:
    return f"{point.vm_count}: {value_with_unit(point.sum, curve.case.unit)}"


def _knees(curves: Sequence[ConsolidationCurve]) -> Points:
    knees = [
        (curve, point)
        for curve in curves
        for point in curve.consolidation.points
        if point.vm_count == curve.consolidation.knee
    ]
    return Points(
        name=_("last VM that increased the sum"),
        x=[point.vm_count for _curve, point in knees],
        y=[point.sum for _curve, point in knees],
        hover_texts=[_hover_text(curve, point) for curve, point in knees],
    )


def _curve_rows(curve: ConsolidationCurve, name: str) -> Iterator[TextRow]:
    unit, end = curve.case.unit, _("limit not reached")
    if curve.consolidation.is_knee_observed:
        end = _("more VMs add nothing")
    for point in curve.consolidation.points:
        yield (
            (_("VMs"), f"{name}{point.vm_count}"),
            (_("Sum"), value_with_unit(point.sum, unit)),
            (_("Mean"), value_with_unit(point.mean, unit)),
            (_("Fairness"), ratio_or_dash(point.fairness.jain)),
            (_("Sum / one VM"), ratio_or_dash(point.scaling)),
            (
                _("Last VM that increased the sum"),
                end if point.vm_count == curve.consolidation.knee else DASH,
            ),
        )
