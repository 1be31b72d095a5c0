"""The words of plans: what states, orders and scenarios are called."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from benchmarks.models import Plan, PlanStep
from dashboard import wording
from dashboard.wording import Text

PLAN_STATES: dict[str, Text] = {
    "open": pgettext_lazy("plan", "open"),
    "done": gettext_lazy("done"),
    "stopped": gettext_lazy("stopped"),
}
STEP_STATES: dict[str, Text] = {
    "waiting": gettext_lazy("waiting"),
    "gathering": gettext_lazy("gathering"),
    "running": gettext_lazy("running"),
    "done": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "not done": gettext_lazy("skipped"),
}
ORDERS: dict[str, Text] = {
    "random": gettext_lazy("random, reshuffled in every round"),
    "abba": gettext_lazy("forward, then backward (ABBA)"),
    "listed": gettext_lazy("as listed"),
}


def plan_state_name(state: str) -> str:
    return str(PLAN_STATES.get(state, state))


def step_state_name(state: str) -> str:
    return str(STEP_STATES.get(state, state))


def round_name(repetition: int) -> str:
    if repetition < 1:
        return _("Warm-up")
    return _("Round %(n)s") % {"n": repetition}


def step_title(step: PlanStep) -> str:
    """Return a step in one line: what runs where, how far it is, and why not."""
    parts = [
        _("Step %(n)s") % {"n": step.position + 1},
        f"{step.tool} {step.program}",
        wording.scenario_name(step.scenario),
        step_state_name(step.status),
    ]
    return " · ".join([*parts, wording.said(step.reason)] if step.reason else parts)


def order_text(plan: Plan) -> str:
    """Return in which order the steps of a round are taken."""
    order = plan.design.get("order", "random")
    text = str(ORDERS.get(order, order))
    if order == "random":
        text += " " + _("(seed %(seed)s)") % {"seed": plan.seed}
    return text


def budget_text(seconds: float) -> str:
    """Return a length of time as people say it."""
    minutes = round(seconds / 60)
    if seconds < 120:
        return ngettext("%(n)s second", "%(n)s seconds", round(seconds)) % {
            "n": round(seconds)
        }
    if minutes < 120:
        return ngettext("%(n)s minute", "%(n)s minutes", minutes) % {"n": minutes}
    hours = round(seconds / 3600, 1)
    return _("%(n)s hours") % {"n": f"{hours:g}"}


def in_ms(microseconds: int) -> str:
    """Return microseconds as milliseconds, as exact as they matter."""
    return f"{microseconds / 1000:.1f}"


def share(part: float) -> str:
    """Return a part of a whole as percent, rounded down: 89.9 % is not 90 %."""
    return f"{int(part * 100)} %"


def join_command(plan: Plan, system_id: int) -> str:
    """Return what is typed in a guest of a system to take part in a plan."""
    return f"python3 virtlab-agent.pyz plan {plan.pk} --system {system_id}"
