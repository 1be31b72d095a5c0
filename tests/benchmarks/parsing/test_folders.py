"""What the names of folders say of their systems."""

import pytest

from benchmarks.parsing.folders import folder_of, named, with_files

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
def test_it_knows_platforms_in_names(name, hypervisor, version):
    guess = named(name)
    assert (guess.hypervisor, guess.hypervisor_version) == (hypervisor, version)


def test_it_knows_what_a_guest_was_given():
    guess = named("xen-4.17-pv_debian-12_64bit_4vcpu_8G")
    assert guess.virtualization == "paravirtual"
    assert (guess.guest_os, guess.guest_bits) == ("Debian 12", 64)
    assert (guess.vcpus, guess.memory_bytes) == (4, 8 * 1024**3)
    assert named("kvm ubuntu22.04 2 vcpus").vcpus == 2
    assert named("kvm ubuntu22.04 2 vcpus").guest_os == "Ubuntu 22.04"


def test_what_a_program_printed_fills_the_gaps():
    guess = with_files(named("vm"), [LSCPU])
    assert (guess.hypervisor, guess.virtualization) == ("KVM", "full")
    assert (guess.guest_bits, guess.vcpus) == (64, 4)
    assert with_files(named("guest"), ["kvm\n"]).hypervisor == "KVM"


def test_a_machine_itself_was_given_nothing():
    guess = with_files(named("native"), ["Architecture: x86_64\nCPU(s): 8\n"])
    assert (guess.guest_bits, guess.vcpus) == (64, None)


def test_a_name_that_a_program_contradicts_is_kept_for_the_person():
    assert with_files(named("xen"), [LSCPU]).hypervisor == "Xen"
    assert with_files(named("vm"), ["vmware\n"]).hypervisor == ""


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
    assert folder_of(path) == folder
