"""Derive the virtualization layers from evidence, from outer to inner."""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

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
    "QNXQVMBSQG": "qnx",
    "UnisysSpar64": "unisys-spar",
}

# Firmware text prefix -> consistent layers, the most likely one first.
FIRMWARE = (
    ("VMware", ("vmware",)),
    ("innotek GmbH", ("virtualbox",)),
    ("VirtualBox", ("virtualbox",)),
    ("Parallels", ("parallels",)),
    ("Xen", ("xen-hvm", "xen-pvh", "xen-dom0")),
    ("BHYVE", ("bhyve",)),
    ("Amazon EC2", ("kvm", "xen-hvm", "xen-pvh", "xen-pv")),
    ("Google Compute Engine", ("kvm",)),
    ("Apple Virtualization", ("apple-virtualization",)),
    ("KubeVirt", ("kvm", "qemu-tcg")),
    ("OpenStack", ("kvm", "qemu-tcg", "xen-hvm")),
    ("Red Hat", ("kvm", "qemu-tcg")),
    ("oVirt", ("kvm", "qemu-tcg")),
    ("Nutanix", ("kvm",)),
    ("Alibaba Cloud", ("kvm", "xen-hvm")),
    ("DigitalOcean", ("kvm",)),
    ("QEMU", ("qemu", "qemu-tcg", "kvm", "xen-hvm", "xen-pvh")),
    ("Bochs", ("qemu", "qemu-tcg", "kvm", "xen-hvm")),
)

# Hypervisors whose signatures VirtualBox shows to some guests.
SPOOFABLE = ("kvm", "hyper-v")

# Amazon's machines without a hypervisor are named m5.metal or m7i.metal-24xl.
AMAZON, BARE_METAL_SUFFIX = "Amazon EC2", ".metal"

# Firmware of Hyper-V guests. Microsoft's other products are physical machines.
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")

# QEMU's machine name on ARM with KVM; without KVM it is "QEMU Virtual Machine".
ARM_KVM = "KVM Virtual Machine"

# Chassis tag of virtual machines in Azure.
AZURE = "7783-7084-3265-9085-8269-3286-77"

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

MANAGERS = {
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "docker": "docker",
    "podman": "podman",
    "systemd-nspawn": "systemd-nspawn",
    "openvz": "openvz",
    "rkt": "rkt",
    "proot": "proot",
    "pouch": "pouch",
}

# Substrings of process 1's path -> layers.
CONTROL_GROUPS = (
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/kubepods", "kubernetes"),
    ("/machine.slice/machine-", "systemd-nspawn"),
)

HOST_CONTROL_GROUPS = ("/", "/init.scope", "/system.slice", "/user.slice")

# The PID namespace of the machine itself, with this number since Linux 3.8.
FIRST_PID_NAMESPACE = "pid:[4026531836]"


Evidence = Dict[str, Any]

_UNKNOWN_HYPERVISOR = "unknown-hypervisor"
_BASES = ("0x40000000", "0x40000100", "0x40000200", "0x40000300")
_LEAVES_PER_BASE = 0x100
_UNKNOWN_CONTAINER = "container"
# The kernel version that gVisor reports. Distributions append a suffix to theirs.
_GVISOR_KERNEL = "4.4.0"
DOM0_UUID = "00000000-0000-0000-0000-000000000000"
_KINDS = {"PV": "xen-pv", "PVH": "xen-pvh", "HVM": "xen-hvm"}


class DetectedLayer(NamedTuple):
    layer: str
    reason: str

    @property
    def is_xen(self) -> bool:
        return self.layer.startswith("xen-")


class Detection(NamedTuple):
    """Layers from outer to inner; evidence and contradictions are sentences."""

    layers: Tuple[str, ...]
    reasons: Tuple[str, ...]
    conflicts: Tuple[str, ...]

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)

    @property
    def summary(self) -> str:
        result = "No hypervisor and no container was found."
        if self.layers:
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
    findings = outer + wsl_version(evidence, bool(outer)) + _containers(evidence)
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
    conflicts += _container_conflicts(evidence)
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
    if detected.layer in SPOOFABLE and _firmware(evidence)[1][:1] == ("virtualbox",):
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


