import math

import pytest

from benchmarks.plausibility.rules.guest_clocks import common_factor
from tests.benchmarks.plausibility.small_studies import cell, findings

CASES = {
    **{"read L1": 19243, "write L1": 18721, "read L2": 7298, "write L2": 6387},
    **{"read RAM": 3135, "write RAM": 2402},
}
XEN = [1.085, 1.0847, 1.0828, 1.0815, 1.085, 1.109]


def guest(factors, clock="guest", **facts):
    for (case, value), factor in zip(CASES.items(), factors, strict=True):
        native = cell(value, case=case)
        yield native
        yield cell(
            value * factor,
            **{"case": case, "system": "xen", "clock": clock, "baseline": native.id},
            **facts,
        )


def flagged(factors, **facts):
    return findings("common-clock-factor", *guest(factors, **facts))


def test_one_factor_in_unrelated_cases_is_a_slow_clock():
    [finding] = flagged(XEN)

    assert finding.evidence["factor"] == pytest.approx(1.0849, abs=1e-3)
    assert len(finding.subjects) == 6


SIX_PERCENT = [1.061, 1.055, 1.064, 1.058, 1.066, 1.06]


def test_consistent_single_values_limit_their_own_noise():
    """A single value cannot resolve 3 %; six that agree within 1 % resolve 6 %."""
    [finding] = flagged(SIX_PERCENT)

    assert finding.evidence["standard_error"] < 0.01


def test_a_setting_may_be_faster_than_the_reference_system_of_its_study():
    cells = []
    for (case, value), factor in zip(CASES.items(), XEN, strict=True):
        reference = cell(value, case=case, system="default")
        cells += [
            reference,
            cell(
                value * factor,
                **{"case": case, "system": "pinned", "clock": "guest"},
                baseline=reference.id,
            ),
        ]

    assert findings("common-clock-factor", *cells) == []


def test_scattered_single_values_cannot_resolve_six_percent():
    assert flagged([1.06, 1.01, 1.12, 0.98, 1.1, 1.03]) == []


def test_a_guest_near_native_speed_is_not_flagged():
    assert flagged([0.99, 1.01, 0.98, 1.0, 0.97, 0.99]) == []


def test_one_fast_case_is_not_a_common_factor():
    assert flagged([0.99, 1.01, 1.3, 1.0, 0.98, 1.0]) == []


def test_different_factors_are_not_common():
    assert flagged([1.02, 1.9, 1.05, 2.9, 0.8, 1.5]) == []


def test_an_external_clock_is_trusted():
    assert flagged([1.1] * 6, clock="external") == []


def test_externally_timed_results_are_evidence():
    native = cell(45.51, component="CPU", unit="s", better="lower", case="n=2000")
    outside = cell(
        46.08,
        **{"component": "CPU", "unit": "s", "better": "lower", "case": "n=2000"},
        **{"system": "xen", "clock": "external", "baseline": native.id},
    )

    [finding] = findings("common-clock-factor", *guest([1.09] * 6), native, outside)

    assert finding.evidence["outside"] == [0.98763]


def test_several_slots_together_are_not_a_fast_clock():
    together = {"scenario": "parallel", "vms": 2, "slot": "sum"}

    assert flagged([1.9] * 6, **together) == []


def test_more_cases_make_the_factor_more_precise():
    logs, errors = [math.log(1.06)] * 2, [0.03] * 2

    assert common_factor(logs, errors) is None
    assert common_factor(logs * 8, errors * 8).factor == pytest.approx(1.06)
    assert common_factor(logs[:1], errors[:1]) is None
