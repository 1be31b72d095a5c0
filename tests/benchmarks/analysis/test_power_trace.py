import numpy as np
import pytest

from benchmarks.analysis.power_trace import (
    corrected_traces,
    energy_within,
    idle_power_w,
    joined_traces,
    trace_of_counter,
    trace_of_power,
)


def test_a_counter_integrates_to_its_difference():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.uniform(0.9, 1.1, 50))
    joules = np.cumsum(rng.uniform(0, 200, 50))

    work = energy_within(trace_of_counter(times, joules), (times[3], times[40]))

    assert work.energy_j == pytest.approx(joules[40] - joules[3])


def test_within_a_step_of_a_counter_power_is_its_mean():
    trace = trace_of_counter([0, 1, 2, 3], [0, 10, 40, 50])

    work = energy_within(trace, (0.5, 1.5))

    assert work.energy_j == pytest.approx(5 + 15)
    # The power of the steps at the edges is uncertain by that of their neighbors.
    assert work.edge_error_j == pytest.approx(20 / 2 + 20 / 2)


def test_a_decreasing_counter_makes_a_gap():
    trace = trace_of_counter([0, 1, 2, 3], [0, 10, 2, 12])

    assert energy_within(trace, (0, 3)).covered_s == 2.0


def test_traces_are_joined_in_order_with_a_gap():
    later, first = trace_of_power([20, 21], [5, 5]), trace_of_power([0, 1], [7, 7])

    trace = joined_traces([later, first])

    assert trace.starts_s.tolist() == [0, 20]
    assert energy_within(trace, (0, 21)).covered_s == 2.0


def test_overlapping_measurements_count_once():
    one = trace_of_power([0, 1, 2, 3], [10] * 4)

    trace = joined_traces([one, trace_of_power([1.5, 2.5, 3.5, 4.5], [10] * 4)])

    # The second trace counts from its first step after the end of the first.
    assert trace.ends_s.tolist() == [1, 2, 3, 4.5]
    assert energy_within(trace, (0, 3)).energy_j == 30


def test_joining_no_traces_gives_none():
    assert joined_traces([]) is None


def test_idle_power_is_the_quietest_ten_steps_without_work():
    watts = [90.0] * 20 + [80.0] * 15 + [60.0] * 30 + [150.0] * 35
    trace = trace_of_power(range(100), watts)

    assert idle_power_w(trace, []) == 60.0
    assert idle_power_w(trace, [(34, 66)]) == 80.0
    assert idle_power_w(trace, [(0, 95)]) is None
    assert idle_power_w(trace_of_power([0, 1], [5, 5]), []) is None


def test_a_gap_is_not_idle():
    trace = trace_of_power([*range(8), *range(100, 108)], [50.0] * 8 + [70.0] * 8)

    assert idle_power_w(trace, []) is None


def test_a_later_trace_replaces_what_it_overlaps():
    wrong = trace_of_power([0, 1, 2, 3, 4, 5], [5] * 6)
    right = trace_of_power([2, 3, 4], [9] * 3)

    trace = joined_traces(corrected_traces([wrong, right]))

    assert trace.starts_s.tolist() == [0, 1, 2, 3, 4]
    assert trace.first_w.tolist() == [5, 5, 9, 9, 5]
