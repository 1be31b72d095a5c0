"""What readers are told of tools and cases: their list, and what a case is called."""

import re
from collections.abc import Iterator, Mapping
from string import Formatter

from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import Metric, Tool
from benchmarks.tools import TOOLS
from benchmarks.work_classes import WORK_CLASSES

HEAD = """# Tools

Made from `benchmarks/tools/`: change a tool there, not here. An upload may name a tool
by its slug, its title or another of its names, in any case; metrics by their name.
Units can be any that convert into the one listed.

Only what is of kind speed or energy has an efficiency ([method](method.md)); a cost is
CPU time for a unit of work, which has one where no hypervisor hides a part of it. A
metric that stands for its test says of which classes of work that is; one that is
implied does so where none of those was measured that it follows from.

A benchmark that is not here is declared by the lab that uses it: "Own tools" in
[the API](api.md), or the page "Tools" of the lab.
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


def _kind(metric: Metric) -> str:
    """What a metric is, and what makes it a setting."""
    if metric.fixed_by:
        but = f", but for `{metric.unless[0]}`" if metric.unless else ""
        return f"{metric.kind}; set by `{metric.fixed_by[0]}` and the like{but}"
    if metric.capped_by:
        cap = metric.capped_by[0]
        when = f"`{cap.option}` is reached" if cap.unit else f"`{cap.option}` is given"
        return f"{metric.kind}; set where {when}"
    return str(metric.kind)


def _rank(tool: Tool, metric: Metric) -> str:
    """Whether a metric stands for its test, and for which work."""
    if work := tool.primary.get(metric.name):
        classes = (WORK_CLASSES[slug].title for slug in work.classes)
        return "; ".join(classes) or "yes"
    if sources := tool.implied.get(metric.name):
        return f"implied by {', '.join(sources)}"
    return ""


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
            "| metric | unit | better | component | kind | stands for its test |",
            "|---|---|---|---|---|---|",
        ]
        lines += (
            f"| {metric.name} | {metric.unit or '(count)'} | {metric.better} "
            f"| {metric.component} | {_kind(metric)} | {_rank(tool, metric)} |"
            for metric in tool.metrics
        )
        lines.append("")
    return "\n".join(lines)
