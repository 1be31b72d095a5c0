"""A custom tool of a lab, for tests of several apps."""

from typing import Any

from benchmarks.custom_tools.registration import Actor, declare_tool, read_declaration
from benchmarks.models import Agent, CustomTool, Lab

BOOT_TIME = {
    "name": "boot time",
    "unit": "s",
    "better": "lower",
    "component": "application",
    "work_class": "system-process-creation",
    "is_primary": True,
}
DECLARED = {
    "title": "Boot stopwatch",
    "homepage": "https://example.org/boot",
    "description": "From power-on to the login prompt.",
    "metrics": [BOOT_TIME],
}


def declaration(**changes: Any) -> dict[str, Any]:
    """Return the declaration of the boot stopwatch, with changes."""
    return {**DECLARED, **changes}


def metric(**changes: Any) -> dict[str, Any]:
    """Return the metric of the boot stopwatch, with changes."""
    return {**BOOT_TIME, **changes}


def declare(lab: Lab, by: Actor | None = None, **changes: Any) -> CustomTool:
    """Declare the boot stopwatch in a lab."""
    by = by or Agent.objects.filter(lab=lab).first()
    assert by is not None
    slug = changes.pop("slug", "boot-time")
    document = read_declaration(declaration(**changes))
    return declare_tool(lab=lab, slug=slug, declaration=document, actor=by)[0]


def boot_sample(value: float = 3.2, **changes: Any) -> dict[str, Any]:
    return {"metric": "boot time", "value": value, "unit": "s", **changes}
