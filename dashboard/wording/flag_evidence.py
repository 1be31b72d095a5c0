from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from dashboard.kit import formatting

NOT_REPORTED = "not reported"
# The sentence of a finding already contains these details, or its runs show them.
HIDDEN_EVIDENCE_KEYS = {
    "other_system",
    "other_study",
    "other_cells",
    "cells",
    "system",
    "mark",
    "reasons",
}
EVIDENCE_UNITS = {"percent": "%", "s": "s"}


class EvidenceItem(NamedTuple):
    name: str
    text: str


def evidence_items(evidence: Mapping[str, Any]) -> tuple[EvidenceItem, ...]:
    return tuple(
        EvidenceItem(_(evidence_name(name)), _with_unit(_evidence_text(value), name))
        for name, value in evidence.items()
        if name not in HIDDEN_EVIDENCE_KEYS
    )


def _with_unit(text: str, key: str) -> str:
    _name, unit = evidence_unit(key)
    return formatting.with_unit(text, unit)


def _evidence_text(value: Any, depth: int = 0) -> str:
    if value is None:
        return _("unknown")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        return formatting.measurement(value, digits=formatting.CHECK_DIGITS)
    if isinstance(value, list):
        # Items of the outer list are separated by ";" so that pairs stay together.
        separator = "; " if depth == 0 else " / "
        return separator.join(_evidence_text(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return ", ".join(
            f"{_(evidence_name(name))} {_with_unit(_evidence_text(part), name)}"
            for name, part in value.items()
        )
    return _("not reported") if value == NOT_REPORTED else str(value)


EVIDENCE_NAMES: Mapping[str, str] = {
    "again": "repeated runs",
    "cases": "benchmarks",
    "efficiencies": "relative performance",
    "other_cells": "other results",
    "apart": "distance",
    "differs": "differences",
    "distinct": "distinct values",
    "equal": "equal values",
    "first": "first runs",
    "lengths": "durations",
    "mark": "warning",
    "off": "difference",
    "outside": "external clock",
    "place": "end",
    "shared": "compared values",
    "took": "duration",
}
"""Names of keys that do not explain themselves."""


def evidence_name(key: str) -> str:
    name, unit = evidence_unit(key)
    if not unit:
        name = key
    return EVIDENCE_NAMES.get(name, name.replace("_", " "))


def evidence_unit(key: str) -> tuple[str, str]:
    """Split a key of evidence into name and unit; the unit may be ""."""
    name, _, end = key.rpartition("_")
    return name, EVIDENCE_UNITS.get(end, "")
