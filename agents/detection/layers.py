"""Derive the layers of virtualization, from the machine inwards, from evidence.

Any key of the evidence may be missing.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

# CPUID leaves 0x40000000, 0x40000100, ...: ebx, ecx, edx as text without trailing NULs.
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

# Start of a firmware text (vendor, board, product) -> consistent layers. The first
# layer is assumed if there is no other evidence.
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

# Hypervisors whose signature VirtualBox shows to some guests.
WORN = ("kvm", "hyper-v")

# Amazon also rents whole machines without a hypervisor (m5.metal, m7i.metal-24xl).
AMAZON, WHOLE = "Amazon EC2", ".metal"

# The only product of Microsoft that is a virtual machine.
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")

# QEMU's name for an ARM machine on KVM; without KVM it is "QEMU Virtual Machine".
ARM_KVM = "KVM Virtual Machine"

# Chassis tag of Azure's machines.
AZURE = "7783-7084-3265-9085-8269-3286-77"

# Bits of Hyper-V's privileges (0x40000003, ebx) and hints (0x40000004, eax). For Linux
# the root partition is the one that may manage CPUs and is not isolated.
HYPERV_CREATES_PARTITIONS, HYPERV_MANAGES_CPUS = 1 << 0, 1 << 12
HYPERV_ISOLATED, HYPERV_NESTED = 1 << 22, 1 << 12
# 0x4000000C, ebx: protection of a guest's memory from its host.
ISOLATIONS = {1: "VBS", 2: "AMD SEV-SNP", 3: "Intel TDX"}

# Clock sources of a kernel -> the layers that provide them, the usual one first.
CLOCKSOURCES = {
    "kvm-clock": ("kvm", "virtualbox"),
    "xen": ("xen-pv", "xen-pvh", "xen-hvm", "xen-dom0"),
    "hyperv_clocksource_tsc_page": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
    "hyperv_clocksource_msr": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
}

# Without CPUID: the node "hypervisor" of the device tree, and the control program of
# s390's firmware.
DEVICE_TREE = {"linux,kvm": "kvm", "xen": "xen-hvm", "vmware": "vmware"}
CONTROL_PROGRAMS = {"KVM": "kvm", "z/VM": "z-vm"}

# Names of hypervisors in systemd-detect-virt -> layers.
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

# Names of container managers -> layers.
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

# Parts of the path of process 1's control group -> layers.
GROUPS = (
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/kubepods", "kubernetes"),
    ("/machine.slice/machine-", "systemd-nspawn"),
)

# Control groups of process 1 outside containers.
OWN_GROUPS = ("/", "/init.scope", "/system.slice", "/user.slice")

# The first namespace of process numbers, since Linux 3.8.
FIRST_PID_NAMESPACE = "pid:[4026531836]"


Evidence = Dict[str, Any]

_SOME_HYPERVISOR = "unknown-hypervisor"
_BASES = ("0x40000000", "0x40000100", "0x40000200", "0x40000300")
_LEAVES_OF_A_BASE = 0x100
_SOME_CONTAINER = "container"
# Version of gVisor's kernel; 4.4.0 of a distribution has a suffix.
_GVISOR_KERNEL = "4.4.0"
DOM0_UUID = "00000000-0000-0000-0000-000000000000"
_KINDS = {"PV": "xen-pv", "PVH": "xen-pvh", "HVM": "xen-hvm"}


class Finding(NamedTuple):
    """A layer and the sentence with its evidence."""

    layer: str
    ground: str

    @property
    def is_xen(self) -> bool:
        return self.layer.startswith("xen-")


class Judgement(NamedTuple):
    """Layers from outer to inner, their evidence, and contradicting evidence."""

    layers: Tuple[str, ...]
    grounds: Tuple[str, ...]
    conflicts: Tuple[str, ...]

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)

    @property
    def sentence(self) -> str:
        result = "No hypervisor and no container was found."
        if self.layers:
            result = "From outer to inner: %s." % " > ".join(self.layers)
        parts = [result, *self.grounds]
        if self.conflicts:
            parts.append("The evidence disagrees: " + " ".join(self.conflicts))
        return " ".join(parts)


def judge(evidence: Evidence) -> Judgement:
    """Derive the layers from all evidence, with its contradictions."""
    below = _hypervisors(evidence)
    if evidence.get("model") == "UML":
        # CPUID of user-mode Linux describes its host.
        below.append(Finding("uml", "The kernel is a program (user-mode Linux)."))
    findings = below + wsl_of(evidence, bool(below)) + _containers(evidence)
    layers = tuple(finding.layer for finding in findings)
    grounds = [finding.ground for finding in findings]
    if not evidence.get("leaves"):
        grounds.append("CPUID could not be asked.")
    conflicts = []
    signed = signatures(evidence)
    if signed and evidence.get("cpuid1_ecx31") == 0:
        conflicts.append(
            "CPUID signs %s but hides the hypervisor bit." % signed[0].strip()
        )
    conflicts += _firmware_against(evidence, layers)
    for name in _clocks(evidence):
        if layers and not set(CLOCKSOURCES[name]) & set(layers):
            sentence = "The kernel offers the clock %s, which is not of %s."
            conflicts.append(sentence % (name, layers[-1]))
    conflicts += _container_conflicts(evidence)
    return Judgement(layers, tuple(grounds), tuple(conflicts))


def signatures(evidence: Evidence) -> List[str]:
    """Return the known signatures of CPUID leaves whose maximum is valid or 0."""
    texts = []
    for base in _BASES:
        maximum, text = (evidence.get("leaves") or {}).get(base) or ("0x0", "")
        text = text.rstrip("\0 ")
        highest, lowest = int(maximum, 16), int(base, 16)
        is_own = highest == 0 or lowest <= highest < lowest + _LEAVES_OF_A_BASE
        if text in SIGNATURES and is_own:
            texts.append(text)
    return texts


def _hypervisors(evidence: Evidence) -> List[Finding]:
    by_cpuid = _by_cpuid(evidence)
    below = None
    found = _on_xen(evidence, by_cpuid is not None and by_cpuid.is_xen)
    if found:
        below = by_cpuid if by_cpuid and not by_cpuid.is_xen else None
    else:
        found = by_cpuid or _by_firmware(evidence) or _by_software(evidence)
    is_nested = (evidence.get("hyperv_hints") or 0) & HYPERV_NESTED
    if found and found.layer == "hyper-v-root" and is_nested:
        below = Finding("hyper-v", "Hyper-V says that it runs in a Hyper-V guest.")
    # dom0 and the root partition see the firmware below their hypervisor.
    if found and found.layer in ("xen-dom0", "hyper-v-root"):
        below = below or _by_firmware(evidence)
    return [finding for finding in (below, found) if finding]


def _by_cpuid(evidence: Evidence) -> Optional[Finding]:
    """Return the hypervisor that signs CPUID, maybe behind Hyper-V's signature."""
    texts = signatures(evidence)
    if not texts:
        return None
    own = [text for text in texts if SIGNATURES[text] != "hyper-v"]
    text = (own or texts)[0]
    layer = SIGNATURES[text]
    ground = "CPUID signs %s." % text.strip()
    if own and len(texts) > len(own):
        ground = "CPUID signs %s behind Hyper-V's signature." % text.strip()
    found = Finding(layer, ground)
    if layer == "hyper-v":
        found = _of_hyper_v(evidence, ground)
    if found.layer in WORN and _firmware(evidence)[1][:1] == ("virtualbox",):
        return Finding("virtualbox", ground + " VirtualBox wears it for its guests.")
    return found


