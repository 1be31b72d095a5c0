"""All plausibility rules: the check of a study, and the page for readers.

CONTRIBUTING.md describes how to add a rule.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Final

from benchmarks.plausibility.facts import StudyFacts
from benchmarks.plausibility.findings import REGISTERED, SEVERITIES, Finding, Rule

# A module of rules registers them when it is imported.
for family in iter_modules(__path__):
    import_module(f"{__name__}.{family.name}")

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {rule.id: rule for rule in sorted(REGISTERED.values(), key=lambda rule: rule.place)}
)


def check(
    study: StudyFacts, rules: Iterable[Rule] = RULES.values()
) -> tuple[Finding, ...]:
    """Return a study's distinct findings: errors first, then by rule."""
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


_HEAD = """# Flags

Made from `benchmarks/plausibility/rules/`: change a rule there, not here.

A flag is a doubt about numbers, with its evidence. It never changes a number. Its
severity is *impossible* (a number that cannot be right), *implausible* (one that hardly
can) or *check* (one that needs a word of explanation). The first two withhold the
verdict of the cells they name until a person confirms or dismisses them with a note.
That decision stays as long as the values do: if one of them changes, the flag is open
again.

What is called noise below is the scatter of the runs. Where a cell has only one run, it
is the scatter of the study's other cells of the same tool and metric; where there is
none, the dispersion up to which a lab may publish: CPU 2 %, memory 3 %, network 5 %,
disk 10 %.
"""


def flags_page() -> str:
    """The text of ``docs/flags.md``."""
    lines = [_HEAD, "| rule | flags | severity |", "|---|---|---|"]
    for rule in RULES.values():
        lines.append(f"| [`{rule.id}`](#{rule.id}) | {rule.title} | {rule.severity} |")
    lines.append("")
    for rule in RULES.values():
        title = f"**{rule.title}** ({rule.severity}, {rule.family})."
        text = rule.documentation.replace("``", "`")
        lines.append(f"## {rule.id}\n\n{title}\n\n{text}\n")
    return "\n".join(lines)
