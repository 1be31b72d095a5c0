"""Thirty-eight machines that run Hyper-V or look like it.

They are constructed from Microsoft's Hypervisor Top Level Functional Specification
(CPUID leaves), Linux's detection of the root partition, Azure's chassis tag, and the
kernel names of WSL. The agent's own code reads them, leaf by leaf.
"""

import struct

import pytest

from agents.detection.indicators import Registers, cpuid_indicators, file_indicators
from agents.detection.layers import detect_layers
from agents.windows import vbs_state

ROOT, MANAGER, ISOLATED, NESTED = 1 << 0, 1 << 12, 1 << 22, 1 << 12
GUEST = 0x2BB8
VM = {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}
DELL = {"sys_vendor": "Dell Inc.", "product_name": "PowerEdge R740"}
SURFACE = {"sys_vendor": "Microsoft Corporation", "product_name": "Surface Laptop 5"}
QEMU = {"sys_vendor": "QEMU", "product_name": "Standard PC (Q35 + ICH9, 2009)"}
VMWARE = {"sys_vendor": "VMware, Inc.", "product_name": "VMware20,1"}
AZURE_TAG = {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}
AZURE_VM = {**VM, **AZURE_TAG}
METAL = {"sys_vendor": "Amazon EC2", "product_name": "m7i.metal-24xl"}
TSC_PAGE = "hyperv_clocksource_tsc_page hyperv_clocksource_msr acpi_pm"
FIRST = "pid:[4026531836]"
OTHER = "pid:[4026532201]"
WSL1 = "4.4.0-19041-Microsoft"
WSL2 = "5.15.153.1-microsoft-standard-WSL2"


def registers(eax=0, text="", **changes):
    ebx, ecx, edx = struct.unpack("<3I", text.encode("latin-1").ljust(12, b"\0"))
    values = {"eax": eax, "ebx": ebx, "ecx": ecx, "edx": edx, **changes}
    return Registers(**values)


def cpu(leaves, has_bit=True):
    """Return a CPU with these CPUID leaves; other leaves are 0."""
    vendor = registers(0x16, ebx=0x756E6547, edx=0x49656E69, ecx=0x6C65746E)
    own = {0: vendor, 1: registers(ecx=(1 << 31) if has_bit else 0)}
    return cpuid_indicators(lambda leaf: {**own, **leaves}.get(leaf, registers()))


def hyper_v(version, privileges=GUEST, hints=0, isolation=None, added=None):
    """Return a CPU of Hyper-V, by default version 10.0.20348."""
    major, minor, build = map(int, version.split("."))
    highest = 0x4000000C if isolation else 0x4000000B
    if isolation:
        privileges |= ISOLATED
    return cpu(
        {
            0x40000000: registers(highest, "Microsoft Hv"),
            0x40000001: registers(0x31237648),
            0x40000002: registers(build, ebx=major << 16 | minor),
            0x40000003: registers(ebx=privileges),
            0x40000004: registers(hints),
            0x4000000C: registers(1, ebx=isolation or 0),
            **(added or {}),
        }
    )


def signed(*texts):
    """Return a CPU with these signatures at 0x40000000, 0x40000100, ..."""
    bases = [0x40000000 + 0x100 * index for index in range(len(texts))]
    return cpu(
        {b: registers(b + 1, text) for b, text in zip(bases, texts, strict=True)}
    )


BARE = cpu({}, has_bit=False)
SERVER_2022 = hyper_v("10.0.20348")
OFF = {"vbs": 0, "code integrity": 0, "role": None}
VBS = {"vbs": 1, "code integrity": 1, "role": None}
ROLE = {"vbs": 0, "code integrity": 0, "role": 2}
ROOT_2022 = hyper_v("10.0.20348", privileges=GUEST | ROOT | MANAGER)
KVM_BEHIND = {0x40000100: registers(0x40000101, "KVMKVMKVM")}
XEN_BEHIND = {0x40000100: registers(0x40000105, "XenVMMXenVMM")}


def windows(cpu_, dmi, state):
    return {**cpu_, "dmi": dmi, "windows": state, "kernel": "10.0.20348"}


def wsl(cpu_, kernel, **added):
    """Return evidence of WSL, which has no firmware and a PID namespace per
    distribution.
    """
    return {**cpu_, "kernel": kernel, "dmi": {}, "pid_namespace": OTHER, **added}


