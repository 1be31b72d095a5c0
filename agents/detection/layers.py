"""Derive the virtualization layers from evidence, from outer to inner."""

from typing import List, NamedTuple, Optional, Tuple

from agents.detection.containers import (
    container_conflicts,
    container_layers,
    wsl_version,
)
from agents.detection.findings import DetectedLayer, Evidence
from agents.detection.firmware import firmware_layers
from agents.detection.native_evidence import missing_native_evidence
from agents.detection.operating_systems import operating_system_layers
from agents.detection.translation import translated_layers

# CPUID leaves 0x40000000, 0x40000100, ...: text of ebx, ecx, edx.
SIGNATURES = {
    "KVMKVMKVM": "kvm",
    "Linux KVM Hv": "kvm",
    "TCGTCGTCGTCG": "qemu-tcg",
    "XenVMMXenVMM": "xen-hvm",
    "VMwareVMware": "vmware",
    "Microsoft Hv": "hyper-v",
    "VBoxVBoxVBox": "virtualbox",
    "prl hyperv": "parallels",
    " lrpepyh vr": "parallels",
    "bhyve bhyve": "bhyve",
    "ACRNACRNACRN": "acrn",
    "Jailhouse": "jailhouse",
    "OpenBSDVMM58": "openbsd-vmm",
    "HAXMHAXMHAXM": "haxm",
    "___ NVMM ___": "nvmm",
    "QNXQVMBSQG": "qnx",
    "UnisysSpar64": "unisys-spar",
}

# Hypervisors for which QEMU emulates the devices, besides KVM and Xen.
_QEMU_ACCELERATORS = ("haxm", "nvmm")

# Hypervisors whose signatures VirtualBox shows to some guests.
SPOOFABLE = ("kvm", "hyper-v")

# Bits of Hyper-V's privileges (0x40000003, ebx) and hints (0x40000004, eax). As in
# Linux, a partition that may manage CPUs and is not isolated is the root partition.
HYPERV_CREATES_PARTITIONS, HYPERV_MANAGES_CPUS = 1 << 0, 1 << 12
HYPERV_ISOLATED, HYPERV_NESTED = 1 << 22, 1 << 12
# 0x4000000C, ebx: isolation of a guest's memory from its host.
ISOLATIONS = {1: "VBS", 2: "AMD SEV-SNP", 3: "Intel TDX"}

# Clock sources -> layers, the most common one first.
CLOCKSOURCES = {
    "kvm-clock": ("kvm", "virtualbox"),
    "xen": ("xen-pv", "xen-pvh", "xen-hvm", "xen-dom0"),
    "hyperv_clocksource_tsc_page": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
    "hyperv_clocksource_msr": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
}

# Prefixes of the device tree's node "hypervisor", and of the control program that the
# firmware of s390 names -> layers.
DEVICE_TREE = {"linux,kvm": "kvm", "xen": "xen-hvm", "vmware": "vmware"}
CONTROL_PROGRAMS = {"KVM": "kvm", "z/VM": "z-vm"}

# PCI vendors of emulated devices -> layers. Virtio (1af4) is missing, because clouds
# also offer virtio devices on machines without a hypervisor.
PCI_HYPERVISORS = {
    "15ad": "vmware",
    "80ee": "virtualbox",
    "1ab8": "parallels",
    "5853": "xen-hvm",
    "1414": "hyper-v",
    "fb5d": "bhyve",
    "1b36": "qemu",
    "1234": "qemu",
}

# Prefixes of the models of emulated disks -> layers.
DISKS = {
    "QEMU": "qemu",
    "VBOX": "virtualbox",
    "VMware": "vmware",
    "Parallels": "parallels",
    "BHYVE": "bhyve",
}

# systemd-detect-virt -> layers.
SYSTEMD = {
    "kvm": "kvm",
    "amazon": "kvm",
    "google": "kvm",
    "qemu": "qemu",
    "xen": "xen-hvm",
    "vmware": "vmware",
    "microsoft": "hyper-v",
    "oracle": "virtualbox",
    "parallels": "parallels",
    "bhyve": "bhyve",
    "acrn": "acrn",
    "apple": "apple-virtualization",
    "powervm": "powervm",
    "qnx": "qnx",
    "uml": "uml",
    "zvm": "z-vm",
}

