"""Facts of this machine (docs/agents.md), and its platform as uploads state it."""

import hashlib
import os
import platform
import re
import sys
from typing import Any, Dict, List, Optional

from agents.console import printable_all
from agents.detection.indicators import gather_indicators
from agents.detection.layers import UNKNOWN, detect_layers
from agents.files import (
    cpu_ticks,
    list_names,
    memory_fields,
    read_link,
    read_text_file,
    read_whole_number,
)
from agents.processes import program_output
from agents.timing.clocks import boot_id
from agents.windows import vbs_state, windows_facts

_CPU = "sys/devices/system/cpu/"
_FREQUENCY = _CPU + "cpu0/cpufreq/"
_NODE = re.compile(r"node\d+$")
_VIRTUALIZATION = (("svm", "AMD-V"), ("vmx", "VT-x"))
_SECTOR_BYTES = 512  # the unit of /sys/block/*/size for every disk
_VIRTUAL_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
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
# Kernel parameters that affect benchmarks.
_TUNING = (
    r"(mitigations|nosmt|smt|nopti|pti|spectre\w*|spec_\w+|mds|l1tf|retbleed|tsx\w*|"
    r"clocksource|tsc|hpet|notsc|nohz\w*|highres|isolcpus|rcu_nocbs|maxcpus|nr_cpus|"
    r"mem|hugepages\w*|default_hugepagesz|transparent_hugepage|elevator|idle|"
    r"intel_pstate|amd_pstate|intel_idle\S*|processor\S*|intel_iommu|amd_iommu|iommu|"
    r"preempt|numa\w*|swiotlb|nox2apic|nokaslr)(=\S*)?"
)

Facts = Dict[str, Any]


def gather_platform() -> Facts:
    evidence = gather_indicators()
    facts = gather_facts()
    detection = detect_layers(evidence)
    if not (detection.layers or detection.conflict):
        facts.update(native_machine_facts(facts, boot_id()))
    facts["platform"] = {
        "layers": list(detection.layers),
        "conflict": detection.conflict,
        "sentence": detection.summary,
    }
    vbs = vbs_state(evidence, detection.layers)
    if vbs:
        facts["virtualization-based security"] = vbs
    if evidence.get("hyperv_version"):
        build = facts.get("hypervisor build", {})
        facts["hypervisor build"] = dict(build, hyperv=evidence["hyperv_version"])
    facts["evidence"] = printable_all(drop_unknown(evidence))
    facts["agent"] = agent_facts(sys.argv[0])
    return facts


def host_document(slug: str, is_native: bool = False) -> Dict[str, Any]:
    """Return the registration of this machine; ``facts`` is empty inside a guest.

    ``is_native`` means that a person has confirmed that an unknown machine is native.
    """
    facts = gather_platform()
    layers = facts.pop("platform")["layers"]
    is_guest = bool(layers) and not (is_native and layers == [UNKNOWN])
    # Steal time grows, so each registration would seem to change the machine.
    for name in ("evidence", "agent", "steal"):
        facts.pop(name, None)
    return {"slug": slug, "facts": {} if is_guest else facts}


def native_machine_facts(facts: Facts, boot: Optional[str]) -> Dict[str, str]:
    versions = {
        "host_kernel": facts.get("kernel"),
        "host_firmware": facts.get("firmware"),
        "host_microcode": facts.get("microcode"),
        "host_boot": boot,
    }
    return {name: str(text) for name, text in versions.items() if text}


def agent_facts(program: str) -> Dict[str, str]:
    facts = {"python": "%d.%d.%d" % sys.version_info[:3]}
    if program.endswith(".pyz") and os.path.isfile(program):
        with open(program, "rb") as file:
            facts["sha256"] = hashlib.sha256(file.read()).hexdigest()
    return facts


def gather_facts(root: str = "/") -> Facts:
    if os.name == "nt":
        facts = windows_facts()
    else:
        facts = dict(cpu_facts(root), **kernel_facts(root))
        facts.update(disks=disk_facts(root), networks=network_facts(root))
    facts["architecture"] = platform.machine()
    return drop_unknown(facts)


def drop_unknown(facts: Facts) -> Facts:
    known = {}
    for name, value in sorted(facts.items()):
        if isinstance(value, dict):
            value = drop_unknown(value)
        if value is not None and value != {} and value != []:
            known[name] = value
    return known


