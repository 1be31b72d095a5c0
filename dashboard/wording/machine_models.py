from django.utils.translation import gettext as _

from benchmarks.analysis.machine_models import MIN_INDICATIVE, MIN_VERDICT, Weight
from benchmarks.analysis.meta_analysis import UNDECIDED, interval_direction
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.system_comparability import ON_OTHER_MACHINES
from benchmarks.evidence.model_results import ModelResult, model_result
from benchmarks.models import Cell, Efficiency
from dashboard import wording
from dashboard.wording.evidence import log_interval_text, log_ratio_text
from dashboard.wording.verdicts import verdict_name

VERDICTS_BY_DIRECTION = {-1: "slower", 0: "equivalent", 1: "faster"}


def is_on_other_machine(row: ComparisonRow) -> bool:
    return row.result.state in ON_OTHER_MACHINES


def model_text(row: ComparisonRow, cell: Cell) -> str:
    if row.result.state != Efficiency.State.SAME_MODEL:
        return ""
    found = model_result(cell)
    margin = cell.study.equivalence_margin_percent / 100
    return model_result_text(found, margin) if found else ""


def model_result_text(found: ModelResult, margin: float) -> str:
    effect = found.effect
    text = _(
        "Machines of the model %(model)s: %(native)s native, %(guest)s with the "
        "hypervisor%(runs)s: %(ratio)s."
    )
    text %= {
        "model": effect.model,
        "native": effect.native_count,
        "guest": effect.guest_count,
        "runs": _(", one run each") if found.most_runs == 1 else "",
        "ratio": _ratio_text(found),
    }
    parts = [text, _conclusion(found, margin)]
    if effect.assumption:
        parts.append(wording.translate_text(effect.assumption))
    if found.is_flagged:
        parts.append(
            _("Something probably slowed down the native machines of this model.")
        )
    return " ".join(parts)


def _ratio_text(found: ModelResult) -> str:
    effect = found.effect
    ratio = log_ratio_text(effect.log_ratio, effect.interval)
    if effect.interval is None:
        return _("%(ratio)s of native speed") % {"ratio": ratio}
    return _("%(ratio)s of native speed (95%% confidence interval %(ends)s)") % {
        "ratio": ratio,
        "ends": log_interval_text(effect.interval),
    }


def _conclusion(found: ModelResult, margin: float) -> str:
    effect = found.effect
    if effect.interval is None:
        return _("An interval needs at least %(n)s machines on one side.") % {
            "n": MIN_INDICATIVE
        }
    direction = interval_direction(*effect.interval, margin)
    if direction == UNDECIDED:
        return _("The interval crosses an equivalence margin.")
    verdict = verdict_name(VERDICTS_BY_DIRECTION[direction])
    if effect.weight == Weight.VERDICT and not found.is_flagged:
        return _("Verdict for this model: %(verdict)s.") % {"verdict": verdict}
    return _(
        "Indicative: %(verdict)s. A verdict for this model needs %(n)s machines on "
        "each side."
    ) % {"verdict": verdict, "n": MIN_VERDICT}
