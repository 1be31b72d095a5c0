"""Network interfaces as Linux describes them."""

import os
import re
from typing import Any, Dict, Optional

from agents.files import link_of, names_in, text_of, whole_number_of
from agents.programs import output_of

_OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)


def facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    """Return each interface that has a device, and bridges and pairs as well."""
    folder = os.path.join(root, "sys/class/net")
    found = {}
    for name in names_in(folder):
        if name != "lo":
            found[name] = _interface(os.path.join(folder, name))
            if root == "/":
                found[name]["offloads"] = offloads(output_of(["ethtool", "-k", name]))
    return found


def _interface(folder: str) -> Dict[str, Any]:
    speed = whole_number_of(os.path.join(folder, "speed"))
    driver = link_of(os.path.join(folder, "device/driver"))
    return {
        # Virtual interfaces say -1, or nothing; neither is a speed.
        "speed Mbit/s": speed if speed and speed > 0 else None,
        "duplex": _known(text_of(os.path.join(folder, "duplex"))),
        "mtu": whole_number_of(os.path.join(folder, "mtu")),
        "state": _known(text_of(os.path.join(folder, "operstate"))),
        "driver": os.path.basename(driver) if driver else None,
    }


def _known(text: Optional[str]) -> Optional[str]:
    return None if text in (None, "", "unknown") else text


def offloads(text: Optional[str]) -> Dict[str, str]:
    """Read `ethtool -k`: the few that change a benchmark."""
    pairs = re.findall(r"^\s*([\w-]+): (on|off)", text or "", re.MULTILINE)
    return {name: state for name, state in pairs if name in _OFFLOADS}
