from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.power.logged_energy import MeteredRun
from benchmarks.power.metered_workloads import MeterReading
from benchmarks.power.printed_energy import EnergyTable, SystemEnergy
from dashboard.kit import formatting


def energy_summary(table: EnergyTable, names: Mapping[int, str]) -> str:
    systems = [system for system in table.systems if system.energy_j is not None]
    if not systems:
        return _(
            "The duration of the work is not reported, so its energy is unknown. "
            "Totals of meters that ran for different durations cannot be compared."
        )
    overruns = sorted(
        100 * (system.overrun_s or 0.0) / system.work_s
        for system in systems
        if system.work_s
    )
    if overruns[-1] - overruns[0] < 0.1:
        over = overruns[-1]
        text = (
            _("The meter ran %(percent)s%% shorter than the workload.")
            if over < 0
            else _("The meter ran %(percent)s%% longer than the workload.")
        ) % {"percent": _percent(over)}
    else:
        text = _overrun_range(overruns[0], overruns[-1])
    reversals = [
        _reversal(system, table, names)
        for system in table.systems
        if system.contradicts_total
    ]
    sentences = []
    if len(systems) > 1 and reversals:
        sentences += reversals
    elif len(systems) > 1:
        by_total = sorted(systems, key=lambda system: system.meter_total_j)
        by_work = sorted(systems, key=lambda system: system.energy_j or 0.0)
        sentences.append(
            _("The printed totals rank the systems as the energy of the work does.")
            if by_total == by_work
            else _(
                "The printed totals and the energy of the work agree on which "
                "systems take more or less energy than the reference, but the order "
                "of the systems differs."
            )
        )
    sentences.append(text)
    if missing_count := len(table.systems) - len(systems):
        text = ngettext(
            "For %(n)s more system, the duration of the work is not reported.",
            "For %(n)s more systems, the duration of the work is not reported.",
            missing_count,
        )
        sentences.append(text % {"n": missing_count})
    return " ".join(sentences)


def _overrun_range(least: float, most: float) -> str:
    if least >= 0:
        text = _("The meters ran %(least)s%% to %(most)s%% longer than the workload.")
    elif most <= 0:
        text = _("The meters ran %(most)s%% to %(least)s%% shorter than the workload.")
    else:
        text = _(
            "The meters ran from %(least)s%% shorter to %(most)s%% longer than the "
            "workload."
        )
    return text % {"least": _percent(least), "most": _percent(most)}


def _percent(percent: float) -> str:
    return formatting.number(abs(percent), ".1f" if abs(percent) < 10 else ",.0f")


def _reversal(
    system: SystemEnergy, table: EnergyTable, names: Mapping[int, str]
) -> str:
    text = _(
        "“%(system)s” took %(work)s energy for the work than “%(reference)s”, although "
        "the printed totals say %(printed)s: the conclusion is reversed."
    ) % {
        "system": names[system.system.pk],
        "reference": names[table.reference.pk],
        "printed": relative_energy_text(system.printed_ratio),
        "work": relative_energy_text(system.energy_ratio),
    }
    # If the machine idled at this power, the totals without idle time would be equal.
    reference = table.systems[0]
    longer_s = (system.overrun_s or 0.0) - (reference.overrun_s or 0.0)
    break_even_w = (
        (system.meter_total_j - reference.meter_total_j) / longer_s if longer_s else 0.0
    )
    # Idle power is positive and lower than the power under load.
    if not 0 < break_even_w < min(system.mean_w, reference.mean_w):
        return text
    condition = _(
        "The printed ranking is correct only if the idle machine used less than "
        "%(watts)s W."
    ) % {"watts": formatting.number(break_even_w, ".3g")}
    return f"{text} {condition}"


def relative_energy_text(ratio: float | None) -> str:
    """Return a ratio as a difference: ``15% more`` for 1.15."""
    percent = 100 * ((ratio or 1.0) - 1)
    values = {"percent": formatting.measurement(round(abs(percent), 1))}
    if percent >= 0:
        return _("%(percent)s%% more") % values
    return _("%(percent)s%% less") % values


def ratio_outcome(energy: SystemEnergy, table: EnergyTable) -> str:
    """Return a word for whether the energy of the work confirms the printed totals.

    Both are compared as ratios to the reference system.
    """
    if energy.energy_ratio is None:
        return _("unknown")
    if energy.system.pk == table.reference.pk:
        return _("reference")
    return _("reversed") if energy.contradicts_total else _("holds")


def log_sentence(reading: MeterReading, metered: MeteredRun) -> str:
    windows = [window for window in metered.windows if window.energy]
    longest = max(
        windows, key=lambda window: window.end_s - window.start_s, default=None
    )
    if longest is None or longest.energy is None or reading.mean_w is None:
        return ""
    exact_j = longest.energy.energy_j
    mean_power_j = reading.mean_w * longest.energy.duration_s
    text = _(
        "Integrated over its own time window, the work took %(exact)s J. The table "
        "above uses the mean power of the meter, which gives %(flat)s J (%(share)s). "
        "The log is more accurate."
    )
    return text % {
        "exact": formatting.measurement(round(exact_j, 1)),
        "flat": formatting.measurement(round(mean_power_j, 1)),
        "share": relative_energy_text(mean_power_j / exact_j),
    }
