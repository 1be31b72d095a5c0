"""The rules for readers, made from the rules themselves."""

from __future__ import annotations

from benchmarks.plausibility.checking import RULES
from benchmarks.plausibility.registry import Rule

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
    table = ["| rule | flags | severity |", "|---|---|---|", *map(_row, RULES.values())]
    return "\n".join([_HEAD, *table, "", *map(_section, RULES.values())])


def _row(rule: Rule) -> str:
    return f"| [`{rule.id}`](#{rule.id}) | {rule.title} | {rule.severity} |"


def _section(rule: Rule) -> str:
    text = rule.documentation.replace("``", "`")
    title = f"**{rule.title}** ({rule.severity}, {rule.family})."
    return f"## {rule.id}\n\n{title}\n\n{text}\n"
