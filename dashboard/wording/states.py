"""Stored states as text: of cells, runs, flags, clocks, plans, roles, audit entries."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from benchmarks.models import Plan, PlanStep
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import Text

# The short word in a cell, and what it means.
STATES: dict[str, tuple[Text, Text]] = {
    "paired": (
        gettext_lazy("matched baseline"),
        gettext_lazy("compared with native runs of the same host and benchmark"),
    ),
    "native": (gettext_lazy("native"), gettext_lazy("the machine without hypervisor")),
    "other_session": (
        gettext_lazy("baseline from another session"),
        gettext_lazy("its native run is from another session or study"),
    ),
    "stale": (
        gettext_lazy("outdated baseline"),
        gettext_lazy("its native run is older than the study allows"),
    ),
    "ambiguous": (
        gettext_lazy("several baselines"),
        gettext_lazy("the native runs that match disagree: no ratio"),
    ),
    "missing": (
        gettext_lazy("no baseline"),
        gettext_lazy("no native run matches it"),
    ),
    "relative": (
        gettext_lazy("relative"),
        gettext_lazy("compared with a reference system, not with native"),
    ),
    "reference": (
        gettext_lazy("reference"),
        gettext_lazy("the system that the others are compared with"),
    ),
    "undirected": (
        gettext_lazy("no direction"),
        gettext_lazy("neither more nor less of it is better: no ratio"),
    ),
    "scaling": (
        gettext_lazy("scaling"),
        gettext_lazy("the sum over all VMs beside one machine alone: no VM is faster"),
    ),
    "other_parameters": (
        gettext_lazy("other parameters"),
        gettext_lazy(
            "what it is compared with ran the benchmark with other parameters: no ratio"
        ),
    ),
    "unit_mismatch": (
        gettext_lazy("another unit"),
        gettext_lazy("what it is compared with was measured in another unit: no ratio"),
    ),
    "other_host": (
        gettext_lazy("another host"),
        gettext_lazy("the two ran on different machines: a ratio, and no verdict"),
    ),
    "slowdown": (
        gettext_lazy("slowdown"),
        gettext_lazy(
            "one VM of several beside the same system with one VM alone: no relative "
            "performance"
        ),
    ),
    "no_speed": (
        gettext_lazy("no speed"),
        gettext_lazy(
            "a set length, a count, a share, an amount: it has no relative performance"
        ),
    ),
    "metered": (
        gettext_lazy("metered"),
        gettext_lazy("joules for the same work, compared with the baseline's"),
    ),
    "unmetered": (
        gettext_lazy("no power"),
        gettext_lazy("no power was measured that belongs to this work alone"),
    ),
    "no_single_figure": (
        gettext_lazy("no single figure"),
        gettext_lazy(
            "its runs, or those of its baseline, are not described by one mean"
        ),
    ),
    "waiting": (
        gettext_lazy("waiting"),
        gettext_lazy("stored, not yet compared"),
    ),
}

STATUSES: dict[str, Text] = {
    "received": gettext_lazy("waiting"),
    # Translators: state of an upload.
    "parsed": gettext_lazy("processed"),
    "rejected": gettext_lazy("rejected"),
    "quarantined": gettext_lazy("failed"),
}

FLAG_STATUSES: dict[str, Text] = {
    "open": pgettext_lazy("flag", "open"),
    "confirmed": gettext_lazy("confirmed"),
    "dismissed": gettext_lazy("dismissed"),
    "all": gettext_lazy("all"),
}
SEVERITIES: dict[str, Text] = {
    "impossible": gettext_lazy("impossible"),
    "implausible": gettext_lazy("implausible"),
    "check": pgettext_lazy("severity of a flag", "check"),
}
CHANGES: dict[str, Text] = {
    "changed": gettext_lazy("changed"),
    "vanished": gettext_lazy("vanished"),
    "appeared": gettext_lazy("appeared"),
}

CLOCKS: dict[str, Text] = {
    "external": gettext_lazy("a time server outside the host"),
    "client": gettext_lazy("the machine that drove the load"),
    "meter": gettext_lazy("the power meter"),
    "guest": gettext_lazy("the guest's own clock"),
    "local": gettext_lazy("the machine that ran the tool"),
}
TRUSTS: dict[str, Text] = {
    "trusted": gettext_lazy("trusted"),
    "corrected": gettext_lazy("corrected"),
    "suspect": gettext_lazy("suspect"),
    "unchecked": gettext_lazy("unchecked"),
}

NOT_STATED = "not stated"  # as evidence has it
# For programs; the sentence says them in words.
IDS = {"other_system", "other_study", "other_cells", "cells", "system", "mark"}
# How the name of a piece of evidence ends, and the unit that this stands for.
UNITS = {"percent": "%", "s": "s"}


def state_name(state: str) -> str:
    return str(STATES[state][0]) if state in STATES else state


def state_meaning(state: str) -> str:
    return str(STATES[state][1]) if state in STATES else ""


ORIGINS: dict[str, Text] = {
    "named": gettext_lazy("named"),
    "derived": gettext_lazy("derived"),
    "corrected": gettext_lazy("corrected"),
}


class Evidence(NamedTuple):
    """One piece of evidence of a finding, as a name and a text."""

    name: str
    text: str


def evidence_words(evidence: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Return what a finding rests on, in words."""
    return tuple(
        Evidence(_(evidence_name(name)), _with_unit(_text(value), name))
        for name, value in evidence.items()
        if name not in IDS
    )


