"""Averages of studies become machine effects, and these are pooled."""

from dataclasses import replace
from itertools import islice, permutations
from math import exp, log

import numpy as np
import pytest

from benchmarks.analysis.meta_analysis import EvidenceStrength, pool_effects
from benchmarks.evidence.synthesis import (
    BenchmarkAverage,
    Configuration,
    machine_heterogeneity,
    synthesis,
)

CPU = ("sysbench", "CPU event rate")
LINPACK = ("hpl", "performance")


def part(unit, ratio=0.9, sd=0.01, **changes):
    given = {
        "lab": f"lab of {unit}",
        "benchmark": CPU,
        "exclusion": "",
        "log_ratio": None if ratio is None else log(ratio),
        "standard_error": sd,
        **changes,
    }
    return BenchmarkAverage(unit, **given)


def test_three_machines_are_pooled_like_their_effects():
    ratios, sds = (0.9, 0.8, 0.95), (0.01, 0.02, 0.03)
    parts = [part(*each) for each in zip("abc", ratios, sds, strict=True)]

    found = synthesis(parts)

    expected = pool_effects(np.log(ratios), np.square(sds), [0, 0, 0], 1)
    assert found.pool.mean == pytest.approx(expected.mean[0])
    assert found.pool.predicted[0] == pytest.approx(expected.predicted_low[0])
    assert (found.pool.machine_count, found.lab_count) == (3, 3)
    assert sum(found.pool.weights) == pytest.approx(1)


def test_the_order_of_averages_does_not_change_any_digit():
    parts = [part(name, 0.8 + n / 37, 0.01 + n / 500) for n, name in enumerate("abcde")]
    parts += [part("a", 0.7, cell_count=3), part("f", 0.9, None), part("g", 0.6, None)]

    assert all(
        synthesis(order) == synthesis(parts)
        for order in islice(permutations(parts), 0, None, 331)
    )


def test_benchmarks_of_a_machine_have_equal_weights():
    found = synthesis(
        [part("a", 0.8, cell_count=9), part("a", 0.9, benchmark=LINPACK, cell_count=1)]
    )

    assert found.machines[0].log_ratio == pytest.approx((log(0.8) + log(0.9)) / 2)
    assert found.machines[0].cell_count == 10


def test_cells_of_a_benchmark_have_equal_weights():
    found = synthesis([part("a", 0.8, cell_count=3), part("a", 0.9, cell_count=1)])

    assert found.machines[0].log_ratio == pytest.approx((3 * log(0.8) + log(0.9)) / 4)


def test_many_cells_of_a_machine_do_not_narrow_its_interval():
    found = synthesis([part("a", sd=0.02, cell_count=50)])

    assert found.machines[0].variance == pytest.approx(0.02**2)


def test_repeated_runs_override_single_runs_of_a_machine():
    found = synthesis(
        [part("a", 0.8), part("a", 0.5, None, exclusion="single_run", cell_count=7)]
    )

    assert found.machines[0].log_ratio == pytest.approx(log(0.8))
    assert not found.single_run_machines


def test_machines_with_single_runs_are_pooled_separately():
    single = {"sd": None, "exclusion": "single_run"}
    found = synthesis(
        [
            *(part(unit, 0.8) for unit in "abc"),
            *(part(unit, 0.5, **single) for unit in "def"),
        ]
    )

    assert found.pool.mean == pytest.approx(log(0.8))
    assert (found.pool.machine_count, found.single_run_pool.machine_count) == (3, 3)
    assert found.single_run_pool.mean == pytest.approx(log(0.5))


def test_excluded_averages_are_counted():
    found = synthesis(
        [
            part("a", 0.8),
            part("b", 0.01, exclusion="emulation", cell_count=4),
            part("c", None, None, exclusion="no_native", cell_count=2),
        ]
    )

    assert [unit.key for unit in found.machines] == ["a"]
    assert found.excluded_counts == {"emulation": 4, "no_native": 2}


