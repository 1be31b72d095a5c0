"""Factor effects as text."""

import math

import pytest

from benchmarks.analysis.factor_effects.effects import FactorEffect
from benchmarks.analysis.factor_effects.factors_and_responses import Factor, Observation
from benchmarks.comparison.study_factor_effects import ResponseAnalysis
from dashboard.wording.factor_effects import (
    analysis_notes,
    factor_name,
    level_change,
    level_name,
    multiplier_text,
    named_level,
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
def test_factors_have_enough_digits_to_differ_from_one(factor, told):
    assert multiplier_text(factor)[2:] == told


def test_parameters_that_changed_together_have_a_joint_name():
    assert factor_name(SIZES) == "vCPUs + Memory"
    assert level_name(SIZES, "2 · 2147483648") == "2, 2 GiB"
    assert named_level(SIZES, "2 · 2147483648") == "2 vCPUs, 2 GiB"


def test_named_levels_include_the_property():
    assert (level_name(TOOLS, "installed"), named_level(TOOLS, "installed")) == (
        "installed",
        "Guest tools installed",
    )
    assert (level_name(BITS, "64"), named_level(BITS, "64")) == ("64-bit", "64-bit")
    assert level_name(TOOLS, "") == "not reported"


def test_a_level_with_the_separator_is_not_split():
    assert level_name(Factor(("storage",), ()), "SSD · fast") == "SSD · fast"


@pytest.mark.parametrize(("log", "word"), [(0.1, "more"), (-0.1, "less")])
def test_interactions_are_described_as_more_or_less_than_expected(log, word):
    both = (("64", "32"), ("installed", "absent"))

    told = level_change(FactorEffect((BITS, TOOLS), both, log))

    assert told == (
        f"64-bit with Guest tools installed: {word} than expected from their separate "
        "effects"
    )


def test_main_effects_state_both_levels():
    assert level_change(FactorEffect((TOOLS,), (("installed", "absent"),), 0.3)) == (
        "absent → installed"
    )


def analysis_of(*responses):
    """Return the analysis of systems with 3 storages, 2 swaps and 2 networks."""
    names = ("storage", "swap", "network")
    observations = [
        Observation(dict(zip(names, levels.split(), strict=False)), log)
        for levels, log in responses
    ]
    return ResponseAnalysis("disk", (), tuple(observations), {})


def test_notes_name_only_the_aliased_level():
    """Only the third storage has the second swap or the second network."""
    analysis = analysis_of(
        ("disk off slow", 0.1),
        ("ssd off slow", 0.2),
        ("nvme on slow", 0.3),
        ("nvme off fast", 0.4),
    )

    (note,) = analysis_notes(analysis)
    hidden, *others = note.partition(": ")[2].split("; ")
    assert "nvme" in hidden
    assert not {"disk", "ssd"} & set(hidden.replace(":", "").split())
    assert not any(
        level in other for other in others for level in ("on", "fast", "off")
    )


def test_notes_do_not_claim_an_estimate_of_chance_without_one():
    four = [("disk off", 0.1), ("disk on", 0.2), ("ssd off", 0.3), ("ssd on", 0.5)]
    twelve = [
        (f"{storage} {swap}", math.sin(place))
        for place, (storage, swap) in enumerate(
            (storage, swap) for storage in ("a", "b", "c", "d") for swap in "xyz"
        )
    ]
    unjudged, judged = analysis_of(*four), analysis_of(*twelve)

    assert (unjudged.effects.error_source, judged.effects.error_source) == (
        "not_assessed",
        "residual",
    )
    assert unjudged.effects.pooled_interactions
    assert judged.effects.pooled_interactions
    assert "reated as due to chance" in "".join(analysis_notes(judged))
    assert "reated as due to chance" not in "".join(analysis_notes(unjudged))
    assert any(
        "could still not be estimated" in note for note in analysis_notes(unjudged)
    )
