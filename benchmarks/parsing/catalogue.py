"""The list of tools and metrics for readers, made from the tools themselves."""

from __future__ import annotations

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.tools import TOOLS

_HEAD = """# Tools

Made from `benchmarks/tools/`: change a tool there, not here. An upload may name a tool
by its slug, its title or another of its names, in any case; metrics by their name.
Units can be any that convert into the one listed.
"""


def as_markdown() -> str:
    """The text of ``docs/tools.md``."""
    return "\n".join([_HEAD, *map(_section, TOOLS.values())])


def _section(tool: Tool) -> str:
    names = ", ".join(f"`{name}`" for name in tool.aliases)
    lines = [
        f"## {tool.title}",
        "",
        f"Slug `{tool.slug}`{f', also {names}' if names else ''}. <{tool.homepage}>",
        "",
        "| metric | unit | better | component |",
        "|---|---|---|---|",
        *map(_row, tool.metrics),
        "",
    ]
    return "\n".join(lines)


def _row(metric: Metric) -> str:
    unit = metric.unit or "(count)"
    return f"| {metric.name} | {unit} | {metric.better} | {metric.component} |"
