import subprocess
from dataclasses import replace

import pytest

from testbed.machines import (
    GuestEnrolment,
    GuestNetwork,
    QemuMachine,
    chroot_command,
    container_command,
    kvm_host_script,
    measuring_script,
    qemu_command,
    xen_guest_config,
    xen_host_script,
)

PLAIN = QemuMachine(kernel="vmlinuz", initrd="initrd", disks=("root.img", "job.tar"))


def after(argv, word):
    return argv[argv.index(word) + 1]


def test_plain_machine_is_emulated_and_writes_to_no_image():
    argv = qemu_command(PLAIN)

    assert after(argv, "-accel") == "tcg"
    drives = [argument for argument in argv if argument.startswith("file=")]
    assert [drive.split(",")[0] for drive in drives] == [
        "file=root.img",
        "file=job.tar",
    ]
    assert all(drive.endswith("snapshot=on") for drive in drives)
    assert "root=/dev/vda" in after(argv, "-append")


def test_measured_disk_is_raw_and_uncached():
    argv = qemu_command(replace(PLAIN, raw="raw.img"))

    (*others, raw) = [argument for argument in argv if argument.startswith("file=")]
    assert raw == "file=raw.img,if=virtio,format=raw,cache=none"
    assert len(others) == 2


def test_xen_machine_boots_xen_with_dom0_as_module():
    argv = qemu_command(
        QemuMachine(kernel="k", initrd="i", disks=("root.img",), xen="xen")
    )

    assert after(argv, "-kernel") == "xen"
    kernel, initrd = after(argv, "-initrd").split(",")
    assert kernel.startswith("k console=hvc0 root=/dev/vda")
    assert initrd == "i"


def test_wrong_clock_machine_counts_instructions():
    clock_arguments = ("-icount", "shift=6,sleep=on")

    assert qemu_command(
        QemuMachine(kernel="k", initrd="i", disks=(), extra_arguments=clock_arguments)
    )[-2:] == [*clock_arguments]


def test_xen_guest_has_its_type():
    assert 'type = "pvh"' in xen_guest_config("xen-pvh", "pvh")


def test_container_root_is_read_only():
    assert "--volatile=overlay" in container_command("/root", "/job")


def test_folder_name_may_need_quoting():
    assert "'/my root'" in chroot_command("/my root", "/job")[-1]


DESK = GuestEnrolment("http://10.0.2.2:1", "tcp://10.0.2.2:2", "study", "machine")
COMMAND = ["run", "sysbench", "--option", "layers=qemu-tcg > kvm"]
HERE = GuestNetwork("10.0.2.15", "10.0.2.2", "/dev/vdc")
GUEST = measuring_script("qemu", HERE, DESK, [COMMAND])
NATIVE = measuring_script("native", GuestNetwork(), DESK, [COMMAND])
INNER = QemuMachine(kernel="vmlinuz", initrd="initrd", disks=("/dev/vdc", "kvm.tar"))
SCRIPTS = {
    "guest": GUEST,
    "native": NATIVE,
    "kvm": kvm_host_script(INNER),
    "xen": xen_host_script([("xen-pv", "pv"), ("xen-pvh", "pvh")]),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_valid_shell(name):
    done = subprocess.run(["sh", "-n"], input=SCRIPTS[name], text=True)

    assert done.returncode == 0


def test_only_complete_work_is_reported_as_done():
    lines = GUEST.strip().splitlines()

    assert lines[-2].strip() == "echo 'lab: qemu is done'"
    assert lines[-3].endswith("&&")
    assert "'layers=qemu-tcg > kvm'" in lines[-3]


def test_guest_sets_its_clock_but_this_machine_does_not():
    assert "clock.py set" in GUEST
    assert "clock.py set" not in NATIVE
    assert "ip addr" not in NATIVE


def test_guest_mounts_its_raw_disk_but_this_machine_uses_a_folder():
    assert "mount /dev/vdc disk" in GUEST
    assert "mkdir -p disk" in NATIVE
    assert "mount" not in NATIVE
    assert "vdev=xvdc, access=rw" in xen_guest_config("xen-pv", "pv")


def test_token_is_in_no_script():
    assert all("--token -" in argument for argument in (GUEST, NATIVE))


def test_xen_guests_run_one_after_another():
    script = SCRIPTS["xen"]

    assert script.index("xl destroy xen-pv") < script.index("xl create -c xen-pvh")