UNKNOWN = "unknown"
_UNKNOWN_HYPERVISOR = "unknown-hypervisor"
_BASES = ("0x40000000", "0x40000100", "0x40000200", "0x40000300")
_LEAVES_PER_BASE = 0x100
DOM0_UUID = "00000000-0000-0000-0000-000000000000"
_KINDS = {"PV": "xen-pv", "PVH": "xen-pvh", "HVM": "xen-hvm"}


class Detection(NamedTuple):
    """Layers from outer to inner; evidence and contradictions are sentences.

    Without layers the machine is native; `UNKNOWN` is the layer if this is uncertain.
    """

    layers: Tuple[str, ...]
    reasons: Tuple[str, ...]
    conflicts: Tuple[str, ...]

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)

    @property
    def summary(self) -> str:
        result = "No hypervisor and no container was found."
        if self.layers == (UNKNOWN,):
            result += " But it is not certain that the machine is native."
        elif self.layers:
            result = "From outer to inner: %s." % " > ".join(self.layers)
        parts = [result, *self.reasons]
        if self.conflicts:
            parts.append("The evidence is contradictory: " + " ".join(self.conflicts))
        return " ".join(parts)


def detect_layers(evidence: Evidence) -> Detection:
    outer = _hypervisors(evidence)
    if evidence.get("model") == "UML":
        # CPUID describes the machine on which the kernel runs as a program.
        outer.append(DetectedLayer("uml", "The kernel is a program (user-mode Linux)."))
    outer += operating_system_layers(evidence)
    inner = container_layers(evidence) + translated_layers(evidence)
    findings = outer + wsl_version(evidence, bool(outer)) + inner
    layers = tuple(finding.layer for finding in findings)
    reasons = [finding.reason for finding in findings]
    if not evidence.get("leaves"):
        reasons.append("CPUID could not be read.")
    conflicts = []
    signed = signatures(evidence)
    if signed and evidence.get("cpuid1_ecx31") == 0:
        conflicts.append(
            "CPUID has the signature %s but hides the hypervisor bit."
            % signed[0].strip()
        )
    conflicts += _firmware_conflicts(evidence, layers)
    for name in _clocks(evidence):
        if layers and not set(CLOCKSOURCES[name]) & set(layers):
            sentence = "The kernel offers the clock source %s, which %s does not have."
            conflicts.append(sentence % (name, layers[-1]))
    conflicts += container_conflicts(evidence)
    missing = missing_native_evidence(evidence) if not layers else []
    if missing:
        layers = (UNKNOWN,)
        reasons = missing + reasons
    return Detection(layers, tuple(reasons), tuple(conflicts))


def signatures(evidence: Evidence) -> List[str]:
    """Return the known hypervisor signatures in the CPUID leaves.

    The maximum leaf that a hypervisor states must be 0 or in the range of its leaves.
    """
    texts = []
    for base in _BASES:
        maximum, text = (evidence.get("leaves") or {}).get(base) or ("0x0", "")
        text = text.rstrip("\0 ")
        highest, lowest = int(maximum, 16), int(base, 16)
        is_valid = highest == 0 or lowest <= highest < lowest + _LEAVES_PER_BASE
        if text in SIGNATURES and is_valid:
            texts.append(text)
    return texts


def _hypervisors(evidence: Evidence) -> List[DetectedLayer]:
    by_cpuid = _by_cpuid(evidence)
    outer = None
    inner = _on_xen(evidence, by_cpuid is not None and by_cpuid.is_xen)
    if inner:
        outer = by_cpuid if by_cpuid and not by_cpuid.is_xen else None
    else:
        inner = by_cpuid or _by_firmware(evidence) or _by_software(evidence)
    is_nested = (evidence.get("hyperv_hints") or 0) & HYPERV_NESTED
    if inner and inner.layer == "hyper-v-root" and is_nested:
        outer = DetectedLayer(
            "hyper-v", "Hyper-V reports that it runs in a Hyper-V guest."
        )
    # Dom0 and root partition see the firmware of the machine below their hypervisor.
    if inner and inner.layer in ("xen-dom0", "hyper-v-root"):
        outer = outer or _by_firmware(evidence)
    return [finding for finding in (outer, inner) if finding]


