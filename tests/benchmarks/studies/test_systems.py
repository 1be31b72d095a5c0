"""Machines and systems are stored once, regardless of spelling."""

import pytest

from benchmarks.errors import ConflictError, UnknownNameError
from benchmarks.models import System
from benchmarks.studies.systems import register_host, register_system


def test_a_host_with_the_same_facts_is_the_same_host(lab):
    first, created = register_host(lab=lab, slug="alpha", facts={"cores": 2})
    second, created_again = register_host(lab=lab, slug="alpha", facts={"cores": 2})

    assert (first, created, created_again) == (second, True, False)


def test_a_host_with_other_facts_is_a_conflict(lab):
    register_host(lab=lab, slug="alpha", facts={"cores": 2})

    with pytest.raises(ConflictError, match="differs in facts"):
        register_host(lab=lab, slug="alpha", facts={"cores": 4})


def test_a_system_under_another_spelling_is_the_same_system(lab, host):
    first, created = register_system(
        lab=lab,
        description={"host": "alpha", "hypervisor": "ESXi", "virtualization": "HVM"},
    )
    second, created_again = register_system(
        lab=lab,
        description={
            "host": "alpha",
            "hypervisor": "VMware  ESXi",
            "virtualization": "full",
            "options": {},
        },
    )

    assert (first, created, created_again) == (second, True, False)


def test_emulated_system_is_marked(lab, host):
    for hypervisor, is_emulated in (("QEMU/TCG", True), ("KVM", False)):
        description = {"host": "alpha", "hypervisor": hypervisor}
        system, _ = register_system(lab=lab, description=description)
        assert system.is_emulated is is_emulated


def test_an_option_makes_another_system(lab, host):
    for hw_virt in ("on", "off"):
        register_system(
            lab=lab,
            description={
                "host": "alpha",
                "hypervisor": "Xen",
                "options": {"hw_virt": hw_virt},
            },
        )

    assert System.objects.count() == 2


def test_a_host_of_another_lab_is_unknown(other_lab, host):
    with pytest.raises(UnknownNameError, match="Register the host first"):
        register_system(
            lab=other_lab, description={"host": "alpha", "hypervisor": "Xen"}
        )
