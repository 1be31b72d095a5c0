"""What became of cells, runs, flags, samples and clocks, and on what a flag rests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

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


def clock_name(clock: str) -> str:
    """Return whose clock it was."""
    return str(CLOCKS.get(clock, clock))


ORIGINS: dict[str, Text] = {
    "named": gettext_lazy("named"),
    "derived": gettext_lazy("derived"),
    "corrected": gettext_lazy("corrected"),
}


def trust_name(state: str) -> str:
    return str(TRUSTS.get(state, state))


def origin_name(origin: str) -> str:
    """Return who said that runs were one sitting."""
    return str(ORIGINS[origin])


def flag_status_name(status: str) -> str:
    """Return what was decided about a flag."""
    return str(FLAG_STATUSES[status])


def severity_name(severity: str) -> str:
    """Return how severe a finding is, in words."""
    return str(SEVERITIES[severity])


def change_name(kind: str) -> str:
    """Return what became of a sample that was read again."""
    return str(CHANGES[kind])


def status_name(status: str) -> str:
    return str(STATUSES.get(status, status))


@dataclass(frozen=True)
class Evidence:
    """One thing a finding rests on, as a name and a text."""

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
