"""Every rule, and a study checked by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.plausibility import rules as families
from benchmarks.plausibility.facts import StudyFacts
from benchmarks.plausibility.findings import SEVERITIES, Finding
from benchmarks.plausibility.registry import REGISTERED, Rule

# A module of rules registers them when it is imported.
for family in iter_modules(families.__path__):
    import_module(f"{families.__name__}.{family.name}")

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {each.id: each for each in sorted(REGISTERED.values(), key=lambda each: each.place)}
)


def check(
    study: StudyFacts, rules: Iterable[Rule] = RULES.values()
) -> tuple[Finding, ...]:
    """All findings about a study: errors first, then in the order of the rules.

    Finding the same thing twice is finding it once.
    """
    found = {each.fingerprint: each for rule in rules for each in rule.findings(study)}
    return tuple(
        sorted(found.values(), key=lambda each: SEVERITIES.index(each.severity))
    )