def _with_unit(text: str, key: str) -> str:
    _name, unit = evidence_unit(key)
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def _text(value: Any, depth: int = 0) -> str:
    """Write evidence for people: numbers as tables do, lists with commas."""
    if value is None:
        return _("not known")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        return figures.brief(value, digits=figures.CHECK_DIGITS)
    if isinstance(value, list):
        # Lists of pairs: the numbers of a pair belong together.
        between = "; " if depth == 0 else " / "
        return between.join(_text(it, depth + 1) for it in value)
    if isinstance(value, dict):
        return ", ".join(
            f"{_(evidence_name(name))} {_with_unit(_text(part), name)}"
            for name, part in value.items()
        )
    return _("not stated") if value == NOT_STATED else str(value)


def evidence_name(key: str) -> str:
    """Return what a piece of evidence is called in English, without its unit."""
    name, unit = evidence_unit(key)
    return (name if unit else key).replace("_", " ")


def evidence_unit(key: str) -> tuple[str, str]:
    """Return what a piece of evidence is called in the core, and its unit if it has."""
    name, _, end = key.rpartition("_")
    return name, UNITS.get(end, "")


ROLES: dict[str, Text] = {
    "viewer": gettext_lazy("viewer"),
    "maintainer": gettext_lazy("maintainer"),
    "admin": gettext_lazy("admin"),
}
ROLE_MEANINGS: dict[str, Text] = {
    "viewer": gettext_lazy("can read the lab's private studies"),
    "maintainer": gettext_lazy(
        "can also upload, decide on flags, manage tokens and invite people"
    ),
    "admin": gettext_lazy("can also appoint and remove admins"),
}
ACTIONS: dict[str, Text] = {
    "made_lab": gettext_lazy("created the lab %(about)s"),
    "invited": gettext_lazy("invited %(about)s"),
    "withdrew": gettext_lazy("withdrew the invitation of %(about)s"),
    "joined": gettext_lazy("joined by the invitation of %(about)s"),
    "changed_role": gettext_lazy("changed the role of %(about)s"),
    "removed": gettext_lazy("removed %(about)s"),
    "left": gettext_lazy("left the lab"),
    "issued": gettext_lazy("created the token %(about)s"),
    "revoked": gettext_lazy("revoked the token %(about)s"),
    "corrected_session": gettext_lazy("put runs into a session: %(about)s"),
    "declared_tool": gettext_lazy("declared the tool %(about)s"),
    "changed_tool": gettext_lazy("changed the tool %(about)s"),
    "retired_tool": gettext_lazy("retired the tool %(about)s"),
    "revived_tool": gettext_lazy("reactivated the tool %(about)s"),
    "deleted_tool": gettext_lazy("deleted the tool %(about)s"),
    "changed_visibility": gettext_lazy("changed who sees a study: %(about)s"),
    "published": gettext_lazy("published %(about)s"),
    "signed": gettext_lazy("signed %(about)s"),
    "withdrew_published": gettext_lazy("withdrew %(about)s"),
    "deleted_study": gettext_lazy("deleted the study %(about)s"),
    "deleted_runs": gettext_lazy("deleted %(about)s"),
    "deleted_account": gettext_lazy("deleted the account %(about)s"),
    "imported": gettext_lazy("imported a bundle of %(about)s"),
    "made_webhook": gettext_lazy("created a webhook to %(about)s"),
    "deleted_webhook": gettext_lazy("deleted a webhook to %(about)s"),
    "changed_webhook": gettext_lazy("changed a webhook to %(about)s"),
    "linked_sign_in": gettext_lazy("linked their sign-in to %(about)s"),
    "unlinked_sign_in": gettext_lazy("ended their sign-in by %(about)s"),
    "set_factor": gettext_lazy("set up a second factor: %(about)s"),
    "removed_factor": gettext_lazy("removed a second factor: %(about)s"),
    "reset_factor": gettext_lazy("reset the second factor of %(about)s"),
    "used_recovery_code": gettext_lazy("signed in with a recovery code"),
    "changed_sign_in": gettext_lazy("changed how to sign in: %(about)s"),
    "reset_password": gettext_lazy("set a new password by a letter"),
    "set_doi": gettext_lazy("entered the DOI of %(about)s"),
    "open": gettext_lazy("reopened a flag: %(about)s"),
    "confirmed": gettext_lazy("confirmed a flag: %(about)s"),
    "dismissed": gettext_lazy("dismissed a flag: %(about)s"),
    "reread": gettext_lazy("had past uploads read again"),
}


