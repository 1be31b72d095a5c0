import pytest

from benchmarks.analysis.factor_effects.contrasts import regular_contrasts
from benchmarks.analysis.factor_effects.factors import factors_of
from tests.benchmarks.analysis.factor_effects.designs import standard_order, truth


def terms(systems):
    found = regular_contrasts(factors_of(systems), systems)
    return ["=".join(label(term) for term in each.simplest) for each in found]


def label(term):
    return "".join(factor.names[0] for factor in term)


def fraction(names, **generators):
    """A full design with further factors made of products: ``D="ABC"``."""
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


def test_a_half_fraction_of_resolution_five_tells_all_interactions():
    """2^(5-1) with E = ABCD: no two of its 15 terms are aliases."""
    found = terms(fraction("ABCD", E="ABCD"))

    assert len(found) == 15
    assert not [each for each in found if "=" in each]


def test_a_saturated_fraction_names_the_interactions_behind_each_main_effect():
    """2^(7-4): every main effect is the alias of three interactions."""
    systems = fraction("ABC", D="AB", E="AC", F="BC", G="ABC")

    found = regular_contrasts(factors_of(systems), systems)

    first = {label(term) for term in found[0].terms if len(term) == 2}
    assert [label(each.terms[0]) for each in found] == list("ABCDEFG")
    assert first == {"BD", "CE", "FG"}


def test_an_alias_that_is_turned_round_is_found_as_well():
    """2^(3-1) with C = -AB."""
    turned = {"off": "on", "on": "off"}
    systems = [{**each, "C": turned[each["C"]]} for each in fraction("AB", C="AB")]

    found = regular_contrasts(factors_of(systems), systems)

    assert [label(term) for term in found[2].terms] == ["C", "AB"]


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
