"""Native is claimed only with positive evidence; machines from files and evidence."""

import pytest

from agents.detection.indicators import (
    Registers,
    cpuid_cycles,
    cpuid_indicators,
    file_indicators,
    pci_indicators,
    pciconf_indicators,
    root_mount,
)
from agents.detection.layers import UNKNOWN, detect_layers
from devtools.judge_detection import FALSE_NATIVE, RIGHT, judge_table

BARE = cpuid_indicators(lambda leaf: Registers(0, 0, 0, 0))
NO_CPUID = {"leaves": {}, "cpuid1_ecx31": None}
TREE = "proc/device-tree/"
DELL = {"sys_vendor": "Dell Inc.", "product_name": "PowerEdge R6615"}
COPY = {**BARE, "dmi": DELL, "system": "Linux", "machine": "x86_64"}
SERVER = {**COPY, "pci": ["1028", "8086"]}
ARM_COPY = {**NO_CPUID, "dmi": DELL, "system": "Linux", "machine": "aarch64"}
BRIDGES = {"pci": ["1028", "8086"], "chipset": ["8086:0998", "8086:1b81"]}
GOOGLE = {"sys_vendor": "Google", "product_name": "Google Compute Engine"}
OVERLAY = "overlay", "/ rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter/1/fs"
OTHERS = {"uts": "uts:[4026532201]", "ipc": "ipc:[4026532202]"}
OWN_NAME = {"uts": "uts:[4026532201]", "ipc": "ipc:[4026531839]"}
ESXI = {**SERVER, "pci": ["15ad", "8086"]}
HYPER_V = {"0x40000000": ["0x40000001", "Microsoft Hv"]}
VULTR = {"sys_vendor": "Vultr", "product_name": "VCG", "chassis_vendor": "QEMU"}
KVM = {"0x40000000": ["0x40000001", "KVMKVMKVM"]}
MOUNTS = "5 1 0:1 / / rw - overlay overlay rw,lowerdir=/a/docker/b\n"
MAC = {**NO_CPUID, "system": "Darwin", "machine": "arm64"}
INTEL_MAC = {**BARE, "system": "Darwin", "machine": "x86_64", "vm_guest": "none"}
BSD = {**SERVER, "system": "FreeBSD", "vm_guest": "none"}

