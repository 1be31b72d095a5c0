"""Effects are shown if and only if they are estimable, verified in fractions."""

from dataclasses import replace
from itertools import combinations, permutations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.analysis.factor_effects.effects import estimate_factor_effects
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
)
from tests.benchmarks.analysis.factor_effects.exact_effects import exact_effects
from tests.benchmarks.analysis.factor_effects.published_designs import logs

REPEATED = RunScatter(3, 0.1)


def grid(**levels):
    return [dict(zip(levels, each, strict=True)) for each in product(*levels.values())]


def measured(rows):
    """Return systems of two parameters, one value each."""
    return [Observation({"os": os, "tools": tools}, value) for os, tools, value in rows]


def shown(effects):
    return {
        (tuple(factor.names for factor in each.term), each.levels): each.log_effect
        for each in effects.effects
    }


def partners(effects):
    return {
        " x ".join(factor.names[0] for factor in each.term): [
            term[0].names[0] for term in each.partners
        ]
        for each in effects.aliases
    }


def answer(systems):
    responses = [(7 * at * at + 3 * at) % 11 for at in range(len(systems))]
    effects = estimate_factor_effects(
        [
            Observation(each, float(response), REPEATED)
            for each, response in zip(systems, responses, strict=True)
        ]
    )
    return effects, exact_effects(effects.factors, systems, responses)


@pytest.mark.parametrize(
    ("cells", "sizes"),
    [
        (grid(a="01", b="01", c="01"), range(2, 9)),
        (grid(a="012", b="01"), range(2, 7)),
        (grid(a="012", b="012"), range(2, 5)),
    ],
)
def test_small_designs_show_exactly_the_estimable_effects(cells, sizes):
    for systems in (each for size in sizes for each in combinations(cells, size)):
        effects, expected = answer(systems)

        assert shown(effects) == pytest.approx(expected, abs=1e-9), systems


def test_designs_with_unreported_parameters_show_exactly_the_estimable_effects():
    cells = grid(a=["", "0", "1"], b=["", "0", "1"])
    for systems in (each for n in range(2, 6) for each in combinations(cells, n)):
        effects, expected = answer(systems)

        mains = {key for key in shown(effects) if len(key[0]) == 1}
        assert mains == {key for key in expected if len(key[0]) == 1}, systems


def test_systems_without_a_parameter_are_not_an_average_level():
    """Regression: 2:0 was +1/6 and 1:0 was -1/6, although no two systems showed this.

    With t0 + t1 + t2 = 0 for systems without "tools" (and likewise "os"), the second
    and third system give t0 = 0 and the fourth m + t1 = 0, so t2 = -t1 = m = 1/6. But a
    system without a parameter is not known to be an average of its levels.
    """
    effects = estimate_factor_effects(
        measured([("1", "2", 0.5), ("0", "", 0.0), ("0", "0", 0.0), ("", "1", 0.0)])
    )

    assert shown(effects) == {}
    assert partners(effects) == {
        "os": ["tools"],
        "tools": ["os"],
        "os x tools": ["os", "tools"],
    }


def test_levels_from_different_systems_are_not_compared():
    """Tools 1 versus 0 was twice the effect relative to a system without the
    parameter."""
    rows = [("0", "1", 0.3), ("1", "0", 1.0)]

    assert shown(estimate_factor_effects(measured([*rows, ("0", "", 0.0)]))) == {}


def test_partial_parameters_are_compared_among_their_systems():
    """Drivers for Windows only: 0.3 - 1.0; Windows on average: 0.65 versus 0."""
    effects = estimate_factor_effects(
        measured([("Linux", "", 0.0), ("Windows", "1", 0.3), ("Windows", "0", 1.0)])
    )

    assert logs(effects) == pytest.approx({"tools": -0.7, "os": 0.65})


levels = st.sampled_from(["", "0", "1", "2"])
two_levels = st.sampled_from(["", "0", "1"])


def designs(of, sizes=(3, 14)):
    systems = st.fixed_dictionaries(dict.fromkeys(("os", "bits", "tools"), of))
    values = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(-3, 3))
    observations = st.builds(Observation, systems, values, st.just(REPEATED))
    return st.lists(observations, min_size=sizes[0], max_size=sizes[1])


