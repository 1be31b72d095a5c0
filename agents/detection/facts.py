"""Facts of the machine under the system: the vocabulary stands in docs/agents.md.

What cannot be read is left out, so that "not stated" never looks like "off".
"""

import os
import platform
import re
from typing import Any, Dict, List, Optional

from agents.files import link_of, names_in, text_of, whole_number_of
from agents.programs import output_of

_CPU = "sys/devices/system/cpu/"
_FREQUENCY = _CPU + "cpu0/cpufreq/"
_NODE = re.compile(r"node\d+$")
_VIRTUALIZATION = (("svm", "AMD-V"), ("vmx", "VT-x"))
_SECTOR_BYTES = 512  # /sys/block/*/size counts these, whatever the disk has
_MADE_UP = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
_OFFLOADS = (
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
)
_CLOCK = "sys/devices/system/clocksource/clocksource0/"
_VULNERABILITIES = "sys/devices/system/cpu/vulnerabilities"
_DMI = "sys/class/dmi/id/"
# What of the kernel's command line can move a benchmark; the rest is nobody's business.
_TUNING = (
    r"(mitigations|nosmt|smt|nopti|pti|spectre\w*|spec_\w+|mds|l1tf|retbleed|tsx\w*|"
    r"clocksource|tsc|hpet|notsc|nohz\w*|highres|isolcpus|rcu_nocbs|maxcpus|nr_cpus|"
    r"mem|hugepages\w*|default_hugepagesz|transparent_hugepage|elevator|idle|"
    r"intel_pstate|amd_pstate|intel_idle\S*|processor\S*|intel_iommu|amd_iommu|iommu|"
    r"preempt|numa\w*|swiotlb|nox2apic|nokaslr)(=\S*)?"
)

Facts = Dict[str, Any]


def gather_facts(root: str = "/") -> Facts:
    """Read all facts that this machine shows."""
    if os.name == "nt":
        from agents.detection.windows import facts_of_windows

        facts = facts_of_windows()
    else:
        facts = dict(cpu_facts(root), **kernel_facts(root))
        facts.update(disks=disk_facts(root), networks=network_facts(root))
    facts["architecture"] = platform.machine()
    return stated(facts)


def stated(facts: Facts) -> Facts:
    """Leave out what is not known, at every depth."""
    kept = {}
    for name, value in sorted(facts.items()):
        if isinstance(value, dict):
            value = stated(value)
        if value is not None and value != {} and value != []:
            kept[name] = value
    return kept


