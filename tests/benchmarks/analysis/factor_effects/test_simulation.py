"""Designs with known effects: false and missed effects."""

import numpy as np
import pytest

from benchmarks.analysis.factor_effects.effects import estimate_factor_effects
from benchmarks.analysis.factor_effects.factors_and_responses import Observation
from tests.benchmarks.analysis.factor_effects.published_designs import (
    logs,
    name,
    replicated,
    simulated,
    standard_order,
    standing_out,
    truth,
)

SD = 0.05


def unreplicated_designs(effects, count, seed, names="ABCD"):
    rng = np.random.default_rng(seed)
    systems = standard_order(names)
    return [
        estimate_factor_effects(simulated(systems, effects, rng, SD))
        for _ in range(count)
    ]


def replicated_designs(effects, count, seed, runs=5):
    rng = np.random.default_rng(seed)
    systems = standard_order("ABC")
    means = [4 + truth(levels, effects) / 2 for levels in systems]
    return [
        estimate_factor_effects(
            replicated(systems, [rng.normal(mean, SD, size=runs) for mean in means])
        )
        for _ in range(count)
    ]


def share(designs, strengths, terms=None):
    """Return the share of designs with a clear effect, or one of these terms."""
    named = [standing_out(each, *strengths) for each in designs]
    return np.mean([bool(each & terms if terms else each) for each in named])


def test_single_values_rarely_give_false_effects():
    effects = unreplicated_designs({}, 600, seed=1)

    assert share(effects, ["clear"]) < 0.05
    possible = np.mean(
        [len(standing_out(each, "possible", "clear")) for each in effects]
    )
    assert possible / 10 < 0.05


def test_repeated_runs_give_5_percent_false_effects():
    effects = replicated_designs({}, 600, seed=2)

    assert 0.02 < share(effects, ["clear"]) < 0.08


@pytest.mark.parametrize("effects", [{"B": 0.3}, {"B": -0.3}, {"BD": 0.3}])
def test_a_large_effect_is_found_with_its_size(effects):
    """The error of an effect is 0.025, so 0.3 is 12 errors."""
    ((term, size),) = effects.items()
    label = " x ".join(term)

    analysed = unreplicated_designs(effects, 200, seed=3)

    assert share(analysed, ["clear"], {label}) > 0.95
    assert np.mean([logs(each)[label] for each in analysed]) == pytest.approx(
        size, abs=0.01
    )


def test_the_interval_of_an_effect_covers_the_truth_in_19_of_20():
    effects = {"A": 0.2, "A x B": -0.1}
    analysed = replicated_designs({"A": 0.2, "AB": -0.1}, 600, seed=4)

    covered = [
        abs(effect.log_effect - effects.get(name(effect), 0.0)) < effect.margin
        for each in analysed
        for effect in each.effects
    ]
    assert len(covered) == 600 * 6
    assert 0.94 < np.mean(covered) < 0.96


def test_a_noisy_native_run_is_not_an_effect_of_the_guest():
    """Four native runs, each shared by four systems: their error is not an effect."""
    rng = np.random.default_rng(6)

    named = [standing_out(estimate_factor_effects(leaning(rng))) for _ in range(600)]

    assert np.mean([bool(each) for each in named]) < 0.05


def leaning(rng):
    systems = standard_order("ABCD")
    native = {key: rng.normal(scale=SD) for key in ("offoff", "offon", "onoff", "onon")}
    keys = [each["A"] + each["B"] for each in systems]
    return [
        Observation(levels, float(rng.normal(scale=SD) - native[key]), baseline_id=key)
        for levels, key in zip(systems, keys, strict=True)
    ]


def test_a_design_with_a_missing_cell_rarely_gives_false_effects():
    rng = np.random.default_rng(7)
    systems = standard_order("ABCD")[1:]

    effects = [
        estimate_factor_effects(simulated(systems, {}, rng, SD)) for _ in range(400)
    ]

    assert {each.error_source for each in effects} == {"residual"}
    assert share(effects, ["clear"]) < 0.09
