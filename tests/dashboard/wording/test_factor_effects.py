"""Effects in words."""

import math

import pytest

from benchmarks.analysis.factor_effects.design import Factor, Observation
from benchmarks.analysis.factor_effects.effects import Effect
from benchmarks.comparing.factor_effects import Analysis
from dashboard.wording.factor_effects import (
    change,
    factor_name,
    level_name,
    notes,
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


def analysis_of(*responses):
    """An analysis of systems of three storages, two swaps and two networks."""
    names = ("storage", "swap", "network")
    observations = [
        Observation(dict(zip(names, levels.split(), strict=False)), log)
        for levels, log in responses
    ]
    return Analysis("disk", (), tuple(observations), {})


def test_a_note_names_the_level_that_cannot_be_told_and_no_other():
    """The third storage comes with a swap or with a network, and neither without it."""
    analysis = analysis_of(
        ("disk off slow", 0.1),
        ("ssd off slow", 0.2),
        ("nvme on slow", 0.3),
        ("nvme off fast", 0.4),
    )

    (note,) = notes(analysis)
    hidden, *others = note.partition(": ")[2].split("; ")
    assert "nvme" in hidden
    assert not {"disk", "ssd"} & set(hidden.replace(":", "").split())
    assert not any(level in each for each in others for level in ("on", "fast", "off"))


def test_nothing_is_taken_for_chance_where_chance_was_not_measured():
    four = [("disk off", 0.1), ("disk on", 0.2), ("ssd off", 0.3), ("ssd on", 0.5)]
    twelve = [
        (f"{storage} {swap}", math.sin(place))
        for place, (storage, swap) in enumerate(
            (storage, swap) for storage in ("a", "b", "c", "d") for swap in "xyz"
        )
    ]
    unjudged, judged = analysis_of(*four), analysis_of(*twelve)

    assert (unjudged.found.kind, judged.found.kind) == ("unjudged", "residual")
    assert unjudged.found.pooled_interactions
    assert judged.found.pooled_interactions
    assert "reated as chance" in "".join(notes(judged))
    assert "reated as chance" not in "".join(notes(unjudged))
    assert any("could not be measured" in note for note in notes(unjudged))
