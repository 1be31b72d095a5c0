import pytest

from benchmarks.errors import TextError
from benchmarks.platforms import (
    HYPERVISORS,
    VIRTUALIZATIONS,
    canonical_hypervisor,
    canonical_virtualization,
    cores,
    disk_bus_byte_per_s,
    line_rate_bit_per_s,
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


@pytest.mark.parametrize(
    ("facts", "count"),
    [({"cores": 8}, 8), ({}, None), ({"cores": "8"}, None), ({"cores": True}, None)],
)
def test_cores_are_a_stated_number(facts, count):
    assert cores(facts) == count


@pytest.mark.parametrize(
    ("facts", "rate"),
    [
        ({"network": "Gigabit Ethernet, dedicated link"}, 1e9),
        ({"network": "1 x Gigabit Ethernet in use"}, 1e9),
        ({"nic": "Intel X520 10GbE"}, 1e10),
        ({"nic": "Fast Ethernet"}, 1e8),
        ({"line_rate_bit_per_s": 4e10, "nic": "10 Gbit"}, 4e10),
        ({"cpu": "Gigabit"}, None),
        ({}, None),
    ],
)
def test_the_line_rate_is_read_from_a_hosts_facts(facts, rate):
    assert line_rate_bit_per_s(facts) == rate


@pytest.mark.parametrize(
    ("facts", "rate"),
    [
        ({"disk": "80 GB IDE"}, 133e6),
        ({"disk": "SATA (system); an iSCSI LUN over a Gigabit link"}, 125e6),
        ({"disk": "Seagate SATA II"}, 300e6),
        ({"disk_bus_byte_per_s": 4e9}, 4e9),
        ({"disk": "NVMe"}, None),
    ],
)
def test_the_disk_bus_is_read_from_a_hosts_facts(facts, rate):
    assert disk_bus_byte_per_s(facts) == rate
