"""The charts of logged energy, each with its table twin."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from benchmarks.power.logged_energy import LoggedSystem, LoggedTable
from dashboard.charts.bars import Bars, bar_chart
from dashboard.charts.drawings import Drawing, number, ratio
from dashboard.wording.energy import joules_interval


def work_drawing(table: LoggedTable, names: Mapping[int, str]) -> Drawing:
    """Draw what each system took for the work: in all, and above its idle power."""
    systems = table.systems
    is_counted = all(each.joules_per_operation is not None for each in systems)
    return Drawing(
        slug="logged",
        title=_("J per operation") if is_counted else _("Energy of the work"),
        note=_("Integrated over the window of each run; then the mean of the runs."),
        figure=bar_chart(
            [names[each.system.pk] for each in systems],
            _bars(systems, is_counted),
            axis_title="J",
            mode="group",
        ),
        head=(
            *(_("System"), _("Runs"), _("J per operation"), _("Ratio")),
            *(_("95 % interval"), _("Energy of the work"), _("Above idle")),
            *(_("Work took"), _("Mean power"), _("Idle power")),
            *(_("Operations per J"), _("Energy-delay product"), _("Meter")),
        ),
        rows=tuple(_row(each, names) for each in systems),
    )


def _bars(systems: Sequence[LoggedSystem], is_counted: bool) -> list[Bars]:
    if is_counted:
        found = [
            Bars(_("J per operation"), [each.joules_per_operation for each in systems]),
            Bars(_("of it above idle"), [_idle_less(each) for each in systems]),
        ]
    else:
        found = [
            Bars(_("energy of the work"), [each.energy_j for each in systems]),
            Bars(_("of it above idle"), [each.above_idle_j for each in systems]),
        ]
    return [each for each in found if any(each.values)]


def _idle_less(energy: LoggedSystem) -> float | None:
    """Return what an operation took above idle, where it is more than nothing."""
    above, whole, each = energy.above_idle_j, energy.energy_j, None
    if above is not None and whole and energy.joules_per_operation is not None:
        each = energy.joules_per_operation * max(above, 0.0) / whole
    return each


def _row(energy: LoggedSystem, names: Mapping[int, str]) -> tuple[str, ...]:
    return (
        names[energy.system.pk],
        _runs(energy),
        number(energy.joules_per_operation, "J"),
        ratio(energy.ratio.ratio if energy.ratio else None),
        joules_interval(energy.ratio),
        number(energy.energy_j, "J"),
        number(energy.above_idle_j, "J"),
        number(energy.work_s, "s"),
        number(energy.mean_w, "W"),
        number(energy.idle_w, "W"),
        number(energy.operations_per_joule, "1/J"),
        number(energy.energy_delay_js, "Js"),
        energy.meter.name,
    )


def _runs(energy: LoggedSystem) -> str:
    if not energy.unmeasured:
        return str(energy.n)
    words = {"n": energy.n, "all": len(energy.works)}
    return _("%(n)s of %(all)s") % words
