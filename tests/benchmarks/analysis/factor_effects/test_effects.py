import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.factor_effects.effects import (
    FactorEffect,
    estimate_factor_effects,
    interaction_means,
    level_means,
    rank_effects,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Observation,
    RunScatter,
    find_factors,
)
from tests.benchmarks.analysis.factor_effects.published_designs import (
    FILTRATION,
    PILOT_PLANT,
    REACTOR,
    logs,
    name,
    replicated,
    shifted,
    standard_order,
    standing_out,
    unreplicated,
)

responses = st.lists(st.floats(-3, 3), min_size=16, max_size=16, unique=True)


def test_it_finds_the_published_effects_on_the_filtration_rate():
    """Montgomery: PSE 2.625, ME 6.748, SME 13.699; A, C, D, AC and AD stand out."""
    effects = estimate_factor_effects(unreplicated("ABCD", FILTRATION))

    assert effects.error_source == "contrasts"
    assert (effects.lenth.contrasts, effects.lenth.pse) == (15, 2.625)
    assert round(effects.lenth.me, 3) == 6.748
    assert round(effects.lenth.sme, 3) == 13.699
    assert standing_out(effects) == {"A", "D", "A x C", "A x D"}
    assert standing_out(effects, "possible") == {"C"}
    assert [logs(effects)[term] for term in ("A", "C", "D", "A x C", "A x D")] == [
        *(21.625, 9.875, 14.625),
        *(-18.125, 16.625),
    ]


def test_it_finds_the_published_effects_on_the_reactor():
    """Box, Hunter and Hunter: B 19.5, D 10.75, E -6.25, BD 13.25, DE -11."""
    analysed = estimate_factor_effects(unreplicated("ABCDE", REACTOR))

    effects = logs(analysed)
    assert standing_out(analysed, "clear", "possible") == {
        "B",
        "D",
        "E",
        "B x D",
        "D x E",
    }
    assert [effects[term] for term in ("B", "D", "E")] == [19.5, 10.75, -6.25]
    assert (effects["B x D"], effects["D x E"]) == (13.25, -11)


def test_repeated_runs_give_the_published_error_of_the_pilot_plant():
    """Box, Hunter and Hunter: s^2 = 8 with 8 degrees of freedom, error 1.4."""
    analysed = estimate_factor_effects(replicated(standard_order("TCK"), PILOT_PLANT))

    effects = logs(analysed)
    assert analysed.error_source == "replicated"
    assert (analysed.scatter.variance, analysed.scatter.df) == (8, 8)
    assert [round(effects[term], 6) for term in ("T", "C", "K")] == [23, -5, 1.5]
    assert round(effects["T x K"], 6) == 10
    assert standing_out(analysed) == {"T", "C", "T x K"}
    margins = {round(each.margin, 4) for each in analysed.effects}
    assert margins == {round(stats.t.ppf(0.975, 8) * math.sqrt(2), 4)}
    wide = {round(each.wide_margin, 4) for each in analysed.effects}
    assert wide == {round(stats.t.ppf(1 - 0.025 / 6, 8) * math.sqrt(2), 4)}


# Montgomery: life of a battery, 3 materials x 3 temperatures, 4 runs a cell.
BATTERY = {
    ("1", "15"): (130, 155, 74, 180),
    ("1", "70"): (34, 40, 80, 75),
    ("1", "125"): (20, 70, 82, 58),
    ("2", "15"): (150, 188, 159, 126),
    ("2", "70"): (136, 122, 106, 115),
    ("2", "125"): (25, 70, 58, 45),
    ("3", "15"): (138, 110, 168, 160),
    ("3", "70"): (174, 120, 150, 139),
    ("3", "125"): (96, 104, 82, 60),
}


def test_factors_of_three_levels_give_the_published_analysis_of_variance():
    """Mean square of error 675.21 with 27 degrees of freedom; 10683.72 and 39118.72."""
    systems = [{"material": a, "temperature": b} for a, b in BATTERY]

    effects = estimate_factor_effects(replicated(systems, BATTERY.values()))

    assert (round(effects.scatter.variance, 2), effects.scatter.df) == (675.21, 27)
    assert round(sum_of_squares(effects, "material"), 2) == 10683.72
    assert round(sum_of_squares(effects, "temperature"), 2) == 39118.72
    (hot,) = [each for each in effects.effects if each.levels == (("125", "15"),)]
    t = hot.log_effect / math.sqrt(675.2130 / 6)
    assert hot.log_effect == pytest.approx(64.16667 - 144.83333)
    assert hot.margin == pytest.approx(stats.t.ppf(0.975, 27) * math.sqrt(675.213 / 6))
    assert t == pytest.approx(hot.log_effect * stats.t.ppf(0.975, 27) / hot.margin)


