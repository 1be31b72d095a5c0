"""Whatever systems a study has, the answer is finite, and true where it is one."""

import math
import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.analysis.factor_effects.design import Observation, Side
from benchmarks.analysis.factor_effects.effects import factor_effects, pictures
from tests.benchmarks.analysis.factor_effects.designs import logs

NAMES = ("os", "bits", "tools", "storage")
TRUTH = {"0": 0.0, "1": 0.3, "2": -0.2}

levels = st.sampled_from(["", "0", "1", "2"])
systems = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, levels))
stated = st.fixed_dictionaries(dict.fromkeys(NAMES, st.sampled_from(["0", "1", "2"])))
responses = st.one_of(st.just(0.0), st.floats(-3, 3), st.sampled_from([0.1, 0.2]))
sides = st.one_of(
    st.just(Side()), st.builds(Side, st.integers(2, 5), st.floats(0, 0.1))
)
observations = st.builds(
    Observation, systems, responses, sides, st.sampled_from([None, "one", "two"])
)


@settings(max_examples=80, deadline=None)
@given(st.lists(observations, max_size=20))
def test_every_set_of_systems_has_an_answer_in_finite_numbers(observed):
    effects = factor_effects(observed)

    numbers = [
        number
        for each in effects.effects
        for number in (each.log_effect, each.margin, each.wide_margin, each.p_value)
        if number is not None
    ]
    assert all(map(math.isfinite, numbers))
    assert all(each.one in effects.factors for each in pictures(effects, observed))
    assert sum(each.count for each in effects.combinations) == len(observed)


@settings(max_examples=40, deadline=None)
@given(st.lists(observations, min_size=2, max_size=20), st.randoms())
def test_the_order_of_any_systems_does_not_matter(observed, order: random.Random):
    shuffled = order.sample(observed, len(observed))

    one = factor_effects([_ordered(each) for each in observed])
    other = factor_effects([_ordered(each) for each in shuffled])
    assert logs(other) == pytest.approx(logs(one), abs=1e-7)
    assert list(logs(other)) == list(logs(one))
    assert [each.strength for each in other.effects] == [
        each.strength for each in one.effects
    ]


def _ordered(each):
    # Parameters come in one order, as the selector states them.
    stated = {name: each.levels.get(name, "") for name in NAMES}
    return Observation(
        stated, each.log_response, each.runs, each.baseline, each.baseline_runs
    )


@pytest.mark.parametrize(
    ("responses", "ranks"),
    [
        # 2:0 is +1/6 and 1:0 is -1/6: which is larger was up to the order of a sum.
        ((0, -1 / 6, 1 / 6), {"tools 1:0": -1 / 6, "tools 2:0": 1 / 6}),
        ((0, 0.1, 0.1), {"tools 1:0": 0.1, "tools 2:0": 0.1}),
        ((0.1, 0.2, 0.4), {"tools 2:0": 0.3, "tools 1:0": 0.1}),
    ],
)
def test_effects_of_one_size_rank_alike_in_every_order_of_the_systems(responses, ranks):
    observed = [
        Observation({"os": system, "tools": tools}, at + response)
        for system, at in (("0", 0.3), ("1", 0.7))
        for tools, response in zip("012", responses, strict=True)
    ]

    for order in permutations(observed):
        effects = {k: v for k, v in logs(factor_effects(order)).items() if k in ranks}
        assert effects == pytest.approx(ranks)
        assert list(effects) == list(ranks)


@settings(max_examples=80, deadline=None)
@given(st.lists(stated, min_size=2, max_size=25))
def test_an_effect_that_is_shown_is_the_true_one_however_unbalanced(chosen):
    """Without noise, and with main effects alone, nothing else may come out."""
    effects = factor_effects(
        [Observation(each, sum(TRUTH[it] for it in each.values())) for each in chosen]
    )

    plain = [each for each in effects.effects if len(each.term[0].names) == 1]
    for each in plain:
        (level, reference), *others = each.levels
        expected = 0.0 if others else TRUTH[level] - TRUTH[reference]
        assert each.log_effect == pytest.approx(expected, abs=1e-7)
