"""What a finding rests on, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from dashboard.kit import figures

NOT_STATED = "not stated"  # as evidence has it
# For programs; the sentence says them in words.
IDS = {"other_system", "other_study", "other_cells", "cells", "system", "mark"}

# How the name of a piece of evidence ends, and the unit that this stands for.
UNITS = {"percent": "%", "s": "s"}


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
        return figures.brief(value)
    if isinstance(value, list):
        # Lists of pairs: the numbers of a pair belong together.
        between = "; " if depth == 0 else " / "
        return between.join(_text(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return ", ".join(
            f"{_(evidence_name(name))} {_with_unit(_text(each), name)}"
            for name, each in value.items()
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