def sum_of_squares(analysed, factor):
    """Return the sum of squares of a factor with three levels and 12 runs each."""
    effects = [each.log_effect for each in analysed.effects if name(each) == factor]
    return 12 * float(np.var([0, *effects])) * 3


def test_unequal_runs_are_weighted_by_their_number():
    """Two cells: the difference of two means with a pooled variance."""
    one, two = [3.0, 4.0, 5.0, 8.0], [1.0, 2.0]

    effects = estimate_factor_effects(
        replicated([{"A": "off"}, {"A": "on"}], [one, two])
    )

    expected = stats.ttest_ind(two, one)
    (effect,) = effects.effects
    assert effect.log_effect == pytest.approx(1.5 - 5)
    assert effect.p_value == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert effect.margin == pytest.approx((high - low) / 2)


def test_a_shared_native_run_widens_margins_between_groups():
    """16 cells over 4 native ones: sqrt(1 + 16 / 4) for OS and bits."""
    effects = estimate_factor_effects(
        [
            replace(each, baseline_id=each.levels["A"] + each.levels["B"])
            for each in unreplicated("ABCD", FILTRATION)
        ]
    )

    ratios = {name(each): each.margin / effects.lenth.me for each in effects.effects}
    shares = {name(each): each.baseline_share for each in effects.effects}
    assert ratios["A"] == ratios["B"] == ratios["A x B"] == pytest.approx(math.sqrt(5))
    assert ratios["C"] == ratios["A x C"] == pytest.approx(1)
    assert (shares["A"], shares["C"]) == (pytest.approx(0.8), 0)


def test_half_of_the_cells_estimate_main_effects_with_aliases():
    effects = estimate_factor_effects(
        [
            each
            for each in unreplicated("ABCD", FILTRATION)
            if list(each.levels.values()).count("on") % 2 == 0
        ]
    )

    assert effects.error_source == "contrasts"
    assert [name(each) for each in effects.effects if len(each.term) == 2] == []
    assert len(effects.aliases) == 6
    assert all(len(each.partners) == 1 for each in effects.aliases)


def test_a_design_with_a_missing_cell_uses_its_residuals():
    effects = estimate_factor_effects(unreplicated("ABCD", FILTRATION)[:-1])

    assert effects.error_source == "residual"
    assert round(effects.scatter.df) == 15 - 11
    assert standing_out(effects) == {"A", "D", "A x C", "A x D"}


def test_on_different_days_only_large_effects_are_clear():
    """Runs vary by 0.1 %: days may explain 10 % but not a factor of 2.2."""
    observations = [
        Observation({"tools": tools, "bits": bits}, log, RunScatter(5, 4e-6))
        for tools, bits, log in (
            ("no", "32", 0.0),
            ("no", "64", 0.1),
            ("yes", "32", 0.8),
            ("yes", "64", 0.9),
        )
    ]

    same, apart = (
        estimate_factor_effects(observations, are_sessions_different=are_apart)
        for are_apart in (False, True)
    )

    strengths = [
        {name(effect): effect.strength for effect in found.effects}
        for found in (same, apart)
    ]
    assert strengths[0]["bits"] == strengths[0]["tools"] == "clear"
    assert (strengths[1]["bits"], strengths[1]["tools"]) == ("possible", "clear")
    assert [effect.log_effect for effect in same.effects] == pytest.approx(
        [effect.log_effect for effect in apart.effects]
    )
    assert (same.are_sessions_different, apart.are_sessions_different) == (False, True)


def test_four_single_values_are_shown_without_margins():
    """The UOC study: two storages, two swaps."""
    effects = estimate_factor_effects(unreplicated("AB", [1.0, 2.0, 2.0, 3.5]))

    assert effects.error_source == "not_assessed"
    assert logs(effects) == pytest.approx({"A": 1.25, "B": 1.25})
    assert standing_out(effects, "not_assessed") == {"A", "B"}
    assert all(each.margin is None for each in effects.effects)
    assert [
        [factor.names for factor in term] for term in effects.pooled_interactions
    ] == [[("A",), ("B",)]]


def test_identical_values_have_no_margins():
    effects = estimate_factor_effects(unreplicated("ABC", [2.0] * 8))

    assert effects.error_source == "not_assessed"
    assert all(each.log_effect == pytest.approx(0) for each in effects.effects)


def test_equal_or_single_systems_have_no_effects():
    assert estimate_factor_effects([]).error_source == "constant"
    assert estimate_factor_effects([Observation({"A": "on"}, 1.0)]).effects == ()
    assert estimate_factor_effects([Observation({"A": "on"}, 1.0)] * 3).effects == ()