def _of_hyper_v(evidence: Evidence, ground: str) -> Finding:
    """Distinguish the root partition from guests; add version and isolation."""
    if evidence.get("hyperv_version"):
        ground += " It is version %s." % evidence["hyperv_version"]
    _, kind = evidence.get("hyperv_isolation") or (0, 0)
    if kind & 15 in ISOLATIONS:
        ground += " The guest is isolated by %s." % ISOLATIONS[kind & 15]
    may = evidence.get("hyperv_privileges") or 0
    rules = may & (HYPERV_CREATES_PARTITIONS | HYPERV_MANAGES_CPUS)
    if not rules or may & HYPERV_ISOLATED:
        return Finding("hyper-v", ground)
    ground += " This is the root partition."
    windows = evidence.get("windows") or {}
    if windows and not windows.get("role"):
        ground += (
            " The Hyper-V role is off: virtualization-based security (VBS) runs the "
            "hypervisor below Windows."
        )
    return Finding("hyper-v-root", ground)


def _firmware(evidence: Evidence) -> Tuple[str, Tuple[str, ...]]:
    """Return a text of the firmware and the layers that are consistent with it."""
    dmi = evidence.get("dmi") or {}
    vendor, product = str(dmi.get("sys_vendor")), str(dmi.get("product_name"))
    if vendor == AMAZON and WHOLE in product:
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