def cpu_facts(root: str = "/") -> Dict[str, Any]:
    """Return model, sockets, cores, threads, microcode, governor, turbo and memory."""

    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(root, path))

    blocks = cpu_blocks(text("proc/cpuinfo") or "")
    sockets = {block.get("physical id") for block in blocks} - {None}
    pairs = {(block.get("physical id"), block.get("core id")) for block in blocks}
    cores = {pair for pair in pairs if pair[1] is not None}
    identity = [_first(blocks, name) for name in ("cpu family", "model", "stepping")]
    flags = (_first(blocks, "flags") or "").split()
    nodes = os.path.join(root, "sys/devices/system/node")
    memory = memory_fields(text("proc/meminfo") or "")
    return {
        # A guest may be shown no topology at all.
        "sockets": len(sockets) or None,
        "cores": len(cores) or None,
        "threads": len(blocks) or os.cpu_count(),
        "cpu model": _first(blocks, "model name", "Model", "cpu model"),
        "cpu family model stepping": "/".join(map(str, identity))
        if all(identity)
        else None,
        "microcode": _first(blocks, "microcode"),
        "smt": text(_CPU + "smt/control"),
        "governor": text(_FREQUENCY + "scaling_governor"),
        "frequency driver": text(_FREQUENCY + "scaling_driver"),
        "turbo": turbo(
            text(_CPU + "intel_pstate/no_turbo"), text(_CPU + "cpufreq/boost")
        ),
        "numa nodes": sum(map(bool, map(_NODE.match, names_in(nodes)))) or None,
        "memory bytes": memory.get("MemTotal"),
        "swap bytes": memory.get("SwapTotal"),
        "huge pages": memory.get("HugePages_Total"),
        "transparent huge pages": chosen(
            text("sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "hardware virtualization": next(
            (name for flag, name in _VIRTUALIZATION if flag in flags), None
        ),
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
    match = re.search(r"\[([^\]]+)\]", text or "")
    return match.group(1) if match else None


def _first(blocks: List[Dict[str, str]], *names: str) -> Optional[str]:
    for block in blocks:
        for name in names:
            if block.get(name):
                return block[name]
    return None


def disk_facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    """Return each disk by its name; what the kernel makes up itself is left out."""
    disks = {}
    for name in names_in(os.path.join(root, "sys/block")):
        if name.startswith(_MADE_UP):
            continue
        folder = os.path.join(root, "sys/block", name)
        device, queue = os.path.join(folder, "device"), os.path.join(folder, "queue")
        sectors = whole_number_of(os.path.join(folder, "size"))
        rotational = text_of(os.path.join(queue, "rotational")) or ""
        scheduler = text_of(os.path.join(queue, "scheduler"))
        disks[name] = {
            "model": text_of(os.path.join(device, "model")),
            "vendor": text_of(os.path.join(device, "vendor")),
            "bytes": None if sectors is None else sectors * _SECTOR_BYTES,
            "rotational": {"0": "no", "1": "yes"}.get(rotational),
            # The chosen one; a disk with only one shows it without brackets.
            "scheduler": chosen(scheduler) or scheduler,
            "write cache": text_of(os.path.join(queue, "write_cache")),
            "queue depth": whole_number_of(os.path.join(queue, "nr_requests")),
            "read ahead KiB": whole_number_of(os.path.join(queue, "read_ahead_kb")),
            "driver": _driver_of(device),
        }
    return disks


def network_facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    """Return each interface that has a device, and bridges and pairs as well."""
    interfaces: Dict[str, Dict[str, Any]] = {}
    for name in names_in(os.path.join(root, "sys/class/net")):
        if name == "lo":
            continue
        folder = os.path.join(root, "sys/class/net", name)
        speed = whole_number_of(os.path.join(folder, "speed"))
        interfaces[name] = {
            # Virtual interfaces say -1, or nothing; neither is a speed.
            "speed Mbit/s": speed if speed and speed > 0 else None,
            "duplex": _known(text_of(os.path.join(folder, "duplex"))),
            "mtu": whole_number_of(os.path.join(folder, "mtu")),
            "state": _known(text_of(os.path.join(folder, "operstate"))),
            "driver": _driver_of(os.path.join(folder, "device")),
        }
        if root == "/":  # ethtool speaks of this machine, not of a copied tree
            interfaces[name]["offloads"] = offloads(output_of(["ethtool", "-k", name]))
    return interfaces


def _driver_of(device: str) -> Optional[str]:
    target = link_of(os.path.join(device, "driver"))
    return os.path.basename(target) if target else None


def _known(text: Optional[str]) -> Optional[str]:
    return None if text in (None, "", "unknown") else text


def offloads(text: Optional[str]) -> Dict[str, str]:
    """Read `ethtool -k`: the few that change a benchmark."""
    pairs = re.findall(r"^\s*([\w-]+): (on|off)", text or "", re.MULTILINE)
    return {name: state for name, state in pairs if name in _OFFLOADS}


def kernel_facts(root: str = "/") -> Dict[str, Any]:
    """Return what the kernel says of itself and of its host."""

    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(root, path))

    holes = os.path.join(root, _VULNERABILITIES)
    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "kernel tuning": tuning(text("proc/cmdline") or ""),
        "distribution": distribution(text("etc/os-release") or ""),
        "clocksource": text(_CLOCK + "current_clocksource"),
        "mitigations": {
            name: text_of(os.path.join(holes, name)) for name in names_in(holes)
        },
        "steal": steal(text("proc/stat") or ""),
        "machine": text(_DMI + "product_name"),
        "machine vendor": text(_DMI + "sys_vendor"),
        "firmware": text(_DMI + "bios_version"),
        "hypervisor build": hypervisor_build(root),
    }


def tuning(command_line: str) -> Optional[str]:
    """Return those of the kernel's parameters that can move a benchmark."""
    # What stands behind ` -- ` is for init, not for the kernel.
    words = command_line.partition(" -- ")[0].split()
    return " ".join(word for word in words if re.fullmatch(_TUNING, word)) or None


def distribution(text: str) -> Optional[str]:
    """Return the name in /etc/os-release."""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', text, re.MULTILINE)
    return match.group(1) if match else None


def steal(text: str) -> Optional[Dict[str, int]]:
    """Return stolen and all ticks since the start, from /proc/stat (guest is part of
    user)."""
    match = re.search(r"^cpu +(.+)$", text, re.MULTILINE)
    ticks = [int(count) for count in match.group(1).split()] if match else []
    if len(ticks) < 8:  # kernels before 2.6.11 do not know it
        return None
    return {"stolen ticks": ticks[7], "all ticks": sum(ticks[:8])}


def hypervisor_build(root: str = "/") -> Dict[str, Any]:
    """Return the versions of the hypervisors of which this machine is the host."""

    def text(name: str) -> Optional[str]:
        return text_of(os.path.join(root, "sys/hypervisor", name))

    compiled = text("compilation/compile_date")
    versions: Dict[str, Any] = {"xen compiled": compiled}
    if text("type") == "xen":
        version = [text("version/" + part) or "" for part in ("major", "minor")]
        versions["xen"] = ".".join(version) + (text("version/extra") or "")
    if root == "/" and os.path.exists("/dev/kvm"):  # only who carries guests
        versions["qemu"] = first_line(output_of(["qemu-system-x86_64", "--version"]))
        versions["libvirt"] = first_line(output_of(["libvirtd", "--version"]))
    return versions


def first_line(text: Optional[str]) -> Optional[str]:
    """Return a text's first line, or None."""
    return text.splitlines()[0] if text else None