def test_doubtful_averages_are_pooled_and_can_be_left_out():
    parts = [*(part(unit, 0.8) for unit in "ab"), part("c", 3.0, is_doubtful=True)]

    found, sure = synthesis(parts), synthesis(parts, without_doubtful=True)

    assert (found.pool.machine_count, found.doubtful_count) == (3, 1)
    assert (sure.pool.machine_count, sure.pool.mean) == (2, None)
    assert sure.excluded_counts == {"doubtful": 1}
    assert found.without_doubtful == sure
    assert not found.excluded_counts


def test_impossible_averages_are_only_pooled_for_comparison():
    parts = [
        *(part(unit, 0.8) for unit in "abc"),
        part("d", 0.001, exclusion="impossible"),
    ]

    found = synthesis(parts)

    assert (found.pool.machine_count, found.screened_count) == (3, 1)
    assert found.with_screened.pool.machine_count == 4
    assert found.with_screened.pool.mean < found.pool.mean
    assert found.without_doubtful is None


def configured(unit, *ratios, half_width=None, **changes):
    """Return the average of a machine whose systems have these ratios."""
    logs = [log(ratio) for ratio in ratios]
    return replace(
        part(unit, exp(sum(logs) / len(logs)), **changes),
        configurations=tuple(
            Configuration(number, log_ratio, half_width)
            for number, log_ratio in enumerate(logs)
        ),
        run_deviation=0.02,
        cell_count=len(logs),
    )


def test_configurations_that_differ_are_listed():
    (machine,) = synthesis(
        [configured("a", 0.449, 0.979, exclusion="single_run", standard_error=None)]
    ).single_run_machines

    assert [exp(each.log_ratio) for each in machine.configurations] == pytest.approx(
        [0.449, 0.979]
    )


@pytest.mark.parametrize("half_width", [None, 0.02])
def test_configurations_within_their_noise_are_averaged(half_width):
    (machine,) = synthesis(
        [configured("a", 0.96, 0.99, half_width=half_width)]
    ).machines

    assert machine.configurations == ()


def test_the_spread_of_configurations_lowers_the_weight_of_a_machine():
    one = configured("a", 0.5, 0.9, half_width=0.02)
    (machine,) = synthesis([one]).machines

    assert machine.variance == pytest.approx(
        one.standard_error**2 + log(0.9 / 0.5) ** 2 / 4
    )
    assert len(machine.configurations) == 2


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


def test_labs_of_several_machines_are_clusters():
    parts = [
        *(part(unit, 0.8 + unit / 500, lab="one") for unit in range(6)),
        part("b", 0.9),
        part("c", 0.95),
    ]
    found = synthesis(parts)

    expected = pool_effects(
        [machine.log_ratio for machine in found.machines],
        [1e-4] * 8,
        [0] * 8,
        1,
        lab_index=[0] * 6 + [1, 2],
    )
    assert found.pool.mean == pytest.approx(expected.mean[0])
    assert found.pool.tau2_lab == pytest.approx(expected.tau2_lab[0])
    assert (found.pool.machine_count, found.pool.lab_count) == (8, 3)
    assert not found.pool.is_one_lab


def test_a_machine_of_two_labs_counts_once():
    parts = [part("a", 0.8, lab="one"), part("a", 0.9, lab="two")]

    found = synthesis([*parts, part("b", lab="two"), part("c", lab="three")])

    assert (found.pool.machine_count, found.pool.lab_count) == (3, 3)
    assert {machine.lab for machine in found.machines} == {"one", "two", "three"}


def test_studies_of_all_machines_are_counted_once():
    found = synthesis(
        [part("a", studies=(1, 2)), part("b", studies=(2,)), part("c", studies=(3,))]
    )

    assert found.pool.study_count == 3


def test_machines_of_one_lab_never_raise_the_level():
    many = [part(unit, 0.8, lab="one") for unit in range(20)]

    assert synthesis(many).strength == EvidenceStrength.WEAK
    two_labs = synthesis([*many, part("b", 0.8, lab="two")])
    assert two_labs.strength == EvidenceStrength.WEAK
    assert (two_labs.pool.mean, two_labs.pool.method) == (None, "")