MACHINES = {
    "server": (SERVER, ""),
    "server with PCI devices": ({**SERVER, "pci": ["102b", "8086"]}, ""),
    "server without firmware names": ({**SERVER, "dmi": {}}, UNKNOWN),
    "server of an unknown maker": ({**SERVER, "dmi": {"sys_vendor": "Acme"}}, UNKNOWN),
    "server with unread CPUID": (
        {**NO_CPUID, "dmi": DELL, "machine": "x86_64"},
        UNKNOWN,
    ),
    "server with virtio": ({**SERVER, "pci": ["1af4", "8086"]}, UNKNOWN),
    "server with a live system": ({**SERVER, "root_mount": ("overlay", "/")}, UNKNOWN),
    "server with its own host name": ({**SERVER, "namespaces": OWN_NAME}, UNKNOWN),
    "server with a chipset": ({**COPY, **BRIDGES, "cpuid_cycles": 150}, ""),
    "server with a slow CPUID": ({**COPY, **BRIDGES, "cpuid_cycles": 1900}, UNKNOWN),
    "copied SMBIOS": (COPY, UNKNOWN),
    "copied SMBIOS on ARM": (ARM_COPY, UNKNOWN),
    "copied SMBIOS with an empty bus": ({**COPY, "pci": [], "chipset": []}, UNKNOWN),
    "copied SMBIOS with the PCI vendor Intel": ({**COPY, "pci": ["8086"]}, UNKNOWN),
    "copied SMBIOS with 440FX": (
        {**COPY, "pci": ["1028", "8086"], "chipset": ["8086:1237"]},
        UNKNOWN,
    ),
    "copied SMBIOS with a real disk": (
        {**COPY, "disk_models": ["SAMSUNG MZQL23T8"]},
        UNKNOWN,
    ),
    "copied SMBIOS with an emulated disk": (
        {**COPY, **BRIDGES, "disk_models": ["QEMU HARDDISK"]},
        "qemu",
    ),
    "copied SMBIOS of ARM with errors by firmware": (
        {**ARM_COPY, "memory_controllers": ["ghes_edac"]},
        UNKNOWN,
    ),
    "server of ARM with sensors": ({**ARM_COPY, "sensors": ["apm_xgene"]}, ""),
    "server with temperatures": ({**COPY, "sensors": ["acpitz", "coretemp"]}, ""),
    "server with a memory controller": (
        {**COPY, "memory_controllers": ["Skylake Socket#0 IMC#0"]},
        "",
    ),
    "laptop with a frequency driver": (
        {**COPY, "frequency_driver": "amd-pstate-epp"},
        "",
    ),
    "server with OVMF": (
        {**SERVER, "dmi": {**DELL, "bios_vendor": "EFI Development Kit II / OVMF"}},
        UNKNOWN,
    ),
    "chroot": ({**SERVER, "root_mount": []}, UNKNOWN),
    "chroot in a mounted folder": (
        {**SERVER, "root_mount": ("ext4", "/srv/debian rw")},
        UNKNOWN,
    ),
    "root folder in a subvolume": (
        {**SERVER, "root_mount": ("btrfs", "/@ rw,subvol=/@")},
        "",
    ),
    "sysfs of the table": ({**BARE, "dmi": DELL}, UNKNOWN),
    "server of the table": (
        {**BARE, "dmi": DELL, "svm_vmx": ["svm"], "dev_kvm": True},
        "",
    ),
    "bare metal of Google": (
        {
            **BARE,
            "dmi": {**GOOGLE, "chassis_type": "17"},
            "svm_vmx": ["vmx"],
            "dev_kvm": True,
        },
        "",
    ),
    "Google with a hypervisor": (
        {"leaves": KVM, "cpuid1_ecx31": 1, "dmi": GOOGLE},
        "kvm",
    ),
    "Google on ARM": ({**NO_CPUID, "dmi": GOOGLE}, "kvm"),
    "Hetzner on ARM": (
        {**NO_CPUID, "dmi": {"sys_vendor": "Hetzner", "product_name": "vServer"}},
        "kvm",
    ),
    "Vultr with Hyper-V's signature": (
        {"leaves": HYPER_V, "cpuid1_ecx31": 1, "dmi": VULTR},
        "kvm",
    ),
    "Apptainer": ({**SERVER, "container_files": [".singularity.d"]}, "apptainer"),
    "Charliecloud": ({**SERVER, "container_variables": ["CH_RUNNING"]}, "charliecloud"),
    "nerdctl in namespaces of the host": (
        {**SERVER, "namespaces": OTHERS, "root_mount": OVERLAY},
        "container",
    ),
    "nerdctl by its control group": (
        {**SERVER, "own_cgroup": "0::/system.slice/nerdctl-1f.scope"},
        "nerdctl",
    ),
    "Windows, isolated by process": (
        {**SERVER, "windows": {"container": 1}},
        "windows-container",
    ),
    "SmartOS LX zone": ({**SERVER, "uname_version": "BrandZ virtual linux"}, "lx-zone"),
    "Linuxulator": (
        {**SERVER, "uname_version": "FreeBSD 14.1-RELEASE GENERIC"},
        "linuxulator",
    ),
    "FreeBSD": ({**BSD, "jailed": "0"}, ""),
    "FreeBSD that does not state it": ({**BSD, "vm_guest": None}, UNKNOWN),
    "FreeBSD jail": ({**BSD, "jailed": "1"}, "freebsd-jail"),
    "gVisor": ({**SERVER, "kernel": "4.19.0-gvisor"}, "gvisor"),
    "ESXi's shell": ({**SERVER, "system": "VMkernel"}, "esxi-shell"),
    "Mac": ({**MAC, "vm_guest": "none", "apple_model": "Mac14,3"}, ""),
    "Mac guest": (
        {**MAC, "vm_guest": "1", "apple_model": "VirtualMac2,1"},
        "apple-virtualization",
    ),
    "Mac with Intel": ({**INTEL_MAC, "cpuid_cycles": 180}, ""),
    "Mac guest that copies a model": ({**INTEL_MAC, "cpuid_cycles": 2400}, UNKNOWN),
    "Mac with Intel without timing": (INTEL_MAC, UNKNOWN),
    "old macOS": ({**MAC, "vm_guest": None, "apple_model": "iMac12,2"}, UNKNOWN),
    "pseries in QEMU": (
        {
            **NO_CPUID,
            "device_tree": {
                "compatible": "qemu,pseries",
                "nodes": ["ibm,partition-name"],
            },
        },
        "qemu-tcg",
    ),
    "RISC-V in kvmtool": (
        {
            **NO_CPUID,
            "device_tree": {"compatible": "linux,dummy-virt"},
            "isa": "rv64gc",
        },
        "kvm",
    ),
    "RISC-V in QEMU": (
        {**NO_CPUID, "device_tree": {"compatible": "riscv-virtio"}, "isa": "rv64gc"},
        "qemu",
    ),
    "RISC-V board": (
        {
            **NO_CPUID,
            "device_tree": {"compatible": "sifive,hifive-unmatched-a00"},
            "kernel": "6.12",
            "frequency_driver": "cpufreq-dt",
        },
        "",
    ),
    "Raspberry Pi in QEMU, which has its sensor": (
        {
            **NO_CPUID,
            "device_tree": {"compatible": "raspberrypi,3-model-b"},
            "kernel": "6.12",
            "sensors": ["cpu-thermal"],
        },
        UNKNOWN,
    ),
    "RISC-V board in QEMU": (
        {
            **NO_CPUID,
            "device_tree": {"compatible": "sifive,hifive-unleashed-a00"},
            "kernel": "6.12",
            "chipset": None,
        },
        UNKNOWN,
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machine_is_native_only_with_evidence(name):
    evidence, layers = MACHINES[name]

    detection = detect_layers(evidence)

    assert " > ".join(detection.layers) == layers
    assert not detection.conflict


@pytest.mark.parametrize("name", MACHINES)
def test_missing_evidence_does_not_raise(name):
    evidence, _ = MACHINES[name]

    for missing in evidence:
        assert detect_layers({**evidence, missing: None}).summary


def test_emulated_devices_contradict_a_silent_processor():
    detection = detect_layers(ESXI)

    assert (detection.layers, detection.conflict) == (("vmware",), True)


def test_evidence_is_read_from_files(tmp_path):
    files = {
        "sys/bus/pci/devices/0000:00:0f.0/vendor": "0x15AD\n",
        "sys/bus/pci/devices/0000:00:0f.0/subsystem_vendor": "0x15ad\n",
        "sys/bus/pci/devices/0000:00:0f.0/class": "0x060100\n",
        "sys/bus/pci/devices/0000:00:0f.0/device": "0x07A0\n",
        "sys/class/hwmon/hwmon0/name": "coretemp\n",
        "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
        "sys/devices/system/edac/mc/mc0/mc_name": "i7core\n",
        "sys/devices/system/edac/mc/power/control": "auto\n",
        "sys/block/mmcblk0/device/name": "QEMU!\n",
        "sys/block/sda/device/model": "VBOX HARDDISK   \n",
        TREE + "compatible": "linux,dummy-virt\0",
        "proc/self/mountinfo": MOUNTS,
        "proc/cpuinfo": "processor\t: 0\nisa\t: rv64imafdc\n",
        ".singularity.d/runscript": "",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    evidence = file_indicators(str(tmp_path))

    assert evidence["pci"] == ["15ad"]
    assert evidence["chipset"] == ["15ad:07a0"]
    assert evidence["sensors"] == ["coretemp", "x86_pkg_temp"]
    assert evidence["memory_controllers"] == ["i7core"]
    assert evidence["disk_models"] == ["QEMU!", "VBOX HARDDISK"]
    assert evidence["isa"] == "rv64imafdc"
    assert evidence["root_mount"] == ["overlay", "/ rw,lowerdir=/a/docker/b"]
    assert evidence["container_files"] == [".singularity.d"]


def test_missing_mounts_and_devices_are_none(tmp_path):
    assert root_mount("damaged\n") is None
    assert pci_indicators(str(tmp_path / "missing")) == {"pci": None, "chipset": None}


def test_root_folder_without_a_mount_is_empty():
    assert root_mount("5 1 0:1 / /proc rw - proc proc rw\n") == []


@pytest.mark.parametrize(
    "words",
    [
        "class=0x060000 rev=0x02 hdr=0x00 vendor=0x8086 device=0x1237 "
        "subvendor=0x1af4 subdevice=0x1100",
        "class=0x060000 card=0x11001af4 chip=0x12378086 rev=0x02 hdr=0x00",
    ],
)
def test_devices_of_freebsd_are_read(words):
    devices = pciconf_indicators(f"hostb0@pci0:0:0:0:\t{words}")

    assert devices == {"pci": ["1af4", "8086"], "chipset": ["8086:1237"]}


def test_cpuid_is_timed_only_on_x86(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert cpuid_cycles() > 10

    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert cpuid_cycles() is None


HEAD = (
    "id arch lscpu_hypervisor lscpu_type hypervisor_flag vmx_svm kvm_ok sys_vendor "
    "product product_version bios_vendor board_vendor chassis_vendor chassis_type "
    "chassis_tag truth basis trap"
)


def table(*rows):
    return ["\t".join(HEAD.split()), *("\t".join(row) for row in rows)]


def test_table_of_machine_types_is_judged():
    metal = ["aws/m6g.metal", "aarch64", *[""] * 4, "yes", "Amazon EC2", "="]
    guest = ["x/guest", "aarch64", *[""] * 4, "yes", "Dell Inc.", "R740"]
    names = [""] * 6

    rows = table(
        [*metal, *names, "native", "", ""],
        [*guest, *names, "KVM", "", ""],
    )

    outcomes = [judgement.outcome for judgement in judge_table(rows)]

    assert outcomes == [RIGHT, FALSE_NATIVE]
