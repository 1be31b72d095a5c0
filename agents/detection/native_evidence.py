"""Positive evidence that a machine is native."""

from typing import List

from agents.detection.containers import other_namespaces
from agents.detection.findings import Evidence
from agents.detection.firmware import (
    EMULATED_FIRMWARE,
    has_physical_chassis,
    is_physical_cloud,
)
from agents.detection.translation import tracer_doubts

# Prefixes of the vendor names in the firmware of physical machines.
MAKERS = (
    *("acer", "advantech", "alienware", "ampere", "aorus", "apple inc", "asrock"),
    *("asus", "atos", "biostar", "bull", "chuwi", "cisco", "clevo", "compal", "cray"),
    *("dell", "dynabook", "ecs", "elitegroup", "evga", "foxconn", "framework"),
    *("fujitsu", "gateway", "giga", "h3c", "hewlett", "hitachi", "hp", "huawei tech"),
    *("ibm", "ingrasys", "inspur", "intel", "inventec", "lenovo", "lg electronics"),
    *("medion", "micro-star", "microsoft corporation", "mitac", "msi", "nec"),
    *("nvidia", "oracle corporation", "packard bell", "panasonic", "phytium"),
    *("pine64", "purism", "quanta", "razer", "raspberry", "samsung", "schenker"),
    *("shuttle", "sgi", "sony", "sugon", "sun microsystems", "super micro"),
    *("supermicro", "system76", "toshiba", "tuxedo", "tyan", "wistron", "wiwynn"),
    *("xfusion", "xiaomi", "zotac", "zte"),
)
_X86 = ("x86_64", "amd64", "i386", "i486", "i586", "i686")
_VIRTIO = "1af4"
# Bridges to the CPU and to ISA that hypervisors emulate: 440FX, 440BX, 82371, Q35, X38,
# ICH9, Cloud Hypervisor, QEMU's PCIe, bhyve (both), Amazon's guests.
_EMULATED_CHIPS = (
    *("8086:1237", "8086:7190", "8086:7191", "8086:7192", "8086:7000", "8086:7110"),
    *("8086:29c0", "8086:29e0", "8086:2918", "8086:0d57", "1b36:0008", "1275:1275"),
    *("1022:7432", "1d0f:0200", "0000:0000"),
)
# PCI vendors of chipsets: Intel, AMD, Nvidia, VIA, SiS, Zhaoxin, Broadcom, Cavium,
# Marvell, Ampere, HiSilicon, IBM, Apple, Arm, NXP.
_CHIPSET_VENDORS = (
    *("8086", "1022", "10de", "1106", "1039", "1d17", "14e4", "177d", "1b4b"),
    *("1def", "19e5", "1014", "106b", "13b5", "1957"),
)
# Sensors of processors and boards; hypervisors do not emulate their registers.
_SENSORS = (
    *("coretemp", "k8temp", "k10temp", "fam15h_power", "zenpower", "x86_pkg_temp"),
    *("via_cputemp", "ibmpowernv", "scpi_sensors", "scmi_sensors", "apm_xgene"),
    "macsmc_hwmon",
)
_FREQUENCY_DRIVERS = (
    *("intel_pstate", "intel_cpufreq", "amd-pstate", "acpi-cpufreq", "pcc-cpufreq"),
    *("powernow-k8", "cpufreq-dt", "apple-cpufreq", "powernv-cpufreq"),
)
# Memory controllers that firmware reports; virtual firmware may do so, too.
_FIRMWARE_CONTROLLERS = ("ghes",)
# CPUID takes 100 to 500 cycles; with a hypervisor, which intercepts it, above 1,000.
_MAX_CPUID_CYCLES = 1000
_SUBVOLUMES = ("btrfs", "zfs", "bcachefs")
# The agent always collects some of these. Evidence without them is from a table of
# lscpu and DMI texts, which has no devices.
_AGENT_KEYS = ("system", "kernel", "version", "pci", "chipset")
# Words in device trees of virtual boards.
_VIRTUAL_BOARDS = ("dummy-virt", "virtio", "qemu", "xen", "firecracker")


def missing_native_evidence(evidence: Evidence) -> List[str]:
    """Return why it is not certain that a machine without layers is native.

    A native machine has a processor that shows no hypervisor, firmware of a hardware
    maker, another sign of hardware (guests may copy names), and no sign of an emulated
    device or container.
    """
    return [
        *_processor_doubts(evidence),
        *_firmware_doubts(evidence),
        *_device_doubts(evidence),
        *_hardware_doubts(evidence),
        *_environment_doubts(evidence),
    ]


def _processor_doubts(evidence: Evidence) -> List[str]:
    is_x86 = str(evidence.get("machine")).lower() in _X86
    bits = [evidence.get("cpuid1_ecx31"), evidence.get("hypervisor_flag")]
    if is_x86 and bits == [None, None] and evidence.get("vm_guest") is None:
        return ["The CPU could not be asked for a hypervisor."]
    cycles = evidence.get("cpuid_cycles") or 0
    if cycles > _MAX_CPUID_CYCLES:
        return ["CPUID takes about %d cycles, as in a guest." % cycles]
    return []


