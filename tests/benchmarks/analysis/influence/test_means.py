import math

import pytest

from benchmarks.analysis.influence.factors import factors_of
from benchmarks.analysis.influence.means import means
from benchmarks.analysis.influence.noise import Observation

CELLS = [
    ("absent", "32", 0.2),
    ("absent", "64", 0.8),
    ("installed", "32", 0.4),
    ("installed", "32", 0.9),
    ("installed", "64", 0.8),
]
TOOLS = [
    Observation({"tools": tools, "bits": bits}, math.log(value))
    for tools, bits, value in CELLS
]


def test_it_gives_the_geometric_mean_of_each_combination():
    tools, bits = factors_of([each.levels for each in TOOLS])

    table = means(tools, bits, TOOLS)

    assert table.rows[0] == pytest.approx((0.2, 0.8))
    assert table.rows[1] == pytest.approx((math.sqrt(0.36), 0.8))
    assert table.factors == pytest.approx((3.0, 1.0))


def test_a_combination_that_was_not_measured_has_no_mean():
    tools, bits = factors_of([each.levels for each in TOOLS])

    table = means(tools, bits, TOOLS[:-1])

    assert table.rows[1][1] is None
    assert table.factors[1] is None
