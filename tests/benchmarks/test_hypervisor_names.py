import pytest

from benchmarks.errors import InvalidError
from benchmarks.hypervisor_names import (
    HYPERVISOR_BY_SPELLING,
    PLATFORMS,
    VIRTUALIZATION_BY_SPELLING,
    canonical_hypervisor,
    canonical_platform,
    canonical_virtualization,
    is_emulation,
    is_unconfirmed_native,
    reports_emulation,
    unknown_hypervisor_reason,
)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("VMware ESXi", "VMware ESXi"),
        ("ESXi", "VMware ESXi"),
        ("vmware-esxi", "VMware ESXi"),
        ("XEN", "Xen"),
        ("kvm", "KVM"),
        ("Hyper-V", "Hyper-V"),
        ("hyperv", "Hyper-V"),
        ("native", "native"),
        ("Bare  Metal", "native"),
        ("none", "native"),
    ],
)
def test_hypervisor_is_recognized_by_its_spellings(spelling, name):
    assert canonical_hypervisor(spelling) == name


def test_unknown_hypervisor_is_kept():
    assert canonical_hypervisor(" Foovisor  14 ") == "Foovisor 14"


@pytest.mark.parametrize(
    ("stated", "platform"),
    [
        (("Xen 4.17",), ("Xen", "4.17", "")),
        (("ESXi 8.0 U2", "", "HVM"), ("VMware ESXi", "8.0 U2", "full")),
        (("KVM 6.1", "6.1.0-18"), ("KVM", "6.1.0-18", "")),
        (("QEMU 8.2 (TCG)",), ("QEMU TCG", "8.2", "")),
        (("Hyper-V", "2019"), ("Hyper-V", "2019", "")),
        (("WSL2", "2.2.4"), ("Hyper-V (WSL2 utility VM)", "2.2.4", "")),
        (("Foovisor 14", "x"), ("Foovisor 14", "x", "")),
        (("bhyve " + "1" * 30, "2" * 80), ("bhyve", "2" * 80, "")),
    ],
)
def test_a_version_in_the_name_becomes_the_version(stated, platform):
    assert canonical_platform(*stated) == platform


EMULATED = [
    *("QEMU/TCG", "qemu-tcg", "qemu_tcg", "TCG", "QEMU TCG", "qemu (no kvm)"),
    *("QEMU without KVM", "QEMU w/o KVM", "qemu ohne KVM", "QEMU - KVM disabled"),
    *("QEMU (software emulation)", "QEMU (pure emulation)", "QEMU unaccelerated"),
    *("qemu-system-x86_64 -accel tcg", "QEMU MTTCG", "QEMU, kvm=off", "qemu no-kvm"),
    *("QEMU without hardware acceleration", "qemu-user", "QEMU TCG (multi-threaded)"),
    *("QEMU emulator version 7.2.0 (TCG)", "QEMU, accelerator: none"),
]


@pytest.mark.parametrize("name", EMULATED)
def test_qemu_without_acceleration_is_emulation(name):
    assert canonical_hypervisor(name) == "QEMU TCG"
    assert is_emulation(name)


@pytest.mark.parametrize(
    "stated",
    [
        ("QEMU", "TCG, no KVM", "emulation"),
        ("QEMU", "no KVM"),
        ("QEMU", "", "Emulated"),
        ("QEMU", "8.2, accel=tcg"),
    ],
)
def test_lack_of_acceleration_may_be_in_another_field(stated):
    platform = canonical_platform(*stated)

    assert platform.hypervisor == "QEMU TCG"
    assert platform.version in {"", "8.2, accel=tcg"}
    assert is_emulation(*stated)
    assert canonical_platform(*platform) == platform


@pytest.mark.parametrize(
    ("stated", "options"),
    [
        (("KVM",), {"layers": "qemu-tcg > kvm"}),
        (("KVM", "", "emulation"), {}),
        (("QEMU",), {"accel": "TCG"}),
        (("QEMU", "8.2"), {"hw_virt": "off"}),
        (("QEMU",), {"KVM": "no"}),
        (("Bochs",), {}),
    ],
)
def test_layers_types_and_options_show_emulation(stated, options):
    assert is_emulation(*stated, options=options)


@pytest.mark.parametrize(
    "stated",
    [
        *(("KVM",), ("QEMU/KVM",), ("QEMU",), ("QEMU emulator version 8.2.0",)),
        *(("KVM (QEMU 8.2)",), ("KVM, not TCG",), ("QEMU HVF (no KVM)",), ("Xen",)),
        *(("KVM", "QEMU 8.2.1", "full"), ("QEMU/KVM with emulated devices",)),
        *(("VMware ESXi", "3.5", "full"), ("gVisor", "Docker with runsc"), ("native",)),
        ("Hyper-V (WSL2 utility VM)", "WSL2, kernel 6.1.21.2", "utility VM"),
    ],
)
def test_hardware_virtualization_is_not_emulation(stated):
    assert canonical_platform(*stated).hypervisor != "QEMU TCG"
    assert not is_emulation(*stated)
    assert not is_emulation("VMware ESXi", options={"hw_virt": "off"})


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ({"platform": {"layers": ["kvm", "qemu-tcg"]}}, True),
        ({"platform": {"layers": ["kvm"]}}, False),
        ({"platform": {"layers": "qemu-tcg"}}, False),
        ({"platform": "qemu-tcg"}, False),
        ({}, False),
    ],
)
def test_layers_detected_by_an_agent_show_emulation(facts, shown):
    assert reports_emulation(facts) is shown


def test_unknown_platform_has_a_warning():
    assert not any(unknown_hypervisor_reason(name) for name in PLATFORMS)
    assert "is not a known platform" in unknown_hypervisor_reason("Foovisor")
    assert 'is "Firecracker"' in unknown_hypervisor_reason("Firecraker")
    assert 'Enter "KVM" or "QEMU TCG"' in unknown_hypervisor_reason("QEMU 8.2")


@pytest.mark.parametrize("spelling", ["VMware", "ESX", "QEMU"])
def test_ambiguous_product_is_not_guessed(spelling):
    assert canonical_hypervisor(spelling) == spelling


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("HVM", "full"), ("pv", "paravirtual"), ("none", ""), ("Dom0", "dom0")],
)
def test_virtualization_is_recognized_by_its_spellings(spelling, name):
    assert canonical_virtualization(spelling) == name


def test_canonical_names_are_stable():
    assert all(canonical_hypervisor(n) == n for n in HYPERVISOR_BY_SPELLING.values())
    assert all(
        canonical_virtualization(n) == n for n in VIRTUALIZATION_BY_SPELLING.values()
    )


def test_name_with_hidden_characters_is_rejected():
    with pytest.raises(InvalidError, match="The hypervisor contains"):
        canonical_hypervisor("Xen\u202e")


@pytest.mark.parametrize(
    ("platform", "is_refused"),
    [
        ({"layers": [], "conflict": False}, False),
        ({"layers": ["unknown"], "conflict": False}, True),
        ({"layers": ["kvm"], "conflict": False}, True),
        ({"layers": [], "conflict": True}, True),
        ({"layers": ["unknown"], "conflict": False, "confirmed": "native"}, False),
    ],
)
def test_native_system_needs_evidence_or_a_confirmation(platform, is_refused):
    facts = {"platform": platform}

    assert is_unconfirmed_native("Bare metal", facts) is is_refused
    assert not is_unconfirmed_native("KVM", facts)
    assert not is_unconfirmed_native("native", {})
