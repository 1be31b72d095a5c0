"""How parts of studies become units, and units a pool."""

from itertools import islice, permutations
from math import log

import numpy as np
import pytest

from benchmarks.analysis.pooling import EvidenceStrength, pooled
from benchmarks.evidence.synthesis import Part, spread_of, synthesis

CPU = ("sysbench", "CPU event rate")
LINPACK = ("hpl", "performance")


def part(unit, ratio=0.9, sd=0.01, **changes):
    given = {
        "lab": f"lab of {unit}",
        "benchmark": CPU,
        "obstacle": "",
        "log_ratio": None if ratio is None else log(ratio),
        "sd": sd,
        **changes,
    }
    return Part(unit, **given)


def test_three_machines_are_pooled_as_their_effects_are():
    ratios, sds = (0.9, 0.8, 0.95), (0.01, 0.02, 0.03)
    parts = [part(*each) for each in zip("abc", ratios, sds, strict=True)]

    found = synthesis(parts)

    expected = pooled(np.log(ratios), np.square(sds), [0, 0, 0], 1)
    assert found.pool.mean == pytest.approx(expected.mean[0])
    assert found.pool.predicted[0] == pytest.approx(expected.predicted_low[0])
    assert (found.pool.k, found.labs) == (3, 3)
    assert sum(found.pool.weights) == pytest.approx(1)


def test_the_answer_is_the_same_to_the_last_digit_in_whatever_order_parts_are_read():
    parts = [part(name, 0.8 + n / 37, 0.01 + n / 500) for n, name in enumerate("abcde")]
    parts += [part("a", 0.7, cells=3), part("f", 0.9, None), part("g", 0.6, None)]

    assert all(
        synthesis(order) == synthesis(parts)
        for order in islice(permutations(parts), 0, None, 331)
    )


def test_benchmarks_of_a_machine_count_the_same_however_many_cells_each_has():
    found = synthesis(
        [part("a", 0.8, cells=9), part("a", 0.9, benchmark=LINPACK, cells=1)]
    )

    assert found.units[0].log_ratio == pytest.approx((log(0.8) + log(0.9)) / 2)
    assert found.units[0].cells == 10


def test_cells_of_a_benchmark_count_the_same_however_they_are_grouped():
    found = synthesis([part("a", 0.8, cells=3), part("a", 0.9, cells=1)])

    assert found.units[0].log_ratio == pytest.approx((3 * log(0.8) + log(0.9)) / 4)


def test_many_cells_of_one_machine_are_no_surer_than_one():
    found = synthesis([part("a", sd=0.02, cells=50)])

    assert found.units[0].variance == pytest.approx(0.02**2)


def test_single_runs_tell_nothing_where_the_machine_has_repeated_ones():
    found = synthesis(
        [part("a", 0.8), part("a", 0.5, None, obstacle="single_run", cells=7)]
    )

    assert found.units[0].log_ratio == pytest.approx(log(0.8))
    assert not found.hollow


def test_machines_of_single_runs_are_hollow_and_pooled_apart():
    single = {"sd": None, "obstacle": "single_run"}
    found = synthesis(
        [
            *(part(unit, 0.8) for unit in "abc"),
            *(part(unit, 0.5, **single) for unit in "def"),
        ]
    )

    assert found.pool.mean == pytest.approx(log(0.8))
    assert (found.pool.k, found.single.k) == (3, 3)
    assert found.single.mean == pytest.approx(log(0.5))


def test_what_has_an_obstacle_is_screened_out_and_counted():
    found = synthesis(
        [
            part("a", 0.8),
            part("b", 0.01, obstacle="emulation", cells=4),
            part("c", None, None, obstacle="no_native", cells=2),
        ]
    )

    assert [unit.key for unit in found.units] == ["a"]
    assert found.screened == {"emulation": 4, "no_native": 2}


def test_what_a_flag_doubts_is_put_in_on_request():
    parts = [*(part(unit, 0.8) for unit in "ab"), part("c", 3.0, obstacle="flagged")]

    without, with_flagged = synthesis(parts), synthesis(parts, with_flagged=True)

    assert (without.pool.k, with_flagged.pool.k) == (2, 3)
    assert without.screened == {"flagged": 1}
    assert without.pool.mean is None
    assert not with_flagged.screened


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([0.8] * 5, EvidenceStrength.STRONG),
        ([0.8] * 3, EvidenceStrength.MODERATE),
        ([0.8] * 2, EvidenceStrength.WEAK),
        ([0.5, 2.0, 0.5, 2.0, 0.5], EvidenceStrength.CONTRADICTORY),
        ([], EvidenceStrength.NONE),
    ],
)
def test_evidence_is_graded(ratios, expected):
    parts = [part(unit, ratio) for unit, ratio in zip("abcde", ratios, strict=False)]

    assert synthesis(parts).strength == expected


def test_five_machines_of_one_lab_are_no_strong_evidence():
    found = synthesis([part(unit, 0.8, lab="one") for unit in "abcde"])

    assert (found.pool.k, found.pool.labs) == (5, 1)
    assert found.strength == EvidenceStrength.WEAK


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([0.8, 0.7, 0.5], EvidenceStrength.WEAK), ([0.8, 1.3], EvidenceStrength.NONE)],
)
def test_single_runs_are_weak_evidence_where_they_agree(ratios, expected):
    parts = [
        part(unit, ratio, None, obstacle="single_run")
        for unit, ratio in zip("abc", ratios, strict=False)
    ]

    assert synthesis(parts).strength == expected


def test_how_much_machines_differ_is_told_from_three_on():
    units = synthesis(
        [part(unit, ratio) for unit, ratio in zip("abc", (0.7, 0.8, 0.9), strict=True)]
    )

    spread = spread_of(units.units)

    assert spread.tau2 == pytest.approx(units.pool.tau2)
    assert spread.tau2_low <= spread.tau2 <= spread.tau2_high
    assert spread_of(units.units[:2]) is None