def test_every_contrast_is_on_the_half_normal_plot():
    effects = estimate_factor_effects(unreplicated("ABCD", FILTRATION))

    sizes = [point.size for point in effects.points]
    quantiles = [point.quantile for point in effects.points]
    assert len(effects.points) == 15
    assert sizes == sorted(sizes, reverse=True)
    assert quantiles == sorted(quantiles, reverse=True)


@settings(max_examples=25, deadline=None)
@given(responses, st.randoms(use_true_random=False))
def test_the_order_of_the_systems_does_not_matter(values, random):
    observations = unreplicated("ABCD", values)
    shuffled = random.sample(observations, len(observations))

    assert logs(estimate_factor_effects(shuffled)) == pytest.approx(
        logs(estimate_factor_effects(observations))
    )


@settings(max_examples=25, deadline=None)
@given(responses, st.floats(-9, 9))
def test_the_unit_of_the_values_does_not_matter(values, log_unit):
    observations = unreplicated("ABCD", values)

    effects = estimate_factor_effects(shifted(observations, log_unit))

    expected = logs(estimate_factor_effects(observations))
    assert logs(effects) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(responses)
def test_swapping_the_levels_inverts_the_effect(values):
    observations = unreplicated("ABCD", values)
    turned = {"off": "on", "on": "off"}
    swapped = [
        replace(each, levels={**each.levels, "B": turned[each.levels["B"]]})
        for each in observations
    ]

    one, other = (
        logs(estimate_factor_effects(observations)),
        logs(estimate_factor_effects(swapped)),
    )

    signs = {term: -1 if "B" in term else 1 for term in one}
    assert other == pytest.approx({term: signs[term] * one[term] for term in one})


@settings(max_examples=25, deadline=None)
@given(responses)
def test_least_squares_and_contrasts_agree_where_both_apply(values):
    """A full design is fitted by least squares if its runs were repeated."""
    observations = unreplicated("ABCD", values)
    repeated = [replace(each, scatter=RunScatter(2, 0.1)) for each in observations]

    expected = logs(estimate_factor_effects(observations))
    assert logs(estimate_factor_effects(repeated)) == pytest.approx(expected, abs=1e-9)


def test_an_effect_is_a_factor_with_its_bounds():
    effect = FactorEffect((), (), math.log(2), margin=math.log(1.5))

    assert effect.ratio == pytest.approx(2)
    assert effect.interval == pytest.approx((2 / 1.5, 3))
    assert FactorEffect((), (), 0.0).interval is None


def test_effects_are_ranked_by_strength_and_size():
    effects = [
        FactorEffect((), (), 0.9, strength="none"),
        FactorEffect((), (), 0.1, strength="clear"),
        FactorEffect((), (), 0.5, strength="possible"),
        FactorEffect((), (), -0.3, strength="clear"),
    ]

    assert [each.log_effect for each in rank_effects(effects)] == [-0.3, 0.1, 0.5, 0.9]


def test_effects_equal_up_to_rounding_keep_their_order():
    """0.1 + 0.2 - 0.3 is not 0 in floating point, so the order is arbitrary."""
    sizes = [-0.3, 0.1 + 0.2, -0.3, 0.3 + 1e-12, 0.4]

    effects = rank_effects([FactorEffect((), (), size) for size in sizes])

    assert [each.log_effect for each in effects] == [0.4, *sizes[:4]]
    assert rank_effects([]) == ()


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
    tools, bits = find_factors([each.levels for each in TOOLS])

    table = level_means(tools, bits, TOOLS)

    assert table.rows[0] == pytest.approx((0.2, 0.8))
    assert table.rows[1] == pytest.approx((math.sqrt(0.36), 0.8))
    assert table.ratios == pytest.approx((3.0, 1.0))


def test_a_combination_that_was_not_measured_has_no_mean():
    tools, bits = find_factors([each.levels for each in TOOLS])

    table = level_means(tools, bits, TOOLS[:-1])

    assert table.rows[1][1] is None
    assert table.ratios[1] is None


def test_an_interacting_factor_has_means_by_level():
    """Montgomery's filtration rate: A depends on C and D, B on nothing."""
    observed = unreplicated("ABCD", FILTRATION)

    found = {
        each.row_factor.names: each
        for each in interaction_means(estimate_factor_effects(observed), observed)
    }

    assert {names: each.column_factor.names for names, each in found.items()} == {
        ("A",): ("C", "D"),
        ("C",): ("A",),
        ("D",): ("A",),
    }
    assert found[("A",)].column_factor.levels == (
        "off · off",
        "off · on",
        "on · off",
        "on · on",
    )


def test_a_factor_without_interactions_has_no_means():
    observed = unreplicated("ABC", [1.0, 2, 1.01, 2.02, 1.03, 2.0, 0.99, 2.01])

    assert standing_out(estimate_factor_effects(observed)) == {"A"}
    assert interaction_means(estimate_factor_effects(observed), observed) == ()
