import subprocess

import pytest

from lab.machines import Machine
from lab.scripts import Desk, Place, kvm_tower, measuring, xen_tower

DESK = Desk("http://10.0.2.2:1", "tcp://10.0.2.2:2", "study", "machine")
COMMAND = ["run", "sysbench", "--option", "layers=qemu-tcg > kvm"]
GUEST = measuring("qemu", Place("10.0.2.15", "10.0.2.2"), DESK, [COMMAND])
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


def test_the_token_stands_in_no_script():
    assert all("--token -" in each for each in (GUEST, NATIVE))


def test_guests_of_xen_come_one_after_another():
    script = SCRIPTS["xen"]

    assert script.index("xl destroy xen-pv") < script.index("xl create -c xen-pvh")