def _firmware(evidence: Evidence) -> Tuple[str, Tuple[str, ...]]:
    """Return the firmware's text that names a hypervisor, and the layers that fit it.

    Return an empty text and tuple if there is none.
    """
    dmi = evidence.get("dmi") or {}
    vendor, product = str(dmi.get("sys_vendor")), str(dmi.get("product_name"))
    if vendor == AMAZON and BARE_METAL_SUFFIX in product:
        return "", ()
    if (vendor, product) == MICROSOFT:
        return "%s %s" % MICROSOFT, ("hyper-v", "hyper-v-root")
    if dmi.get("chassis_asset_tag") == AZURE:
        return "chassis tag of Azure", ("hyper-v", "hyper-v-root")
    if product == ARM_KVM:
        return product, ("kvm",)
    fields = (vendor, product, dmi.get("board_vendor"), dmi.get("bios_vendor"))
    for text in fields:
        for start, layers in FIRMWARE:
            if text and str(text).startswith(start):
                return str(text), layers
    return "", ()


def _by_firmware(evidence: Evidence) -> Optional[DetectedLayer]:
    text, layers = _firmware(evidence)
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


def _by_other_firmware(evidence: Evidence) -> Optional[DetectedLayer]:
    tree = evidence.get("device_tree") or {}
    nodes = " ".join(tree.get("nodes") or [])
    for start, layer in DEVICE_TREE.items():
        if str(tree.get("hypervisor")).startswith(start):
            return DetectedLayer(layer, "The device tree names %s." % start)
    for start, layer in CONTROL_PROGRAMS.items():
        if str(evidence.get("control_program")).startswith(start):
            return DetectedLayer(layer, "The firmware names %s." % start)
    if evidence.get("acpi_qemu") or "fw-cfg" in nodes:
        return DetectedLayer("qemu", "There is a device that only QEMU has (fw_cfg).")
    if "ibm,partition-name" in nodes:
        return DetectedLayer("powervm", "The firmware names this machine's partition.")
    return None


def _firmware_conflicts(evidence: Evidence, layers: Tuple[str, ...]) -> List[str]:
    text, consistent = _firmware(evidence)
    is_silent = evidence.get("leaves") and not _by_cpuid(evidence)
    is_hidden = is_silent and not _is_on_xen(evidence)
    if not consistent:
        if is_hidden and evidence.get("acpi_qemu"):
            return ["QEMU's device exists, but CPUID shows no hypervisor."]
        return []
    if not set(consistent) & set(layers):
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

    Linux before 4.13 does not state it; HVM is then recognized by ``is_signed``.
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


def wsl_version(evidence: Evidence, is_virtual: bool) -> List[DetectedLayer]:
    """Return the layers of the Windows Subsystem for Linux; [] outside it."""
    kernel = str(evidence.get("kernel") or "")
    builder = "microsoft@microsoft.com" in str(evidence.get("version") or "").lower()
    is_named = builder or "-microsoft" in kernel.lower()
    is_reported = evidence.get("systemd-detect-virt -c") == "wsl"
    if not (is_named or is_reported or evidence.get("wsl_interop")):
        return []
    # WSL 1: 4.4.0-19041-Microsoft; WSL 2: 5.15.153.1-microsoft-standard-WSL2.
    is_first = kernel.endswith("-Microsoft") or not (is_named or is_virtual)
    if is_first:
        return [DetectedLayer("wsl1", "Windows implements Linux system calls (WSL 1).")]
    layers = [DetectedLayer("wsl2", "The kernel is that of WSL 2.")]
    if not is_virtual:  # on ARM, which has no CPUID
        layers.insert(0, DetectedLayer("hyper-v", "WSL 2 is a guest of Hyper-V."))
    return layers


