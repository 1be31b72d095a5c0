"""Systems described by the names of folders."""

import pytest

from benchmarks.parsing.system_from_folder_name import (
    add_file_facts,
    guess_from_name,
    system_folder,
)

LSCPU = """Architecture:        x86_64
CPU(s):              4
Hypervisor vendor:   KVM
Virtualization type: full
"""


@pytest.mark.parametrize(
    ("name", "hypervisor", "version"),
    [
        ("native", "native", ""),
        ("bare-metal", "native", ""),
        ("host", "native", ""),
        ("Physical", "native", ""),
        ("kvm", "KVM", ""),
        ("01_kvm", "KVM", ""),
        ("KVM-8.2", "KVM", "8.2"),
        ("qemu-kvm", "KVM", ""),
        ("xen 4.17", "Xen", "4.17"),
        ("xen4.17", "Xen", "4.17"),
        ("esxi8", "VMware ESXi", "8"),
        ("VMware Workstation 17", "VMware Workstation", "17"),
        ("hyperv_2022", "Hyper-V", "2022"),
        ("results-docker", "Docker", ""),
        ("proxmox.zip", "Proxmox VE", ""),
        ("wsl2", "Hyper-V (WSL2 utility VM)", ""),
        ("experiment", "", ""),
        ("vm", "", ""),
        ("", "", ""),
    ],
)
def test_platforms_in_names_are_recognized(name, hypervisor, version):
    guess = guess_from_name(name)
    assert (guess.hypervisor, guess.hypervisor_version) == (hypervisor, version)


def test_the_size_of_a_guest_is_recognized():
    guess = guess_from_name("xen-4.17-pv_debian-12_64bit_4vcpu_8G")
    assert guess.virtualization == "paravirtual"
    assert (guess.guest_os, guess.guest_bits) == ("Debian 12", 64)
    assert (guess.vcpus, guess.memory_bytes) == (4, 8 * 1024**3)
    assert guess_from_name("kvm ubuntu22.04 2 vcpus").vcpus == 2
    assert guess_from_name("kvm ubuntu22.04 2 vcpus").guest_os == "Ubuntu 22.04"


def test_the_output_of_a_program_adds_missing_facts():
    guess = add_file_facts(guess_from_name("vm"), [LSCPU])
    assert (guess.hypervisor, guess.virtualization) == ("KVM", "full")
    assert (guess.guest_bits, guess.vcpus) == (64, 4)
    assert add_file_facts(guess_from_name("guest"), ["kvm\n"]).hypervisor == "KVM"


def test_the_size_of_a_native_machine_is_not_added():
    guess = add_file_facts(
        guess_from_name("native"), ["Architecture: x86_64\nCPU(s): 8\n"]
    )
    assert (guess.guest_bits, guess.vcpus) == (64, None)


def test_a_name_that_a_program_contradicts_is_unchanged():
    assert add_file_facts(guess_from_name("xen"), [LSCPU]).hypervisor == "Xen"
    assert add_file_facts(guess_from_name("vm"), ["vmware\n"]).hypervisor == ""


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("native/fio-1.txt", "native"),
        ("results/kvm/fio/run-3/out.txt", "results/kvm"),
        ("host-a/native/fio/1.txt", "host-a/native"),
        ("r.zip/kvm/1.txt", "r.zip/kvm"),
        ("kvm.zip/fio.txt", "kvm.zip"),
        ("r.zip/iometer/disk.txt", ""),
        ("sysbench/1.txt", ""),
        ("measurements/day 2/1.txt", "measurements"),
        ("1.txt", ""),
    ],
)
def test_the_folder_of_a_system_is_the_innermost_that_names_one(path, folder):
    assert system_folder(path) == folder
