"""Energy in words: what the study did, what the work took, what that turns round."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.energy import SENTENCES, EnergyRatio
from benchmarks.comparing.row import ComparisonRow
from benchmarks.power.logged_energy import MeteredRun
from benchmarks.power.meters import EnergyTable, MeterReading, SystemEnergy
from benchmarks.sentences import Sentence
from dashboard import wording
from dashboard.charts.drawings import NONE
from dashboard.kit import figures
from dashboard.wording import states


def answer(table: EnergyTable, names: Mapping[int, str]) -> str:
    """Return one sentence for a workload: what the totals say, and what the work."""
    known = [each for each in table.systems if each.energy_j is not None]
    if not known:
        return _(
            "How long the work took is not stated, so its energy is not known and the "
            "totals of meters that ran differently long cannot be compared."
        )
    said = [_overruns(known)]
    turned = [each for each in table.systems if each.is_reversed]
    if len(known) > 1:
        said += [_reversal(each, table, names) for each in turned] or [
            _("The order by the printed totals is that of the work too.")
            if _same_order(known)
            else _("No system changes sides, but the order of the systems changes.")
        ]
    if len(known) < len(table.systems):
        left = len(table.systems) - len(known)
        said.append(
            ngettext(
                "For %(n)s further system the work's time is not stated.",
                "For %(n)s further systems the work's time is not stated.",
                left,
            )
            % {"n": left}
        )
    return " ".join(said)


def conclusion(energy: SystemEnergy, table: EnergyTable) -> str:
    """Return what becomes of the printed ratio, in a word or two."""
    if energy.energy_ratio is None:
        return _("not known")
    if energy.system.pk == table.reference.pk:
        return _("reference")
    return _("reversed") if energy.is_reversed else _("holds")


def _overruns(known: Sequence[SystemEnergy]) -> str:
    shares = sorted(
        100 * (each.overrun_s or 0.0) / each.work_s for each in known if each.work_s
    )
    if shares[-1] - shares[0] < 0.1:
        return _("The meter ran %(share)s than the workload.") % {
            "share": _longer(shares[-1])
        }
    words = {"least": _longer(shares[0]), "most": _longer(shares[-1])}
    return _("The meters ran %(least)s to %(most)s than the workload.") % words


def _longer(percent: float) -> str:
    words = {
        "percent": figures.number(abs(percent), ".1f" if abs(percent) < 10 else ",.0f")
    }
    if percent < 0:
        return _("%(percent)s\N{NO-BREAK SPACE}%% shorter") % words
    return _("%(percent)s\N{NO-BREAK SPACE}%% longer") % words


def log_sentence(reading: MeterReading, metered: MeteredRun) -> str:
    """Return what integrating a log changes: it knows when the machine waited."""
    windows = [each for each in metered.windows if each.energy]
    longest = max(windows, key=lambda each: each.end_s - each.start_s, default=None)
    if longest is None or longest.energy is None or reading.mean_w is None:
        return ""
    exact_j = longest.energy.energy_j
    flat_j = reading.mean_w * longest.energy.duration_s
    words = {
        "exact": figures.brief(round(exact_j, 1)),
        "flat": figures.brief(round(flat_j, 1)),
        "share": share_text(flat_j / exact_j),
    }
    return (
        _(
            "Over its own window the work took %(exact)s J. At the meter's mean "
            "power, as in the table above, it would be %(flat)s J, %(share)s: the log "
            "knows better."
        )
        % words
    )


def _reversal(
    energy: SystemEnergy, table: EnergyTable, names: Mapping[int, str]
) -> str:
    words = {
        "system": names[energy.system.pk],
        "reference": names[table.reference.pk],
        "printed": share_text(energy.printed_ratio),
        "work": share_text(energy.energy_ratio),
    }
    said = _(
        "By the printed totals “%(system)s” takes %(printed)s than “%(reference)s”, "
        "its work took %(work)s: the conclusion is reversed."
    )
    return f"{said % words} {_break_even(energy, table.systems[0])}".rstrip()


def _break_even(energy: SystemEnergy, base: SystemEnergy) -> str:
    """Return below which power while waiting the printed totals would be right."""
    longer_s = (energy.overrun_s or 0.0) - (base.overrun_s or 0.0)
    even_w = (energy.printed_j - base.printed_j) / longer_s if longer_s else 0.0
    if not 0 < even_w < min(energy.mean_w, base.mean_w):
        return ""
    return _(
        "The printed order holds only if the machine waited at less than %(watts)s W."
    ) % {"watts": figures.number(even_w, ".3g")}


def share_text(ratio: float | None) -> str:
    """Return a ratio as people say it: ``15 % more``."""
    percent = 100 * ((ratio or 1.0) - 1)
    words = {"percent": figures.brief(round(abs(percent), 1))}
    if percent >= 0:
        return _("%(percent)s\N{NO-BREAK SPACE}%% more") % words
    return _("%(percent)s\N{NO-BREAK SPACE}%% less") % words


def _same_order(known: Sequence[SystemEnergy]) -> bool:
    by_total = sorted(known, key=lambda each: each.printed_j)
    by_work = sorted(known, key=lambda each: each.energy_j or 0.0)
    return by_total == by_work


def energy_texts(row: ComparisonRow) -> tuple[str, str]:
    """Return what a cell says large and small: the ratio of joules, its interval."""
    if row.shown.energy is None:
        return NONE, ""
    if row.shown.range:
        low, high = map(figures.brief, row.shown.range)
        return _("%(low)s to %(high)s") % {"low": low, "high": high}, row.shown.unit
    if row.shown.joules is None:
        return figures.brief(row.shown.energy.mean), row.shown.unit
    cost = wording.quantity(row.shown.value, row.shown.unit)
    small = joules_interval(row.shown.joules) if row.shown.joules.has_interval else cost
    return figures.ratio(row.shown.joules.ratio), small


def meter_text(row: ComparisonRow) -> str:
    """Return what the meter of an energy saw; nothing of a speed."""
    if row.shown.energy is None:
        return ""
    is_cpu_only = row.shown.energy.meter.is_cpu_only
    return _("CPU only") if is_cpu_only else _("whole machine")


def energy_sentence(row: ComparisonRow) -> str:
    """Return the cell in full."""
    energy = row.shown.energy
    if energy is None:
        return states.state_meaning(row.shown.state)
    words = {
        "own": wording.quantity(row.shown.value, row.shown.unit)
        or " ".join(energy_texts(row)),
        "runs": wording.runs_text(row.shown.n),
        "meter": meter_text(row),
    }
    if row.shown.joules is None:
        said = _("%(own)s for the work, %(runs)s, %(meter)s.") % words
        return f"{said} {wording.said(row.shown.reason)}".rstrip()
    words["ratio"] = figures.ratio(row.shown.joules.ratio)
    words["base"] = wording.quantity(row.shown.baseline_value, row.shown.unit)
    words["base_runs"] = wording.runs_text(energy.base_n)
    said = (
        _(
            "%(ratio)s times the energy of the baseline for the same work: %(own)s "
            "against %(base)s, %(runs)s against %(base_runs)s, %(meter)s."
        )
        % words
    )
    return f"{said} {joules_interval(row.shown.joules)}"


def joules_interval(found: EnergyRatio | None) -> str:
    """Return the interval of a ratio, or why there is none."""
    if found is None:
        return NONE
    if found.low is None or found.high is None:
        return reason_text(found)
    return f"[{figures.ratio(found.low)}, {figures.ratio(found.high)}]"


def reason_text(found: EnergyRatio) -> str:
    """Return why a ratio has no interval; nothing where it has one."""
    return wording.said(Sentence(SENTENCES[found.reason])) if found.reason else ""
