import math

import numpy as np
import pytest

from benchmarks.analysis.energy import (
    gain_log_variance,
    is_lost_in_gain,
    per_work,
    work_energy,
)

SECONDS = list(range(11))


def test_steady_power_is_power_times_time():
    energy = work_energy(SECONDS, [150.0] * 11, (2.0, 8.0))

    assert (energy.duration_s, energy.mean_w, energy.energy_j) == (6.0, 150.0, 900.0)
    assert (energy.samples, energy.interval_s, energy.coverage) == (7, 1.0, 1.0)
    assert (energy.edge_error_j, energy.rounding_j) == (0.0, 3.0)


def test_a_window_may_begin_and_end_between_two_samples():
    ramp = [10.0 * second for second in SECONDS]

    energy = work_energy(SECONDS, ramp, (2.5, 7.25))

    assert energy.energy_j == pytest.approx(5 * (7.25**2 - 2.5**2))
    assert energy.edge_error_j == pytest.approx(5.0 + 5.0)


def test_power_outside_the_window_does_not_count():
    power = [100.0] * 3 + [200.0] * 5 + [100.0] * 3

    assert work_energy(SECONDS, power, (3.0, 7.0)).energy_j == 800.0


def test_windows_side_by_side_add_up():
    rng = np.random.default_rng(1)
    times, power = np.cumsum(rng.uniform(0.9, 1.1, 60)), rng.uniform(90, 200, 60)

    parts = [work_energy(times, power, each) for each in ((2, 20.3), (20.3, 50))]

    whole = work_energy(times, power, (2, 50))
    assert sum(part.energy_j for part in parts) == pytest.approx(whole.energy_j)


def test_a_gap_counts_with_the_mean_power_and_is_told():
    times = [0, 1, 2, 3, 13, 14, 15, 16]

    energy = work_energy(times, [100.0] * 4 + [200.0] * 4, (1.0, 15.0))

    assert energy.gaps_s == ((3.0, 13.0),)
    assert (energy.covered_s, energy.mean_w, energy.energy_j) == (4.0, 150.0, 2100.0)
    assert not energy.is_covered
    assert energy.sentence == (
        "2100 J: 150 W over 14 s, from 6 samples every 1 s; "
        "10 s (71 %) were not measured."
    )


def test_one_lost_sample_is_bridged():
    energy = work_energy([0, 1, 3, 4], [100.0, 100.0, 120.0, 120.0], (0.0, 4.0))

    assert (energy.gaps_s, energy.energy_j) == ((), 440.0)


def test_a_meter_that_started_late_covers_less():
    energy = work_energy(SECONDS, [150.0] * 11, (-1.0, 9.0))

    assert energy.coverage == pytest.approx(0.9)
    assert energy.energy_j == 1500.0
    assert energy.is_covered


def test_idle_power_is_shown_apart():
    assert work_energy(SECONDS, [150.0] * 11, (0.0, 10.0)).above_idle_j(110.0) == 400.0


@pytest.mark.parametrize(
    ("times", "watts", "window", "reason"),
    [
        ([0.0], [1.0], (0, 1), "two or more samples"),
        ([0.0, 1.0], [1.0], (0, 1), "two or more samples"),
        ([0.0, 0.0], [1.0, 1.0], (0, 1), "must rise"),
        ([0.0, math.nan], [1.0, 1.0], (0, 1), "must rise"),
        ([0.0, 1.0], [1.0, -1.0], (0, 1), "watts"),
        ([0.0, 1.0], [1.0, math.inf], (0, 1), "watts"),
        ([0.0, 1.0], [1.0, 1.0], (1, 1), "later end"),
        ([0.0, 1.0], [1.0, 1.0], (2, 3), "nothing within"),
    ],
)
def test_it_refuses_what_gives_no_energy(times, watts, window, reason):
    with pytest.raises(ValueError, match=reason):
        work_energy(times, watts, window)


def test_energy_is_set_against_the_work_done():
    found = per_work(500.0, 10.0, operations=1000)

    assert (found.joules_per_operation, found.operations_per_joule) == (0.5, 2.0)
    assert found.energy_delay_js == 5000.0


def test_work_that_cannot_be_counted_has_no_energy_per_operation():
    assert per_work(500.0, 10.0).joules_per_operation is None
    with pytest.raises(ValueError, match="operations"):
        per_work(500.0, 10.0, operations=0)


def test_one_meter_cancels_and_two_do_not():
    assert gain_log_variance(is_same_meter=True) == 0
    assert gain_log_variance(is_same_meter=False) == pytest.approx(2 * 0.015**2 / 3)


def test_the_variance_is_that_of_two_uniform_gain_errors():
    errors = np.random.default_rng(1).uniform(-0.015, 0.015, (2, 100_000))

    simulated = np.var(np.log((1 + errors[0]) / (1 + errors[1])))

    assert gain_log_variance(is_same_meter=False) == pytest.approx(simulated, rel=0.02)


def test_two_meters_of_one_load_differ_by_less_than_the_margin_in_95_of_100():
    errors = np.random.default_rng(2).uniform(0.985, 1.015, (2, 20_000))

    lost = [is_lost_in_gain(a / b, is_same_meter=False) for a, b in errors.T]

    assert np.mean(lost) == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize(
    ("ratio", "is_lost"), [(1.0232, True), (1.0234, False), (1 / 1.0232, True)]
)
def test_two_meters_refuse_differences_under_2_33_percent(ratio, is_lost):
    assert is_lost_in_gain(ratio, is_same_meter=False) is is_lost
    assert is_lost_in_gain(ratio, is_same_meter=True) is False