# Name: evidence, layers, whether it is contradictory, part of the summary.
MACHINES = {
    "guest of Server 2012 R2": (
        {**hyper_v("6.3.9600"), "dmi": VM, "clocksources": TSC_PAGE},
        *("hyper-v", False, "version 6.3.9600"),
    ),
    "guest of Server 2016": (
        {**hyper_v("10.0.14393"), "dmi": VM},
        *("hyper-v", False, "version 10.0.14393"),
    ),
    "guest of Server 2019": (
        {**hyper_v("10.0.17763"), "dmi": VM},
        *("hyper-v", False, "version 10.0.17763"),
    ),
    "guest of Server 2022": (
        {**SERVER_2022, "dmi": VM},
        *("hyper-v", False, "version 10.0.20348"),
    ),
    "guest of Windows 11": (
        {**hyper_v("10.0.22631"), "dmi": VM},
        *("hyper-v", False, "version 10.0.22631"),
    ),
    "Azure": (
        {**SERVER_2022, "dmi": {**VM, **AZURE_TAG}},
        *("hyper-v", False, "Microsoft Hv"),
    ),
    "Azure without CPUID and names": (
        {"leaves": {}, "dmi": AZURE_TAG},
        *("hyper-v", False, "chassis tag of Azure"),
    ),
    "confidential guest, SEV-SNP": (
        {**hyper_v("10.0.20348", GUEST | MANAGER, isolation=2), "dmi": VM},
        *("hyper-v", False, "isolated by AMD SEV-SNP"),
    ),
    "confidential guest, TDX": (
        {**hyper_v("10.0.25398", GUEST | MANAGER, isolation=3), "dmi": VM},
        *("hyper-v", False, "isolated by Intel TDX"),
    ),
    "guest isolated by VBS": (
        {**hyper_v("10.0.20348", isolation=1), "dmi": VM},
        *("hyper-v", False, "isolated by VBS"),
    ),
    "Windows with the role": (
        windows(ROOT_2022, DELL, ROLE),
        *("hyper-v-root", False, "root partition"),
    ),
    "native Windows with VBS": (
        windows(hyper_v("10.0.22631", GUEST | ROOT | MANAGER), DELL, VBS),
        *("hyper-v-root", False, "The Hyper-V role is off: virtualization-based"),
    ),
    "native Windows without VBS": (
        {**windows(BARE, DELL, OFF), "pci": ["1028", "8086"]},
        *("", False, "No hypervisor"),
    ),
    "native Windows, VBS set and not running": (
        {**windows(BARE, DELL, VBS), "pci": ["1028", "8086"]},
        *("", False, "No hypervisor"),
    ),
    "Windows on a machine of Microsoft's": (
        {**windows(BARE, SURFACE, OFF), "pci": ["1002", "1022"]},
        *("", False, "No hypervisor"),
    ),
    "Windows as a guest": (
        windows(SERVER_2022, VM, VBS),
        *("hyper-v", False, "version 10.0.20348"),
    ),
    "Linux as root partition": (
        {**hyper_v("10.0.25398", GUEST | MANAGER), "dmi": DELL},
        *("hyper-v-root", False, "root partition"),
    ),
    "role in a guest, nested and said": (
        windows(hyper_v("10.0.20348", GUEST | ROOT | MANAGER, hints=NESTED), VM, ROLE),
        *("hyper-v > hyper-v-root", False, "runs in a Hyper-V guest"),
    ),
    "role in a guest, known by its firmware": (
        windows(ROOT_2022, VM, ROLE),
        *("hyper-v > hyper-v-root", False, "Virtual Machine"),
    ),
    "role in a VMware guest": (
        windows(ROOT_2022, VMWARE, ROLE),
        *("vmware > hyper-v-root", False, "VMware"),
    ),
    "role in a QEMU guest": (
        windows(ROOT_2022, QEMU, ROLE),
        *("qemu > hyper-v-root", False, "QEMU"),
    ),
    "KVM with enlightenments": (
        {**hyper_v("10.0.14393", added=KVM_BEHIND), "dmi": QEMU},
        *("kvm", False, "behind Hyper-V's."),
    ),
    "KVM that hides behind them": (
        {**hyper_v("10.0.14393"), "dmi": QEMU},
        *("kvm", False, 'But the firmware reports "QEMU"'),
    ),
    "Xen with Viridian": (
        {**hyper_v("6.1.7601", added=XEN_BEHIND), "dmi": {"sys_vendor": "Xen"}},
        *("xen-hvm", False, "behind Hyper-V's."),
    ),
    "VirtualBox with Hyper-V's leaves": (
        {**signed("VBoxVBoxVBox"), "dmi": {"sys_vendor": "innotek GmbH"}},
        *("virtualbox", False, "VBox"),
    ),
    "VirtualBox that wears Hyper-V's signature": (
        {**hyper_v("6.1.7601"), "dmi": {"sys_vendor": "innotek GmbH"}},
        *("virtualbox", False, "VirtualBox shows this signature"),
    ),
    "role in a VirtualBox guest": (
        windows(ROOT_2022, {"sys_vendor": "innotek GmbH"}, ROLE),
        *("virtualbox > hyper-v-root", False, "root partition"),
    ),
    "role in an Azure guest": (
        windows(hyper_v("10.0.20348", GUEST | ROOT | MANAGER, NESTED), AZURE_VM, ROLE),
        *("hyper-v > hyper-v-root", False, "runs in a Hyper-V guest"),
    ),
    "role on a whole machine of Amazon's": (
        windows(ROOT_2022, METAL, ROLE),
        *("hyper-v-root", False, "root partition"),
    ),
    "a whole machine of Amazon's": (
        {**BARE, "dmi": METAL, "pci": ["1d0f", "8086"]},
        *("", False, "No hypervisor"),
    ),
    "WSL 1": (
        wsl(BARE, WSL1, pid_namespace=FIRST),
        *("wsl1", False, "Windows implements"),
    ),
    "WSL 1 above VBS": (
        wsl(ROOT_2022, WSL1, pid_namespace=FIRST),
        *("hyper-v-root > wsl1", False, "Windows implements"),
    ),
    "WSL 2": (
        wsl(SERVER_2022, WSL2, clocksources=TSC_PAGE),
        *("hyper-v > wsl2", False, "WSL 2"),
    ),
    "WSL 2 with a kernel of one's own": (
        wsl(SERVER_2022, "6.6.0-mine", wsl_interop=True),
        *("hyper-v > wsl2", False, "WSL 2"),
    ),
    "WSL 2 on ARM": (
        wsl({"leaves": {}}, WSL2),
        *("hyper-v > wsl2", False, "WSL 2 is a guest of Hyper-V."),
    ),
    "Docker in WSL 2 on ARM": (
        wsl({"leaves": {}}, WSL2, dockerenv=True),
        *("hyper-v > wsl2 > docker", False, "CPUID could not be read."),
    ),
    "Docker in WSL 2": (
        wsl(SERVER_2022, WSL2, dockerenv=True),
        *("hyper-v > wsl2 > docker", False, "/.dockerenv"),
    ),
    "Podman in WSL 2": (
        wsl(SERVER_2022, WSL2, containerenv=True),
        *("hyper-v > wsl2 > podman", False, "/run/.containerenv"),
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machine_is_detected(name):
    evidence, layers, conflict, words = MACHINES[name]

    judgement = detect_layers(evidence)

    assert (" > ".join(judgement.layers), judgement.conflict) == (layers, conflict)
    assert words in judgement.summary


@pytest.mark.parametrize("name", MACHINES)
def test_missing_evidence_does_not_raise(name):
    evidence = MACHINES[name][0]

    for missing in evidence:
        assert detect_layers({**evidence, missing: None}).summary


def test_all_machines_are_covered():
    assert len(MACHINES) == 38


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("native Windows with VBS", "running"),
        ("Windows with the role", "running, with the Hyper-V role"),
        ("native Windows, VBS set and not running", "set, not running"),
        ("native Windows without VBS", "off"),
        ("WSL 2", None),
        ("Linux as root partition", None),
    ],
)
def test_vbs_hypervisor_is_a_fact(name, expected):
    evidence = MACHINES[name][0]

    assert vbs_state(evidence, detect_layers(evidence).layers) == expected


def test_wsl_is_detected_by_files(tmp_path):
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text(WSL1 + "\n")

    assert detect_layers({**BARE, **file_indicators(str(tmp_path))}).layers == ("wsl1",)

    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.6.0-mine\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/WSL").write_text("")
    evidence = {**SERVER_2022, **file_indicators(str(tmp_path))}
    assert detect_layers(evidence).layers == ("hyper-v", "wsl2")


def test_wsl_is_detected_by_systemd_alone():
    expected = {"systemd-detect-virt -c": "wsl"}

    assert detect_layers({**BARE, **expected}).layers == ("wsl1",)
    assert detect_layers({**SERVER_2022, **expected}).layers == ("hyper-v", "wsl2")


def test_azure_kernel_is_not_wsl():
    evidence = {**SERVER_2022, "kernel": "6.8.0-1014-azure", "dmi": VM}

    assert detect_layers(evidence).layers == ("hyper-v",)
