"""Simulated worlds have their stated truth, and clean ones get their verdicts."""

import zlib

import numpy as np
import pytest

from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.world_verdicts import (
    TRUTHS,
    judge_world,
    summarize_world,
)
from tests.benchmarks.analysis.worlds import WORLDS, World, correct

CELLS = 600
CLEAN = [world for world in WORLDS if world.is_clean and world.sees_noise]


def generator_of(world: World) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(world.name.encode()))


def name_of(world: World) -> str:
    return world.name


@pytest.mark.parametrize("world", WORLDS, ids=name_of)
def test_the_ideal_estimate_has_the_stated_error(world):
    truth = np.resize(TRUTHS, CELLS)

    drawn = world.draw(generator_of(world), truth)

    deviation = (drawn.estimate - np.log(truth)) / drawn.error
    # Rounded, or of few dependent runs, the error is known only approximately.
    assert 0.7 < np.sqrt(np.mean(deviation**2)) < 1.3


def test_the_correct_verdict_at_the_edge_of_the_margin_is_none():
    truth = np.array([1, 1.01, 0.98, 1.02, 0.979, 1.1])

    assert correct(truth).tolist() == [
        Verdict.EQUIVALENT,
        Verdict.EQUIVALENT,
        Verdict.UNDETERMINED,
        Verdict.UNDETERMINED,
        Verdict.SLOWER,
        Verdict.FASTER,
    ]


@pytest.mark.parametrize("world", CLEAN[::4], ids=name_of)
def test_equal_systems_get_no_false_verdict_in_clean_worlds(world):
    result = summarize_world(judge_world(world, generator_of(world), studies=1))

    assert result.wrong_at_1 == 0
    assert result.coverage > 85