def _by_cpuid(evidence: Evidence) -> Optional[DetectedLayer]:
    """Return the hypervisor that CPUID names; None if it names none.

    Hyper-V is returned only without another signature, because many others show its
    signature as well.
    """
    texts = signatures(evidence)
    if not texts:
        return None
    specific = [text for text in texts if SIGNATURES[text] != "hyper-v"]
    text = (specific or texts)[0]
    layer = SIGNATURES[text]
    reason = "CPUID has the signature %s." % text.strip()
    if specific and len(texts) > len(specific):
        reason = "CPUID has the signature %s behind Hyper-V's." % text.strip()
    detected = DetectedLayer(layer, reason)
    if layer == "hyper-v":
        detected = _hyper_v_layer(evidence, reason)
    text, consistent = firmware_layers(evidence)
    if detected.layer == "hyper-v" and "kvm" in consistent:
        # Clouds hide KVM's own signature, and show Hyper-V's for Windows.
        detected = DetectedLayer(
            "kvm", '%s But the firmware reports "%s".' % (reason, text)
        )
    if detected.layer in SPOOFABLE and firmware_layers(evidence)[1][:1] == (
        "virtualbox",
    ):
        return DetectedLayer(
            "virtualbox", reason + " VirtualBox shows this signature to its guests."
        )
    return detected


def _hyper_v_layer(evidence: Evidence, reason: str) -> DetectedLayer:
    if evidence.get("hyperv_version"):
        reason += " It is version %s." % evidence["hyperv_version"]
    _, kind = evidence.get("hyperv_isolation") or (0, 0)
    if kind & 15 in ISOLATIONS:
        reason += " The guest is isolated by %s." % ISOLATIONS[kind & 15]
    privileges = evidence.get("hyperv_privileges") or 0
    is_manager = privileges & (HYPERV_CREATES_PARTITIONS | HYPERV_MANAGES_CPUS)
    if not is_manager or privileges & HYPERV_ISOLATED:
        return DetectedLayer("hyper-v", reason)
    reason += " This is the root partition."
    windows = evidence.get("windows") or {}
    if windows and not windows.get("role"):
        reason += (
            " The Hyper-V role is off: virtualization-based security (VBS) runs the "
            "hypervisor below Windows."
        )
    return DetectedLayer("hyper-v-root", reason)


def _by_firmware(evidence: Evidence) -> Optional[DetectedLayer]:
    text, layers = firmware_layers(evidence)
    return (
        DetectedLayer(layers[0], 'The firmware reports "%s".' % text)
        if layers
        else None
    )


def _clocks(evidence: Evidence) -> List[str]:
    offered = (evidence.get("clocksources") or "") + " "
    offered += evidence.get("clocksource") or ""
    return [name for name in sorted(set(offered.split())) if name in CLOCKSOURCES]


def _by_software(evidence: Evidence) -> Optional[DetectedLayer]:
    for name in _clocks(evidence):
        return DetectedLayer(
            CLOCKSOURCES[name][0], "The kernel offers the clock source %s." % name
        )
    by_firmware = _by_other_firmware(evidence)
    if by_firmware:
        return by_firmware
    by_device = _by_device(evidence)
    if by_device:
        return by_device
    systemd = evidence.get("systemd-detect-virt")
    if systemd not in (None, "none", ""):
        reason = "systemd-detect-virt reports %s." % systemd
        return DetectedLayer(SYSTEMD.get(str(systemd), _UNKNOWN_HYPERVISOR), reason)
    tree = evidence.get("device_tree") or {}
    if tree.get("hypervisor") or str(tree.get("psci")).startswith("hvc"):
        reason = "The device tree shows an unnamed hypervisor."
        return DetectedLayer(_UNKNOWN_HYPERVISOR, reason)
    if evidence.get("hypervisor_flag") or evidence.get("cpuid1_ecx31"):
        reason = "The CPU reports an unnamed hypervisor."
        return DetectedLayer(_UNKNOWN_HYPERVISOR, reason)
    return None


