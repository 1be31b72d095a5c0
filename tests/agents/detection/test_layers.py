"""Layers from evidence: saved guests, containers, contradictions."""

import json
from pathlib import Path

import pytest

from agents.detection.layers import detect_layers

DATA = Path(__file__).parents[2] / "data" / "hv-detection"
DELL = {"sys_vendor": "Dell Inc."}
HARDWARE = {"dmi": DELL, "sensors": ["coretemp"], "pci": None}
SAVED = sorted(set(DATA.glob("*.json")) - set(DATA.glob("*.layers.json")))


def saved(name):
    return json.loads((DATA / f"{name}.json").read_text())


def signed(*texts, **added):
    """Return evidence of a CPU with these signatures at 0x40000000, 0x40000100, ..."""
    bases = [0x40000000 + 0x100 * index for index in range(len(texts))]
    leaves = {
        hex(base): [hex(base + 1), text]
        for base, text in zip(bases, texts, strict=True)
    }
    return {"leaves": leaves, "cpuid1_ecx31": 1, **added}


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_saved_guests_are_detected(path):
    expected = json.loads(path.with_suffix(".layers.json").read_text())

    judgement = detect_layers(json.loads(path.read_text()))

    assert list(judgement.layers) == expected["layers"]
    assert judgement.conflict == expected["conflict"]
    assert " > ".join(judgement.layers) in judgement.summary


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_missing_evidence_does_not_raise(path):
    evidence = json.loads(path.read_text())

    for name in evidence:
        without = {key: value for key, value in evidence.items() if key != name}
        assert detect_layers(without).summary
        assert detect_layers({**evidence, name: None}).summary


def test_all_saved_guests_are_covered():
    listed = (DATA.parent / "README.md").read_text()

    assert len(SAVED) == 21
    assert all(path.name in listed for path in SAVED)


def test_hidden_hypervisor_bit_is_a_conflict():
    judgement = detect_layers(saved("tcg-hypervisor-bit-hidden"))

    assert "hides the hypervisor bit" in judgement.summary


def test_firmware_of_another_hypervisor_is_a_conflict():
    judgement = detect_layers(saved("tcg-smbios-hyperv"))

    assert "Microsoft Corporation Virtual Machine" in judgement.summary


def test_leaf_beyond_the_maximum_is_no_signature():
    garbage = saved("nested-L1")
    garbage["leaves"]["0x40000100"] = ["0x21f", "XenVMMXenVMM"]

    assert detect_layers(garbage).layers == ("qemu-tcg",)


def test_leaf_with_another_base_is_no_signature():
    empty = ["0x0", "\0" * 12]
    leaves = {"0x40000000": empty, "0x40000100": ["0x21f", "XenVMMXenVMM"]}

    evidence = {"leaves": leaves, "cpuid1_ecx31": 0, **HARDWARE}
    assert detect_layers(evidence).layers == ()


def test_unknown_signature_is_ignored():
    judgement = detect_layers(signed("EvilEvilEvil"))

    assert judgement.layers == ("unknown-hypervisor",)
    assert "Evil" not in judgement.summary


def test_bare_machine_has_no_layers():
    leaves = {"0x40000000": ["0x0", "\0" * 12]}

    judgement = detect_layers(
        {"leaves": leaves, "cpuid1_ecx31": 0, "clocksource": "tsc", **HARDWARE}
    )

    assert (judgement.layers, judgement.conflict) == ((), False)
    assert judgement.summary == "No hypervisor and no container was found."


def test_no_evidence_is_reported_without_conflict():
    judgement = detect_layers({})

    assert (judgement.layers, judgement.conflict) == (("unknown",), False)
    assert "CPUID could not be read." in judgement.summary


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
def test_known_signatures_are_detected(texts, layer):
    assert detect_layers(signed(*texts)).layers == (layer,)


def test_hyper_v_root_partition_is_distinguished_from_guests():
    assert detect_layers(signed("Microsoft Hv", hyperv_privileges=1)).layers == (
        "hyper-v-root",
    )


def test_old_kvm_without_maximum_is_detected():
    leaves = {"0x40000000": ["0x0", "KVMKVMKVM\0\0\0"]}

    assert detect_layers({"leaves": leaves}).layers == ("kvm",)


