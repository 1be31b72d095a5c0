"""Energy in words: what the study did, what the work took, what that turns round."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.power.energy_tables import EnergyTable, SystemEnergy
from benchmarks.power.logged_energy import MeteredRun
from benchmarks.power.meters import MeterReading
from dashboard.kit import figures


def energy_answer(table: EnergyTable, names: Mapping[int, str]) -> str:
    """Return one sentence for a workload: what the totals say, and what the work."""
    known = [system for system in table.systems if system.energy_j is not None]
    if not known:
        return _(
            "How long the work took is not stated, so its energy is not known and the "
            "totals of meters that ran differently long cannot be compared."
        )
    overruns = sorted(
        100 * (system.overrun_s or 0.0) / system.work_s
        for system in known
        if system.work_s
    )
    if overruns[-1] - overruns[0] < 0.1:
        over = overruns[-1]
        share = (
            _("%(percent)s\N{NO-BREAK SPACE}%% shorter")
            if over < 0
            else _("%(percent)s\N{NO-BREAK SPACE}%% longer")
        ) % {"percent": _percent(over)}
        text = _("The meter ran %(share)s than the workload.") % {"share": share}
    else:
        text = _span(overruns[0], overruns[-1])
    sentences = [text]

    reversals = [
        _reversal(system, table, names)
        for system in table.systems
        if system.is_reversed
    ]
    if len(known) > 1 and reversals:
        sentences += reversals
    elif len(known) > 1:
        by_total = sorted(known, key=lambda system: system.printed_j)
        by_work = sorted(known, key=lambda system: system.energy_j or 0.0)
        sentences.append(
            _("The order by the printed totals is that of the work too.")
            if by_total == by_work
            else _("No system changes sides, but the order of the systems changes.")
        )
    if left := len(table.systems) - len(known):
        text = ngettext(
            "For %(n)s further system the work's time is not stated.",
            "For %(n)s further systems the work's time is not stated.",
            left,
        )
        sentences.append(text % {"n": left})
    return " ".join(sentences)


def _span(least: float, most: float) -> str:
    """Say how far meters ran beyond the work: 2.1-40 % longer."""
    if least >= 0:
        text = _(
            "The meters ran %(least)s\N{EN DASH}%(most)s\N{NO-BREAK SPACE}%% "
            "longer than the workload."
        )
    elif most <= 0:
        text = _(
            "The meters ran %(most)s\N{EN DASH}%(least)s\N{NO-BREAK SPACE}%% "
            "shorter than the workload."
        )
    else:
        text = _(
            "The meters ran from %(least)s\N{NO-BREAK SPACE}%% shorter to "
            "%(most)s\N{NO-BREAK SPACE}%% longer than the workload."
        )
    return text % {"least": _percent(least), "most": _percent(most)}


def _percent(percent: float) -> str:
    return figures.number(abs(percent), ".1f" if abs(percent) < 10 else ",.0f")


def _reversal(
    system: SystemEnergy, table: EnergyTable, names: Mapping[int, str]
) -> str:
    text = _(
        "By the printed totals “%(system)s” takes %(printed)s than “%(reference)s”, "
        "its work took %(work)s: the conclusion is reversed."
    ) % {
        "system": names[system.system.pk],
        "reference": names[table.reference.pk],
        "printed": share_text(system.printed_ratio),
        "work": share_text(system.energy_ratio),
    }
    # Below which power while waiting would the printed totals be right?
    base = table.systems[0]
    longer_s = (system.overrun_s or 0.0) - (base.overrun_s or 0.0)
    even_w = (system.printed_j - base.printed_j) / longer_s if longer_s else 0.0
    # A machine that waits takes less power than one that works.
    if not 0 < even_w < min(system.mean_w, base.mean_w):
        return text
    unless = _(
        "The printed order holds only if the machine idled below %(watts)s W."
    ) % {"watts": figures.number(even_w, ".3g")}
    return f"{text} {unless}"


def share_text(ratio: float | None) -> str:
    """Return a ratio as people say it: ``15 % more``."""
    percent = 100 * ((ratio or 1.0) - 1)
    words = {"percent": figures.brief(round(abs(percent), 1))}
    if percent >= 0:
        return _("%(percent)s\N{NO-BREAK SPACE}%% more") % words
    return _("%(percent)s\N{NO-BREAK SPACE}%% less") % words


def conclusion(energy: SystemEnergy, table: EnergyTable) -> str:
    """Return what becomes of the printed ratio, in a word or two."""
    if energy.energy_ratio is None:
        return _("not known")
    if energy.system.pk == table.reference.pk:
        return _("reference")
    return _("reversed") if energy.is_reversed else _("holds")


def log_sentence(reading: MeterReading, metered: MeteredRun) -> str:
    """Return what integrating a log changes: it knows when the machine waited."""
    windows = [window for window in metered.windows if window.energy]
    longest = max(windows, key=lambda it: it.end_s - it.start_s, default=None)
    if longest is None or longest.energy is None or reading.mean_w is None:
        return ""
    exact_j = longest.energy.energy_j
    flat_j = reading.mean_w * longest.energy.duration_s
    text = _(
        "Over its own window the work took %(exact)s J. At the meter's mean power, as "
        "in the table above, it would be %(flat)s J, %(share)s: the log knows better."
    )
    return text % {
        "exact": figures.brief(round(exact_j, 1)),
        "flat": figures.brief(round(flat_j, 1)),
        "share": share_text(flat_j / exact_j),
    }
