import re
from collections.abc import Iterator, Mapping
from string import Formatter

from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.tool import Metric, Tool

MAX_PART_LENGTH = 40
# "{threads} threads" gives "1 threads", which must become "1 thread".
PLURAL_PATTERN = re.compile(r"^(1 \w+?)(?:(?<=ss)es|s)$")


def case_label(tool: Tool, metric: Metric, parameters: Mapping[str, object]) -> str:
    """Return a label such as ``Disk throughput · sequential write``."""
    shown = display_parameters(parameters)
    action = " ".join(shown[key] for key in ("access", "operation") if key in shown)
    filled = (
        PLURAL_PATTERN.sub(r"\1", label.format_map(shown))
        for label in _applicable_labels(tool, shown)
    )
    return " · ".join(
        part if len(part) <= MAX_PART_LENGTH else f"{part[: MAX_PART_LENGTH - 1]}…"
        for part in (metric.title, action, *filled)
        if part
    )


def case_details(tool: Tool, parameters: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that the label does not show."""
    shown = display_parameters(parameters)
    label_fields = {"access", "operation"}.union(
        *(_fields(label) for label in _applicable_labels(tool, shown))
    )
    return {key: text for key, text in shown.items() if key not in label_fields}


def _applicable_labels(tool: Tool, parameters: Mapping[str, str]) -> Iterator[str]:
    return (label for label in tool.labels if _fields(label) <= parameters.keys())


def _fields(label: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(label) if name}
