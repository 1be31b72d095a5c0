from lab.machines import Machine, bare, container, qemu, xen_guest

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


def test_a_xen_machine_boots_xen_with_dom0_as_its_module():
    argv = qemu(Machine(kernel="k", initrd="i", disks=("root.img",), xen="xen"))

    assert after(argv, "-kernel") == "xen"
    kernel, initrd = after(argv, "-initrd").split(",")
    assert kernel.startswith("k console=hvc0 root=/dev/vda")
    assert initrd == "i"


def test_a_liar_counts_instructions():
    more = ("-icount", "shift=0,sleep=on")

    assert qemu(Machine(kernel="k", initrd="i", disks=(), more=more))[-2:] == [*more]


def test_a_xen_guest_is_of_its_kind():
    assert 'type = "pvh"' in xen_guest("xen-pvh", "pvh")


def test_a_container_cannot_change_its_root():
    assert "--volatile=overlay" in container("/root", "/job")


def test_a_folder_may_have_a_strange_name():
    assert "'/my root'" in bare("/my root", "/job")[-1]
