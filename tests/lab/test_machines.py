import subprocess
from dataclasses import replace

import pytest

from lab.machines import (
    Enrolment,
    Machine,
    Place,
    bare,
    container,
    kvm_tower,
    measuring,
    qemu,
    xen_guest,
    xen_tower,
)

PLAIN = Machine(kernel="vmlinuz", initrd="initrd", disks=("root.img", "job.tar"))


def after(argv, word):
    return argv[argv.index(word) + 1]


def test_a_plain_machine_emulates_its_processor_and_writes_to_no_image():
    argv = qemu(PLAIN)

    assert after(argv, "-accel") == "tcg"
    drives = [each for each in argv if each.startswith("file=")]
    assert [drive.split(",")[0] for drive in drives] == [
        "file=root.img",
        "file=job.tar",
    ]
    assert all(drive.endswith("snapshot=on") for drive in drives)
    assert "root=/dev/vda" in after(argv, "-append")


def test_what_is_measured_as_a_disk_is_raw_and_past_this_machines_cache():
    argv = qemu(replace(PLAIN, raw="raw.img"))

    (*others, raw) = [each for each in argv if each.startswith("file=")]
    assert raw == "file=raw.img,if=virtio,format=raw,cache=none"
    assert len(others) == 2


def test_a_xen_machine_boots_xen_with_dom0_as_its_module():
    argv = qemu(Machine(kernel="k", initrd="i", disks=("root.img",), xen="xen"))

    assert after(argv, "-kernel") == "xen"
    kernel, initrd = after(argv, "-initrd").split(",")
    assert kernel.startswith("k console=hvc0 root=/dev/vda")
    assert initrd == "i"


def test_a_liar_counts_instructions():
    more = ("-icount", "shift=6,sleep=on")

    assert qemu(Machine(kernel="k", initrd="i", disks=(), more=more))[-2:] == [*more]


def test_a_xen_guest_is_of_its_kind():
    assert 'type = "pvh"' in xen_guest("xen-pvh", "pvh")


def test_a_container_cannot_change_its_root():
    assert "--volatile=overlay" in container("/root", "/job")


def test_a_folder_may_have_a_strange_name():
    assert "'/my root'" in bare("/my root", "/job")[-1]


DESK = Enrolment("http://10.0.2.2:1", "tcp://10.0.2.2:2", "study", "machine")
COMMAND = ["run", "sysbench", "--option", "layers=qemu-tcg > kvm"]
HERE = Place("10.0.2.15", "10.0.2.2", "/dev/vdc")
GUEST = measuring("qemu", HERE, DESK, [COMMAND])
NATIVE = measuring("native", Place(), DESK, [COMMAND])
INNER = Machine(kernel="vmlinuz", initrd="initrd", disks=("/dev/vdc", "kvm.tar"))
SCRIPTS = {
    "guest": GUEST,
    "native": NATIVE,
    "kvm": kvm_tower(INNER),
    "xen": xen_tower([("xen-pv", "pv"), ("xen-pvh", "pvh")]),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shell_can_read_it(name):
    done = subprocess.run(["sh", "-n"], input=SCRIPTS[name], text=True)

    assert done.returncode == 0


def test_only_who_did_everything_is_done():
    lines = GUEST.strip().splitlines()

    assert lines[-2].strip() == "echo 'lab: qemu is done'"
    assert lines[-3].endswith("&&")
    assert "'layers=qemu-tcg > kvm'" in lines[-3]


def test_a_guest_sets_its_clock_and_this_machine_keeps_its_own():
    assert "clock.py set" in GUEST
    assert "clock.py set" not in NATIVE
    assert "ip addr" not in NATIVE


def test_a_guest_has_its_raw_disk_where_this_machine_has_a_folder():
    assert "mount /dev/vdc disk" in GUEST
    assert "mkdir -p disk" in NATIVE
    assert "mount" not in NATIVE
    assert "vdev=xvdc, access=rw" in xen_guest("xen-pv", "pv")


def test_the_token_stands_in_no_script():
    assert all("--token -" in each for each in (GUEST, NATIVE))


def test_guests_of_xen_come_one_after_another():
    script = SCRIPTS["xen"]

    assert script.index("xl destroy xen-pv") < script.index("xl create -c xen-pvh")
