"""Judge evidence (any key may be missing) and name layers from the machine inwards.
PURE."""

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

# What firmware says (vendor, board, product): the start of the text, and the layers it
# goes with. The first is what it means where nothing else speaks.
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

# Whose signature VirtualBox shows where a guest is to use its ways.
WORN = ("kvm", "hyper-v")

# Amazon lets whole machines (m5.metal, m7i.metal-24xl), on which nothing runs below.
AMAZON, WHOLE = "Amazon EC2", ".metal"

# Microsoft makes machines, too: only this product of theirs is a virtual one.
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")

# What QEMU calls an ARM machine on KVM; others it calls "QEMU Virtual Machine".
ARM_KVM = "KVM Virtual Machine"

# Azure's machines carry this tag, whatever else their firmware says.
AZURE = "7783-7084-3265-9085-8269-3286-77"

# Bits of Hyper-V's privileges (0x40000003, ebx) and hints (0x40000004, eax). To Linux
# the root partition is who may manage CPUs and is not isolated.
HYPERV_CREATES_PARTITIONS, HYPERV_MANAGES_CPUS = 1 << 0, 1 << 12
HYPERV_ISOLATED, HYPERV_NESTED = 1 << 22, 1 << 12
# 0x4000000C, ebx: what keeps a guest's memory from its host.
ISOLATIONS = {1: "VBS", 2: "AMD SEV-SNP", 3: "Intel TDX"}

# Clock sources that a kernel offers under one hypervisor only, and who else wears them.
CLOCKSOURCES = {
    "kvm-clock": ("kvm", "virtualbox"),
    "xen": ("xen-pv", "xen-pvh", "xen-hvm", "xen-dom0"),
    "hyperv_clocksource_tsc_page": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
    "hyperv_clocksource_msr": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
}

# Where there is no CPUID: who the device tree's node "hypervisor" speaks for, and what
# s390's firmware calls a control program.
DEVICE_TREE = {"linux,kvm": "kvm", "xen": "xen-hvm", "vmware": "vmware"}
CONTROL_PROGRAMS = {"KVM": "kvm", "z/VM": "z-vm"}

# systemd-detect-virt's words for hypervisors, and ours.
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

# Container managers as they call themselves, and how the reader knows them.
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

# Words in the path of process 1's control group.
GROUPS = (
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/kubepods", "kubernetes"),
    ("/machine.slice/machine-", "systemd-nspawn"),
)

# Where process 1 of a whole system stands.
OWN_GROUPS = ("/", "/init.scope", "/system.slice", "/user.slice")

# The kernel's numbers of the first namespaces, since Linux 3.8.
FIRST_PID_NAMESPACE = "pid:[4026531836]"


Evidence = Dict[str, Any]

_SOME_HYPERVISOR = "unknown-hypervisor"
_BASES = ("0x40000000", "0x40000100", "0x40000200", "0x40000300")
_LEAVES_OF_A_BASE = 0x100
_SOME_CONTAINER = "container"
# What gVisor's kernel calls itself; a distribution's 4.4.0 has a suffix.
_GVISOR_KERNEL = "4.4.0"
DOM0_UUID = "00000000-0000-0000-0000-000000000000"
_KINDS = {"PV": "xen-pv", "PVH": "xen-pvh", "HVM": "xen-hvm"}


class Finding(NamedTuple):
    """A layer's name and the sentence that says why it is believed."""

    layer: str
    ground: str

    @property
    def is_xen(self) -> bool:
        return self.layer.startswith("xen-")


class Judgement(NamedTuple):
    """Layers from outer to inner, what each rests on, and what speaks against it."""

    layers: Tuple[str, ...]
    grounds: Tuple[str, ...]
    conflicts: Tuple[str, ...]

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)

    @property
    def sentence(self) -> str:
        """Say it all to a reader."""
        if not self.layers:
            result = "No hypervisor and no container was found."
        else:
            result = "From outer to inner: %s." % " > ".join(self.layers)
        parts = [result, *self.grounds]
        if self.conflicts:
            parts.append("The evidence disagrees: " + " ".join(self.conflicts))
        return " ".join(parts)


def judge(evidence: Evidence) -> Judgement:
    """Derive the layers from all evidence, and say where it contradicts itself."""
    below = _hypervisors(evidence)
    if evidence.get("model") == "UML":
        # It asks the CPU of its host: what that says lies further out.
        below.append(Finding("uml", "The kernel is a program (user-mode Linux)."))
    findings = below + wsl_of(evidence, bool(below)) + containers_of(evidence)
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
            words = (name, layers[-1])
            conflicts.append(
                "The kernel offers the clock %s, which is not of %s." % words
            )
    conflicts += container_quarrel(evidence)
    return Judgement(layers, tuple(grounds), tuple(conflicts))


