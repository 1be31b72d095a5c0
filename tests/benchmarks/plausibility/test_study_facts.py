import math

import pytest

from benchmarks.plausibility.study_facts import (
    TYPICAL_DEVIATION,
    Noise,
    find_precision,
    observed_noise,
)
from tests.benchmarks.plausibility.small_studies import cell


@pytest.mark.parametrize(
    ("values", "value", "step"),
    [
        ([20.89, 45.5, 21.42], 45.5, 0.01),
        ([12500.0, 833.0, 4.15], 12500.0, 100),
        ([12500.0, 833.0, 4.15], 833.0, 1),
        ([62.0, 67.0, 70.0], 70.0, 1),
        ([3108035.0, 3145.88], 3145.88, 0.01),
        ([0.0], 0.0, 1),
    ],
)
def test_the_print_step_follows_from_the_values(values, value, step):
    assert find_precision(values).step(value) == pytest.approx(step)


def test_known_decimals_restore_trailing_zeros():
    assert find_precision([50.0, 50.3], decimals=2).step(50.0) == pytest.approx(0.01)


def test_a_single_value_has_the_noise_of_its_component():
    noise = observed_noise([cell(50.0, component="disk")])

    assert noise.mean_error(cell(50.0, component="disk")) == TYPICAL_DEVIATION["disk"]


def test_a_studys_own_scatter_replaces_the_typical_one():
    quiet = [cell(100.0, 100.5, 99.5, component="disk") for _ in range(5)]

    noise = observed_noise(quiet)

    assert noise.mean_error(cell(50.0, component="disk")) == pytest.approx(
        0.005, rel=0.01
    )


def test_one_wild_cell_does_not_change_the_noise_of_others():
    cells = [cell(100.0, 100.5, 99.5) for _ in range(9)] + [cell(10.0, 100.0, 1000.0)]

    assert observed_noise(cells).kind_deviation(cells[0]) == pytest.approx(
        0.005, rel=0.01
    )


def test_few_runs_use_the_noise_of_their_kind_and_many_their_own():
    noise = Noise({("memory",): 0.04})
    few, many = cell(100.0, 100.0), cell(*[99.0, 101.0] * 20)

    assert noise.run_deviation(few) == pytest.approx(0.04 * math.sqrt(4 / 5))
    assert 0.01 < noise.run_deviation(many) < 0.02
    assert noise.mean_error(many) == pytest.approx(
        noise.run_deviation(many) / math.sqrt(40)
    )
