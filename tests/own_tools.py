"""A tool that a lab declares itself, as tests of all rooms do."""

from typing import Any

from benchmarks.models import Agent, Lab, OwnTool
from benchmarks.own_tools.declaring import Author, declare_tool, declared

BOOT_TIME = {
    "name": "boot time",
    "unit": "s",
    "better": "lower",
    "component": "application",
    "work_class": "system-process-creation",
    "primary": True,
}
DECLARED = {
    "title": "Boot stopwatch",
    "homepage": "https://example.org/boot",
    "description": "From power-on to the login prompt.",
    "metrics": [BOOT_TIME],
}


def declaration(**changes: Any) -> dict[str, Any]:
    """Return what is declared of the boot stopwatch, changed by what is given."""
    return {**DECLARED, **changes}


def metric(**changes: Any) -> dict[str, Any]:
    """Return the metric of the boot stopwatch, changed by what is given."""
    return {**BOOT_TIME, **changes}


def declare(lab: Lab, by: Author | None = None, **changes: Any) -> OwnTool:
    """Declare the boot stopwatch in a lab."""
    by = by or Agent.objects.filter(lab=lab).first()
    assert by is not None
    slug = changes.pop("slug", "boot-time")
    document = declared(declaration(**changes))
    return declare_tool(lab=lab, slug=slug, declaration=document, by=by)[0]


def boot_sample(value: float = 3.2, **changes: Any) -> dict[str, Any]:
    """Return one sample of the boot stopwatch."""
    return {"metric": "boot time", "value": value, "unit": "s", **changes}
