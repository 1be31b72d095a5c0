"""Kernel, distribution, clock, mitigations, and what runs guests on this machine."""

import os
import re
from typing import Any, Dict, Optional

from agents.files import names_in, text_of
from agents.programs import output_of

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


def facts(root: str = "/") -> Dict[str, Any]:
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
    words = command_line.partition(" -- ")[0].split()
    return " ".join(word for word in words if re.fullmatch(_TUNING, word)) or None


def distribution(text: str) -> Optional[str]:
    """Return the name in /etc/os-release."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', text, re.MULTILINE)
    return found.group(1) if found else None


def steal(text: str) -> Optional[Dict[str, int]]:
    """Return stolen and all ticks of all CPUs since the start, from /proc/stat.

    Fields: user nice system idle iowait irq softirq steal guest guest_nice; the last
    two are contained in the first two.
    """
    found = re.search(r"^cpu +(.+)$", text, re.MULTILINE)
    ticks = [int(each) for each in found.group(1).split()] if found else []
    if len(ticks) < 8:  # kernels before 2.6.11 do not know it
        return None
    return {"stolen ticks": ticks[7], "all ticks": sum(ticks[:8])}


def hypervisor_build(root: str = "/") -> Dict[str, Any]:
    """Return the versions of the hypervisors of which this machine is the host."""

    def text(name: str) -> Optional[str]:
        return text_of(os.path.join(root, "sys/hypervisor", name))

    compiled = text("compilation/compile_date")
    found: Dict[str, Any] = {"xen compiled": compiled}
    if text("type") == "xen":
        version = [text("version/" + part) or "" for part in ("major", "minor")]
        found["xen"] = ".".join(version) + (text("version/extra") or "")
    if root == "/" and os.path.exists("/dev/kvm"):
        found["qemu"] = first_line(output_of(["qemu-system-x86_64", "--version"]))
        found["libvirt"] = first_line(output_of(["libvirtd", "--version"]))
    return found


def first_line(text: Optional[str]) -> Optional[str]:
    """Return a text's first line, or None."""
    return text.splitlines()[0] if text else None
