"""Effects in words."""

import pytest

from benchmarks.analysis.factor_effects.design import Factor
from benchmarks.analysis.factor_effects.effects import Effect
from dashboard.wording.factor_effects import (
    change,
    factor_name,
    level_name,
    setting,
    times,
)

TOOLS = Factor(("guest_tools",), ("absent", "installed"))
BITS = Factor(("guest_bits",), ("32", "64"))
SIZES = Factor(("vcpus", "memory_bytes"), ("1 · 1073741824", "2 · 2147483648"))


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        (2.576, "2.6"),
        (1.9999999, "2.0"),
        (1.37, "1.37"),
        (0.561, "0.56"),
        (0.9954, "0.995"),
        (1, "1.000"),
        (1234.5, "1,234"),
    ],
)
def test_a_factor_has_the_digits_that_tell_it_from_one(factor, told):
    assert times(factor)[2:] == told


def test_parameters_that_changed_together_share_a_name():
    assert factor_name(SIZES) == "vCPUs + Memory"
    assert level_name(SIZES, "2 · 2147483648") == "2, 2 GiB"
    assert setting(SIZES, "2 · 2147483648") == "2 vCPUs, 2 GiB"


def test_a_level_says_what_it_is_a_level_of():
    assert (level_name(TOOLS, "installed"), setting(TOOLS, "installed")) == (
        "installed",
        "Guest tools installed",
    )
    assert (level_name(BITS, "64"), setting(BITS, "64")) == ("64-bit", "64-bit")
    assert level_name(TOOLS, "") == "not stated"


def test_a_level_that_looks_like_several_stays_whole():
    assert level_name(Factor(("storage",), ()), "SSD · fast") == "SSD · fast"


@pytest.mark.parametrize(("log", "word"), [(0.1, "more"), (-0.1, "less")])
def test_an_interaction_says_whether_two_help_or_hinder_each_other(log, word):
    both = (("64", "32"), ("installed", "absent"))

    told = change(Effect((BITS, TOOLS), both, log))

    assert told == f"64-bit with Guest tools installed: {word} than both alone"


def test_a_main_effect_says_from_which_level_to_which():
    assert change(Effect((TOOLS,), (("installed", "absent"),), 0.3)) == (
        "absent → installed"
    )