def test_virtualbox_with_kvm_signature_is_detected_by_firmware():
    dmi = {"sys_vendor": "innotek GmbH", "product_name": "VirtualBox"}

    judgement = detect_layers(
        signed("KVMKVMKVM\0\0\0", dmi=dmi, clocksources="kvm-clock tsc")
    )

    assert (judgement.layers, judgement.conflict) == (("virtualbox",), False)


@pytest.mark.parametrize("kind", ["PVH", "HVM"])
def test_xen_guest_type_is_read_from_the_kernel(kind):
    shown = {"type": "xen", "guest_type": kind, "uuid": "f0d5-4473"}

    judgement = detect_layers(signed("XenVMMXenVMM", sys_hypervisor=shown))

    assert judgement.layers == (f"xen-{kind.lower()}",)


def test_old_xen_kernel_is_classified_by_cpuid():
    shown = {"type": "xen", "uuid": "f0d5-4473"}

    hvm = detect_layers(signed("XenVMMXenVMM", sys_hypervisor=shown))
    pv = detect_layers(signed("VMwareVMware", sys_hypervisor=shown))

    assert hvm.layers == ("xen-hvm",)
    assert pv.layers == ("vmware", "xen-pv")


def test_dom0_reads_the_machines_firmware():
    shown = {"type": "xen", "uuid": "00000000-0000-0000-0000-000000000000"}
    dmi = {"sys_vendor": "VMware, Inc."}

    nested = detect_layers(signed("XenVMMXenVMM", sys_hypervisor=shown, dmi=dmi))
    bare = detect_layers({"proc_xen": [], "xen_cap": "control_d", "dmi": {}})

    assert (nested.layers, nested.conflict) == (("vmware", "xen-dom0"), False)
    assert bare.layers == ("xen-dom0",)


def test_without_cpuid_firmware_precedes_clock_and_systemd():
    dmi = {"sys_vendor": "VMware, Inc."}

    assert detect_layers({"dmi": dmi, "clocksource": "tsc"}).layers == ("vmware",)
    assert detect_layers({"clocksource": "kvm-clock"}).layers == ("kvm",)
    assert detect_layers({"systemd-detect-virt": "oracle"}).layers == ("virtualbox",)


def test_microsoft_hardware_is_not_virtual():
    dmi = {"sys_vendor": "Microsoft Corporation", "product_name": "Surface Pro 9"}

    assert detect_layers({**HARDWARE, "dmi": dmi}).layers == ()


@pytest.mark.parametrize(
    "added",
    [
        {"clocksources": "kvm-clock tsc"},
        {"dmi": {"sys_vendor": "VMware, Inc."}},
        {"cpuid1_ecx31": 0},
    ],
)
def test_contradictory_evidence_is_a_conflict(added):
    assert detect_layers(signed("TCGTCGTCGTCG", **added)).conflict


def test_hypervisor_firmware_without_cpuid_is_a_conflict():
    dmi = {"sys_vendor": "QEMU"}
    leaves = {"0x40000000": ["0x0", ""]}

    judgement = detect_layers({"dmi": dmi, "leaves": leaves, "cpuid1_ecx31": 0})

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
def test_container_is_detected_by_each_marker(evidence, layer):
    assert detect_layers(evidence).layers == (layer,)


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
def test_host_is_not_a_container(evidence):
    assert detect_layers({**evidence, **HARDWARE}).layers == ()


def test_named_manager_precedes_unnamed_container():
    evidence = {"pid_namespace": "pid:[4026532201]", "dockerenv": True}

    judgement = detect_layers(evidence)

    assert (judgement.layers, judgement.conflict) == (("docker",), False)


def test_two_managers_are_a_conflict():
    evidence = {"pid1_env_container": ["container=lxc"], "dockerenv": True}

    assert detect_layers(evidence).conflict


def test_marker_file_without_namespace_is_a_conflict():
    judgement = detect_layers({"dockerenv": True, "pid_namespace": FIRST})

    assert judgement.conflict
    assert "the PID namespace of the machine" in judgement.summary


def test_distribution_kernel_is_not_gvisor():
    distribution = {"kernel": "4.4.0-21-generic", "clocksource": None, **HARDWARE}
    vanilla = {"kernel": "4.4.0", "clocksource": "tsc", **HARDWARE}

    assert detect_layers(distribution).layers == ()
    assert detect_layers(vanilla).layers == ()
    assert detect_layers({"kernel": "4.4.0", "clocksource": None}).layers == ("gvisor",)
