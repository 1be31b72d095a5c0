"""Machines without CPUID, or without hypervisor leaves, are not mistaken for native.

They are constructed as file trees from what QEMU, Apple, IBM and clouds are known to
show.
"""

import pytest

from agents.detection.indicators import Registers, cpuid_indicators, file_indicators
from agents.detection.layers import detect_layers

FIRST, OTHER = "pid:[4026531836]", "pid:[4026532788]"
TREE = "proc/device-tree/"
QEMU_DEVICE = {"sys/bus/acpi/devices/QEMU0002:00/hid": "QEMU0002"}
HVC = {TREE + "psci/method": "hvc\0", TREE + "compatible": "linux,dummy-virt\0"}
SILENT = cpuid_indicators(lambda leaf: Registers(0, 0, 0, 0))
DELL = {"sys_vendor": "Dell Inc."}
FREQUENCIES = {
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "cpufreq-dt\n",
}
HOST_BRIDGE = {
    "sys/bus/pci/devices/0000:00:00.0/class": "0x060000\n",
    "sys/bus/pci/devices/0000:00:00.0/vendor": "0x1def\n",
    "sys/bus/pci/devices/0000:00:00.0/device": "0xe100\n",
}
NONE = {"leaves": {}, "cpuid1_ecx31": None}


def dmi(vendor, product):
    folder = "sys/class/dmi/id/"
    return {folder + "sys_vendor": vendor, folder + "product_name": product}


def cpuinfo(**fields):
    return {"proc/cpuinfo": "".join(f"{n}\t: {v}\n" for n, v in fields.items())}


# Name: CPUID, files, layers, whether they are contradictory.
MACHINES = {
    "KVM on ARM": (NONE, dmi("QEMU", "KVM Virtual Machine"), "kvm", False),
    "QEMU on ARM": (NONE, dmi("QEMU", "QEMU Virtual Machine"), "qemu", False),
    "QEMU on ARM, without firmware": (
        *(NONE, {**HVC, TREE + "fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio\0"}),
        *("qemu", False),
    ),
    "Firecracker on ARM": (NONE, HVC, "unknown-hypervisor", False),
    "Docker on a Mac": (
        *(NONE, {**HVC, ".dockerenv": "", "proc/self/ns/pid": OTHER}),
        *("unknown-hypervisor > docker", False),
    ),
    "Apple's virtualization": (
        *(NONE, dmi("Apple Inc.", "Apple Virtualization Generic Platform")),
        *("apple-virtualization", False),
    ),
    "Parallels on ARM": (
        *(NONE, dmi("Parallels International GmbH.", "Parallels ARM Virtual Machine")),
        *("parallels", False),
    ),
    "VMware on ARM": (NONE, dmi("VMware, Inc.", "VMware20,1"), "vmware", False),
    "a cloud on ARM, by QEMU's device": (
        *(NONE, {**dmi("Hetzner", "vServer"), **QEMU_DEVICE}),
        *("kvm", False),
    ),
    "KubeVirt on ARM": (NONE, dmi("KubeVirt", "None"), "kvm", False),
    "a KVM guest that hides as a board of ASUS": (
        *(SILENT, {**dmi("ASUSTeK COMPUTER INC.", "PRIME Z390-A"), **QEMU_DEVICE}),
        *("qemu", True),
    ),
    "KVM on POWER": (
        *(NONE, {TREE + "hypervisor/compatible": "linux,kvm\0"}),
        *("kvm", False),
    ),
    "a hypervisor that nobody knows": (
        *(NONE, {TREE + "hypervisor/compatible": "mine,1.0\0"}),
        *("unknown-hypervisor", False),
    ),
    "a partition of PowerVM": (
        *(NONE, {TREE + "ibm,partition-name": "lpar7\0"}),
        *("powervm", False),
    ),
    "z/VM": (
        *(NONE, {"proc/sysinfo": "VM00 Name: A\nVM00 Control Program: z/VM  7.2\n"}),
        *("z-vm", False),
    ),
    "KVM on s390": (
        *(NONE, {"proc/sysinfo": "VM00 Control Program: KVM/Linux\n"}),
        *("kvm", False),
    ),
    "user-mode Linux": (SILENT, cpuinfo(**{"model name": "UML"}), "uml", False),
    "a Raspberry Pi": (
        *(NONE, {TREE + "psci/method": "smc\0"}),
        *("unknown", False),
    ),
    "a Raspberry Pi that states its model": (
        *(
            NONE,
            {
                TREE + "compatible": "raspberrypi,4-model-b\0brcm,bcm2711\0",
                **FREQUENCIES,
            },
        ),
        *("", False),
    ),
    "a server of ARM": (
        *(NONE, {**dmi("GIGABYTE", "R272-P30-JG"), **HOST_BRIDGE}),
        *("", False),
    ),
    "names of a server of ARM": (NONE, dmi("GIGABYTE", "R272-P30"), "unknown", False),
    "a partition of s390": (
        *(NONE, {"proc/sysinfo": "LPAR Number: 7\n"}),
        *("unknown", False),
    ),
    "Amazon's ARM": (NONE, dmi("Amazon EC2", "m6g.large"), "kvm", False),
    "a whole one of these": (
        *(NONE, {**dmi("Amazon EC2", "m6g.metal"), **HOST_BRIDGE}),
        *("", False),
    ),
}


def read(tmp_path, name):
    cpu, files, layers, disagrees = MACHINES[name]
    links = {"proc/self/ns/pid": FIRST}
    for path, text in files.items():
        if path in links:
            links[path] = text
            continue
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for path, target in links.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).symlink_to(target)
    return {**file_indicators(str(tmp_path)), **cpu}, layers, disagrees


@pytest.mark.parametrize("name", MACHINES)
def test_machine_is_detected(tmp_path, name):
    evidence, layers, disagrees = read(tmp_path, name)

    judgement = detect_layers(evidence)

    assert (" > ".join(judgement.layers), judgement.conflict) == (layers, disagrees)


@pytest.mark.parametrize("name", MACHINES)
def test_missing_evidence_does_not_raise(tmp_path, name):
    evidence, _, _ = read(tmp_path, name)

    for missing in evidence:
        assert detect_layers({**evidence, missing: None}).summary


@pytest.mark.parametrize("word", ["apple", "powervm", "zvm", "vm-other", "of tomorrow"])
def test_every_systemd_name_is_mapped(word):
    assert detect_layers({"leaves": {}, "systemd-detect-virt": word}).layers
    evidence = {"leaves": {}, "systemd-detect-virt": "none", "dmi": DELL}
    evidence["dev_kvm"] = True
    assert not detect_layers(evidence).layers