def signatures(evidence: Evidence) -> List[str]:
    """Return the known CPUID signatures with a maximum in their range, or 0."""
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
    by_kernel = place_on_xen(evidence, by_cpuid is not None and by_cpuid.is_xen)
    if by_kernel:
        below = by_cpuid if by_cpuid and not by_cpuid.is_xen else None
        if by_kernel.layer == "xen-dom0":  # it sees the firmware of what Xen runs on
            below = below or _by_firmware(evidence)
        return [below, by_kernel] if below else [by_kernel]
    surest = by_cpuid or _by_firmware(evidence) or _by_software(evidence)
    if surest and surest.layer == "hyper-v-root":
        return [*_below_the_root(evidence), surest]
    return [surest] if surest else []


def _below_the_root(evidence: Evidence) -> List[Finding]:
    """Return what Hyper-V itself runs on: its root partition sees that firmware."""
    if (evidence.get("hyperv_hints") or 0) & HYPERV_NESTED:
        return [Finding("hyper-v", "Hyper-V says that it runs in a Hyper-V guest.")]
    below = _by_firmware(evidence)
    return [below] if below else []


def _by_cpuid(evidence: Evidence) -> Optional[Finding]:
    """Return what CPUID signs. Behind Hyper-V's signature another one may stand."""
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
    """Tell the root partition from guests, and say what else Hyper-V tells."""
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
    """Return what the firmware calls itself and the layers that this goes with."""
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
    """Return what the kernel or systemd knows, or that there is something at all."""
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
    """Return what device trees, s390 and ACPI name, where CPUID and DMI are silent."""
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
    if not goes_with:
        hidden = evidence.get("leaves") and not _by_cpuid(evidence)
        if hidden and evidence.get("acpi_qemu") and not speaks_of_xen(evidence):
            return ["QEMU's device is there, CPUID shows no hypervisor."]
        return []
    if not set(goes_with) & set(layers):
        rest = " > ".join(layers) or "nothing of the kind"
        return ['The firmware says "%s", the rest %s.' % (text, rest)]
    if (
        evidence.get("leaves")
        and not _by_cpuid(evidence)
        and not speaks_of_xen(evidence)
    ):
        return ['The firmware says "%s", CPUID shows no hypervisor.' % text]
    return []


def speaks_of_xen(evidence: Evidence) -> bool:
    """Say whether this kernel knows that it runs on Xen."""
    kind = (evidence.get("sys_hypervisor") or {}).get("type")
    # Kernels before /sys/hypervisor have /proc/xen; nobody else has.
    return kind == "xen" or isinstance(evidence.get("proc_xen"), list)


def place_on_xen(evidence: Evidence, is_signed: bool) -> Optional[Finding]:
    """Return the place on Xen; for kernels before 4.13 CPUID tells HVM from PV."""
    if not speaks_of_xen(evidence):
        return None
    shown = evidence.get("sys_hypervisor") or {}
    if "control_d" in (evidence.get("xen_cap") or "") or shown.get("uuid") == DOM0_UUID:
        return Finding("xen-dom0", "The kernel runs on Xen and is its dom0.")
    assumed = "xen-hvm" if is_signed else "xen-pv"
    layer = _KINDS.get(str(shown.get("guest_type")), assumed)
    return Finding(layer, "The kernel is a %s guest of Xen." % layer[4:].upper())


def wsl_of(evidence: Evidence, is_virtual: bool) -> List[Finding]:
    """Return Windows' subsystem for Linux, if this is one."""
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
    if not is_virtual:  # no CPUID: an ARM machine
        found.insert(0, Finding("hyper-v", "WSL 2 is a guest of Hyper-V."))
    return found


def containers_of(evidence: Evidence) -> List[Finding]:
    """Return the container, and the kernel in user space within it, if there are."""
    claims = _claims(evidence)
    named = [claim for claim in claims if claim.layer != _SOME_CONTAINER]
    # Every distribution of WSL 2 has process numbers of its own.
    nameless = [] if wsl_of(evidence, is_virtual=True) else claims
    inner = (named or nameless)[:1]
    if evidence.get("kernel") == _GVISOR_KERNEL and not evidence.get("clocksource"):
        inner.append(Finding("gvisor", "The kernel is gVisor's."))
    return inner


def container_quarrel(evidence: Evidence) -> List[str]:
    """Say so if two managers claim the container, or a mark speaks against the rest."""
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
    """Read process 1's control groups: systemd's own and the one of version 2."""
    for line in str(evidence.get("cgroup1") or "").splitlines():
        _, _, rest = line.partition(":")
        controller, _, path = rest.partition(":")
        for part, layer in GROUPS:
            if part in path:
                return [Finding(layer, "Process 1 is in the group %s." % path)]
        is_main = controller in ("", "name=systemd")
        # Without the bare `/`, with which every path begins.
        if is_main and path and not (path == "/" or path.startswith(OWN_GROUPS[1:])):
            return [Finding(_SOME_CONTAINER, "Process 1 is in the group %s." % path)]
    return []