def _by_device(evidence: Evidence) -> Optional[DetectedLayer]:
    for vendor in evidence.get("pci") or []:
        if vendor in PCI_HYPERVISORS:
            layer = PCI_HYPERVISORS[vendor]
            return DetectedLayer(layer, "There are PCI devices of vendor %s." % vendor)
    for model in evidence.get("disk_models") or []:
        for start, layer in DISKS.items():
            if str(model).startswith(start):
                return DetectedLayer(layer, "There is a disk %s." % model)
    return None


def _by_other_firmware(evidence: Evidence) -> Optional[DetectedLayer]:
    tree = evidence.get("device_tree") or {}
    nodes = " ".join(tree.get("nodes") or [])
    compatible = str(tree.get("compatible"))
    for start, layer in DEVICE_TREE.items():
        if str(tree.get("hypervisor")).startswith(start):
            return DetectedLayer(layer, "The device tree names %s." % start)
    for start, layer in CONTROL_PROGRAMS.items():
        if str(evidence.get("control_program")).startswith(start):
            return DetectedLayer(layer, "The firmware names %s." % start)
    if "qemu,pseries" in compatible or "emulated by qemu" in str(tree.get("model")):
        # With KVM, the device tree has the node "hypervisor".
        return DetectedLayer("qemu-tcg", "The device tree is that of QEMU's pseries.")
    if evidence.get("acpi_qemu") or "fw-cfg" in nodes:
        return DetectedLayer("qemu", "There is a device that only QEMU has (fw_cfg).")
    if "riscv-virtio" in compatible or ",qemu" in compatible:
        return DetectedLayer("qemu", "The device tree is that of QEMU's virtual board.")
    if "linux,dummy-virt" in compatible:
        # On RISC-V only monitors that need KVM (kvmtool) use this name.
        is_riscv = str(evidence.get("isa")).startswith("rv")
        layer = "kvm" if is_riscv else _UNKNOWN_HYPERVISOR
        return DetectedLayer(layer, "The device tree is that of a virtual board.")
    if "ibm,partition-name" in nodes:
        return DetectedLayer("powervm", "The firmware names this machine's partition.")
    return None


def _firmware_conflicts(evidence: Evidence, layers: Tuple[str, ...]) -> List[str]:
    text, consistent = firmware_layers(evidence)
    is_silent = evidence.get("leaves") and not _by_cpuid(evidence)
    is_hidden = is_silent and not _is_on_xen(evidence)
    if not consistent:
        if is_hidden and "vmware" in layers:
            return ["VMware's devices exist, but CPUID shows no hypervisor."]
        if is_hidden and evidence.get("acpi_qemu"):
            return ["QEMU's device exists, but CPUID shows no hypervisor."]
        return []
    is_accelerated = "qemu" in consistent and set(_QEMU_ACCELERATORS) & set(layers)
    if not is_accelerated and not set(consistent) & set(layers):
        rest = " > ".join(layers) or "no hypervisor"
        return ['The firmware reports "%s", other evidence %s.' % (text, rest)]
    if is_hidden:
        return ['The firmware reports "%s", but CPUID shows no hypervisor.' % text]
    return []


def _is_on_xen(evidence: Evidence) -> bool:
    kind = (evidence.get("sys_hypervisor") or {}).get("type")
    # Old kernels have /proc/xen, but not /sys/hypervisor.
    return kind == "xen" or isinstance(evidence.get("proc_xen"), list)


def _on_xen(evidence: Evidence, is_signed: bool) -> Optional[DetectedLayer]:
    """Return the kind of Xen domain, if this is one.

    Linux before 4.13 does not state it: ``is_signed`` indicates HVM.
    """
    if not _is_on_xen(evidence):
        return None
    hypervisor = evidence.get("sys_hypervisor") or {}
    has_control = "control_d" in (evidence.get("xen_cap") or "")
    if has_control or hypervisor.get("uuid") == DOM0_UUID:
        return DetectedLayer("xen-dom0", "The kernel runs on Xen and is its dom0.")
    assumed = "xen-hvm" if is_signed else "xen-pv"
    layer = _KINDS.get(str(hypervisor.get("guest_type")), assumed)
    return DetectedLayer(layer, "The kernel is a %s guest of Xen." % layer[4:].upper())
