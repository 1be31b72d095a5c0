"""`manage.py write_docs`: write the generated pages of docs/, or check them."""

from pathlib import Path

from django.conf import settings

from benchmarks.management import GeneratingCommand
from benchmarks.parsing.contract import Metric, Tool
from benchmarks.plausibility.rules import flags_page
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


class Command(GeneratingCommand):
    """The pages that list the tools and the rules."""

    help = __doc__

    def files(self) -> dict[Path, str]:
        docs = Path(settings.BASE_DIR) / "docs"
        return {docs / "tools.md": tools_page(), docs / "flags.md": flags_page()}


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
