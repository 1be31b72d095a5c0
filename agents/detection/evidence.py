"""Raw evidence of the platform; the keys are those of tests/data/hv-detection."""

import os
from typing import Any, Dict, List, Optional

from agents.detection import cpuid as cpuid_module
from agents.files import link_of, names_in, text_of
from agents.programs import output_of

Evidence = Dict[str, Any]

BASES = (0x40000000, 0x40000100, 0x40000200, 0x40000300)
_DMI = (
    "sys_vendor",
    "product_name",
    "bios_vendor",
    "board_vendor",
    "chassis_vendor",
    "product_version",
    "chassis_asset_tag",
)
_XEN = (
    "type",
    "uuid",
    "version/major",
    "version/minor",
    "version/extra",
    "properties/features",
    "guest_type",
)
# Both kinds of WSL start Windows' programs, whatever their kernel is called.
_WSL = ("proc/sys/fs/binfmt_misc/WSLInterop", "run/WSL")
_TREE = "proc/device-tree/"
_CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0/"


def gather_evidence(root: str = "/") -> Evidence:
    """Read everything that can be read without changing anything."""
    if os.name == "nt":
        from agents.detection.windows import evidence_of_windows

        return dict(evidence_of_windows(), **of_cpu())
    return dict(of_files(root), **of_cpu(), **of_programs())


def of_cpu(cpuid: Optional[cpuid_module.Cpuid] = None) -> Evidence:
    """Ask CPUID for the hypervisor bit and for every place of a signature."""
    ask = cpuid or cpuid_module.open_cpuid()
    if ask is None:
        return {"leaves": {}, "cpuid1_ecx31": None, "vendor": None}
    evidence: Evidence = {
        # Processors sign in b, d, c; hypervisors in b, c, d.
        "vendor": ask(0).text("bdc"),
        "cpuid1_ecx31": ask(1).ecx >> 31,
        "leaves": {hex(base): [hex(ask(base).eax), ask(base).text()] for base in BASES},
    }
    if ask(0x40000000).text() == "Microsoft Hv":
        evidence.update(of_hyper_v(ask))
    if ask(0x40000000).text() == "VMwareVMware":
        evidence["vmware_tsc_khz"] = ask(0x40000010).eax
    return evidence


def of_hyper_v(ask: cpuid_module.Cpuid) -> Evidence:
    """Ask Hyper-V's own leaves (Microsoft's Hypervisor Top Level Functional
    Specification)."""
    highest, version = ask(0x40000000).eax, ask(0x40000002)
    numbers = (version.ebx >> 16, version.ebx & 0xFFFF, version.eax)
    evidence: Evidence = {
        "hyperv_interface": ask(0x40000001).text("a"),
        "hyperv_version": "%d.%d.%d" % numbers if any(numbers) else None,
        "hyperv_privileges": ask(0x40000003).ebx,
        "hyperv_hints": ask(0x40000004).eax,
    }
    if highest >= 0x4000000C:
        isolation = ask(0x4000000C)
        evidence["hyperv_isolation"] = [isolation.eax, isolation.ebx]
    return evidence


def of_files(root: str = "/") -> Evidence:
    """Read what Linux shows as files."""

    def at(path: str) -> str:
        return os.path.join(root, path)

    def text(path: str) -> Optional[str]:
        return text_of(at(path))

    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "version": text("proc/version"),
        "dmi": {name: text("sys/class/dmi/id/" + name) for name in _DMI},
        "device_tree": {
            "hypervisor": text(_TREE + "hypervisor/compatible"),
            "psci": text(_TREE + "psci/method"),
            "nodes": [
                name
                for name in names_in(at(_TREE))
                if name.startswith(("fw-cfg", "ibm,partition-name"))
            ],
        },
        "acpi_qemu": [
            name
            for name in names_in(at("sys/bus/acpi/devices"))
            if name.startswith("QEMU")
        ],
        "control_program": control_program(text("proc/sysinfo") or ""),
        "sys_hypervisor": {name: text("sys/hypervisor/" + name) for name in _XEN},
        "clocksource": text(_CLOCKSOURCE + "current_clocksource"),
        "clocksources": text(_CLOCKSOURCE + "available_clocksource"),
        "proc_xen": os.path.isdir(at("proc/xen")) and names_in(at("proc/xen")),
        "xen_cap": text("proc/xen/capabilities"),
        "proc_vz": os.path.exists(at("proc/vz")),
        "proc_bc": os.path.exists(at("proc/bc")),
        "wsl_interop": any(map(os.path.exists, map(at, _WSL))),
        "dev_kvm": os.path.exists(at("dev/kvm")),
        "dockerenv": os.path.exists(at(".dockerenv")),
        "containerenv": os.path.exists(at("run/.containerenv")),
        "container_manager": text("run/host/container-manager"),
        "pid1_env_container": container_words(text("proc/1/environ")),
        "cgroup1": text("proc/1/cgroup"),
        "pid_namespace": link_of(at("proc/self/ns/pid")),
        **of_cpuinfo(text("proc/cpuinfo") or ""),
    }


def control_program(sysinfo: str) -> Optional[str]:
    """Return what carries this machine of s390, if it is no partition of its own."""
    for line in sysinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "VM00 Control Program":
            return value.strip()
    return None


def of_cpuinfo(text: str) -> Evidence:
    """Read the first CPU of /proc/cpuinfo."""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    flags = fields.get("flags", "").split()
    return {
        "model": fields.get("model name"),
        "hypervisor_flag": "hypervisor" in flags if flags else None,
        "svm_vmx": [flag for flag in ("svm", "vmx") if flag in flags],
    }


def container_words(environ: Optional[str]) -> List[str]:
    """Return the variables of process 1 that speak of its container."""
    words = (environ or "").split("\0")
    return [word for word in words if word.startswith("container")]


def of_programs() -> Evidence:
    """Keep what the standard tools think; it decides only where nothing else does."""
    return {
        "systemd-detect-virt": output_of(["systemd-detect-virt", "--vm"]),
        "systemd-detect-virt -c": output_of(["systemd-detect-virt", "--container"]),
    }