def _containers(evidence: Evidence) -> List[DetectedLayer]:
    claims = _claims(evidence)
    named = [claim for claim in claims if claim.layer != _UNKNOWN_CONTAINER]
    # WSL 2 distributions have their own PID namespaces.
    nameless = [] if wsl_version(evidence, is_virtual=True) else claims
    inner = (named or nameless)[:1]
    if evidence.get("kernel") == _GVISOR_KERNEL and not evidence.get("clocksource"):
        inner.append(DetectedLayer("gvisor", "The kernel is gVisor's."))
    return inner


def _container_conflicts(evidence: Evidence) -> List[str]:
    named = sorted({claim.layer for claim in _claims(evidence)} - {_UNKNOWN_CONTAINER})
    if len(named) > 1:
        return ["It is a container of %s." % " and of ".join(named)]
    is_first = evidence.get("pid_namespace") == FIRST_PID_NAMESPACE
    reliable = _by_environment(evidence) + _by_control_group(evidence)
    if named and is_first and not reliable and _by_markers(evidence):
        return [
            "Marked as %s, but it shares the PID namespace of the machine." % named[0]
        ]
    return []


def _claims(evidence: Evidence) -> List[DetectedLayer]:
    claims = (
        _by_environment(evidence) + _by_markers(evidence) + _by_control_group(evidence)
    )
    if evidence.get("pid_namespace") not in (None, FIRST_PID_NAMESPACE):
        reason = "The PID namespace is not that of the machine."
        claims.append(DetectedLayer(_UNKNOWN_CONTAINER, reason))
    systemd = evidence.get("systemd-detect-virt -c")
    if systemd not in (None, "none", "", "wsl"):
        layer = MANAGERS.get(str(systemd), _UNKNOWN_CONTAINER)
        reason = "systemd-detect-virt reports %s." % systemd
        claims.append(DetectedLayer(layer, reason))
    return claims


def _by_environment(evidence: Evidence) -> List[DetectedLayer]:
    claims = []
    for line in evidence.get("pid1_env_container") or []:
        name, _, value = line.partition("=")
        if name == "container" and value:
            reason = "The environment of process 1 has container=%s." % value
            claims.append(
                DetectedLayer(MANAGERS.get(value, _UNKNOWN_CONTAINER), reason)
            )
    manager = evidence.get("container_manager")
    if manager:
        reason = "/run/host/container-manager contains %s." % manager
        claims.append(DetectedLayer(MANAGERS.get(manager, _UNKNOWN_CONTAINER), reason))
    return claims


def _by_markers(evidence: Evidence) -> List[DetectedLayer]:
    claims = []
    if evidence.get("dockerenv"):
        claims.append(DetectedLayer("docker", "There is /.dockerenv."))
    if evidence.get("containerenv"):
        claims.append(DetectedLayer("podman", "There is /run/.containerenv."))
    if evidence.get("proc_vz") and not evidence.get("proc_bc"):
        claims.append(DetectedLayer("openvz", "There is /proc/vz and no /proc/bc."))
    return claims


def _by_control_group(evidence: Evidence) -> List[DetectedLayer]:
    for line in str(evidence.get("cgroup1") or "").splitlines():
        _, _, rest = line.partition(":")
        controller, _, path = rest.partition(":")
        for part, layer in CONTROL_GROUPS:
            if part in path:
                reason = "Process 1 is in the control group %s." % path
                return [DetectedLayer(layer, reason)]
        is_main = controller in ("", "name=systemd")
        # Every path begins with "/".
        is_host = path == "/" or path.startswith(HOST_CONTROL_GROUPS[1:])
        if is_main and path and not is_host:
            reason = "Process 1 is in the control group %s." % path
            return [DetectedLayer(_UNKNOWN_CONTAINER, reason)]
    return []
