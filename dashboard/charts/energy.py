"""The charts of energy, each with its table twin."""

from collections.abc import Mapping
from itertools import pairwise
from statistics import median

from django.utils.translation import gettext as _

from benchmarks.analysis.power_trace import GAP_STEPS
from benchmarks.own_tools.lookup import known_tool
from benchmarks.power.energy_tables import EnergyTable
from benchmarks.power.logged_energy import LoggedTable, LoggedWindow, MeteredRun
from dashboard import wording
from dashboard.charts.bars import RowValues, bar_chart, line_chart
from dashboard.charts.chart import Points, Stroke
from dashboard.kit import figures
from dashboard.kit.document import Drawing, columns
from dashboard.wording import NONE, in_unit, shown_ratio
from dashboard.wording.energy import conclusion

POINTS = 2000


def energy_drawing(
    workload: EnergyTable, names: Mapping[int, str], waiting_w: int | None
) -> Drawing:
    """Draw the printed total beside the energy of the work, for each system."""
    systems = workload.systems
    is_known = any(system.energy_j is not None for system in systems)
    bars: list[RowValues] = [
        (_("printed total"), [system.printed_j for system in systems]),
        (_("work, at the meter's mean power"), [s.energy_j for s in systems]),
    ]
    if waiting_w is not None:
        name = _("total without idle power at %(watts)s W") % {"watts": waiting_w}
        bars.append((name, [system.less_wait_j for system in systems]))
    return Drawing(
        slug="energy",
        title=_("Printed total and energy of the work")
        if is_known
        else _("Printed total"),
        note=_("The truth lies between the two where the machine was idle meanwhile.")
        if is_known
        else _("Of all the time that the meter ran; the work's own is not known."),
        figure=bar_chart(
            [names[system.system.pk] for system in systems],
            [bar for bar in bars if any(bar[1])],
            axis_title=workload.unit,
            mode="group",
        ),
        **columns(
            [
                (
                    (_("System"), names[energy.system.pk]),
                    (_("Printed total"), in_unit(energy.printed_j, "J")),
                    (_("Meter ran"), in_unit(energy.meter_s, "s")),
                    (_("Work took"), in_unit(energy.work_s, "s")),
                    (_("Mean power"), in_unit(energy.mean_w, "W")),
                    (_("Energy of the work"), in_unit(energy.energy_j, "J")),
                    (_("Without idle power"), in_unit(energy.less_wait_j, "J")),
                    (_("Ratio printed"), shown_ratio(energy.printed_ratio)),
                    (_("Ratio of the work"), shown_ratio(energy.energy_ratio)),
                    (
                        _("Ratio without idle power"),
                        shown_ratio(energy.less_wait_ratio),
                    ),
                    (_("Conclusion"), conclusion(energy, workload)),
                )
                for energy in systems
            ]
        ),
    )


def power_drawing(metered: MeteredRun) -> Drawing | None:
    """Draw a meter's log with the window of its work tinted."""
    log = metered.log
    if log is None:
        return None
    step = max(1, len(log.watts) // POINTS)
    times_s = log.times_s[::step]
    watts = log.watts[::step]
    usual_s = median(b - a for a, b in pairwise(times_s)) if len(times_s) > 1 else 0.0
    x: list[float] = []
    y: list[float | None] = []
    for time_s, power_w in zip(times_s, watts, strict=True):
        # What the integration takes for a gap is one here.
        if x and time_s - x[-1] > GAP_STEPS * usual_s:
            x.append((time_s + x[-1]) / 2)
            y.append(None)
        x.append(time_s)
        y.append(power_w)
    texts = [
        ""
        if power_w is None
        else f"{figures.number(power_w, '.4g')} W, {figures.number(time_s, '.4g')} s"
        for time_s, power_w in zip(x, y, strict=True)
    ]
    line = Points(name=_("power"), x=x, y=y, texts=texts, line=Stroke())
    windows = metered.windows
    ends = [end for window in windows for end in (window.start_s, window.end_s)]
    return Drawing(
        slug="power",
        title=_("Power over time"),
        note=_("The tinted part is the window of the work; only that counts."),
        figure=line_chart(
            [line],
            x_title=_("Seconds since the first sample"),
            y_title="W",
            window=(min(ends), max(ends)) if ends else None,
        ),
        head=(
            *(_("Work"), _("Window"), _("Energy"), _("Above idle")),
            *(_("Mean power"), _("Idle power"), _("J per operation")),
            *(_("Measured"), _("Not known at the edges")),
        ),
        rows=tuple(_window_row(window, metered.idle_w) for window in windows),
    )


def _window_row(window: LoggedWindow, idle_w: float | None) -> tuple[str, ...]:
    named = {"tool": known_tool(window.run.tool).title, "run": window.run.pk}
    energy, work = window.energy, window.per_work
    if energy is None:
        measured = wording.said(window.reason) or NONE
    else:
        measured = f"{figures.number(100 * energy.coverage, '.3g')} %"
    ends = {
        "start": figures.number(window.start_s, ".6g"),
        "end": figures.number(window.end_s, ".6g"),
    }
    texts = (
        in_unit(energy.energy_j if energy else None, "J"),
        in_unit(window.above_idle_j, "J"),
        in_unit(energy.mean_w if energy else None, "W"),
        in_unit(idle_w, "W"),
        in_unit(work.joules_per_operation if work else None, "J"),
        measured,
        in_unit(energy.edge_error_j if energy else None, "J"),
    )
    return (
        _("%(tool)s, run %(run)s") % named,
        _("%(start)s s to %(end)s s") % ends,
        *texts,
    )


def performance_drawing(
    workload: EnergyTable | LoggedTable, names: Mapping[int, str]
) -> Drawing | None:
    """Draw power against performance, where the work counted what it did."""
    points, rows = [], []
    for system in workload.systems:
        if not (system.operations and system.work_s and system.mean_w):
            continue
        name, speed = names[system.system.pk], system.operations / system.work_s
        text = f"{name}: {in_unit(speed, '1/s')}, {in_unit(system.mean_w, 'W')}"
        points.append(Points(name=name, x=[speed], y=[system.mean_w], texts=[text]))
        rows.append(
            (
                (_("System"), name),
                (_("Operations"), in_unit(system.operations, "")),
                (_("Operations a second"), in_unit(speed, "1/s")),
                (_("J per operation"), in_unit(system.joules_per_operation, "J")),
                (_("Operations per J"), in_unit(system.operations_per_joule, "1/J")),
                (_("Energy-delay product"), in_unit(system.energy_delay_js, "Js")),
            )
        )
    if len(points) < 2:
        return None
    return Drawing(
        slug="performance",
        title=_("Power against performance"),
        note=_("Lower and farther right is better: less power, more work a second."),
        figure=line_chart(
            points,
            x_title=_("Operations a second"),
            y_title=_("Mean power, W"),
            from_zero=False,
        ),
        **columns(rows),
    )
