import numpy as np
import pytest

from benchmarks.analysis.consolidation import consolidation
from benchmarks.reference.rows import read_rows


def equal(total, k):
    return [[total / k] * k]


def test_memory_bandwidth_of_xen_has_its_knee_at_two_vms():
    found = {}
    for row in read_rows("lmu-2010-xen"):
        is_case = row.tool == "RAMspeed" and row.operation == "write"
        if is_case and row.params == "level=RAM" and row.scenario == "parallel":
            found.setdefault(row.vms, {})[row.vm] = float(row.value)
    curve = consolidation(
        {
            int(k): [[v for vm, v in each.items() if vm != "sum"]]
            for k, each in found.items()
        }
    )

    assert [point.k for point in curve.points] == [2, 3]
    assert curve.points[0].sum == pytest.approx(3566.70)
    assert curve.points[1].fairness.jain == pytest.approx(1, abs=1e-5)
    assert (curve.knee, curve.is_end_reached) == (2, True)
    assert curve.points[0].scaling is None


def test_each_point_has_sum_mean_and_scaling():
    curve = consolidation({1: [[100.0]], 2: [[90.0, 80.0]]})

    assert curve.points[1].sum == 170
    assert curve.points[1].mean == 85
    assert curve.points[1].scaling == pytest.approx(1.7)
    assert curve.points[1].share == pytest.approx(0.85)
    assert curve.points[1].noise is None


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
def test_the_knee_is_the_last_number_that_raised_the_best_sum(
    sums, knee, is_end_reached
):
    curve = consolidation({k: equal(sum_, k) for k, sum_ in enumerate(sums, start=1)})

    assert (curve.knee, curve.is_end_reached) == (knee, is_end_reached)


def test_a_gain_within_the_noise_is_no_gain():
    quiet = {1: [[100.0], [100.5], [99.5]], 2: [[55.0, 55.0], [55.2, 55.2]] * 2}
    noisy = {1: [[100.0], [130.0], [70.0]], 2: [[55.0, 55.0], [70.0, 70.0]] * 2}

    assert consolidation(quiet).knee == 2
    assert consolidation(noisy).knee == 1


def test_it_rarely_sees_a_gain_where_there_is_none():
    rng = np.random.default_rng(1)
    curves = [
        consolidation(
            {1: rng.normal(100, 5, (5, 1)), 2: rng.normal(50, 5 / 2**0.5, (5, 2))}
        )
        for _ in range(1000)
    ]

    assert np.mean([curve.knee == 2 for curve in curves]) < 0.025


def test_it_refuses_slots_that_do_not_fit_their_number():
    with pytest.raises(ValueError, match="3 VMs has 2 slots"):
        consolidation({3: [[1.0, 2.0]]})
    with pytest.raises(ValueError, match="at least one"):
        consolidation({})
