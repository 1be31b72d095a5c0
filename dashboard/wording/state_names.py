from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from benchmarks.work_classes import WORK_CLASSES
from dashboard.wording import Text

CELL_STATES: dict[str, tuple[Text, Text]] = {
    "paired": (
        gettext_lazy("matched baseline"),
        gettext_lazy("compared with native runs of the same host and benchmark"),
    ),
    "native": (
        gettext_lazy("native"),
        gettext_lazy("the machine without a hypervisor"),
    ),
    "other_session": (
        gettext_lazy("baseline from another session"),
        gettext_lazy("its native run is from another session or study"),
    ),
    "stale": (
        gettext_lazy("outdated baseline"),
        gettext_lazy(
            "its native run is further away in time than the study allows, or the "
            "machine has changed"
        ),
    ),
    "ambiguous": (
        gettext_lazy("several baselines"),
        gettext_lazy("no ratio because the matching native runs disagree"),
    ),
    "missing": (
        gettext_lazy("no baseline"),
        gettext_lazy("no matching native run"),
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
        gettext_lazy("no ratio because neither higher nor lower is better"),
    ),
    "scaling": (
        gettext_lazy("scaling"),
        gettext_lazy(
            "sum of all VMs relative to one machine alone; this does not "
            "mean that a VM is faster"
        ),
    ),
    "other_parameters": (
        gettext_lazy("other parameters"),
        gettext_lazy(
            "no ratio because the result and its baseline ran with different parameters"
        ),
    ),
    "unit_mismatch": (
        gettext_lazy("another unit"),
        gettext_lazy(
            "no ratio because the result and its baseline were measured in different "
            "units"
        ),
    ),
    "other_host": (
        gettext_lazy("another host"),
        gettext_lazy(
            "the result and its baseline ran on different machines, so there is a "
            "ratio but no verdict"
        ),
    ),
    "same_model": (
        gettext_lazy("same machine model"),
        gettext_lazy(
            "on other machines of the same model; no machine ran both, so there is a "
            "ratio but no verdict"
        ),
    ),
    "same_cpu": (
        gettext_lazy("same CPU model"),
        gettext_lazy(
            "one thread, on another machine with this CPU, so there is a ratio but no "
            "verdict"
        ),
    ),
    "slowdown": (
        gettext_lazy("slowdown"),
        gettext_lazy(
            "one of several VMs relative to the same system with one VM alone; not "
            "comparable with native"
        ),
    ),
    "no_speed": (
        gettext_lazy("not a speed metric"),
        gettext_lazy(
            "counts, shares, amounts and fixed durations have no relative performance"
        ),
    ),
    "metered": (
        gettext_lazy("metered"),
        gettext_lazy("joules for the same work, relative to the baseline"),
    ),
    "unmetered": (
        gettext_lazy("no power data"),
        gettext_lazy("the power of this work alone was not measured"),
    ),
    "no_single_figure": (
        gettext_lazy("no single value"),
        gettext_lazy(
            "no single mean describes the runs of the result or of its baseline"
        ),
    ),
    "waiting": (
        gettext_lazy("waiting"),
        gettext_lazy("stored, not yet compared"),
    ),
    "failed": (
        gettext_lazy("failed"),
        gettext_lazy("no value because the work of every run failed"),
    ),
}

RUN_STATUSES: dict[str, Text] = {
    "received": gettext_lazy("waiting"),
    # Translators: state of an upload.
    "parsed": gettext_lazy("processed"),
    "rejected": gettext_lazy("rejected"),
    "quarantined": gettext_lazy("failed"),
}

FLAG_STATUSES: dict[str, Text] = {
    "open": pgettext_lazy("flag", "open"),
    "confirmed": pgettext_lazy("flag", "confirmed"),
    "dismissed": gettext_lazy("dismissed"),
    "all": gettext_lazy("all"),
}
SEVERITY_NAMES: dict[str, Text] = {
    "impossible": gettext_lazy("impossible"),
    "implausible": gettext_lazy("implausible"),
    "check": pgettext_lazy("severity of a flag", "check"),
}
REPARSE_CHANGES: dict[str, Text] = {
    "changed": gettext_lazy("changed"),
    "vanished": gettext_lazy("vanished"),
    "appeared": gettext_lazy("appeared"),
}

CLOCK_NAMES: dict[str, Text] = {
    "external": gettext_lazy("a time server outside the host"),
    "client": gettext_lazy("the machine that drove the load"),
    "meter": gettext_lazy("the power meter"),
    "guest": gettext_lazy("the guest's own clock"),
    "local": gettext_lazy("the machine that ran the tool"),
}
CLOCK_TRUSTS: dict[str, Text] = {
    "trusted": gettext_lazy("trusted"),
    "corrected": gettext_lazy("corrected"),
    "suspect": gettext_lazy("suspect"),
    "unchecked": gettext_lazy("unchecked"),
}


def state_name(state: str) -> str:
    return str(CELL_STATES[state][0]) if state in CELL_STATES else state


def state_meaning(state: str) -> str:
    return str(CELL_STATES[state][1]) if state in CELL_STATES else ""


