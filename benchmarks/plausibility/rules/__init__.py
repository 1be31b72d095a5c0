"""All plausibility rules, and the generated page about them."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.plausibility.findings import (
    RULE_REGISTRY,
    SEVERITIES,
    Rule,
    RuleFinding,
)
from benchmarks.plausibility.study_facts import StudyFacts

# Importing a module registers its rules.
for family in iter_modules(__path__):
    import_module(f"{__name__}.{family.name}")

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.id: rule
        for rule in sorted(RULE_REGISTRY.values(), key=lambda rule: rule.sort_key)
    }
)


def apply_rules(
    study: StudyFacts, rules: Iterable[Rule] = RULES.values()
) -> tuple[RuleFinding, ...]:
    """Return the distinct findings of the rules, the most severe ones first."""
    findings = {
        finding.fingerprint: finding
        for rule in rules
        for finding in rule.findings(study)
    }
    return tuple(
        sorted(
            findings.values(), key=lambda finding: SEVERITIES.index(finding.severity)
        )
    )


_INTRODUCTION = """# Flags

This page is generated from `benchmarks/plausibility/rules/`. Edit the rules there.

A flag marks numbers that may be wrong, with evidence. It never changes a number. Its
severity is *impossible* (the number cannot be correct), *implausible* (the number is
very unlikely to be correct) or *check* (the number needs an explanation). Impossible
and implausible flags withhold the verdict of the results they name, and of results that
use these as their baseline, until a person dismisses them with a note. A confirmed flag
continues to withhold the verdict. A decision applies as long as the values stay the
same: if one of them changes, the flag is open again. If a rule finds the same problem
in several runs or results of a system, it may combine them in one flag.

The rules use these terms. A *benchmark* is a metric of a tool with its parameters. A
*result* is the measurement of one system in one benchmark, by one or more *runs*
(starts of the tool). A *native* system has no hypervisor; a *guest* is a virtual
machine or a container. A guest's *baseline* is the native result of the same host. A
*co-run* is the run of several guests at the same time, each in its own *slot*.

*Noise* is the relative standard deviation of single runs. It is estimated from the runs
of the result and of the study's other results of the same tool and metric (or
component). If the study repeated too few results, it is the dispersion up to which a
lab may publish: CPU 2%, memory 3%, network 5%, disk 10%, power and applications 5%.

Two noisy values are *equal by chance* with a probability of their rounding step divided
by 2 sqrt(pi) standard deviations (two normal readings rounded to the same grid).
"""


def flags_page() -> str:
    lines = [_INTRODUCTION, "| rule | flags | severity |", "|---|---|---|"]
    for rule in RULES.values():
        lines.append(f"| [`{rule.id}`](#{rule.id}) | {rule.title} | {rule.severity} |")
    lines.append("")
    for rule in RULES.values():
        title = f"**{rule.title}** ({rule.severity})."
        text = rule.documentation.replace("``", "`")
        lines.append(f"## {rule.id}\n\n{title}\n\n{text}\n")
    return "\n".join(lines)
