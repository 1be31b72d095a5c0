"""Programs that an emulator or a tracer runs on real hardware are not native."""

import pytest

from agents.detection.indicators import Registers, cpuid_indicators, file_indicators
from agents.detection.layers import detect_layers
from agents.detection.translation import EMULATED_PROCESS, tracer

BARE = cpuid_indicators(lambda leaf: Registers(0, 0, 0, 0))
X86 = {
    **BARE,
    "system": "Linux",
    "machine": "x86_64",
    "dmi": {"sys_vendor": "Dell Inc."},
    "pci": ["1028", "8086"],
    "sensors": ["coretemp"],
}
ARM = {**X86, "leaves": {}, "cpuid1_ecx31": None, "machine": "aarch64"}
KVM = {"leaves": {"0x40000000": ["0x40000001", "KVMKVMKVM"]}, "cpuid1_ecx31": 1}
HAXM = {"leaves": {"0x40000000": ["0x40000001", "HAXMHAXMHAXM"]}, "cpuid1_ecx31": 1}
FIRST = "pid:[4026531836]"

MACHINES = {
    "server": (X86, ""),
    "server whose kernel states its machine": ({**X86, "kernel_machine": "x86_64"}, ""),
    "32-bit program": ({**X86, "machine": "i686", "kernel_machine": "x86_64"}, ""),
    "32-bit program of ARM": (
        {**ARM, "machine": "armv7l", "kernel_machine": "aarch64", "sensors": []},
        "",
    ),
    "qemu-user": ({**ARM, "kernel_machine": "x86_64"}, EMULATED_PROCESS),
    "qemu-user before Linux 6.1": (ARM, EMULATED_PROCESS),
    "qemu-user with a driver of Intel": (
        {**ARM, "sensors": [], "frequency_driver": "intel_pstate"},
        EMULATED_PROCESS,
    ),
    "FEX": ({**X86, "sensors": ["apm_xgene"]}, EMULATED_PROCESS),
    "Rosetta": ({**X86, "sensors": [], "vendor": "VirtualApple"}, EMULATED_PROCESS),
    "image of another architecture": (
        {**ARM, "kernel_machine": "x86_64", "dockerenv": True},
        f"docker > {EMULATED_PROCESS}",
    ),
    "strace": ({**X86, "tracer": 4711}, "unknown"),
    "PRoot": ({**X86, "kernel": "6.2.1-PRoot-Distro"}, "unknown"),
    "Apptainer in a guest": (
        {**X86, **KVM, "container_files": [".singularity.d"], "pid_namespace": FIRST},
        "kvm > apptainer",
    ),
    "QEMU with HAXM": (
        {**X86, **HAXM, "dmi": {"sys_vendor": "QEMU"}, "sensors": []},
        "haxm",
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_translated_and_traced_programs_are_not_native(name):
    evidence, layers = MACHINES[name]

    detection = detect_layers(evidence)

    assert " > ".join(detection.layers) == layers
    assert not detection.conflict


def test_tracer_and_machine_of_the_kernel_are_read(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text("Name:\tpython3\nTracerPid:\t47\n")
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/arch").write_text("aarch64\n")

    evidence = file_indicators(str(tmp_path))

    assert (evidence["tracer"], evidence["kernel_machine"]) == (47, "aarch64")


@pytest.mark.parametrize("status", ["", "TracerPid:\t0\n", "TracerPid: ?\n"])
def test_untraced_program_has_no_tracer(status):
    assert tracer(status) is None