def _firmware_doubts(evidence: Evidence) -> List[str]:
    dmi = evidence.get("dmi") or {}
    tree = evidence.get("device_tree") or {}
    bios = str(dmi.get("bios_vendor"))
    if bios.startswith(EMULATED_FIRMWARE):
        return ['The firmware is "%s", as in a guest.' % bios]
    if is_physical_cloud(evidence) or has_physical_chassis(evidence):
        return []
    names = [str(dmi.get(name) or "") for name in ("sys_vendor", "board_vendor")]
    # Chromebooks; Google's cloud has other products.
    is_google = names[0] == "Google" and "Compute" not in str(dmi.get("product_name"))
    if is_google or any(name.lower().startswith(MAKERS) for name in names):
        return []
    board = "%s %s" % (tree.get("compatible") or "", tree.get("model") or "")
    if board.strip() and not any(word in board for word in _VIRTUAL_BOARDS):
        return []
    if evidence.get("vm_guest") == "none" and not any(names):
        return []
    named = next(filter(None, names), None)
    if named is None:
        return ["The firmware names no maker of this machine."]
    return ['The firmware\'s "%s" is not a known maker of hardware.' % named]


def _device_doubts(evidence: Evidence) -> List[str]:
    devices = evidence.get("pci")
    if devices is None:
        return []
    if not devices and evidence.get("cpuid1_ecx31") is not None:
        return ["There are no PCI devices."]
    if _VIRTIO in devices and not is_physical_cloud(evidence):
        return ["There are virtio devices."]
    return []


def _hardware_doubts(evidence: Evidence) -> List[str]:
    emulated = [chip for chip in evidence.get("chipset") or [] if _is_emulated(chip)]
    if emulated:
        return ["Hypervisors emulate the chipset %s." % emulated[0]]
    if _has_hardware(evidence):
        return []
    return [
        "Only the firmware's names show real hardware: no chipset, temperature sensor, "
        "memory controller or frequency driver was found."
    ]


def _has_hardware(evidence: Evidence) -> bool:
    if not any(name in evidence for name in _AGENT_KEYS):
        return _has_virtualization(evidence)
    controllers = map(str, evidence.get("memory_controllers") or [])
    driver = str(evidence.get("frequency_driver"))
    is_arm = evidence.get("machine") == "arm64"
    is_mac = evidence.get("system") == "Darwin"
    return (
        bool(evidence.get("chipset"))
        or ("chipset" not in evidence and _has_board(evidence.get("pci") or []))
        or any(name in _SENSORS for name in evidence.get("sensors") or [])
        or any(not name.startswith(_FIRMWARE_CONTROLLERS) for name in controllers)
        or driver.startswith(_FREQUENCY_DRIVERS)
        # Apple's hypervisor always shows another model to guests; other hypervisors
        # need a processor with CPUID, which they intercept.
        or (is_mac and (is_arm or bool(evidence.get("cpuid_cycles"))))
    )


def _has_virtualization(evidence: Evidence) -> bool:
    """Return whether the processor offers virtualization, which guests rarely have."""
    is_x86 = bool(evidence.get("leaves"))
    return bool(evidence.get("dev_kvm") and (evidence.get("svm_vmx") or not is_x86))


def _has_board(vendors: List[str]) -> bool:
    return len(vendors) > 1 and any(vendor in _CHIPSET_VENDORS for vendor in vendors)


def _is_emulated(chip: str) -> bool:
    return chip in _EMULATED_CHIPS or chip.startswith(_VIRTIO)


def _environment_doubts(evidence: Evidence) -> List[str]:
    doubts = []
    system = evidence.get("system")
    if system not in (None, "Linux", "Windows", "Darwin", "FreeBSD"):
        doubts.append("The operating system %s is not known." % system)
    if system in ("Darwin", "FreeBSD") and evidence.get("vm_guest") is None:
        doubts.append("The kernel does not state whether it is a guest.")
    doubts += tracer_doubts(evidence)
    others = other_namespaces(evidence)
    if others:
        names = ", ".join(others)
        doubts.append("These namespaces are not those of the machine: %s." % names)
    mount = evidence.get("root_mount")
    if mount == []:
        doubts.append("The root folder is not a mount, as in a chroot.")
    kind, options = mount or ("", "/ ")
    top = options.partition(" ")[0]
    if top != "/" and kind not in _SUBVOLUMES and not top.startswith("/ostree/"):
        doubts.append("The root folder is the folder %s of a file system." % top)
    if kind in ("overlay", "squashfs", "fuse-overlayfs", "aufs") or "fuse" in kind:
        doubts.append("The root folder is of type %s, as in containers." % kind)
    return doubts