@settings(max_examples=60, deadline=None)
@given(designs(levels), st.sampled_from("012"), st.floats(-2, 2))
def test_systems_without_a_parameter_do_not_inform_about_it(observed, level, shift):
    """The same applies to interactions, although only one level of the other varies."""
    before = estimate_factor_effects(observed)
    for term in [(factor,) for factor in before.factors] + [
        pair for each in combinations(before.factors, 2) for pair in (each, each[::-1])
    ]:
        factor, *others = term
        after = estimate_factor_effects(
            [
                each
                if factor.level(each.levels)
                or any(other.level(each.levels) != level for other in others)
                else replace(each, log_response=each.log_response + shift)
                for each in observed
            ]
        )

        names = {each.names for each in term}
        one, other = (
            {key: value for key, value in shown(found).items() if set(key[0]) == names}
            for found in (before, after)
        )
        assert other == pytest.approx(one, abs=1e-7)


@pytest.mark.parametrize(
    "rows",
    [
        [("0", "0", 0.1), ("0", "1", 0.2), ("1", "0", 0.4), ("1", "1", 0.8)],
        [("0", "0", 0.0), ("0", "1", 0.5), ("0", "2", -0.5), ("1", "0", 1 / 3)],
        [("1", "2", 0.5), ("0", "", 0.0), ("0", "0", 0.0), ("", "1", 0.0)],
        [("L", "", 0), ("W", "0", 0.1), ("W", "1", 0.2), ("L", "", 0.3), ("W", "2", 0)],
    ],
)
@pytest.mark.parametrize("side", [RunScatter(), REPEATED])
def test_the_order_of_small_designs_does_not_matter(rows, side):
    observed = [replace(each, scatter=side) for each in measured(rows)]
    expected = estimate_factor_effects(observed)
    for order in permutations(observed):
        effects = estimate_factor_effects(order)

        assert (effects.error_source, effects.aliases) == (
            expected.error_source,
            expected.aliases,
        )
        assert [
            (each.term, each.levels, each.strength) for each in effects.effects
        ] == [(each.term, each.levels, each.strength) for each in expected.effects]
        assert shown(effects) == pytest.approx(shown(expected), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(designs(two_levels), st.sampled_from(["os", "bits", "tools"]))
def test_swapping_two_levels_only_changes_the_sign(observed, name):
    before = estimate_factor_effects(observed)
    assume(all(len(factor.levels) == 2 for factor in before.factors))
    after = estimate_factor_effects(
        [_renamed(each, name, {"0": "1", "1": "0"}) for each in observed]
    )

    # Factors that always changed together are one, ordered by its first parameter.
    turned = [factor.names for factor in before.factors if factor.names[0] == name]
    signs = {key: -1 if set(key) & set(turned) else 1 for key in _by_term(before)}
    assert _by_term(after) == pytest.approx(
        {key: signs[key] * value for key, value in _by_term(before).items()}, abs=1e-7
    )
    assert list(_by_term(after)) == list(_by_term(before))
    assert [each.strength for each in after.effects] == [
        each.strength for each in before.effects
    ]


@settings(max_examples=60, deadline=None)
@given(designs(st.sampled_from(["0", "1", "2"])))
def test_another_level_of_reference_changes_no_difference_between_levels(observed):
    before = estimate_factor_effects(observed)
    assume(all(len(factor.names) == 1 for factor in before.factors))
    turned = {"0": "2", "1": "0", "2": "1"}
    after = estimate_factor_effects(
        [_renamed(each, "tools", turned) for each in observed]
    )

    for factor in before.factors:
        one, other = _levels(before, factor), _levels(after, factor)
        if factor.names == ("tools",):
            one = {turned[level]: value for level, value in one.items()}
        # All levels may be estimable relative to one reference, only some to another.
        assert one.keys() == other.keys() or factor.names == ("tools",)
        levels = sorted(one.keys() & other.keys())
        assert [one[level] - one[levels[0]] for level in levels] == pytest.approx(
            [other[level] - other[levels[0]] for level in levels], abs=1e-7
        )


def _renamed(observation, name, turned):
    level = observation.levels[name]
    levels = {**observation.levels, name: turned.get(level, level)}
    return replace(observation, levels=levels)


def _by_term(effects):
    return {
        tuple(factor.names for factor in each.term): each.log_effect
        for each in effects.effects
    }


def _levels(analysed, factor):
    """Return the effect of each level relative to the reference, if estimable."""
    effects = {
        each.levels[0]: each.log_effect
        for each in analysed.effects
        if [one.names for one in each.term] == [factor.names]
    }
    references = {reference: 0.0 for _, reference in effects}
    return references | {level: value for (level, _), value in effects.items()}
