"""Layers from evidence: guests that were read, containers, and what contradicts."""

import json
from pathlib import Path

import pytest

from agents.detection.layers import judge

DATA = Path(__file__).parents[2] / "data" / "hv-detection"
SAVED = sorted(set(DATA.glob("*.json")) - set(DATA.glob("*.layers.json")))


def saved(name):
    return json.loads((DATA / f"{name}.json").read_text())


def signed(*texts, **more):
    """Evidence of a CPU that signs so at 0x40000000, 0x40000100, ..."""
    bases = [0x40000000 + 0x100 * place for place in range(len(texts))]
    leaves = {
        hex(base): [hex(base + 1), text]
        for base, text in zip(bases, texts, strict=True)
    }
    return {"leaves": leaves, "cpuid1_ecx31": 1, **more}


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_every_saved_guest_is_known_for_what_it_was(path):
    expected = json.loads(path.with_suffix(".layers.json").read_text())

    judgement = judge(json.loads(path.read_text()))

    assert list(judgement.layers) == expected["layers"]
    assert judgement.conflict == expected["conflict"]
    assert " > ".join(judgement.layers) in judgement.sentence


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_evidence_that_misses_anything_is_still_judged(path):
    evidence = json.loads(path.read_text())

    for name in evidence:
        without = {key: value for key, value in evidence.items() if key != name}
        assert judge(without).sentence
        assert judge({**evidence, name: None}).sentence


def test_all_saved_guests_are_here():
    listed = (DATA.parent / "README.md").read_text()

    assert len(SAVED) == 21
    assert all(path.name in listed for path in SAVED)


def test_a_hidden_hypervisor_bit_is_said():
    judgement = judge(saved("tcg-hypervisor-bit-hidden"))

    assert "hides the hypervisor bit" in judgement.sentence


def test_firmware_that_names_another_hypervisor_is_said():
    judgement = judge(saved("tcg-smbios-hyperv"))

    assert "Microsoft Corporation Virtual Machine" in judgement.sentence


def test_leaves_above_the_maximum_sign_nothing():
    garbage = saved("nested-L1")
    garbage["leaves"]["0x40000100"] = ["0x21f", "XenVMMXenVMM"]

    assert judge(garbage).layers == ("qemu-tcg",)


def test_a_known_text_in_a_leaf_that_is_not_its_own_signs_nothing():
    empty = ["0x0", "\0" * 12]
    leaves = {"0x40000000": empty, "0x40000100": ["0x21f", "XenVMMXenVMM"]}

    assert judge({"leaves": leaves, "cpuid1_ecx31": 0}).layers == ()


def test_an_unknown_signature_is_not_believed():
    judgement = judge(signed("EvilEvilEvil"))

    assert judgement.layers == ("unknown-hypervisor",)
    assert "Evil" not in judgement.sentence


def test_a_bare_machine_has_no_layer():
    leaves = {"0x40000000": ["0x0", "\0" * 12]}

    judgement = judge({"leaves": leaves, "cpuid1_ecx31": 0, "clocksource": "tsc"})

    assert (judgement.layers, judgement.conflict) == ((), False)
    assert judgement.sentence == "No hypervisor and no container was found."


def test_nothing_read_is_said_and_is_no_conflict():
    judgement = judge({})

    assert (judgement.layers, judgement.conflict) == ((), False)
    assert "CPUID could not be asked." in judgement.sentence


@pytest.mark.parametrize(
    ("texts", "layer"),
    [
        (["KVMKVMKVM\0\0\0"], "kvm"),
        (["VMwareVMware"], "vmware"),
        (["VBoxVBoxVBox"], "virtualbox"),
        (["Microsoft Hv"], "hyper-v"),
        (["Microsoft Hv", "KVMKVMKVM\0\0\0"], "kvm"),
        (["Microsoft Hv", "XenVMMXenVMM"], "xen-hvm"),
    ],
)
def test_it_knows_the_signatures(texts, layer):
    assert judge(signed(*texts)).layers == (layer,)


def test_the_root_partition_of_hyper_v_is_told_from_its_guests():
    assert judge(signed("Microsoft Hv", hyperv_privileges=1)).layers == (
        "hyper-v-root",
    )


def test_an_old_kvm_gives_no_maximum():
    leaves = {"0x40000000": ["0x0", "KVMKVMKVM\0\0\0"]}

    assert judge({"leaves": leaves}).layers == ("kvm",)


def test_virtualbox_in_kvm_clothes_is_known_by_its_firmware():
    dmi = {"sys_vendor": "innotek GmbH", "product_name": "VirtualBox"}

    judgement = judge(signed("KVMKVMKVM\0\0\0", dmi=dmi, clocksources="kvm-clock tsc"))

    assert (judgement.layers, judgement.conflict) == (("virtualbox",), False)


@pytest.mark.parametrize("kind", ["PVH", "HVM"])
def test_xen_guests_with_hardware_say_which_kind_they_are(kind):
    shown = {"type": "xen", "guest_type": kind, "uuid": "f0d5-4473"}

    judgement = judge(signed("XenVMMXenVMM", sys_hypervisor=shown))

    assert judgement.layers == (f"xen-{kind.lower()}",)