def test_opposite_machines_of_one_lab_do_not_contradict_other_labs():
    ratios = [0.5, 2.0, 0.5, 2.0, 0.5, 0.6, 0.7]
    labs = [*["one"] * 5, "two", "three"]
    parts = [
        part(unit, ratio, lab=lab)
        for unit, (ratio, lab) in enumerate(zip(ratios, labs, strict=True))
    ]

    assert synthesis(parts).strength == EvidenceStrength.WEAK


def test_five_machines_of_one_lab_are_not_strong_evidence():
    found = synthesis([part(unit, 0.8, lab="one") for unit in "abcde"])

    assert (found.pool.machine_count, found.pool.lab_count) == (5, 1)
    assert found.strength == EvidenceStrength.WEAK


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([0.8, 0.7, 0.5], EvidenceStrength.WEAK), ([0.8, 1.3], EvidenceStrength.NONE)],
)
def test_agreeing_single_runs_are_weak_evidence(ratios, expected):
    parts = [
        part(unit, ratio, None, exclusion="single_run")
        for unit, ratio in zip("abc", ratios, strict=False)
    ]

    assert synthesis(parts).strength == expected


def test_heterogeneity_needs_three_machines():
    units = synthesis(
        [part(unit, ratio) for unit, ratio in zip("abc", (0.7, 0.8, 0.9), strict=True)]
    )

    spread = machine_heterogeneity(units.machines)

    assert spread.tau2 == pytest.approx(units.pool.tau2)
    assert spread.tau2_low <= spread.tau2 <= spread.tau2_high
    assert machine_heterogeneity(units.machines[:2]) is None


def test_few_configurations_that_differ_have_no_mean():
    few = synthesis([configured("a", 0.449, 0.979, half_width=0.01)])
    many = synthesis([configured("a", 0.3, 0.5, 0.7, 0.9, half_width=0.01)])

    assert (few.pool.mean, few.pool.interval) == (None, None)
    assert [exp(ratio) for ratio in few.machines[0].shown_log_ratios] == pytest.approx(
        [0.449, 0.979]
    )
    assert many.pool.mean is not None


def of_model(model, specimen, log_ratio, **given):
    return part(
        "provider AWS",
        **{"lab": "AWS", "exclusion": "single_run", "sd": None, **given},
        log_ratio=log_ratio,
        model=model,
        specimen=specimen,
    )


def models(count, log_ratio=0.0):
    return [
        of_model(f"m{n}", 10 * n + k, log_ratio + 0.001 * n + 0.0001 * k)
        for n in range(count)
        for k in range(2)
    ]


def test_a_provider_is_one_row_of_its_models():
    found = synthesis(models(6))

    (provider,) = found.machines
    # Models have the means 0.00005 + 0.001 n.
    assert provider.log_ratio == pytest.approx(0.00255)
    assert provider.variance == pytest.approx(0.001**2 * 3.5 / 6)
    assert (provider.model_count, provider.specimen_count) == (6, 12)
    assert provider.predicted[0] < provider.interval[0] < provider.log_ratio
    assert found.strength == EvidenceStrength.MODERATE
    assert found.summary.machines == (provider,)


def test_fewer_than_three_models_are_counted_but_not_pooled():
    found = synthesis(models(2))

    assert not found.machines
    assert not found.single_run_machines
    assert found.excluded_counts == {"few_models": 4}


def test_models_with_doubtful_results_are_left_out():
    held_back = [
        of_model("odd", 99, 0.1, is_doubtful=True),
        of_model("odd", 99, 0.0, benchmark=("openssl", "throughput")),
    ]
    (provider,) = synthesis(models(6) + held_back).machines

    assert provider.flagged_models == ("odd",)
    assert provider.model_count == 6
    assert provider.log_ratio == pytest.approx(0.00255)
    assert provider.log_ratio_with_flagged > provider.log_ratio


def test_results_of_the_same_machine_are_also_pooled_without_providers():
    own = [part(unit, 0.9) for unit in ("a", "b", "c")]
    found = synthesis(own + models(6))

    assert found.pool.machine_count == 4
    assert (found.pool.provider_count, found.pool.model_count) == (1, 6)
    assert found.without_models.pool.machine_count == 3
    assert synthesis(own).without_models is None
