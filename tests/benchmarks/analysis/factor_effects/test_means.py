import math

import pytest

from benchmarks.analysis.factor_effects.analysis import factor_effects
from benchmarks.analysis.factor_effects.factors import factors_of
from benchmarks.analysis.factor_effects.means import means, pictures
from benchmarks.analysis.factor_effects.noise import Observation
from tests.benchmarks.analysis.factor_effects.designs import (
    FILTRATION,
    standing_out,
    unreplicated,
)

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


def test_a_factor_that_interacts_is_pictured_over_the_others_levels():
    """Montgomery's filtration rate: A depends on C and D, B on nothing."""
    observed = unreplicated("ABCD", FILTRATION)

    found = {
        each.one.names: each for each in pictures(factor_effects(observed), observed)
    }

    assert {names: each.other.names for names, each in found.items()} == {
        ("A",): ("C", "D"),
        ("C",): ("A",),
        ("D",): ("A",),
    }
    assert found[("A",)].other.levels == (
        "off · off",
        "off · on",
        "on · off",
        "on · on",
    )


def test_a_factor_that_moves_alone_has_no_picture():
    observed = unreplicated("ABC", [1.0, 2, 1.01, 2.02, 1.03, 2.0, 0.99, 2.01])

    assert standing_out(factor_effects(observed)) == {"A"}
    assert pictures(factor_effects(observed), observed) == ()
