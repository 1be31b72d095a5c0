"""CPU and memory as Linux describes them."""

import os
import re
from typing import Any, Dict, List, Optional

from agents.files import names_in, text_of

_CPU = "sys/devices/system/cpu/"
_FREQUENCY = _CPU + "cpu0/cpufreq/"


def facts(root: str = "/") -> Dict[str, Any]:
    """Return model, sockets, cores, threads, microcode, governor, turbo and memory."""

    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(root, path))

    blocks = cpu_blocks(text("proc/cpuinfo") or "")
    memory = memory_fields(text("proc/meminfo") or "")
    return {
        **_topology(blocks),
        "cpu model": _first(blocks, "model name", "Model", "cpu model"),
        "cpu family model stepping": _identity(blocks),
        "microcode": _first(blocks, "microcode"),
        "smt": text(_CPU + "smt/control"),
        "governor": text(_FREQUENCY + "scaling_governor"),
        "frequency driver": text(_FREQUENCY + "scaling_driver"),
        "turbo": turbo(
            text(_CPU + "intel_pstate/no_turbo"), text(_CPU + "cpufreq/boost")
        ),
        "numa nodes": _numa_nodes(os.path.join(root, "sys/devices/system/node")),
        "memory bytes": memory.get("MemTotal"),
        "swap bytes": memory.get("SwapTotal"),
        "huge pages": memory.get("HugePages_Total"),
        "transparent huge pages": chosen(
            text("sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "hardware virtualization": _hardware_virtualization(blocks),
    }


def cpu_blocks(text: str) -> List[Dict[str, str]]:
    """Cut /proc/cpuinfo into one dictionary for each logical CPU."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in paragraph.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in lines}
        if "processor" in fields or "model name" in fields:
            blocks.append(fields)
    return blocks


def memory_fields(text: str) -> Dict[str, int]:
    """Read /proc/meminfo; its kB are 1024 bytes."""
    fields = {}
    for name, number, unit in re.findall(r"^(\S+):\s+(\d+)( kB)?$", text, re.MULTILINE):
        fields[name] = int(number) * (1024 if unit else 1)
    return fields


def turbo(no_turbo: Optional[str], boost: Optional[str]) -> Optional[str]:
    """Say on or off from whichever driver says it; Intel's file says the opposite."""
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    if boost is not None:
        return "on" if boost == "1" else "off"
    return None


def chosen(text: Optional[str]) -> Optional[str]:
    """Return the word in brackets: `always [madvise] never`."""
    found = re.search(r"\[([^\]]+)\]", text or "")
    return found.group(1) if found else None


def _topology(blocks: List[Dict[str, str]]) -> Dict[str, Any]:
    """Count what the kernel shows; a guest may show no topology at all."""
    sockets = {block.get("physical id") for block in blocks} - {None}
    pairs = [(block.get("physical id"), block.get("core id")) for block in blocks]
    cores = {pair for pair in pairs if pair[1] is not None}
    return {
        "sockets": len(sockets) or None,
        "cores": len(cores) or None,
        "threads": len(blocks) or os.cpu_count(),
    }


def _first(blocks: List[Dict[str, str]], *names: str) -> Optional[str]:
    for block in blocks:
        for name in names:
            if block.get(name):
                return block[name]
    return None


def _identity(blocks: List[Dict[str, str]]) -> Optional[str]:
    parts = [_first(blocks, name) for name in ("cpu family", "model", "stepping")]
    return "/".join(str(part) for part in parts) if all(parts) else None


def _hardware_virtualization(blocks: List[Dict[str, str]]) -> Optional[str]:
    flags = (_first(blocks, "flags") or "").split()
    for flag, name in (("svm", "AMD-V"), ("vmx", "VT-x")):
        if flag in flags:
            return name
    return None


def _numa_nodes(folder: str) -> Optional[int]:
    nodes = [name for name in names_in(folder) if re.match(r"node\d+$", name)]
    return len(nodes) or None
