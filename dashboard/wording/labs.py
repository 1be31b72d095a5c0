"""Roles and entries of the audit log in words."""

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from benchmarks.labs.pages import AuditLine
from benchmarks.work_classes import WORK_CLASSES
from dashboard.wording import Text

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


def role_name(role: str) -> str:
    return str(ROLES.get(role, role))


def role_meaning(role: str) -> str:
    """Return what a role may do, beyond the one before it."""
    return str(ROLE_MEANINGS.get(role, ""))


def role_powers(role: str) -> str:
    """Return all that a role may do, with what those before it may."""
    roles = list(ROLE_MEANINGS)
    own = roles[: roles.index(role) + 1]
    return "; ".join(str(ROLE_MEANINGS[it]) for it in own)


def audit_text(line: AuditLine) -> str:
    """Return what somebody did: the rest of a sentence that begins with their name."""
    return str(ACTIONS.get(line.kind, line.kind)) % {"about": line.about}


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


def number_kind_name(kind: str) -> str:
    return str(NUMBER_KINDS.get(kind, kind))


def work_class_name(slug: str) -> str:
    """Return a class of work: "Disk: random write"; an unknown one by its slug."""
    known = WORK_CLASSES.get(slug)
    if known is None:
        return slug
    # The texts are marked where they stand, in `benchmarks/work_classes.py`.
    return f"{capfirst(gettext(known.area_title))}: {gettext(known.kind_title)}"
