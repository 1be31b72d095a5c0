"""Power over time around one piece of work, from the logs of its machine's meter."""

import numpy as np

from benchmarks.analysis.energy import WorkEnergy, energy_within, per_work
from benchmarks.analysis.power_trace import Trace
from benchmarks.analysis.server_time import Span, hull
from benchmarks.models import RunEnergy
from benchmarks.parsing.power_logs import PowerLog
from benchmarks.power.logs import ServerTrace, power_of
from benchmarks.power.metered import MeteredRun, Window
from benchmarks.power.run_energies import MeteredWork
from benchmarks.power.windows import window_of

# So much is shown before and after the work: what the machine takes at rest. Not more,
# for a log tells of all that a machine did.
LEAST_AROUND_S, MOST_AROUND_S = 10.0, 120.0
PART_AROUND = 0.2


def work_power(work: MeteredWork) -> MeteredRun | None:
    """Return the power around some work with its window; None if the log is gone."""
    windows = [window for run in work.runs if (window := window_of(run))]
    if not windows:
        return None
    rough = hull([(w.begin_s, w.begin_s + w.duration_s) for w in windows])
    around_s = (rough[1] - rough[0]) * PART_AROUND
    around_s = min(max(around_s, LEAST_AROUND_S), MOST_AROUND_S)
    power = power_of(work.meter, rough[0] - around_s, rough[1] + around_s)
    if power is None:
        return None
    spans = [power.span_of(window) for window in windows]
    whole = hull(spans)
    shown = power.trace.within(whole[0] - around_s, whole[1] + around_s)
    if not shown.starts_s.size:
        return None
    first = float(shown.starts_s[0])
    return MeteredRun(
        run=work.lead,
        log=_log(shown, first),
        windows=(_window(work.energy, power, whole, first),),
        idle_w=work.energy.idle_w,
    )


def _window(
    stored: RunEnergy, power: ServerTrace, span: Span, first_s: float
) -> Window:
    energy: WorkEnergy | None = None
    reason = ""
    try:
        energy = energy_within(power.trace, span)
    except ValueError as error:
        reason = error.args[0]
    known = energy is not None and energy.is_covered and energy.energy_j > 0
    return Window(
        run=stored.run,
        start_s=span[0] - first_s,
        end_s=span[1] - first_s,
        energy=energy,
        per_work=per_work(energy.energy_j, energy.duration_s, stored.operations)
        if energy and known
        else None,
        above_idle_j=stored.above_idle_j,
        reason=reason,
    )


def _log(trace: Trace, first_s: float) -> PowerLog:
    """Return the samples to draw: of a counter the middle of each step."""
    if trace.is_counted:
        times, watts = (trace.starts_s + trace.ends_s) / 2, trace.first_w
    else:
        times = np.append(trace.starts_s, trace.ends_s[-1])
        watts = np.append(trace.first_w, trace.last_w[-1])
    return PowerLog(tuple((times - first_s).tolist()), tuple(watts.tolist()))
