import pytest

from benchmarks.errors import TextError
from benchmarks.platforms import (
    HYPERVISORS,
    VIRTUALIZATIONS,
    canonical_hypervisor,
    canonical_virtualization,
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
def test_it_knows_a_hypervisor_by_its_spellings(spelling, name):
    assert canonical_hypervisor(spelling) == name


def test_it_keeps_an_unknown_hypervisor_as_given():
    assert canonical_hypervisor(" bhyve  14 ") == "bhyve 14"


@pytest.mark.parametrize("spelling", ["VMware", "ESX", "QEMU"])
def test_it_does_not_guess_which_product_is_meant(spelling):
    assert canonical_hypervisor(spelling) == spelling


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("HVM", "full"), ("pv", "paravirtual"), ("none", ""), ("Dom0", "dom0")],
)
def test_it_knows_a_virtualization_by_its_spellings(spelling, name):
    assert canonical_virtualization(spelling) == name


def test_the_canonical_names_are_their_own_canonical_names():
    assert all(canonical_hypervisor(n) == n for n in HYPERVISORS.values())
    assert all(canonical_virtualization(n) == n for n in VIRTUALIZATIONS.values())


def test_it_refuses_a_name_that_hides_something():
    with pytest.raises(TextError, match="The hypervisor holds"):
        canonical_hypervisor("Xen\u202e")
