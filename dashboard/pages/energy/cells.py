"""A cell of the compare page that tells energy per work."""

from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.power.energy_rows import EnergyRow
from dashboard import wording
from dashboard.charts.drawings import NONE
from dashboard.kit import figures
from dashboard.pages.energy.logged_words import interval_text
from dashboard.wording import states


def energy_texts(row: EnergyRow) -> tuple[str, str]:
    """Return what a cell says large and small: the ratio of joules, its interval."""
    if row.energy is None:
        return NONE, ""
    if row.range:
        low, high = map(figures.brief, row.range)
        return _("%(low)s to %(high)s") % {"low": low, "high": high}, row.unit
    if row.joules is None:
        return figures.brief(row.energy.mean), row.unit
    cost = wording.quantity(row.value, row.unit)
    small = interval_text(row.joules) if row.joules.has_interval else cost
    return figures.ratio(row.joules.ratio), small


def meter_text(row: ComparisonRow) -> str:
    """Return what the meter of an energy saw; nothing of a speed."""
    if not isinstance(row, EnergyRow) or row.energy is None:
        return ""
    is_cpu_only = row.energy.meter.is_cpu_only
    return _("CPU only") if is_cpu_only else _("whole machine")


def energy_sentence(row: EnergyRow) -> str:
    """Return the cell in full."""
    energy = row.energy
    if energy is None:
        return states.state_meaning(row.state)
    words = {
        "own": wording.quantity(row.value, row.unit) or " ".join(energy_texts(row)),
        "runs": wording.runs_text(row.n),
        "meter": meter_text(row),
    }
    if row.joules is None:
        said = _("%(own)s for the work, %(runs)s, %(meter)s.") % words
        return f"{said} {wording.said(row.reason)}".rstrip()
    words["ratio"] = figures.ratio(row.joules.ratio)
    words["base"] = wording.quantity(row.baseline_value, row.unit)
    words["base_runs"] = wording.runs_text(energy.base_n)
    said = (
        _(
            "%(ratio)s times the energy of the baseline for the same work: %(own)s "
            "against %(base)s, %(runs)s against %(base_runs)s, %(meter)s."
        )
        % words
    )
    return f"{said} {interval_text(row.joules)}"