def _by_firmware(evidence: Evidence) -> Optional[Finding]:
    text, layers = _firmware(evidence)
    return Finding(layers[0], 'The firmware says "%s".' % text) if layers else None


def _clocks(evidence: Evidence) -> List[str]:
    offered = (evidence.get("clocksources") or "") + " "
    offered += evidence.get("clocksource") or ""
    return [name for name in sorted(set(offered.split())) if name in CLOCKSOURCES]


def _by_software(evidence: Evidence) -> Optional[Finding]:
    """Return the hypervisor known to kernel or systemd, or an unknown one."""
    for name in _clocks(evidence):
        return Finding(CLOCKSOURCES[name][0], "The kernel offers the clock %s." % name)
    by_firmware = _by_other_firmware(evidence)
    if by_firmware:
        return by_firmware
    said = evidence.get("systemd-detect-virt")
    if said not in (None, "none", ""):
        ground = "systemd-detect-virt says %s." % said
        return Finding(SYSTEMD.get(str(said), _SOME_HYPERVISOR), ground)
    tree = evidence.get("device_tree") or {}
    if tree.get("hypervisor") or str(tree.get("psci")).startswith("hvc"):
        ground = "The device tree speaks of a hypervisor, but not of which."
        return Finding(_SOME_HYPERVISOR, ground)
    if evidence.get("hypervisor_flag") or evidence.get("cpuid1_ecx31"):
        ground = "The CPU says that a hypervisor runs, but not which."
        return Finding(_SOME_HYPERVISOR, ground)
    return None


def _by_other_firmware(evidence: Evidence) -> Optional[Finding]:
    """Return the hypervisor in device tree, s390 firmware or ACPI."""
    tree = evidence.get("device_tree") or {}
    nodes = " ".join(tree.get("nodes") or [])
    for start, layer in DEVICE_TREE.items():
        if str(tree.get("hypervisor")).startswith(start):
            return Finding(layer, "The device tree names %s." % start)
    for start, layer in CONTROL_PROGRAMS.items():
        if str(evidence.get("control_program")).startswith(start):
            return Finding(layer, "The firmware names %s." % start)
    if evidence.get("acpi_qemu") or "fw-cfg" in nodes:
        return Finding("qemu", "There is a device that only QEMU has (fw_cfg).")
    if "ibm,partition-name" in nodes:
        return Finding("powervm", "The firmware names this machine's partition.")
    return None


def _firmware_against(evidence: Evidence, layers: Tuple[str, ...]) -> List[str]:
    text, goes_with = _firmware(evidence)
    is_silent = evidence.get("leaves") and not _by_cpuid(evidence)
    is_hidden = is_silent and not _is_on_xen(evidence)
    if not goes_with:
        if is_hidden and evidence.get("acpi_qemu"):
            return ["QEMU's device is there, CPUID shows no hypervisor."]
        return []
    if not set(goes_with) & set(layers):
        rest = " > ".join(layers) or "nothing of the kind"
        return ['The firmware says "%s", the rest %s.' % (text, rest)]
    if is_hidden:
        return ['The firmware says "%s", CPUID shows no hypervisor.' % text]
    return []


def _is_on_xen(evidence: Evidence) -> bool:
    """Return whether the kernel knows that it runs on Xen."""
    kind = (evidence.get("sys_hypervisor") or {}).get("type")
    # Kernels without /sys/hypervisor have /proc/xen.
    return kind == "xen" or isinstance(evidence.get("proc_xen"), list)


def _on_xen(evidence: Evidence, is_signed: bool) -> Optional[Finding]:
    """Return the kind of a Xen domain; before Linux 4.13 CPUID shows whether HVM."""
    if not _is_on_xen(evidence):
        return None
    shown = evidence.get("sys_hypervisor") or {}
    if "control_d" in (evidence.get("xen_cap") or "") or shown.get("uuid") == DOM0_UUID:
        return Finding("xen-dom0", "The kernel runs on Xen and is its dom0.")
    assumed = "xen-hvm" if is_signed else "xen-pv"
    layer = _KINDS.get(str(shown.get("guest_type")), assumed)
    return Finding(layer, "The kernel is a %s guest of Xen." % layer[4:].upper())


