"""Facts of this machine, and the platform that an upload states.

docs/agents.md lists the names of the facts. What cannot be read is left out, so that
"unknown" never looks like "off".
"""

import hashlib
import os
import platform
import re
import sys
from typing import Any, Dict, List, Optional

from agents.console import printable_all
from agents.detection.evidence import gather_evidence
from agents.detection.layers import Judgement, judge
from agents.files import (
    cpu_ticks,
    link_of,
    memory_fields,
    names_in,
    text_of,
    whole_number_of,
)
from agents.processes import output_of
from agents.timing.clocks import boot_name
from agents.windows import facts_of_windows, hypervisor_beneath

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
_VULNERABILITIES = _CPU + "vulnerabilities/"
_DMI = "sys/class/dmi/id/"
# Kernel parameters that affect benchmarks; the others are not sent.
_TUNING = (
    r"(mitigations|nosmt|smt|nopti|pti|spectre\w*|spec_\w+|mds|l1tf|retbleed|tsx\w*|"
    r"clocksource|tsc|hpet|notsc|nohz\w*|highres|isolcpus|rcu_nocbs|maxcpus|nr_cpus|"
    r"mem|hugepages\w*|default_hugepagesz|transparent_hugepage|elevator|idle|"
    r"intel_pstate|amd_pstate|intel_idle\S*|processor\S*|intel_iommu|amd_iommu|iommu|"
    r"preempt|numa\w*|swiotlb|nox2apic|nokaslr)(=\S*)?"
)

Facts = Dict[str, Any]


def gather_platform() -> Facts:
    """Return the facts of this machine with its ``platform`` and ``evidence``."""
    evidence = gather_evidence()
    facts = gather_facts()
    judgement = judge(evidence)
    facts.update(machine_itself(facts, judgement, boot_name()))
    facts["platform"] = {
        "layers": list(judgement.layers),
        "conflict": judgement.conflict,
        "sentence": judgement.sentence,
    }
    beneath = hypervisor_beneath(evidence, judgement.layers)
    if beneath:
        facts["virtualization-based security"] = beneath
    if evidence.get("hyperv_version"):
        build = facts.get("hypervisor build", {})
        facts["hypervisor build"] = dict(build, hyperv=evidence["hyperv_version"])
    facts["evidence"] = printable_all(stated(evidence))
    facts["agent"] = agent_facts(sys.argv[0])
    return facts


def host_document(slug: str) -> Dict[str, Any]:
    """Return the document that registers this machine, without a guest's facts."""
    facts = gather_platform()
    is_guest = bool(facts.pop("platform")["layers"])
    # Stolen time keeps growing: with it the machine would differ each time.
    for name in ("evidence", "agent", "steal"):
        facts.pop(name, None)
    return {"slug": slug, "facts": {} if is_guest else facts}


def machine_itself(
    facts: Facts, judgement: Judgement, boot: Optional[str]
) -> Dict[str, str]:
    """Return kernel, firmware, microcode and boot of a machine without a hypervisor.

    A native run under another kernel or firmware is not a baseline, and a session ends
    where one of these changes.
    """
    if judgement.layers or judgement.conflict:
        return {}
    seen = {
        "host_kernel": facts.get("kernel"),
        "host_firmware": facts.get("firmware"),
        "host_microcode": facts.get("microcode"),
        "host_boot": boot,
    }
    return {name: str(text) for name, text in seen.items() if text}


def agent_facts(program: str) -> Dict[str, str]:
    """Return the checksum of this agent, and the version of its Python."""
    facts = {"python": "%d.%d.%d" % sys.version_info[:3]}
    if program.endswith(".pyz") and os.path.isfile(program):
        with open(program, "rb") as file:
            facts["sha256"] = hashlib.sha256(file.read()).hexdigest()
    return facts


def gather_facts(root: str = "/") -> Facts:
    """Read all facts of this machine."""
    if os.name == "nt":
        facts = facts_of_windows()
    else:
        facts = dict(cpu_facts(root), **kernel_facts(root))
        facts.update(disks=disk_facts(root), networks=network_facts(root))
    facts["architecture"] = platform.machine()
    return stated(facts)


def stated(facts: Facts) -> Facts:
    """Leave out unknown facts, at every depth."""
    kept = {}
    for name, value in sorted(facts.items()):
        if isinstance(value, dict):
            value = stated(value)
        if value is not None and value != {} and value != []:
            kept[name] = value
    return kept


