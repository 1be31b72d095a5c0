import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.factor_effects.effects import Effect, adjusted, ranked


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_p_values_are_adjusted_as_scipy_does(p_values):
    assert adjusted(p_values) == pytest.approx(stats.false_discovery_control(p_values))


def test_without_effects_there_is_nothing_to_adjust():
    assert adjusted([]) == ()


def test_an_effect_is_a_factor_with_its_bounds():
    effect = Effect((), (), math.log(2), margin=math.log(1.5))

    assert effect.factor == pytest.approx(2)
    assert effect.interval == pytest.approx((2 / 1.5, 3))
    assert Effect((), (), 0.0).interval is None


def test_what_is_clear_comes_first_and_the_largest_first_among_equals():
    effects = [
        Effect((), (), 0.9, strength="none"),
        Effect((), (), 0.1, strength="clear"),
        Effect((), (), 0.5, strength="possible"),
        Effect((), (), -0.3, strength="clear"),
    ]

    assert [each.log_effect for each in ranked(effects)] == [-0.3, 0.1, 0.5, 0.9]


def test_effects_that_only_rounding_tells_apart_stay_in_their_order():
    """0.1 + 0.2 - 0.3 is not 0 in floating point; which is larger tells nothing."""
    sizes = [-0.3, 0.1 + 0.2, -0.3, 0.3 + 1e-12, 0.4]

    effects = ranked([Effect((), (), size) for size in sizes])

    assert [each.log_effect for each in effects] == [0.4, *sizes[:4]]
    assert ranked([]) == ()
