import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.factor_effects.factors_and_responses import find_factors
from benchmarks.analysis.factor_effects.linear_model import (
    half_normal_quantiles,
    lenth,
    regular_contrasts,
)
from tests.benchmarks.analysis.factor_effects.published_designs import (
    standard_order,
    truth,
)


def terms(systems):
    contrasts = regular_contrasts(find_factors(systems), systems)
    return ["=".join(label(term) for term in each.simplest) for each in contrasts]


def label(term):
    return "".join(factor.names[0] for factor in term)


def fraction(names, **generators):
    """Return a full design with factors that are products of others: ``D="ABC"``."""
    return [
        {
            **levels,
            **{
                new: "on" if truth(levels, {product: 1.0}) > 0 else "off"
                for new, product in generators.items()
            },
        }
        for levels in standard_order(names)
    ]


def test_a_full_design_has_a_contrast_for_every_term():
    assert terms(standard_order("ABC")) == ["A", "B", "C", "AB", "AC", "BC", "ABC"]


def test_a_half_fraction_of_resolution_four_pairs_its_interactions():
    """2^(4-1) with D = ABC: AB = CD, AC = BD, AD = BC (Box, Hunter and Hunter)."""
    systems = fraction("ABC", D="ABC")

    assert terms(systems) == ["A", "B", "C", "D", "AB=CD", "AC=BD", "AD=BC"]


def test_a_half_fraction_of_resolution_five_separates_all_interactions():
    """2^(5-1) with E = ABCD: no two of its 15 terms are aliases."""
    contrasts = terms(fraction("ABCD", E="ABCD"))

    assert len(contrasts) == 15
    assert not [each for each in contrasts if "=" in each]


def test_a_saturated_fraction_names_the_interactions_behind_each_main_effect():
    """2^(7-4): every main effect is the alias of three interactions."""
    systems = fraction("ABC", D="AB", E="AC", F="BC", G="ABC")

    contrasts = regular_contrasts(find_factors(systems), systems)

    first = {label(term) for term in contrasts[0].terms if len(term) == 2}
    assert [label(each.terms[0]) for each in contrasts] == list("ABCDEFG")
    assert first == {"BD", "CE", "FG"}


def test_a_negated_alias_is_found():
    """2^(3-1) with C = -AB."""
    turned = {"off": "on", "on": "off"}
    systems = [{**each, "C": turned[each["C"]]} for each in fraction("AB", C="AB")]

    contrasts = regular_contrasts(find_factors(systems), systems)

    assert [label(term) for term in contrasts[2].terms] == ["C", "AB"]


@pytest.mark.parametrize(
    "systems",
    [
        standard_order("ABC")[:-1],
        standard_order("ABC") * 2,
        [*standard_order("AB"), {"A": "?", "B": "on"}],
        [
            {**each, "tools": "" if each["A"] == "off" else each["B"]}
            for each in standard_order("ABC")
        ],
        [],
    ],
    ids=["a cell short", "twice", "three levels", "not always stated", "nothing"],
)
def test_other_designs_have_no_contrasts(systems):
    assert terms(systems) == []


def test_the_order_of_systems_does_not_matter():
    systems = fraction("ABC", D="ABC")

    assert terms(systems[::-1]) == terms(systems)


# Quantiles of Lenth's table 1 for 8, 16 and 32 cells.
TABLE = [(7, 3.764, 9.008), (15, 2.571, 5.219), (31, 2.218, 4.218)]


@pytest.mark.parametrize(("m", "me", "sme"), TABLE)
def test_margins_equal_lenths_table(m, me, sme):
    judged = lenth(np.ones(m))

    assert judged.pse == 1.5
    assert round(judged.me / judged.pse, 3) == me
    assert round(judged.sme / judged.pse, 3) == sme


def test_quantiles_equal_students():
    judged = lenth(np.arange(1.0, 13.0))

    assert judged.me / judged.pse == pytest.approx(stats.t.ppf(0.975, 4))
    together = (1 + 0.95 ** (1 / 12)) / 2
    assert judged.sme / judged.pse == pytest.approx(stats.t.ppf(together, 4))


def test_large_contrasts_do_not_raise_the_error():
    chance = np.linspace(-1, 1, 15)
    moved = np.where(np.abs(chance) > 0.9, 1000 * chance, chance)

    assert lenth(moved).pse <= lenth(chance).pse


def test_it_scales_with_its_contrasts_and_ignores_signs_and_order():
    contrasts = np.random.default_rng(5).normal(size=15)

    turned = lenth(-3 * contrasts[::-1])

    assert turned.pse == pytest.approx(3 * lenth(contrasts).pse)
    assert turned.sme == pytest.approx(3 * lenth(contrasts).sme)


def test_three_contrasts_have_no_margins():
    assert lenth(np.array([1.0, 2.0, 3.0])) is None


def test_contrasts_that_are_mostly_zero_have_no_margins():
    assert lenth(np.array([0, 0, 0, 0, 0, 0, 5.0])) is None


def test_the_half_normal_axis_follows_the_sizes():
    quantiles = half_normal_quantiles(np.array([-3.0, 1.0, 2.0]))

    expected = stats.halfnorm.ppf([(3 - 0.5) / 3, (1 - 0.5) / 3, (2 - 0.5) / 3])
    assert quantiles == pytest.approx(expected)


def test_contrasts_equal_up_to_rounding_keep_their_order():
    sizes = np.array([0.1 + 0.2, -0.3, 0.1])

    assert half_normal_quantiles(sizes).argsort().tolist() == [2, 0, 1]
    assert half_normal_quantiles(sizes[[1, 0, 2]]).argsort().tolist() == [2, 0, 1]


def test_a_contrast_at_the_limit_is_excluded_despite_rounding():
    """0.3 is 3.75 times the median 0.08; the median of the others is 0.07."""
    others = [0.02, 0.04, 0.06, 0.08, 0.1, 0.12]
    limits = [0.3, 0.1 + 0.2, np.nextafter(0.3, 0)]

    judged = [lenth(np.array([*others, limit])) for limit in limits]

    assert [each.pse for each in judged] == pytest.approx([1.5 * 0.07] * 3)


def test_chance_rarely_gives_clear_contrasts():
    """16 cells: 3 % of contrasts exceed ME, 2 % of designs have one beyond SME."""
    contrasts = np.random.default_rng(1989).normal(size=(4000, 15))
    judged = [lenth(row) for row in contrasts]
    largest = np.abs(contrasts).max(axis=1)

    beyond_me = np.mean(
        [np.abs(contrasts[i]) > each.me for i, each in enumerate(judged)]
    )
    beyond_sme = np.mean(largest > [each.sme for each in judged])

    assert 0.02 < beyond_me < 0.04
    assert 0.005 < beyond_sme < 0.05