def test_a_xen_kernel_too_old_to_say_is_told_by_cpuid():
    shown = {"type": "xen", "uuid": "f0d5-4473"}

    hvm = judge(signed("XenVMMXenVMM", sys_hypervisor=shown))
    pv = judge(signed("VMwareVMware", sys_hypervisor=shown))

    assert hvm.layers == ("xen-hvm",)
    assert pv.layers == ("vmware", "xen-pv")


def test_a_dom0_that_cannot_see_below_xen_reads_the_machines_firmware():
    shown = {"type": "xen", "uuid": "00000000-0000-0000-0000-000000000000"}
    dmi = {"sys_vendor": "VMware, Inc."}

    nested = judge(signed("XenVMMXenVMM", sys_hypervisor=shown, dmi=dmi))
    bare = judge({"proc_xen": [], "xen_cap": "control_d", "dmi": {}})

    assert (nested.layers, nested.conflict) == (("vmware", "xen-dom0"), False)
    assert bare.layers == ("xen-dom0",)


def test_without_cpuid_the_firmware_then_the_clock_then_systemd_speak():
    dmi = {"sys_vendor": "VMware, Inc."}

    assert judge({"dmi": dmi, "clocksource": "tsc"}).layers == ("vmware",)
    assert judge({"clocksource": "kvm-clock"}).layers == ("kvm",)
    assert judge({"systemd-detect-virt": "oracle"}).layers == ("virtualbox",)


def test_a_machine_made_by_microsoft_is_not_a_virtual_one():
    dmi = {"sys_vendor": "Microsoft Corporation", "product_name": "Surface Pro 9"}

    assert judge({"dmi": dmi}).layers == ()


@pytest.mark.parametrize(
    "more",
    [
        {"clocksources": "kvm-clock tsc"},
        {"dmi": {"sys_vendor": "VMware, Inc."}},
        {"cpuid1_ecx31": 0},
    ],
)
def test_evidence_that_contradicts_is_flagged(more):
    assert judge(signed("TCGTCGTCGTCG", **more)).conflict


def test_firmware_of_a_hypervisor_that_cpuid_denies_is_flagged():
    dmi = {"sys_vendor": "QEMU"}
    leaves = {"0x40000000": ["0x0", ""]}

    judgement = judge({"dmi": dmi, "leaves": leaves, "cpuid1_ecx31": 0})

    assert (judgement.layers, judgement.conflict) == (("qemu",), True)


FIRST = "pid:[4026531836]"


@pytest.mark.parametrize(
    ("evidence", "layer"),
    [
        ({"pid1_env_container": ["container=lxc"]}, "lxc"),
        ({"pid1_env_container": ["container_ttys=x", "container=podman"]}, "podman"),
        ({"pid1_env_container": ["container=oci"]}, "container"),
        ({"container_manager": "systemd-nspawn"}, "systemd-nspawn"),
        ({"dockerenv": True}, "docker"),
        ({"containerenv": True}, "podman"),
        ({"proc_vz": True, "proc_bc": False}, "openvz"),
        ({"cgroup1": "1:name=systemd:/lxc/web"}, "lxc"),
        ({"cgroup1": "9:name=systemd:/t-runc"}, "container"),
        ({"cgroup1": "0::/kubepods.slice/kubepods-pod1"}, "kubernetes"),
        ({"pid_namespace": "pid:[4026532201]"}, "container"),
        ({"systemd-detect-virt -c": "container-other"}, "container"),
    ],
)
def test_it_knows_a_container_by_any_mark(evidence, layer):
    assert judge(evidence).layers == (layer,)


@pytest.mark.parametrize(
    "evidence",
    [
        {"proc_vz": True, "proc_bc": True},
        {"cgroup1": "0::/init.scope"},
        {"cgroup1": "4:memory:/some/limit\n0::/"},
        {"pid_namespace": FIRST},
        {"systemd-detect-virt -c": "none"},
    ],
)
def test_a_host_is_no_container(evidence):
    assert judge(evidence).layers == ()


def test_the_name_wins_over_the_nameless_mark():
    evidence = {"pid_namespace": "pid:[4026532201]", "dockerenv": True}

    judgement = judge(evidence)

    assert (judgement.layers, judgement.conflict) == (("docker",), False)


def test_two_managers_of_one_container_are_a_conflict():
    evidence = {"pid1_env_container": ["container=lxc"], "dockerenv": True}

    assert judge(evidence).conflict


def test_a_mark_in_a_machine_booted_from_an_image_is_a_conflict():
    judgement = judge({"dockerenv": True, "pid_namespace": FIRST})

    assert judgement.conflict
    assert "the machine's own" in judgement.sentence


def test_a_distributions_kernel_is_not_gvisors():
    assert judge({"kernel": "4.4.0-21-generic", "clocksource": None}).layers == ()
    assert judge({"kernel": "4.4.0", "clocksource": "tsc"}).layers == ()
    assert judge({"kernel": "4.4.0", "clocksource": None}).layers == ("gvisor",)
