import math

import numpy as np
import pytest

from benchmarks.analysis.corun_statistics import (
    check_sum,
    consolidation,
    cpu_target,
    fairness,
    interference,
    scaling,
    slowdown,
)
from benchmarks.reference.data_files import read_rows


def slots_and_sums(study):
    """Return all complete sets of parallel slots with a printed sum."""
    groups = {}
    for row in read_rows(study):
        if row.scenario == "parallel" and row.tool != "LINPACK":
            key = (row.tool, row.metric, row.operation, row.access, row.params, row.vms)
            groups.setdefault(key, {})[row.vm] = float(row.value)
    for key, values in groups.items():
        slots = [value for vm, value in values.items() if vm.isdigit()]
        if "sum" in values and len(slots) == int(key[-1]):
            yield key, slots, values["sum"]


def short(key):
    tool, _, operation, access, params, vms = key
    level = params.partition("level=")[2]
    return " ".join(filter(None, [tool, level, access, operation, vms]))


def linpack(study):
    rows = [row for row in read_rows(study) if row.tool == "LINPACK"]
    # n = 4000 in one, two and three VMs: mean times in seconds.
    return {int(row.vms): float(row.value) for row in rows if row.vm == "mean"}


@pytest.mark.parametrize(
    ("slots", "jain"),
    [
        ([5.0] * 4, 1.0),
        ([5.0, 0, 0, 0], 0.25),
        ([7.0], 1.0),
        ([14.24, 2.36, 2.36], 18.96**2 / (3 * (14.24**2 + 2 * 2.36**2))),
    ],
)
def test_fairness_is_between_one_in_k_and_one(slots, jain):
    assert fairness([slots]).jain == pytest.approx(jain)


def test_fairness_does_not_depend_on_unit_or_slot_order():
    coruns = np.random.default_rng(1).normal(50, 5, (4, 3))

    there = fairness((coruns * 1024)[:, ::-1])

    assert there.jain == pytest.approx(fairness(coruns).jain)
    assert there.low == pytest.approx(fairness(coruns).low)


def test_one_corun_equal_slots_or_equal_coruns_give_no_interval():
    assert fairness([[1.0, 2.0], [2.0, 1.0]]).low is None
    assert fairness([[1.0, 2.0]]).low is None
    assert fairness([[2.0, 2.0], [3.0, 3.0]]).low is None


def test_coruns_of_very_different_speed_keep_their_digits():
    fair = fairness([[1e9, 1e9, 1.1e9], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])

    assert fair.jain == pytest.approx(3.1**2 / (3 * (2 + 1.1**2)))
    assert 1 / 3 <= fair.low < fair.high < 1


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("slots", [[1.0, 1.0, 1.0, 1.0], [0.5, 1.0, 1.0], [1, 1.1]])
def test_the_jackknife_covers_the_true_fairness(slots, n):
    rng, spread = np.random.default_rng(n), 0.05
    means = np.array(slots)
    noise = (spread * means) ** 2
    squared = means.sum() ** 2 + noise.sum()
    true = squared / (means.size * (means**2 + noise).sum())

    intervals = [
        fairness(rng.normal(means, spread * means, (n, means.size)))
        for _ in range(1500)
    ]

    covered = np.mean([each.low <= true <= each.high for each in intervals])
    assert 0.91 < covered < 0.98


def test_two_equal_vms_on_two_cores_scale_to_two():
    assert scaling([100.0, 100.0], single=100.0) == 2
    assert slowdown([100.0, 100.0], single=100.0) == 1


def test_interference_is_loaded_over_unloaded():
    assert interference(under_load=30.0, unloaded=40.0) == 0.75


def test_xen_meets_the_target_of_its_study_and_misses_the_ideal():
    times = linpack("lmu-2010-xen")

    target = cpu_target(
        times[3], single_s=times[1], virtual=3, cores=2, full_s=times[2]
    )

    assert target.full_load_s == pytest.approx(1.5 * 286.52)
    assert target.full_load_ratio == pytest.approx(0.999, abs=0.0005)
    assert target.ideal_s == pytest.approx(1.5 * 214.2)
    assert target.ideal_ratio == pytest.approx(1.337, abs=0.0005)


def test_esxi_misses_both_targets():
    times = linpack("lmu-2010-esxi")

    target = cpu_target(
        times[3], single_s=times[1], virtual=3, cores=2, full_s=times[2]
    )

    assert target.full_load_ratio == pytest.approx(1.046, abs=0.0005)
    assert target.ideal_ratio == pytest.approx(1.629, abs=0.0005)


def test_two_vms_on_two_cores_should_take_as_long_as_one():
    target = cpu_target(286.52, single_s=214.2, virtual=2, cores=2)

    assert target.ideal_s == 214.2
    assert target.full_load_ratio is None


def test_idle_cores_do_not_lower_the_target_below_one_vm():
    target = cpu_target(220.0, single_s=214.2, virtual=1, cores=2, full_s=286.52)

    assert (target.ideal_s, target.full_load_s) == (214.2, None)


def test_the_printed_sums_of_xen_add_up_except_for_the_network():
    wrong = {
        short(key): round(check.difference, 2)
        for key, slots, printed in slots_and_sums("lmu-2010-xen")
        if not (check := check_sum(slots, printed)).is_within_rounding
    }

    assert wrong == {
        "Iometer write 2": 0.05,
        "Iometer read 2": 0.06,
        "Iometer write 3": 0.05,
        "Iometer read 3": 0.08,
    }


