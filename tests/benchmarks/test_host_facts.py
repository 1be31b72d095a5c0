import pytest

from benchmarks.host_facts import (
    core_count,
    disk_bus_byte_per_s,
    line_rate_bit_per_s,
)


@pytest.mark.parametrize(
    ("facts", "count"),
    [({"cores": 8}, 8), ({}, None), ({"cores": "8"}, None), ({"cores": True}, None)],
)
def test_core_count_is_read_from_facts(facts, count):
    assert core_count(facts) == count


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
def test_line_rate_is_read_from_facts(facts, rate):
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
def test_disk_bus_is_read_from_facts(facts, rate):
    assert disk_bus_byte_per_s(facts) == rate
