"""What readers are told of tools and cases: their list, and what a case is called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter

from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import Metric, Tool
from benchmarks.tools import TOOLS

HEAD = """# Tools

Made from `benchmarks/tools/`: change a tool there, not here. An upload may name a tool
by its slug, its title or another of its names, in any case; metrics by their name.
Units can be any that convert into the one listed.
"""

LONGEST_PART = 40
# Labels speak of several: "1 threads", "1 processes".
ONE_OF_MANY = re.compile(r"^(1 \w+?)(?:(?<=ss)es|s)$")


def case_label(tool: Tool, metric: Metric, parameters: Mapping[str, object]) -> str:
    """``Disk throughput · sequential write``, ``Bandwidth · read · L1``."""
    shown = display_parameters(parameters)
    # "sequential write" reads better than its two parameters apart.
    doing = " ".join(shown[key] for key in ("access", "operation") if key in shown)
    filled = (
        ONE_OF_MANY.sub(r"\1", label.format_map(shown))
        for label in _applicable(tool, shown)
    )
    return " · ".join(
        part if len(part) <= LONGEST_PART else f"{part[: LONGEST_PART - 1]}…"
        for part in (metric.title, doing, *filled)
        if part
    )


def case_details(tool: Tool, parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameters that the label leaves out."""
    shown = display_parameters(parameters)
    named = {"access", "operation"}.union(
        *(_fields(label) for label in _applicable(tool, shown))
    )
    return {key: text for key, text in shown.items() if key not in named}


def _applicable(tool: Tool, shown: Mapping[str, str]) -> Iterator[str]:
    return (label for label in tool.labels if _fields(label) <= shown.keys())


def _fields(label: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(label) if name}


def tools_page() -> str:
    """The text of ``docs/tools.md``."""
    lines = [HEAD]
    for tool in TOOLS.values():
        names = ", ".join(f"`{name}`" for name in tool.aliases)
        also = f", also {names}" if names else ""
        lines += [
            f"## {tool.title}",
            "",
            f"Slug `{tool.slug}`{also}. <{tool.homepage}>",
            "",
            "| metric | unit | better | component |",
            "|---|---|---|---|",
        ]
        lines += (
            f"| {metric.name} | {metric.unit or '(count)'} | {metric.better} "
            f"| {metric.component} |"
            for metric in tool.metrics
        )
        lines.append("")
    return "\n".join(lines)
