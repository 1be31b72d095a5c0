import numpy as np
import pytest

from benchmarks.analysis.factor_effects.factors import Factor, combinations, factors_of


def found(systems):
    return {factor.names: factor.levels for factor in factors_of(systems)}


def test_what_differs_is_a_factor_and_what_does_not_is_none():
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
def test_the_level_without_or_the_smaller_one_is_the_reference(levels, reference):
    (factor,) = factors_of([{"name": level} for level in levels])

    assert factor.levels[0] == reference


def test_a_level_that_was_not_stated_is_no_level():
    linux = {"guest_os": "Ubuntu", "guest_tools": ""}
    windows = {"guest_os": "Windows", "guest_tools": "absent"}
    systems = [linux, windows, {**windows, "guest_tools": "PV drivers"}]

    assert found(systems) == {
        ("guest_os",): ("Ubuntu", "Windows"),
        ("guest_tools",): ("absent", "PV drivers"),
    }
    assert factors_of(systems)[1].columns(systems)[:, 0].tolist() == [0, -1, 1]


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


def test_systems_that_are_alike_have_no_factors():
    assert factors_of([{"bits": "32"}, {"bits": "32"}]) == ()
    assert factors_of([]) == ()


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

    design = combinations(factors_of(systems), systems)

    assert [(each.levels, each.count) for each in design] == [
        (("HVM", "on"), 2),
        (("PV", "off"), 1),
        (("PV", "on"), 1),
    ]
