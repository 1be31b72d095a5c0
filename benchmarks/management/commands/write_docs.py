"""Write the generated pages of docs/, or check them with --check."""

from pathlib import Path

from django.conf import settings

from benchmarks.management import GeneratingCommand
from benchmarks.parsing.tool import Metric, Tool
from benchmarks.plausibility.rules import flags_page
from benchmarks.tools import TOOLS
from benchmarks.work_classes import WORK_CLASSES

TOOLS_HEADING = """# Tools

This page is generated from `benchmarks/tools/`. Edit the tools there. An upload can
name a tool by its slug, its title or one of its other names, regardless of case, and
metrics by their name. Any unit that can be converted to the listed unit is accepted.

Only metrics of the kinds speed and energy have a relative performance
([method](method.md)). A cost is CPU time per unit of work; it has a relative
performance only if no hypervisor hides a part of it. A primary metric represents its
test and has one or more work classes. An implied metric has its work class only if the
metrics that it follows from were not measured.

Readers are tested with saved outputs (`tests/data/`). Where the tool could not be run,
they were written by hand from its documentation or source.

A lab can declare benchmarks that are not listed here: see "Custom tools" in
[the API](api.md), or the Tools page of the lab.
"""

SAVED_OUTPUTS = Path(settings.BASE_DIR) / "tests" / "data" / "README.md"
WRITTEN_BY_HAND = "\n## Written by hand"


class Command(GeneratingCommand):
    help = __doc__

    def files(self) -> dict[Path, str]:
        docs = Path(settings.BASE_DIR) / "docs"
        return {docs / "tools.md": tools_page(), docs / "flags.md": flags_page()}


def _kind(metric: Metric) -> str:
    if metric.fixed_by_parameters:
        amount = metric.amount_options[0] if metric.amount_options else ""
        unless = f", unless `{amount}` is given" if amount else ""
        option = metric.fixed_by_parameters[0]
        return f"{metric.kind}; fixed by options such as `{option}`{unless}"
    if metric.rate_options:
        cap = metric.rate_options[0]
        when = f"`{cap.option}` is reached" if cap.unit else f"`{cap.option}` is given"
        return f"{metric.kind}; fixed if {when}"
    return str(metric.kind)


def _rank(tool: Tool, metric: Metric) -> str:
    if work := tool.primary_metrics.get(metric.name):
        classes = (WORK_CLASSES[slug].title for slug in work.work_classes)
        return "; ".join(classes) or "yes"
    if sources := tool.implied_metrics.get(metric.name):
        return f"implied by {', '.join(sources)}"
    return ""


def _tested_outputs(tool: Tool) -> str:
    """Return how many saved outputs were printed by the tool or written by hand."""
    printed, _, written = SAVED_OUTPUTS.read_text().partition(WRITTEN_BY_HAND)
    runs, texts = (part.count(f"\n- {tool.slug}/") for part in (printed, written))
    if not runs:
        return f"Tested outputs: {texts} written from its documentation or source only."
    return f"Tested outputs: {runs} printed by it, {texts} written by hand."


def tools_page() -> str:
    lines = [TOOLS_HEADING]
    for tool in TOOLS.values():
        names = ", ".join(f"`{name}`" for name in tool.aliases)
        also = f" (also {names})" if names else ""
        lines += [
            f"## {tool.title}",
            "",
            f"Slug `{tool.slug}`{also}. <{tool.homepage}>",
            _tested_outputs(tool),
            "",
            "| metric | unit | better | component | kind | primary |",
            "|---|---|---|---|---|---|",
        ]
        lines += (
            f"| {metric.name} | {metric.unit or '(count)'} | {metric.better} "
            f"| {metric.component} | {_kind(metric)} | {_rank(tool, metric)} |"
            for metric in tool.metrics
        )
        lines.append("")
    return "\n".join(lines)