def cpu_facts(root: str = "/") -> Facts:
    """Return the facts of processors and memory."""

    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(root, path))

    blocks = cpu_blocks(text("proc/cpuinfo") or "")
    sockets = {block.get("physical id") for block in blocks} - {None}
    pairs = {(block.get("physical id"), block.get("core id")) for block in blocks}
    cores = {pair for pair in pairs if pair[1] is not None}
    identity = [_first(blocks, name) for name in ("cpu family", "model", "stepping")]
    flags = (_first(blocks, "flags") or "").split()
    nodes = os.path.join(root, "sys/devices/system/node")
    memory = memory_fields(text("proc/meminfo"))
    return {
        # Some guests see no topology.
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
    """Split /proc/cpuinfo into one dictionary per logical CPU."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in paragraph.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in lines}
        if "processor" in fields or "model name" in fields:
            blocks.append(fields)
    return blocks


def turbo(no_turbo: Optional[str], boost: Optional[str]) -> Optional[str]:
    """Return "on" or "off" from the file of either driver; Intel's is inverted."""
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
    """Return the facts of each disk by its name, without virtual block devices."""
    disks = {}
    for name in names_in(os.path.join(root, "sys/block")):
        if name.startswith(_MADE_UP):
            continue
        folder = os.path.join(root, "sys/block", name)
        device, queue = folder + "/device/", folder + "/queue/"
        sectors = whole_number_of(folder + "/size")
        rotational = text_of(queue + "rotational") or ""
        scheduler = text_of(queue + "scheduler")
        disks[name] = {
            "model": text_of(device + "model"),
            "vendor": text_of(device + "vendor"),
            "bytes": None if sectors is None else sectors * _SECTOR_BYTES,
            "rotational": {"0": "no", "1": "yes"}.get(rotational),
            # A disk with a single scheduler shows it without brackets.
            "scheduler": chosen(scheduler) or scheduler,
            "write cache": text_of(queue + "write_cache"),
            "queue depth": whole_number_of(queue + "nr_requests"),
            "read ahead KiB": whole_number_of(queue + "read_ahead_kb"),
            "driver": _driver_of(device),
        }
    return disks


def network_facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    """Return the facts of each network interface by its name, without the loopback."""
    interfaces: Dict[str, Dict[str, Any]] = {}
    for name in names_in(os.path.join(root, "sys/class/net")):
        if name == "lo":
            continue
        folder = os.path.join(root, "sys/class/net", name) + "/"
        speed = whole_number_of(folder + "speed")
        interfaces[name] = {
            # -1 or missing for virtual interfaces.
            "speed Mbit/s": speed if speed and speed > 0 else None,
            "duplex": _known(text_of(folder + "duplex")),
            "mtu": whole_number_of(folder + "mtu"),
            "state": _known(text_of(folder + "operstate")),
            "driver": _driver_of(folder + "device/"),
        }
        if root == "/":  # ethtool reads this machine, not a copied tree
            interfaces[name]["offloads"] = offloads(output_of(["ethtool", "-k", name]))
    return interfaces


def _driver_of(device: str) -> Optional[str]:
    target = link_of(device + "driver")
    return os.path.basename(target) if target else None


def _known(text: Optional[str]) -> Optional[str]:
    return None if text in (None, "", "unknown") else text


def offloads(text: Optional[str]) -> Dict[str, str]:
    """Read from `ethtool -k` the offloads that affect benchmarks."""
    pairs = re.findall(r"^\s*([\w-]+): (on|off)", text or "", re.MULTILINE)
    return {name: state for name, state in pairs if name in _OFFLOADS}


def kernel_facts(root: str = "/") -> Facts:
    """Return the facts of kernel, distribution and firmware."""

    def text(path: str) -> Optional[str]:
        return text_of(os.path.join(root, path))

    # Words after ` -- ` are for init, not for the kernel.
    parameters = (text("proc/cmdline") or "").partition(" -- ")[0].split()
    tuning = [word for word in parameters if re.fullmatch(_TUNING, word)]
    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "kernel tuning": " ".join(tuning) or None,
        "distribution": distribution(text("etc/os-release") or ""),
        "clocksource": text(_CLOCK + "current_clocksource"),
        "mitigations": {
            name: text(_VULNERABILITIES + name)
            for name in names_in(os.path.join(root, _VULNERABILITIES))
        },
        "steal": steal(text("proc/stat") or ""),
        "machine": text(_DMI + "product_name"),
        "machine vendor": text(_DMI + "sys_vendor"),
        "firmware": text(_DMI + "bios_version"),
        "hypervisor build": hypervisor_build(root),
    }


def distribution(text: str) -> Optional[str]:
    """Return the name in /etc/os-release."""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', text, re.MULTILINE)
    return match.group(1) if match else None


def steal(text: str) -> Optional[Dict[str, int]]:
    """Return stolen and all ticks since the start, from /proc/stat."""
    ticks = cpu_ticks(text)
    # The time of guests is part of user time. Kernels before 2.6.11 count no steal.
    return {"stolen ticks": ticks[7], "all ticks": sum(ticks)} if ticks else None


def hypervisor_build(root: str = "/") -> Facts:
    """Return the versions of the hypervisors for which this machine is the host."""

    def text(name: str) -> Optional[str]:
        return text_of(os.path.join(root, "sys/hypervisor", name))

    versions: Facts = {"xen compiled": text("compilation/compile_date")}
    if text("type") == "xen":
        version = [text("version/" + part) or "" for part in ("major", "minor")]
        versions["xen"] = ".".join(version) + (text("version/extra") or "")
    if root == "/" and os.path.exists("/dev/kvm"):
        for name, program in (("qemu", "qemu-system-x86_64"), ("libvirt", "libvirtd")):
            printed = output_of([program, "--version"])
            versions[name] = printed.splitlines()[0] if printed else None
    return versions