def role_powers(role: str) -> str:
    """Return all that a role may do, with what those before it may."""
    roles = list(ROLE_MEANINGS)
    own = roles[: roles.index(role) + 1]
    return "; ".join(str(ROLE_MEANINGS[it]) for it in own)


# What sort of number a metric is (`benchmarks.parsing.contract.Kind`).
NUMBER_KINDS: dict[str, Text] = {
    "speed": gettext_lazy("a speed: a rate, or the time of a set amount of work"),
    "energy": gettext_lazy("the energy of work"),
    "cost": gettext_lazy("CPU time for work"),
    "share": gettext_lazy("a share: no speed"),
    "count": gettext_lazy("a count: no speed"),
    "amount": gettext_lazy("an amount: no speed"),
    "setting": gettext_lazy("fixed before the test: no speed"),
}


def work_class_name(slug: str) -> str:
    """Return a class of work: "Disk: random write"; an unknown one by its slug."""
    known = WORK_CLASSES.get(slug)
    if known is None:
        return slug
    # The texts are marked where they stand, in `benchmarks/work_classes.py`.
    return f"{capfirst(_(known.area_title))}: {_(known.kind_title)}"


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
        str(STEP_STATES.get(step.status, step.status)),
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


def share(part: float) -> str:
    """Return a part of a whole as percent, rounded down: 89.9 % is not 90 %."""
    return f"{int(part * 100)} %"


def join_command(plan: Plan, system_id: int) -> str:
    """Return what is typed in a guest of a system to take part in a plan."""
    return f"python3 virtlab-agent.pyz plan {plan.pk} --system {system_id}"
