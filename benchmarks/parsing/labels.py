"""What a case is called on a page: short, with the rest of its parameters apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter

from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import Metric, Tool

LONGEST_PART = 40
# Labels speak of several: "1 threads", "1 processes".
ONE_OF_MANY = re.compile(r"^(1 \w+?)(?:(?<=ss)es|s)$")


def case_label(tool: Tool, metric: Metric, parameters: Mapping[str, object]) -> str:
    """``Disk throughput · sequential write``, ``Bandwidth · read · L1``."""
    shown = display_parameters(parameters)
    doing = " ".join(shown[key] for key in ("access", "operation") if key in shown)
    parts = [metric.title, doing, *_filled(tool, shown)]
    return " · ".join(_short(part) for part in parts if part)


def case_details(tool: Tool, parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameters that the label leaves out."""
    shown = display_parameters(parameters)
    named = {"access", "operation"}.union(
        *(_fields(label) for label in _applicable(tool, shown))
    )
    return {key: text for key, text in shown.items() if key not in named}


def _applicable(tool: Tool, shown: Mapping[str, str]) -> Iterator[str]:
    return (label for label in tool.labels if _fields(label) <= shown.keys())


def _filled(tool: Tool, shown: Mapping[str, str]) -> Iterator[str]:
    return (
        ONE_OF_MANY.sub(r"\1", label.format_map(shown))
        for label in _applicable(tool, shown)
    )


def _fields(label: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(label) if name}


def _short(part: str) -> str:
    return part if len(part) <= LONGEST_PART else f"{part[: LONGEST_PART - 1]}…"
