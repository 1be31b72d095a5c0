"""The number of VMs that keep a limit."""

from benchmarks.analysis.density import Density, DensityPoint, default_limit, density

# Write p99 (ms) of the worst VM.
RAMP = [
    DensityPoint(1, 1.0, 0.9, 1.1),
    DensityPoint(11, 2.0, 1.8, 2.2),
    DensityPoint(21, 4.6, 4.1, 5.1),
    DensityPoint(26, 5.6, 4.9, 6.3),
    DensityPoint(31, 9.0, 8.0, 10.0),
]


def test_21_vms_hold_and_26_break():
    found = density(RAMP, 5.0, is_lower_better=True)

    assert (found.holds, found.breaks) == (21, 26)


def test_intervals_say_what_is_sure():
    found = density(RAMP, 5.0, is_lower_better=True)

    assert (found.surely_holds, found.surely_breaks) == (11, 31)


def test_rates_keep_a_lower_limit():
    rates = [DensityPoint(vms, 1000 / vms) for vms in (4, 1, 2)]

    assert density(rates, 500, is_lower_better=False) == Density(2, 4, None, None)


def test_a_larger_number_that_keeps_the_limit_by_chance_does_not_count():
    ramp = [DensityPoint(1, 1), DensityPoint(2, 6), DensityPoint(3, 4)]

    assert density(ramp, 5, is_lower_better=True) == Density(1, 2, None, None)


def test_ramps_that_never_or_always_break():
    assert density(RAMP, 0.5, is_lower_better=True).holds is None
    assert density(RAMP, 50, is_lower_better=True).breaks is None
    assert density([], 1, is_lower_better=True) == Density(None, None, None, None)


def test_default_limit_is_twice_the_time_or_half_the_rate_of_the_fewest_vms():
    assert default_limit(RAMP[::-1], is_lower_better=True) == 2.0
    assert default_limit([DensityPoint(1, 90.0)], is_lower_better=False) == 45.0
