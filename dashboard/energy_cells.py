"""A cell of the compare page that tells energy per work."""

from django.utils.translation import gettext as _

from benchmarks.selectors.energy_rows import EnergyRow
from dashboard import figures, wording
from dashboard.drawings import NONE
from dashboard.logged_words import interval_text


def energy_texts(row: EnergyRow) -> tuple[str, str]:
    """Return what a cell says large and small: the ratio of joules, its interval."""
    energy = row.energy
    if energy is None:
        return NONE, ""
    if energy.ratio is None:
        return figures.brief(energy.mean), energy.unit
    cost = wording.quantity(row.value, row.unit)
    small = interval_text(energy.ratio) if energy.ratio.has_interval else cost
    return figures.ratio(energy.ratio.ratio), small


def energy_sentence(row: EnergyRow) -> str:
    """Return the cell in full."""
    energy = row.energy
    if energy is None:
        return wording.state_meaning(row.state)
    own = wording.quantity(energy.mean, energy.unit)
    words = {
        "own": own,
        "runs": wording.runs_text(len(energy.costs)),
        "meter": _("CPU only") if energy.meter.is_cpu_only else _("whole machine"),
    }
    if energy.ratio is None:
        return _("%(own)s for the work, %(runs)s, %(meter)s.") % words
    words["ratio"] = figures.ratio(energy.ratio.ratio)
    words["base"] = wording.quantity(energy.base, energy.unit)
    words["base_runs"] = wording.runs_text(energy.base_n)
    said = (
        _(
            "%(ratio)s times the energy of the baseline for the same work: %(own)s "
            "against %(base)s, %(runs)s against %(base_runs)s, %(meter)s."
        )
        % words
    )
    return f"{said} {interval_text(energy.ratio)}"
