"""The charts of energy, each with its table twin."""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.selectors.energy import EnergyTable, SystemEnergy
from benchmarks.selectors.metered import MeteredRun, Window
from dashboard import figures, wording
from dashboard.bar_charts import Bars, Line, bar_chart, line_chart
from dashboard.drawings import NONE, Drawing, number, ratio
from dashboard.energy_words import conclusion

POINTS = 2000


def energy_drawing(
    table: EnergyTable, names: Mapping[int, str], waiting_w: int | None
) -> Drawing:
    """Draw the printed total beside the energy of the work, for each system."""
    systems = table.systems
    bars = [
        Bars(_("printed total"), [each.printed_j for each in systems]),
        Bars(_("work, at the meter's mean power"), [s.energy_j for s in systems]),
    ]
    if waiting_w is not None:
        name = _("total less the wait at %(watts)s W") % {"watts": waiting_w}
        bars.append(Bars(name, [each.less_wait_j for each in systems]))
    return Drawing(
        slug="energy",
        title=_("Printed total and energy of the work"),
        note=_("The truth lies between the two where the machine waited meanwhile."),
        figure=bar_chart(
            [names[each.system.pk] for each in systems],
            [each for each in bars if any(each.values)],
            axis_title=table.unit,
            mode="group",
        ),
        head=(
            _("System"),
            _("Printed total"),
            _("Meter ran"),
            _("Work took"),
            _("Mean power"),
            _("Energy of the work"),
            _("Less the wait"),
            _("Ratio printed"),
            _("Ratio of the work"),
            _("Ratio less the wait"),
            _("Conclusion"),
        ),
        rows=tuple(_energy_row(each, table, names) for each in systems),
    )


def _energy_row(
    energy: SystemEnergy, table: EnergyTable, names: Mapping[int, str]
) -> tuple[str, ...]:
    return (
        names[energy.system.pk],
        number(energy.printed_j, "J"),
        number(energy.meter_s, "s"),
        number(energy.work_s, "s"),
        number(energy.mean_w, "W"),
        number(energy.energy_j, "J"),
        number(energy.less_wait_j, "J"),
        ratio(energy.printed_ratio),
        ratio(energy.energy_ratio),
        ratio(energy.less_wait_ratio),
        conclusion(energy, table),
    )


def performance_drawing(table: EnergyTable, names: Mapping[int, str]) -> Drawing | None:
    """Draw power against performance, where the work counted what it did."""
    drawn = [each for each in table.systems if each.operations and each.work_s]
    if len(drawn) < 2:
        return None
    speeds = [(each.operations or 0.0) / (each.work_s or 1.0) for each in drawn]
    lines = [
        Line(
            names[each.system.pk],
            [speed],
            [each.mean_w],
            [f"{names[each.system.pk]}: {_place(each, speed)}"],
            is_joined=False,
        )
        for each, speed in zip(drawn, speeds, strict=True)
    ]
    return Drawing(
        slug="performance",
        title=_("Power against performance"),
        note=_("Lower and farther right is better: less power, more work a second."),
        figure=line_chart(
            lines,
            x_title=_("Operations a second"),
            y_title=_("Mean power, W"),
            from_zero=False,
        ),
        head=(
            _("System"),
            _("Operations"),
            _("Operations a second"),
            _("J per operation"),
            _("Operations per J"),
            _("Energy-delay product"),
        ),
        rows=tuple(
            (
                names[each.system.pk],
                number(each.operations, ""),
                number(speed, "1/s"),
                number(each.joules_per_operation, "J"),
                number(each.operations_per_joule, "1/J"),
                number(each.energy_delay_js, "Js"),
            )
            for each, speed in zip(drawn, speeds, strict=True)
        ),
    )


def power_drawing(metered: MeteredRun) -> Drawing | None:
    """Draw a meter's log with the window of its work tinted."""
    log = metered.log
    if log is None:
        return None
    step = max(1, len(log.watts) // POINTS)
    times, watts = log.times_s[::step], log.watts[::step]
    texts = [_reading(*each) for each in zip(times, watts, strict=True)]
    spans = metered.windows
    ends = [end for each in spans for end in (each.start_s, each.end_s)]
    return Drawing(
        slug="power",
        title=_("Power over time"),
        note=_("The tinted part is the window of the work; only that counts."),
        figure=line_chart(
            [Line(_("power"), times, watts, texts)],
            x_title=_("Seconds since the log began"),
            y_title="W",
            window=(min(ends), max(ends)) if ends else None,
        ),
        head=(
            _("Work"),
            _("Window"),
            _("Energy"),
            _("Above idle"),
            _("Mean power"),
            _("Idle power"),
            _("J per operation"),
            _("Measured"),
            _("Not known at the edges"),
        ),
        rows=tuple(_window_row(each, metered.idle_w) for each in spans),
    )


def _place(energy: SystemEnergy, speed: float) -> str:
    return f"{number(speed, '1/s')}, {figures.number(energy.mean_w, '.4g')} W"


def _reading(time_s: float, watts: float) -> str:
    return f"{figures.number(watts, '.4g')} W, {figures.number(time_s, '.4g')} s"


def _measured(window: Window) -> str:
    if window.energy is None:
        return wording.said(window.reason) or NONE
    return f"{figures.number(100 * window.energy.coverage, '.3g')} %"


def _window_row(window: Window, idle_w: float | None) -> tuple[str, ...]:
    named = {"tool": tools.get(window.run.tool).title, "run": window.run.pk}
    energy, work = window.energy, window.per_work
    ends = {
        "start": figures.number(window.start_s, ".6g"),
        "end": figures.number(window.end_s, ".6g"),
    }
    texts = (
        number(energy.energy_j if energy else None, "J"),
        number(window.above_idle_j, "J"),
        number(energy.mean_w if energy else None, "W"),
        number(idle_w, "W"),
        number(work.joules_per_operation if work else None, "J"),
        _measured(window),
        number(energy.edge_error_j if energy else None, "J"),
    )
    return (
        _("%(tool)s, run %(run)s") % named,
        _("%(start)s s to %(end)s s") % ends,
        *texts,
    )