def wsl_of(evidence: Evidence, is_virtual: bool) -> List[Finding]:
    """Return the Windows Subsystem for Linux, if this is one."""
    kernel = str(evidence.get("kernel") or "")
    builder = "microsoft@microsoft.com" in str(evidence.get("version") or "").lower()
    named = builder or "-microsoft" in kernel.lower()
    said = evidence.get("systemd-detect-virt -c") == "wsl"
    if not (named or said or evidence.get("wsl_interop")):
        return []
    # Kernels: 4.4.0-19041-Microsoft, 5.15.153.1-microsoft-standard-WSL2.
    is_first = kernel.endswith("-Microsoft") or not (named or is_virtual)
    if is_first:
        return [Finding("wsl1", "Windows answers Linux's system calls (WSL 1).")]
    found = [Finding("wsl2", "The kernel is that of WSL 2.")]
    if not is_virtual:  # ARM has no CPUID
        found.insert(0, Finding("hyper-v", "WSL 2 is a guest of Hyper-V."))
    return found


def _containers(evidence: Evidence) -> List[Finding]:
    """Return the container, and a kernel in user space inside it, if any."""
    claims = _claims(evidence)
    named = [claim for claim in claims if claim.layer != _SOME_CONTAINER]
    # Every distribution of WSL 2 has its own namespace of process numbers.
    nameless = [] if wsl_of(evidence, is_virtual=True) else claims
    inner = (named or nameless)[:1]
    if evidence.get("kernel") == _GVISOR_KERNEL and not evidence.get("clocksource"):
        inner.append(Finding("gvisor", "The kernel is gVisor's."))
    return inner


def _container_conflicts(evidence: Evidence) -> List[str]:
    """Return whether two managers claim the container, or a marker is wrong."""
    named = sorted({claim.layer for claim in _claims(evidence)} - {_SOME_CONTAINER})
    if len(named) > 1:
        return ["It is a container of %s." % " and of ".join(named)]
    is_first = evidence.get("pid_namespace") == FIRST_PID_NAMESPACE
    surer = _by_environment(evidence) + _by_group(evidence)
    if named and is_first and not surer and _by_markers(evidence):
        return ["Marked as %s, but its processes are the machine's own." % named[0]]
    return []


def _claims(evidence: Evidence) -> List[Finding]:
    claims = _by_environment(evidence) + _by_markers(evidence) + _by_group(evidence)
    if evidence.get("pid_namespace") not in (None, FIRST_PID_NAMESPACE):
        ground = "Processes are numbered apart from the machine's."
        claims.append(Finding(_SOME_CONTAINER, ground))
    systemd = evidence.get("systemd-detect-virt -c")
    if systemd not in (None, "none", "", "wsl"):
        layer = MANAGERS.get(str(systemd), _SOME_CONTAINER)
        claims.append(Finding(layer, "systemd-detect-virt says %s." % systemd))
    return claims


def _by_environment(evidence: Evidence) -> List[Finding]:
    claims = []
    for line in evidence.get("pid1_env_container") or []:
        name, _, value = line.partition("=")
        if name == "container" and value:
            ground = "Process 1 was told container=%s." % value
            claims.append(Finding(MANAGERS.get(value, _SOME_CONTAINER), ground))
    manager = evidence.get("container_manager")
    if manager:
        ground = "/run/host/container-manager says %s." % manager
        claims.append(Finding(MANAGERS.get(manager, _SOME_CONTAINER), ground))
    return claims


def _by_markers(evidence: Evidence) -> List[Finding]:
    claims = []
    if evidence.get("dockerenv"):
        claims.append(Finding("docker", "There is /.dockerenv."))
    if evidence.get("containerenv"):
        claims.append(Finding("podman", "There is /run/.containerenv."))
    if evidence.get("proc_vz") and not evidence.get("proc_bc"):
        claims.append(Finding("openvz", "There is /proc/vz and no /proc/bc."))
    return claims


def _by_group(evidence: Evidence) -> List[Finding]:
    """Read the control groups of process 1: systemd's, and the one of version 2."""
    for line in str(evidence.get("cgroup1") or "").splitlines():
        _, _, rest = line.partition(":")
        controller, _, path = rest.partition(":")
        for part, layer in GROUPS:
            if part in path:
                return [Finding(layer, "Process 1 is in the group %s." % path)]
        is_main = controller in ("", "name=systemd")
        # Every path begins with the first of OWN_GROUPS.
        if is_main and path and not (path == "/" or path.startswith(OWN_GROUPS[1:])):
            return [Finding(_SOME_CONTAINER, "Process 1 is in the group %s." % path)]
    return []
