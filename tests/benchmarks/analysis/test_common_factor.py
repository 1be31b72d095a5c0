import math

import numpy as np
import pytest

from benchmarks.analysis.common_factor import common_factor
from benchmarks.reference.rows import read_rows

FAMILIES = [(level, way) for level in ("L1", "L2", "RAM") for way in ("read", "write")]


def values(campaign, tool):
    """Values of single runs: system -> case -> value."""
    found = {}
    for row in read_rows(campaign):
        if row.scenario == "single" and row.vm != "mean" and row.tool == tool:
            system = (row.virtualization, row.guest_os.split()[0], row.guest_bits)
            options = (row.hw_virt, row.guest_tools)
            case = (row.params, row.operation)
            found.setdefault((*system, *options), {})[case] = float(row.value)
    return found


def log_ratios(measured, system, *, is_time):
    native = next(
        cases
        for other, cases in measured.items()
        if not other[0] and other[1:3] == system[1:3]
    )
    sign = -1 if is_time else 1
    return {c: sign * math.log(v / native[c]) for c, v in measured[system].items()}


def signatures(campaign):
    memory, solver = values(campaign, "RAMspeed"), values(campaign, "LINPACK")
    for system in memory:
        if system[0]:
            ratios = log_ratios(memory, system, is_time=False)
            outside = log_ratios(solver, system, is_time=True)
            yield (
                system,
                common_factor(
                    list(ratios.values()),
                    list(ratios),
                    outside_log_ratios=list(outside.values()),
                ),
            )


def alarms(draw, **options):
    found = (common_factor(draw(), FAMILIES, **options) for _ in range(3000))
    return np.mean([each.is_found for each in found])


def test_it_finds_the_slow_clock_of_64_bit_windows_on_xen_and_no_other():
    found = {s: each for s, each in signatures("lmu-2010-xen") if each.is_found}

    assert set(found) == {
        ("full", "Windows", "64", "on", "absent"),
        ("full", "Windows", "64", "on", "PV drivers"),
    }
    without, with_drivers = found.values()
    assert without.factor == pytest.approx(1.085, abs=0.001)
    assert with_drivers.factor == pytest.approx(1.090, abs=0.001)
    assert without.reason == (
        "All 6 cases timed by the guest beat native by nearly the same factor, 1.085 "
        "(spread 1.0 %), but CPU-bound work timed from outside reaches 0.988: "
        "the guest's clock runs slow."
    )


def test_it_finds_none_on_esxi():
    found = [each.is_found for _, each in signatures("lmu-2010-esxi")]

    assert (len(found), sum(found)) == (16, 0)


@pytest.mark.parametrize("noise", [0.005, 0.02, 0.1])
@pytest.mark.parametrize("mean", [-0.02, 0.0, 0.01])
def test_it_hardly_ever_fires_without_a_common_factor(noise, mean):
    rng = np.random.default_rng(1)

    assert alarms(lambda: rng.normal(mean, noise, 6)) < 0.002
    assert alarms(lambda: rng.normal(mean, noise, 6), outside_log_ratios=[0.0]) < 0.004


def test_a_bad_day_of_the_baseline_fires_in_less_than_one_of_a_hundred():
    rng = np.random.default_rng(2)

    assert alarms(lambda: rng.normal(0, 0.03) + rng.normal(0, 0.005, 6)) < 0.01


def test_it_finds_a_clock_that_lost_five_percent():
    rng = np.random.default_rng(3)

    assert alarms(lambda: rng.normal(0.05, 0.01, 6), outside_log_ratios=[-0.01]) > 0.9


@pytest.mark.parametrize(
    ("logs", "families", "outside", "reason"),
    [
        ([0.09] * 3, "abc", [], "Too little to tell: 3 cases of 3 families."),
        ([0.09] * 5, "aaaaa", [], "Too little to tell: 5 cases of 1 families."),
        ([], "", [], "Too little to tell: 0 cases of 0 families."),
        ([0.09, 0.08, 0.09, -0.01], "aabb", [], "Not every case beats native."),
        ([0.01, 0.02, 0.01, 0.02], "aabb", [], "The cases do not beat native by"),
        ([0.2, 0.5] * 6, "abc" * 4, [], "The cases beat native by different"),
        ([0.09, 0.08, 0.09, 0.08], "aabb", [0.085], "Outside clocks see the same gain"),
        ([0.05, 0.05, 0.05, 0.05], "aabb", [], "Without CPU-bound work timed from"),
    ],
)
def test_it_says_what_speaks_against_it(logs, families, outside, reason):
    found = common_factor(logs, families, outside_log_ratios=outside)

    assert not found.is_found
    assert found.reason.startswith(reason)


def test_a_large_factor_is_found_without_an_outside_clock():
    found = common_factor([0.30, 0.31, 0.30, 0.29], "abab")

    assert found.is_found
    assert found.outside is None
    assert found.reason.endswith("the guest's clock seems to run slow.")


def test_it_refuses_cases_without_family_and_infinite_ratios():
    with pytest.raises(ValueError, match="family"):
        common_factor([0.1, 0.1], ["a"])
    with pytest.raises(ValueError, match="finite"):
        common_factor([math.inf], ["a"])
