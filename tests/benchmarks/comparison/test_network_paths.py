"""Network paths: their medium and asymmetries."""

import pytest

from benchmarks.comparison.network_matrices import asymmetries, path_medium
from benchmarks.models import Cell


def single(mean):
    return Cell(n=1, mean=mean, m2=0.0, decimals=2)


def several(mean, deviation, n=6):
    return Cell(n=n, mean=mean, m2=(n - 1) * deviation**2, decimals=2)


@pytest.mark.parametrize(
    ("scenario", "ends", "hosts", "medium"),
    [
        ("same-host", ("vm3", "vm3"), ("a", "a"), "loopback"),
        ("same-host", ("vm3", "vm4"), ("", ""), "same_host"),
        ("single", ("vm3", "vm4"), ("a", "a"), "same_host"),
        ("inter-vm", ("vm3", "vm4"), ("", ""), "same_host"),
        ("inter-host", ("vm3", "vm2"), ("", ""), "wire"),
        ("single", ("vm3", "vm2"), ("a", "b"), "wire"),
        ("single", ("vm3", "vm2"), ("a", ""), "unknown"),
    ],
)
def test_paths_within_a_host_and_over_the_wire_differ(scenario, ends, hosts, medium):
    assert path_medium(scenario, ends, hosts) == medium


def test_the_larger_direction_is_named_and_the_largest_factor_comes_first():
    paths = {
        ("a", "b"): single(10),
        ("b", "a"): single(30),
        ("a", "c"): single(50),
        ("c", "a"): single(10),
    }

    pairs = asymmetries(paths)

    assert [(each.larger, each.factor) for each in pairs] == [
        (("a", "c"), 5.0),
        (("b", "a"), 3.0),
    ]
    assert pairs[0].low is None


def test_single_directions_and_loopbacks_are_not_asymmetries():
    assert asymmetries({("a", "b"): single(10), ("a", "a"): single(90)}) == ()


def test_a_small_difference_and_a_reading_of_zero_are_not_named():
    near = {("a", "b"): single(10), ("b", "a"): single(12)}
    zero = {("a", "b"): single(0), ("b", "a"): single(12)}

    assert asymmetries(near) == asymmetries(zero) == ()


def test_several_runs_must_agree_that_the_directions_differ():
    noisy = {("a", "b"): several(10, 5), ("b", "a"): several(14, 6)}
    clear = {("a", "b"): several(10, 0.1), ("b", "a"): several(14, 0.1)}

    assert asymmetries(noisy) == ()
    (asymmetry,) = asymmetries(clear)
    assert 1.3 < asymmetry.low < asymmetry.factor < asymmetry.high < 1.5
