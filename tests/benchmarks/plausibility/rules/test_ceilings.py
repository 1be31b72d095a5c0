import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

LINK = {"tool": "iperf3", "metric": "throughput", "component": "network"}
GIGABIT = {**LINK, "line_rate_bit_per_s": 1e9}


def test_native_and_guest_at_the_line_rate_are_found():
    native, guest = cell(117.6, **GIGABIT), cell(117.5, system="vm", **GIGABIT)
    slower = cell(90.0, system="slow", **GIGABIT)

    [finding] = findings("at-the-ceiling", native, guest, slower)

    assert {subject.id for subject in finding.subjects} == {native.id, guest.id}


@pytest.mark.parametrize("rate", [11.7, 117.6, 1180.0])
def test_three_equal_systems_at_a_usual_rate_need_no_stated_link(rate):
    cells = [cell(rate, **LINK), *(cell(rate, system=f"vm {i}", **LINK) for i in "12")]

    assert findings("at-the-ceiling", *cells)
    assert not findings("at-the-ceiling", *cells[:2])


def test_paths_inside_a_host_and_equal_results_below_the_link_are_no_ceiling():
    inside = {**GIGABIT, "scenario": "same-host"}

    assert not findings(
        "at-the-ceiling", cell(117.6, **inside), cell(117.6, system="vm", **inside)
    )
    assert not findings(
        "at-the-ceiling", cell(100.0, **GIGABIT), cell(100.0, system="vm", **GIGABIT)
    )


def curve(system, means):
    for power, mean in enumerate(means):
        size = str(64 * 2**power)
        parameters = {"message": size, "args": f"-a {size}"}
        yield cell(mean, system=system, case=size, parameters=parameters, **LINK)


FLAT = (1349.0, 1395.0, 1412.0, 1373.0, 1374.0, 1401.0, 1349.0, 1373.0)
RISING = (150.0, 280.0, 500.0, 800.0, 1000.0, 1200.0, 1300.0, 1350.0)


def test_sizes_that_make_no_difference_are_found():
    cells = [*curve(None, FLAT), *curve("vm", [mean / 2 for mean in FLAT])]

    [finding] = findings("parameter-without-effect", *cells)

    assert len(finding.subjects) == len(cells)


def test_rising_curves_and_single_flat_ones_are_not_flagged():
    assert not findings(
        "parameter-without-effect", *curve(None, RISING), *curve("vm", RISING)
    )
    assert not findings(
        "parameter-without-effect", *curve(None, RISING), *curve("vm", FLAT)
    )


def test_curves_at_the_line_rate_are_not_flagged():
    link = {"line_rate_bit_per_s": 1e9, **LINK}
    cells = [
        cell(117.5, system=system, case=size, parameters={"message": size}, **link)
        for system in (None, "vm")
        for size in ("64", "256", "1024", "4096", "16384")
    ]

    assert not findings("parameter-without-effect", *cells)
