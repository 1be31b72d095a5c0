import numpy as np
import pytest

from benchmarks.analysis.factor_effects.factors_and_responses import (
    Factor,
    Observation,
    RunScatter,
    baseline_variance_shares,
    combinations,
    find_factors,
    log_m2,
    pool_scatter,
    response_covariance,
)


def found(systems):
    return {factor.names: factor.levels for factor in find_factors(systems)}


def test_only_differing_parameters_are_factors():
    systems = [{"guest_bits": bits, "host": "alpha"} for bits in ("64", "32")]

    assert found(systems) == {("guest_bits",): ("32", "64")}


@pytest.mark.parametrize(
    ("levels", "reference"),
    [
        (("on", "off"), "off"),
        (("installed", "absent"), "absent"),
        (("10", "9"), "9"),
        (("Windows", "Ubuntu"), "Ubuntu"),
        (("8 GiB", "16 GiB"), "8 GiB"),
        (("on", "On", "ON"), "ON"),
        (("1", "01"), "01"),
    ],
)
def test_the_reference_is_without_or_the_smaller_level(levels, reference):
    (factor,) = find_factors([{"name": level} for level in levels])

    assert factor.levels[0] == reference


def test_an_unreported_level_is_not_a_level():
    linux = {"guest_os": "Ubuntu", "guest_tools": ""}
    windows = {"guest_os": "Windows", "guest_tools": "absent"}
    systems = [linux, windows, {**windows, "guest_tools": "PV drivers"}]

    assert found(systems) == {
        ("guest_os",): ("Ubuntu", "Windows"),
        ("guest_tools",): ("absent", "PV drivers"),
    }
    assert find_factors(systems)[1].columns(systems)[:, 0].tolist() == [0, -1, 1]


def test_parameters_that_changed_together_are_one_factor():
    systems = [{"vcpus": "1", "memory": "1 GiB"}, {"vcpus": "2", "memory": "4 GiB"}]

    assert found(systems) == {("vcpus", "memory"): ("1 · 1 GiB", "2 · 4 GiB")}


def test_a_hypervisor_is_one_factor_with_its_version():
    versions = [("ESXi", "3.5"), ("Xen", "3.3"), ("Xen", "3.4")]
    systems = [
        {"hypervisor": hypervisor, "version": version, "bits": bits}
        for hypervisor, version in versions
        for bits in ("32", "64")
    ]

    assert found(systems) == {
        ("hypervisor", "version"): ("ESXi · 3.5", "Xen · 3.3", "Xen · 3.4"),
        ("bits",): ("32", "64"),
    }


def test_equal_systems_have_no_factors():
    assert find_factors([{"bits": "32"}, {"bits": "32"}]) == ()
    assert find_factors([]) == ()


def test_the_levels_of_a_column_sum_to_zero():
    factor = Factor(("storage",), ("HDD", "SSD", "ioDrive"))

    assert factor.coding().sum(axis=0).tolist() == [0, 0]
    assert np.linalg.matrix_rank(factor.coding()) == 2


def test_it_counts_the_combinations_that_exist_in_the_order_of_their_levels():
    systems = [
        {"virt": "PV", "amd_v": "on"},
        {"virt": "PV", "amd_v": "off"},
        {"virt": "HVM", "amd_v": "on"},
        {"virt": "HVM", "amd_v": "on"},
    ]

    design = combinations(find_factors(systems), systems)

    assert [(each.levels, each.count) for each in design] == [
        (("HVM", "on"), 2),
        (("PV", "off"), 1),
        (("PV", "on"), 1),
    ]


def leaning(baselines, runs=1, native_runs=1):
    side, native = RunScatter(runs, 0.5), RunScatter(native_runs, 0.25)
    return [Observation({}, 0.0, side, key, native) for key in baselines]


def test_plain_values_are_independent():
    observations = [
        Observation({}, 1.0, RunScatter(2)),
        Observation({}, 2.0, RunScatter(5)),
    ]

    assert response_covariance(observations).tolist() == [[0.5, 0], [0, 0.2]]


def test_cells_of_one_native_run_share_its_error():
    shared = response_covariance(leaning(["a", "a", "b"], runs=4, native_runs=2))

    assert shared.tolist() == [[0.75, 0.5, 0], [0.5, 0.75, 0], [0, 0, 0.75]]


def test_a_shared_native_run_cancels_within_its_group_and_not_between_groups():
    within, between = [1, -1, 1, -1], [1, 1, -1, -1]
    weights = np.array([within, between]) / 2

    shares = baseline_variance_shares(weights, leaning(["a", "a", "b", "b"]))

    assert shares.tolist() == pytest.approx([0, 2 / 3])


def test_the_covariance_is_that_of_simulated_efficiencies():
    rng = np.random.default_rng(11)
    native = rng.normal(size=(20_000, 2)) / np.sqrt(2)
    cells = rng.normal(size=(20_000, 4)) / np.sqrt(3)
    seen = np.cov((cells - native[:, [0, 0, 1, 1]]).T)

    expected = response_covariance(leaning(["a", "a", "b", "b"], runs=3, native_runs=2))

    assert np.abs(seen - expected).max() < 0.03


def test_scatter_is_pooled_over_cells_and_over_each_native_cell_once():
    scatter = pool_scatter(leaning(["a", "a"], runs=5, native_runs=3))

    assert scatter.df == 4 + 4 + 2
    assert scatter.variance == pytest.approx((0.5 + 0.5 + 0.25) / 10)


def test_single_or_identical_runs_have_no_scatter():
    assert pool_scatter([Observation({}, 1.0), Observation({}, 2.0)]) is None
    assert pool_scatter([Observation({}, 1.0, RunScatter(5, 0.0))]) is None
    assert pool_scatter([Observation({}, 1.0, RunScatter(5, 5e-324))]) is None


def test_one_repeated_cell_is_not_enough_for_scatter():
    assert (
        pool_scatter([Observation({}, 1.0, RunScatter(2, 0.1)), Observation({}, 2.0)])
        is None
    )


def test_the_logarithms_scatter_like_the_relative_errors():
    values = np.array([98.0, 99, 100, 101, 102])

    exact = np.var(np.log(values)) * 5
    assert log_m2(float(np.var(values) * 5), 100.0) == pytest.approx(exact, rel=1e-3)
