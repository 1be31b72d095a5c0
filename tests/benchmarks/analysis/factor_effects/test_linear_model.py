import numpy as np
import pytest

from benchmarks.analysis.factor_effects.factors_and_responses import find_factors
from benchmarks.analysis.factor_effects.linear_model import (
    LinearModel,
    aliased_main_effects,
    estimable_effects,
    find_interactions,
)
from tests.benchmarks.analysis.factor_effects.published_designs import standard_order

# The systems of the Xen study: full virtualization needs AMD-V and is the only mode of
# Windows; PV drivers exist for Windows only.
XEN = [
    {"virt": virt, "os": system, "bits": bits, "amd_v": amd_v, "tools": tools}
    for virt, system, amd_v, tools in [
        ("PV", "Linux", "off", ""),
        ("PV", "Linux", "on", ""),
        ("HVM", "Linux", "on", ""),
        ("HVM", "Windows", "on", "absent"),
        ("HVM", "Windows", "on", "PV drivers"),
    ]
    for bits in ("32", "64")
]


def mains(systems):
    return LinearModel.build([(factor,) for factor in find_factors(systems)], systems)


def label(term):
    return " x ".join(factor.names[0] for factor in term)


def labels(listed):
    return [label(each.term) for each in listed]


def aliases(listed):
    return {label(each.term): [label(one) for one in each.partners] for each in listed}


def test_every_factor_of_the_xen_study_is_estimable():
    assert labels(estimable_effects(mains(XEN))) == [
        "virt",
        "os",
        "bits",
        "amd_v",
        "tools",
    ]
    assert aliased_main_effects(mains(XEN)) == ()


def test_interactions_that_vanish_in_main_effects_are_named_with_them():
    estimable, aliased = find_interactions(mains(XEN))

    assert [label(term) for term in estimable] == [
        "virt x bits",
        "os x bits",
        "bits x amd_v",
        "bits x tools",
    ]
    assert aliases(aliased) == {
        "virt x os": ["virt", "os"],
        "virt x amd_v": ["virt", "amd_v"],
        "os x amd_v": ["os", "amd_v"],
    }


def test_an_estimate_compares_systems_that_differ_in_its_factor_only():
    (tools,) = [
        each for each in estimable_effects(mains(XEN)) if label(each.term) == "tools"
    ]

    assert tools.levels == (("PV drivers", "absent"),)
    assert tools.weights == pytest.approx([0] * 6 + [-0.5, -0.5, 0.5, 0.5])


def test_factors_that_sum_up_to_another_one_are_aliased_and_not_estimated():
    """C is A or B; both are never on together, so A + B = C."""
    systems = [
        {"A": "no", "B": "no", "C": "no"},
        {"A": "yes", "B": "no", "C": "yes"},
        {"A": "no", "B": "yes", "C": "yes"},
    ]

    model = mains(systems)

    assert aliases(aliased_main_effects(model)) == {
        "A": ["B", "C"],
        "B": ["A", "C"],
        "C": ["A", "B"],
    }
    assert list(estimable_effects(model)) == []


def test_only_the_aliased_level_of_three_is_hidden():
    """The third level of A occurs only together with B or C."""
    systems = [
        {"A": "1", "B": "no", "C": "no"},
        {"A": "2", "B": "no", "C": "no"},
        {"A": "3", "B": "yes", "C": "no"},
        {"A": "3", "B": "no", "C": "yes"},
    ]
    model = mains(systems)

    (effect,) = estimable_effects(model)
    assert (label(effect.term), effect.levels) == ("A", (("2", "1"),))
    hidden = {label(each.term): each.levels for each in aliased_main_effects(model)}
    assert hidden == {"A": ("3",), "B": (), "C": ()}


def test_aliases_do_not_hide_other_effects():
    systems = [
        {"A": a, "B": b, "C": c, "bits": bits}
        for a, b, c in [("no", "no", "no"), ("yes", "no", "yes"), ("no", "yes", "yes")]
        for bits in ("32", "64")
    ]

    assert labels(estimable_effects(mains(systems))) == ["bits"]


def test_interactions_with_one_column_are_aliases():
    """2^(4-1), D = ABC."""
    systems = [
        {**each, "D": "on" if list(each.values()).count("off") % 2 == 0 else "off"}
        for each in standard_order("ABC")
    ]

    estimable, aliased = find_interactions(mains(systems))

    assert estimable == ()
    assert aliases(aliased)["A x B"] == ["C x D"]
    assert aliases(aliased)["B x C"] == ["A x D"]


def test_three_levels_give_two_effects_against_the_reference():
    systems = [
        {"storage": storage, "swap": swap}
        for storage in ("HDD", "SSD", "ioDrive")
        for swap in ("off", "on")
    ]

    effects = [
        each for each in estimable_effects(mains(systems)) if len(each.levels) == 1
    ]

    assert [each.levels[0] for each in effects] == [
        ("ioDrive", "HDD"),
        ("SSD", "HDD"),
        ("on", "off"),
    ]
    assert effects[0].weights == pytest.approx([-0.5, -0.5, 0, 0, 0.5, 0.5])


def test_an_interaction_is_half_the_difference_of_differences():
    systems = standard_order("AB")
    estimable, _ = find_interactions(mains(systems))
    full = LinearModel.build([*mains(systems).terms, *estimable], systems)

    *_, both = estimable_effects(full)

    assert both.levels == (("on", "off"), ("on", "off"))
    assert both.weights @ np.array([3.0, 1, 1, 7]) == pytest.approx(4.0)


def test_missing_combinations_leave_only_the_measured_effects():
    """The UOC study: SSD and ioDrive were measured with swap on SSD only."""
    systems = [
        {"storage": storage, "swap": swap}
        for storage, swap in [
            ("HDD", "HDD"),
            ("HDD", "SSD"),
            ("SSD", "SSD"),
            ("ioDrive", "SSD"),
        ]
    ]

    estimable, aliased = find_interactions(mains(systems))

    assert labels(estimable_effects(mains(systems))) == ["storage", "storage", "swap"]
    assert estimable == ()
    assert labels(aliased) == ["storage x swap"]
