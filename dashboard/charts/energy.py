from collections.abc import Mapping
from itertools import pairwise
from statistics import median

from django.utils.translation import gettext as _

from benchmarks.analysis.power_trace import GAP_STEPS
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.power.logged_energy import LoggedTable, LoggedWindow, MeteredRun
from benchmarks.power.printed_energy import EnergyTable
from dashboard import wording
from dashboard.charts.bars_and_lines import RowValues, bar_chart, line_chart
from dashboard.charts.chart import LineStyle, Points
from dashboard.kit import formatting
from dashboard.kit.report_elements import ChartWithTable, table_columns
from dashboard.wording import DASH, ratio_or_dash, value_with_unit
from dashboard.wording.energy import ratio_outcome

MAX_POWER_POINTS = 2000


def printed_energy_chart(
    workload: EnergyTable, names: Mapping[int, str], waiting_w: int | None
) -> ChartWithTable:
    systems = workload.systems
    is_known = any(system.energy_j is not None for system in systems)
    bars: list[RowValues] = [
        (_("printed total"), [system.meter_total_j for system in systems]),
        (_("work only, at the meter's mean power"), [s.energy_j for s in systems]),
    ]
    if waiting_w is not None:
        name = _("total without idle power of %(watts)s W") % {"watts": waiting_w}
        bars.append((name, [system.without_idle_j for system in systems]))
    return ChartWithTable(
        slug="energy",
        title=_("Printed total and energy of the work")
        if is_known
        else _("Printed total"),
        note=_(
            "If the machine was idle for part of the time, the true energy of the "
            "work is between the two values."
        )
        if is_known
        else _(
            "The printed total covers the whole time that the meter ran. The energy "
            "of the work alone is unknown."
        ),
        chart=bar_chart(
            [names[system.system.pk] for system in systems],
            [bar for bar in bars if any(bar[1])],
            axis_title=workload.unit,
            mode="group",
        ),
        **table_columns(
            [
                (
                    (_("System"), names[energy.system.pk]),
                    (_("Printed total"), value_with_unit(energy.meter_total_j, "J")),
                    (_("Metered time"), value_with_unit(energy.meter_s, "s")),
                    (_("Duration of the work"), value_with_unit(energy.work_s, "s")),
                    (_("Mean power"), value_with_unit(energy.mean_w, "W")),
                    (_("Energy of the work"), value_with_unit(energy.energy_j, "J")),
                    (
                        _("Without idle power"),
                        value_with_unit(energy.without_idle_j, "J"),
                    ),
                    (_("Ratio of printed totals"), ratio_or_dash(energy.printed_ratio)),
                    (_("Ratio of work energy"), ratio_or_dash(energy.energy_ratio)),
                    (
                        _("Ratio without idle power"),
                        ratio_or_dash(energy.without_idle_ratio),
                    ),
                    (_("Conclusion"), ratio_outcome(energy, workload)),
                )
                for energy in systems
            ]
        ),
    )


def power_log_chart(metered: MeteredRun) -> ChartWithTable | None:
    log = metered.log
    if log is None:
        return None
    step = max(1, len(log.watts) // MAX_POWER_POINTS)
    times_s = log.times_s[::step]
    watts = log.watts[::step]
    usual_s = median(b - a for a, b in pairwise(times_s)) if len(times_s) > 1 else 0.0
    x: list[float] = []
    y: list[float | None] = []
    for time_s, power_w in zip(times_s, watts, strict=True):
        # No energy is computed over such gaps in the log, so the line has gaps too.
        if x and time_s - x[-1] > GAP_STEPS * usual_s:
            x.append((time_s + x[-1]) / 2)
            y.append(None)
        x.append(time_s)
        y.append(power_w)

    def short(number: float) -> str:
        return formatting.number(number, ".4g")

    texts = [
        "" if power_w is None else f"{short(power_w)} W, {short(time_s)} s"
        for time_s, power_w in zip(x, y, strict=True)
    ]
    line = Points(name=_("power"), x=x, y=y, hover_texts=texts, line=LineStyle())
    windows = metered.windows
    ends = [end for window in windows for end in (window.start_s, window.end_s)]
    return ChartWithTable(
        slug="power",
        title=_("Power over time"),
        note=_(
            "The shaded part is the time window of the work. Only the energy in this "
            "window is counted."
        ),
        chart=line_chart(
            [line],
            x_title=_("Time since the first sample (s)"),
            y_title="W",
            window=(min(ends), max(ends)) if ends else None,
        ),
        header=(
            *(_("Work class"), _("Time window"), _("Energy"), _("Energy above idle")),
            *(_("Mean power"), _("Idle power"), _("Energy per operation")),
            *(_("Measured"), _("Uncertainty from the start and end of the window")),
        ),
        rows=tuple(_window_row(window, metered.idle_w) for window in windows),
    )


def _window_row(window: LoggedWindow, idle_w: float | None) -> tuple[str, ...]:
    run_values = {"tool": require_tool(window.run.tool).title, "run": window.run.pk}
    energy, work = window.energy, window.per_work
    if energy is None:
        measured = wording.translate_text(window.reason) or DASH
    else:
        measured = formatting.percent(energy.coverage, ".3g")
    ends = {
        "start": formatting.number(window.start_s, ".6g"),
        "end": formatting.number(window.end_s, ".6g"),
    }
    texts = (
        value_with_unit(energy.energy_j if energy else None, "J"),
        value_with_unit(window.above_idle_j, "J"),
        value_with_unit(energy.mean_w if energy else None, "W"),
        value_with_unit(idle_w, "W"),
        value_with_unit(work.joules_per_operation if work else None, "J"),
        measured,
        value_with_unit(energy.edge_error_j if energy else None, "J"),
    )
    return (
        _("%(tool)s, run %(run)s") % run_values,
        _("%(start)s s to %(end)s s") % ends,
        *texts,
    )


def power_performance_chart(
    workload: EnergyTable | LoggedTable, names: Mapping[int, str]
) -> ChartWithTable | None:
    points, rows = [], []
    for system in workload.systems:
        if not (system.operations and system.work_s and system.mean_w):
            continue
        name, speed = names[system.system.pk], system.operations / system.work_s
        rate, power = value_with_unit(speed, "1/s"), value_with_unit(system.mean_w, "W")
        text = f"{name}: {rate}, {power}"
        points.append(
            Points(name=name, x=[speed], y=[system.mean_w], hover_texts=[text])
        )
        rows.append(
            (
                (_("System"), name),
                (_("Operations"), value_with_unit(system.operations, "")),
                (_("Operations per second"), value_with_unit(speed, "1/s")),
                (
                    _("Energy per operation"),
                    value_with_unit(system.joules_per_operation, "J"),
                ),
                (
                    _("Operations per joule"),
                    value_with_unit(system.operations_per_joule, "1/J"),
                ),
                (
                    _("Energy-delay product"),
                    value_with_unit(system.energy_delay_js, "Js"),
                ),
            )
        )
    if len(points) < 2:
        return None
    return ChartWithTable(
        slug="performance",
        title=_("Power vs. performance"),
        note=_("Lower and farther right is better: less power, more work per second."),
        chart=line_chart(
            points,
            x_title=_("Operations per second"),
            y_title=_("Mean power (W)"),
            from_zero=False,
        ),
        **table_columns(rows),
    )