def test_the_printed_sums_of_esxi_belong_to_other_slots():
    wrong = {
        short(key): round(check.difference, 2)
        for key, slots, printed in slots_and_sums("lmu-2010-esxi")
        if not (check := check_sum(slots, printed)).is_within_rounding
    }

    assert wrong == {
        "RAMspeed RAM write 3": -31.57,
        "RAMspeed RAM read 3": 523.06,
        "RAMspeed L2 write 2": -697.24,
        "RAMspeed L2 write 3": 1429.17,
        "RAMspeed L2 read 2": 189.75,
        "RAMspeed L2 read 3": 1061.92,
        "RAMspeed L1 write 3": -1771.39,
        "RAMspeed L1 read 2": 121.99,
        "RAMspeed L1 read 3": 2239.33,
        "Iometer read 3": 0.08,
    }


def test_it_reports_the_error_of_a_printed_sum():
    assert check_sum([1655.8, 1636.75, 1614.7], 5430.31).sentence == (
        "The printed sum 5430.31 is 11% more than the sum of the slots (4907.25)."
    )
    assert check_sum([4.32, 4.36], 8.68).sentence == (
        "The sum of the slots is 8.68, as printed."
    )


def test_rounded_slots_may_be_off_by_half_a_step_each():
    assert check_sum([3.99, 4.28, 4.28], 12.53).is_within_rounding
    assert not check_sum([3.99, 4.28, 4.28], 12.52).is_within_rounding


@pytest.mark.parametrize(
    "coruns",
    [
        [],
        [[]],
        [[1.0, 2.0], [1.0]],
        [[0.0, 0.0]],
        [[1.0, -1.0]],
        [[1.0, math.nan]],
        [[1e80]],
    ],
)
def test_an_invalid_corun_raises(coruns):
    with pytest.raises(ValueError, match="slot"):
        fairness(coruns)


@pytest.mark.parametrize("single", [0.0, -1.0, math.inf, math.nan])
def test_an_invalid_single_run_raises(single):
    with pytest.raises(ValueError, match="single run"):
        scaling([1.0, 2.0], single)


def test_impossible_core_counts_raise():
    with pytest.raises(ValueError, match="core"):
        cpu_target(10.0, single_s=10.0, virtual=3, cores=0)


def equal(total, k):
    return [[total / k] * k]


def test_memory_bandwidth_of_xen_has_its_knee_at_two_vms():
    slots_by_vms = {}
    for row in read_rows("lmu-2010-xen"):
        is_case = row.tool == "RAMspeed" and row.operation == "write"
        if is_case and row.params == "level=RAM" and row.scenario == "parallel":
            slots_by_vms.setdefault(row.vms, {})[row.vm] = float(row.value)
    curve = consolidation(
        {
            int(k): [[v for vm, v in each.items() if vm != "sum"]]
            for k, each in slots_by_vms.items()
        }
    )

    assert [point.vm_count for point in curve.points] == [2, 3]
    assert curve.points[0].sum == pytest.approx(3566.70)
    assert curve.points[1].fairness.jain == pytest.approx(1, abs=1e-5)
    assert (curve.knee, curve.is_knee_observed) == (2, True)
    assert curve.points[0].scaling is None


def test_each_point_has_sum_mean_and_scaling():
    curve = consolidation({1: [[100.0]], 2: [[90.0, 80.0]]})

    assert curve.points[1].sum == 170
    assert curve.points[1].mean == 85
    assert curve.points[1].scaling == pytest.approx(1.7)
    assert curve.points[1].mean_relative_to_single == pytest.approx(0.85)
    assert curve.points[1].relative_half_width is None


@pytest.mark.parametrize(
    ("sums", "knee", "is_end_reached"),
    [
        ((100, 198, 290, 380), 4, False),
        ((100, 198, 199, 197), 2, True),
        ((100, 99, 150, 151), 3, True),
        ((100, 101, 103, 104), 3, True),
        ((100, 90, 80, 70), 1, True),
    ],
)
def test_the_knee_is_the_last_number_that_increased_the_best_sum(
    sums, knee, is_end_reached
):
    curve = consolidation({k: equal(sum_, k) for k, sum_ in enumerate(sums, start=1)})

    assert (curve.knee, curve.is_knee_observed) == (knee, is_end_reached)


def test_a_gain_within_the_noise_is_ignored():
    quiet = {1: [[100.0], [100.5], [99.5]], 2: [[55.0, 55.0], [55.2, 55.2]] * 2}
    noisy = {1: [[100.0], [130.0], [70.0]], 2: [[55.0, 55.0], [70.0, 70.0]] * 2}

    assert consolidation(quiet).knee == 2
    assert consolidation(noisy).knee == 1


def test_false_gains_are_rare():
    rng = np.random.default_rng(1)
    curves = [
        consolidation(
            {1: rng.normal(100, 5, (5, 1)), 2: rng.normal(50, 5 / 2**0.5, (5, 2))}
        )
        for _ in range(1000)
    ]

    assert np.mean([curve.knee == 2 for curve in curves]) < 0.025


def test_a_wrong_number_of_slots_raises():
    with pytest.raises(ValueError, match="3 VMs has 2 slots"):
        consolidation({3: [[1.0, 2.0]]})
    with pytest.raises(ValueError, match="at least one"):
        consolidation({})
