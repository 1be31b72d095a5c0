"""Positive evidence that a machine is native."""

from typing import List

from agents.detection.findings import Evidence
from agents.detection.firmware import has_physical_chassis, is_physical_cloud

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
# Words in device trees of virtual boards.
_VIRTUAL_BOARDS = ("dummy-virt", "virtio", "qemu", "xen", "firecracker")


def missing_native_evidence(evidence: Evidence) -> List[str]:
    """Return why it is not certain that a machine without layers is native.

    A native machine has a processor that shows no hypervisor, firmware of a maker of
    hardware, and no sign of an emulated device or of a container.
    """
    return [
        *_processor_doubts(evidence),
        *_firmware_doubts(evidence),
        *_device_doubts(evidence),
        *_environment_doubts(evidence),
    ]


def _processor_doubts(evidence: Evidence) -> List[str]:
    is_x86 = str(evidence.get("machine")).lower() in _X86
    bits = [evidence.get("cpuid1_ecx31"), evidence.get("hypervisor_flag")]
    if is_x86 and bits == [None, None] and evidence.get("vm_guest") is None:
        return ["The CPU could not be asked for a hypervisor."]
    return []


def _firmware_doubts(evidence: Evidence) -> List[str]:
    dmi = evidence.get("dmi") or {}
    tree = evidence.get("device_tree") or {}
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


def _environment_doubts(evidence: Evidence) -> List[str]:
    doubts = []
    system = evidence.get("system")
    if system not in (None, "Linux", "Windows", "Darwin", "FreeBSD"):
        doubts.append("The operating system %s is not known." % system)
    if system in ("Darwin", "FreeBSD") and evidence.get("vm_guest") is None:
        doubts.append("The kernel does not state whether it is a guest.")
    kind, _ = evidence.get("root_mount") or ("", "")
    if kind in ("overlay", "squashfs", "fuse-overlayfs", "aufs") or "fuse" in kind:
        doubts.append("The root folder is of type %s, as in containers." % kind)
    return doubts
