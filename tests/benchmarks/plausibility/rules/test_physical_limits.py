import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

GIGABIT = {"component": "network", "line_rate_bit_per_s": 1e9}


def beyond(*cells):
    return findings("beyond-the-medium", *cells)


def test_more_than_the_line_rate_is_flagged():
    [finding] = beyond(cell(160.0, **GIGABIT))

    assert finding.evidence["limit"] == 125
    assert beyond(cell(117.6, **GIGABIT)) == []


@pytest.mark.parametrize(
    ("value", "unit"), [(1010.0, "Mbit/s"), (120.0, "MiB/s"), (1.3e5, "kB/s")]
)
def test_the_limit_is_in_the_unit_of_the_value(value, unit):
    assert len(beyond(cell(value, unit=unit, **GIGABIT))) == 1


@pytest.mark.parametrize(
    "facts",
    [
        {"scenario": "inter-vm"},
        {"scenario": "same-host"},
        {"parameters": {"from_host": "node6", "to_host": "node6"}},
        {"parameters": {"from": "vm3", "to": "vm3"}},
        {"parameters": {"to": "127.0.0.1"}},
    ],
)
def test_traffic_inside_a_host_has_no_line_rate(facts):
    assert beyond(cell(233.85, **GIGABIT, **facts)) == []


def test_both_directions_together_may_reach_twice_the_rate():
    both = {"parameters": {"direction": "both"}}

    assert beyond(cell(220.0, **GIGABIT, **both)) == []
    assert len(beyond(cell(260.0, **GIGABIT, **both))) == 1


def test_a_disk_faster_than_its_bus_was_a_cache():
    disk = {"component": "disk", "disk_bus_byte_per_s": 133e6}

    assert len(beyond(cell(2100.0, **disk))) == 1
    assert beyond(cell(90.0, **disk)) == []


def test_without_a_known_medium_there_is_no_limit():
    assert beyond(cell(9e9, component="network"), cell(9e9, component="disk")) == []


def test_latencies_and_request_rates_have_no_line_rate():
    assert beyond(cell(9e9, unit="us", better="lower", **GIGABIT)) == []
    assert beyond(cell(9e9, unit="1/s", **GIGABIT)) == []
