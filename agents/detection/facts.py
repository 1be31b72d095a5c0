"""Facts of the machine under the system: the vocabulary stands in docs/agents.md.

What cannot be read is left out, so that "not stated" never looks like "off".
"""

import os
import platform
from typing import Any, Dict

from agents.detection import cpus, disks, kernels, networks

Facts = Dict[str, Any]


def gather_facts(root: str = "/") -> Facts:
    """Read all facts that this machine shows."""
    if os.name == "nt":
        from agents.detection.windows import facts_of_windows

        found = facts_of_windows()
    else:
        found = facts_of_linux(root)
    found["architecture"] = platform.machine()
    return stated(found)


def facts_of_linux(root: str = "/") -> Facts:
    """Read all facts below a root."""
    return dict(
        cpus.facts(root),
        **kernels.facts(root),
        **{"disks": disks.facts(root), "networks": networks.facts(root)},
    )


def stated(facts: Facts) -> Facts:
    """Leave out what is not known, at every depth."""
    kept = {}
    for name, value in sorted(facts.items()):
        if isinstance(value, dict):
            value = stated(value)
        if value is not None and value != {} and value != []:
            kept[name] = value
    return kept