def cpu_facts(root: str = "/") -> Facts:
    def text(path: str) -> Optional[str]:
        return read_text_file(os.path.join(root, path))

    blocks = cpu_blocks(text("proc/cpuinfo") or "")
    sockets = {block.get("physical id") for block in blocks} - {None}
    pairs = {(block.get("physical id"), block.get("core id")) for block in blocks}
    cores = {pair for pair in pairs if pair[1] is not None}
    identity = [_first(blocks, name) for name in ("cpu family", "model", "stepping")]
    flags = (_first(blocks, "flags") or "").split()
    nodes = os.path.join(root, "sys/devices/system/node")
    memory = memory_fields(text("proc/meminfo"))
    return {
        # None in guests that cannot see the topology.
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
        "turbo": turbo_state(
            text(_CPU + "intel_pstate/no_turbo"), text(_CPU + "cpufreq/boost")
        ),
        "numa nodes": sum(map(bool, map(_NODE.match, list_names(nodes)))) or None,
        "memory bytes": memory.get("MemTotal"),
        "swap bytes": memory.get("SwapTotal"),
        "huge pages": memory.get("HugePages_Total"),
        "transparent huge pages": bracketed_choice(
            text("sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "hardware virtualization": next(
            (name for flag, name in _VIRTUALIZATION if flag in flags), None
        ),
    }


def cpu_blocks(text: str) -> List[Dict[str, str]]:
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = (line.partition(":") for line in paragraph.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in lines}
        if "processor" in fields or "model name" in fields:
            blocks.append(fields)
    return blocks


def turbo_state(no_turbo: Optional[str], boost: Optional[str]) -> Optional[str]:
    """Return "on", "off" or None; 1 in Intel's file ``no_turbo`` means off."""
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    if boost is not None:
        return "on" if boost == "1" else "off"
    return None


def bracketed_choice(text: Optional[str]) -> Optional[str]:
    """Return the word in brackets, such as madvise of `always [madvise] never`."""
    match = re.search(r"\[([^\]]+)\]", text or "")
    return match.group(1) if match else None


def _first(blocks: List[Dict[str, str]], *names: str) -> Optional[str]:
    for block in blocks:
        for name in names:
            if block.get(name):
                return block[name]
    return None


def disk_facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    disks = {}
    for name in list_names(os.path.join(root, "sys/block")):
        if name.startswith(_VIRTUAL_DISKS):
            continue
        folder = os.path.join(root, "sys/block", name)
        device, queue = folder + "/device/", folder + "/queue/"
        sectors = read_whole_number(folder + "/size")
        rotational = read_text_file(queue + "rotational") or ""
        scheduler = read_text_file(queue + "scheduler")
        disks[name] = {
            "model": read_text_file(device + "model"),
            "vendor": read_text_file(device + "vendor"),
            "bytes": None if sectors is None else sectors * _SECTOR_BYTES,
            "rotational": {"0": "no", "1": "yes"}.get(rotational),
            # If there is only one scheduler, its name has no brackets.
            "scheduler": bracketed_choice(scheduler) or scheduler,
            "write cache": read_text_file(queue + "write_cache"),
            "queue depth": read_whole_number(queue + "nr_requests"),
            "read ahead KiB": read_whole_number(queue + "read_ahead_kb"),
            "driver": _driver_name(device),
        }
    return disks


def network_facts(root: str = "/") -> Dict[str, Dict[str, Any]]:
    interfaces: Dict[str, Dict[str, Any]] = {}
    for name in list_names(os.path.join(root, "sys/class/net")):
        if name == "lo":
            continue
        folder = os.path.join(root, "sys/class/net", name) + "/"
        speed = read_whole_number(folder + "speed")
        interfaces[name] = {
            # The speed of virtual interfaces is -1.
            "speed Mbit/s": speed if speed and speed > 0 else None,
            "duplex": _known(read_text_file(folder + "duplex")),
            "mtu": read_whole_number(folder + "mtu"),
            "state": _known(read_text_file(folder + "operstate")),
            "driver": _driver_name(folder + "device/"),
        }
        if root == "/":  # ethtool cannot read a copied file tree
            interfaces[name]["offloads"] = parse_offloads(
                program_output(["ethtool", "-k", name])
            )
    return interfaces


def _driver_name(device: str) -> Optional[str]:
    target = read_link(device + "driver")
    return os.path.basename(target) if target else None


def _known(text: Optional[str]) -> Optional[str]:
    return None if text in (None, "", "unknown") else text


def parse_offloads(text: Optional[str]) -> Dict[str, str]:
    """Return the offloads that affect benchmarks, on or off, from `ethtool -k`."""
    pairs = re.findall(r"^\s*([\w-]+): (on|off)", text or "", re.MULTILINE)
    return {name: state for name, state in pairs if name in _OFFLOADS}


def kernel_facts(root: str = "/") -> Facts:
    def text(path: str) -> Optional[str]:
        return read_text_file(os.path.join(root, path))

    # Words after ` -- ` are arguments of init.
    parameters = (text("proc/cmdline") or "").partition(" -- ")[0].split()
    tuning = [word for word in parameters if re.fullmatch(_TUNING, word)]
    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "kernel tuning": " ".join(tuning) or None,
        "distribution": distribution(text("etc/os-release") or ""),
        "clocksource": text(_CLOCK + "current_clocksource"),
        "mitigations": {
            name: text(_VULNERABILITIES + name)
            for name in list_names(os.path.join(root, _VULNERABILITIES))
        },
        "steal": steal_ticks(text("proc/stat") or ""),
        "machine": text(_DMI + "product_name"),
        "machine vendor": text(_DMI + "sys_vendor"),
        "firmware": text(_DMI + "bios_version"),
        "hypervisor build": hypervisor_build(root),
    }


def distribution(text: str) -> Optional[str]:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', text, re.MULTILINE)
    return match.group(1) if match else None


def steal_ticks(text: str) -> Optional[Dict[str, int]]:
    """Return stolen and total ticks since boot; None before Linux 2.6.11."""
    ticks = cpu_ticks(text)
    # Guest time is not added, because user time already includes it.
    return {"stolen ticks": ticks[7], "all ticks": sum(ticks)} if ticks else None


def hypervisor_build(root: str = "/") -> Facts:
    def text(name: str) -> Optional[str]:
        return read_text_file(os.path.join(root, "sys/hypervisor", name))

    versions: Facts = {"xen compiled": text("compilation/compile_date")}
    if text("type") == "xen":
        version = [text("version/" + part) or "" for part in ("major", "minor")]
        versions["xen"] = ".".join(version) + (text("version/extra") or "")
    if root == "/" and os.path.exists("/dev/kvm"):
        for name, program in (("qemu", "qemu-system-x86_64"), ("libvirt", "libvirtd")):
            printed = program_output([program, "--version"])
            versions[name] = printed.splitlines()[0] if printed else None
    return versions
