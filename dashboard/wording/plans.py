from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.models import Plan, PlanStep
from dashboard import wording
from dashboard.kit import formatting
from dashboard.wording import Text
from dashboard.wording.state_names import STEP_STATES

STEP_ORDER_NAMES: dict[str, Text] = {
    "random": gettext_lazy("random, reshuffled each round"),
    "abba": gettext_lazy("forward, then backward (ABBA)"),
    "listed": gettext_lazy("as listed"),
}


def round_name(repetition: int) -> str:
    if repetition < 1:
        return _("Warm-up")
    return _("Round %(n)s") % {"n": repetition}


def step_title(step: PlanStep) -> str:
    parts = [
        _("Step %(n)s") % {"n": step.position + 1},
        f"{step.tool} {step.program}",
        wording.scenario_name(step.scenario),
        str(STEP_STATES.get(step.status, step.status)),
    ]
    return " · ".join(
        [*parts, wording.translate_text(step.reason)] if step.reason else parts
    )


def step_order_text(plan: Plan) -> str:
    order = plan.design.get("order", "random")
    text = str(STEP_ORDER_NAMES.get(order, order))
    if order == "random":
        text += " " + _("(seed %(seed)s)") % {"seed": plan.seed}
    return text


def budget_text(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 120:
        return ngettext("%(n)s second", "%(n)s seconds", round(seconds)) % {
            "n": round(seconds)
        }
    if minutes < 120:
        return ngettext("%(n)s minute", "%(n)s minutes", minutes) % {"n": minutes}
    hours = round(seconds / 3600, 1)
    return _("%(n)s hours") % {"n": f"{hours:g}"}


def rounded_percent(fraction: float) -> str:
    """Return a fraction in percent, rounded down so that 89.9% is not 90%."""
    return formatting.with_percent_sign(str(int(fraction * 100)))


def join_command(plan: Plan, system_id: int) -> str:
    return f"python3 virtlab-agent.pyz plan {plan.pk} --system {system_id}"