SESSION_ORIGINS: dict[str, Text] = {
    "named": gettext_lazy("named"),
    "derived": gettext_lazy("derived"),
    "corrected": gettext_lazy("corrected"),
}


ROLE_NAMES: dict[str, Text] = {
    "viewer": gettext_lazy("viewer"),
    "maintainer": gettext_lazy("maintainer"),
    "admin": gettext_lazy("admin"),
}
ROLE_MEANINGS: dict[str, Text] = {
    "viewer": gettext_lazy("can view the lab's private studies"),
    "maintainer": gettext_lazy(
        "can also upload, decide on flags, manage tokens and invite people"
    ),
    "admin": gettext_lazy("can also appoint and remove admins"),
}
AUDIT_ACTIONS: dict[str, Text] = {
    "created_lab": gettext_lazy("created the lab %(about)s"),
    "invited": gettext_lazy("invited %(about)s"),
    "withdrew": gettext_lazy("withdrew the invitation for %(about)s"),
    "joined": gettext_lazy("joined the lab: %(about)s"),
    "changed_role": gettext_lazy("changed the role of %(about)s"),
    "removed": gettext_lazy("removed %(about)s"),
    "left": gettext_lazy("left the lab"),
    "issued": gettext_lazy("created the token %(about)s"),
    "revoked": gettext_lazy("revoked the token %(about)s"),
    "corrected_session": gettext_lazy("moved runs to another session: %(about)s"),
    "declared_tool": gettext_lazy("declared the tool %(about)s"),
    "changed_tool": gettext_lazy("changed the tool %(about)s"),
    "retired_tool": gettext_lazy("retired the tool %(about)s"),
    "revived_tool": gettext_lazy("reactivated the tool %(about)s"),
    "deleted_tool": gettext_lazy("deleted the tool %(about)s"),
    "changed_visibility": gettext_lazy("changed the visibility of a study: %(about)s"),
    "published": gettext_lazy("published %(about)s"),
    "signed": gettext_lazy("signed %(about)s"),
    "withdrew_published": gettext_lazy("withdrew %(about)s"),
    "deleted_study": gettext_lazy("deleted the study %(about)s"),
    "deleted_runs": gettext_lazy("deleted %(about)s"),
    "deleted_account": gettext_lazy("deleted the account %(about)s"),
    "imported": gettext_lazy("imported a bundle of %(about)s"),
    "created_webhook": gettext_lazy("created a webhook for %(about)s"),
    "deleted_webhook": gettext_lazy("deleted a webhook for %(about)s"),
    "changed_webhook": gettext_lazy("changed a webhook for %(about)s"),
    "linked_sign_in": gettext_lazy("linked their account to %(about)s"),
    "unlinked_sign_in": gettext_lazy("unlinked their account from %(about)s"),
    "set_factor": gettext_lazy("set up a second factor: %(about)s"),
    "removed_factor": gettext_lazy("removed a second factor: %(about)s"),
    "reset_factor": gettext_lazy("reset the second factor of %(about)s"),
    "used_recovery_code": gettext_lazy("signed in with a recovery code"),
    "changed_sign_in": gettext_lazy("changed sign-in settings: %(about)s"),
    "reset_password": gettext_lazy("reset their password by email"),
    "set_doi": gettext_lazy("set the DOI of %(about)s"),
    "open": gettext_lazy("reopened a flag: %(about)s"),
    "confirmed": gettext_lazy("confirmed a flag: %(about)s"),
    "dismissed": gettext_lazy("dismissed a flag: %(about)s"),
    "reread": gettext_lazy("reparsed past uploads"),
}


def role_permissions(role: str) -> str:
    roles = list(ROLE_MEANINGS)
    permitted_roles = roles[: roles.index(role) + 1]
    return "; ".join(str(ROLE_MEANINGS[permitted]) for permitted in permitted_roles)


# By `benchmarks.parsing.tool.MetricKind`.
NUMBER_KINDS: dict[str, Text] = {
    "speed": gettext_lazy("speed: a rate, or the time for a fixed amount of work"),
    "energy": gettext_lazy("energy for work"),
    "cost": gettext_lazy("CPU time for work"),
    "share": gettext_lazy("a share, not a speed"),
    "count": gettext_lazy("a count, not a speed"),
    "amount": gettext_lazy("an amount, not a speed"),
    "setting": gettext_lazy("set before the test, so it is not a speed"),
}


def work_class_name(slug: str) -> str:
    work_class = WORK_CLASSES.get(slug)
    if work_class is None:
        return slug
    # The titles are marked for translation in `benchmarks/work_classes.py`.
    return f"{capfirst(_(work_class.area_title))}: {_(work_class.kind_title)}"


PLAN_STATES: dict[str, Text] = {
    "open": pgettext_lazy("plan", "open"),
    "done": gettext_lazy("done"),
    "stopped": gettext_lazy("stopped"),
}
STEP_STATES: dict[str, Text] = {
    "waiting": gettext_lazy("waiting"),
    "at_barrier": gettext_lazy("at the barrier"),
    "running": gettext_lazy("running"),
    "done": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "skipped": gettext_lazy("skipped"),
}
