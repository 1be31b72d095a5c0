"""The charts of one case that several VMs ran together, each with its table twin."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from benchmarks.comparing.coruns import CoRun, Curve
from dashboard import wording
from dashboard.charts.bars import Bars, Reference, Targets, bar_chart
from dashboard.charts.drawings import NONE, Drawing, number, ratio
from dashboard.pages.coruns.consolidation import curve_drawing
from dashboard.pages.coruns.words import vms_text
from dashboard.wording.system_names import short_names


def drawings(coruns: Sequence[CoRun], curves: Sequence[Curve]) -> tuple[Drawing, ...]:
    """Return what can be drawn of one case: all given co-runs and curves are of it."""
    is_time = coruns[0].of.case.better == "lower"
    made = (
        _times(coruns) if is_time else _sums(coruns),
        _slots(coruns),
        curve_drawing(curves),
    )
    return tuple(filter(None, made))


def row_names(coruns: Sequence[CoRun]) -> list[str]:
    """Return what tells co-runs of one case apart; the system if there are several."""
    names = short_names(each.of.system for each in coruns)
    return [
        f"{vms_text(each.of)}, {names[each.of.system.pk]}"
        if len(names) > 1
        else vms_text(each.of)
        for each in coruns
    ]


def _slot_bars(coruns: Sequence[CoRun]) -> Iterator[Bars]:
    names = {slot.slot for each in coruns for slot in each.of.slots}
    for name in sorted(names, key=int):
        values = [
            next((slot.value for slot in each.of.slots if slot.slot == name), None)
            for each in coruns
        ]
        yield Bars(wording.slot_text(name), values)


def _sums(coruns: Sequence[CoRun]) -> Drawing | None:
    drawn = [each for each in coruns if each.of.values]
    if not drawn:
        return None
    bars, unit = list(_slot_bars(drawn)), drawn[0].of.case.unit
    lines = _references(drawn)
    # A bar without some of its slots would be taken for a small sum.
    rest = [_unreported(each) for each in drawn]
    if any(rest):
        bars.append(Bars(_("printed for VMs that were not reported"), rest))
    return Drawing(
        slug="sums",
        title=_("All VMs together"),
        note=_("The VMs of each co-run end to end; the lines are one alone.")
        if lines
        else _("The VMs of each co-run end to end; what one alone does is not known."),
        figure=bar_chart(row_names(drawn), bars, lines, axis_title=unit, mode="stack"),
        head=(
            _("Co-run"),
            _("Sum"),
            _("Printed sum"),
            _("One VM alone"),
            _("Native"),
            _("Sum / one VM"),
            _("Sum / native"),
        ),
        rows=tuple(
            (name, *_sum_row(each))
            for name, each in zip(row_names(drawn), drawn, strict=True)
        ),
    )


def _unreported(corun: CoRun) -> float | None:
    """Return what a printed sum has beyond the slots that were reported."""
    if not corun.figures.is_sum_printed:
        return None
    rest = (corun.figures.sum or 0.0) - sum(corun.of.values)
    return rest if rest > 0 else None


def _references(coruns: Sequence[CoRun]) -> list[Reference]:
    """Return one VM and the native machine alone, where one line fits all rows."""
    sides = (
        (_("one VM alone"), {each.of.single for each in coruns}),
        (_("native alone"), {each.of.native for each in coruns}),
    )
    return [
        Reference(name, one.value)
        for name, found in sides
        if len(found) == 1
        and (one := next(iter(found))) is not None
        and one.value is not None
    ]


def _sum_row(corun: CoRun) -> tuple[str, ...]:
    of, found = corun.of, corun.figures
    return (
        number(found.sum, of.case.unit),
        number(of.printed.get("sum"), of.case.unit),
        number(of.single.value if of.single else None, of.case.unit),
        number(of.native.value if of.native else None, of.case.unit),
        ratio(found.scaling),
        ratio(found.scaling_to_native),
    )


def _slots(coruns: Sequence[CoRun]) -> Drawing | None:
    drawn = [each for each in coruns if len(each.of.values) > 1]
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
        head=(
            _("Co-run"),
            *(each.name for each in bars),
            _("Mean"),
            _("Fairness"),
            _("Interval"),
        ),
        rows=tuple(
            (
                name,
                *(number(each.values[at], "") for each in bars),
                number(corun.figures.mean, ""),
                ratio(corun.figures.jain),
                _interval(corun),
            )
            for at, (name, corun) in enumerate(named)
        ),
    )


def _interval(corun: CoRun) -> str:
    low, high = corun.figures.jain_low, corun.figures.jain_high
    if low is None or high is None:
        return _("needs repeated co-runs") if corun.figures.jain else NONE
    return _("%(low)s to %(high)s") % {"low": ratio(low), "high": ratio(high)}


def _times(coruns: Sequence[CoRun]) -> Drawing | None:
    """Draw times against what the cores allow, as far as that is known."""
    drawn = [each for each in coruns if each.figures.mean]
    if not drawn:
        return None
    unit, names = drawn[0].of.case.unit, row_names(drawn)
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
            [Bars(_("measured"), [each.figures.mean for each in drawn])],
            _references(drawn),
            axis_title=unit,
            mode="group",
            targets=_targets(drawn),
        ),
        head=(
            *(_("Co-run"), _("Measured")),
            *(_("Target from one VM"), _("Measured / target")),
            *(_("Target from as many VMs as cores"), _("Measured / target")),
        ),
        rows=tuple(
            (name, *_time_row(each)) for name, each in zip(names, drawn, strict=True)
        ),
    )


def _targets(coruns: Sequence[CoRun]) -> list[Targets]:
    targets = [each.figures.target for each in coruns]
    alone = [target.ideal_s if target else None for target in targets]
    crowd = [target.lmu_s if target else None for target in targets]
    found = (
        Targets(_("target from one VM alone"), alone),
        Targets(_("target from as many VMs as cores"), crowd),
    )
    return [each for each in found if any(each.values)]


def _time_row(corun: CoRun) -> tuple[str, ...]:
    unit, target = corun.of.case.unit, corun.figures.target
    return (
        number(corun.figures.mean, unit),
        number(target.ideal_s if target else None, unit),
        ratio(target.ideal_ratio if target else None),
        number(target.lmu_s if target else None, unit),
        ratio(target.lmu_ratio if target else None),
    )
