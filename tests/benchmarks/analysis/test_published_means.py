"""Published means get a verdict only for differences that no day explains."""

import zlib

import numpy as np
import pytest

from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.published_means import PUBLISHED_WORLDS, published_words

CELLS = 2000


@pytest.mark.parametrize("world", PUBLISHED_WORLDS, ids=lambda world: world.name)
def test_equal_systems_hardly_ever_get_a_verdict(world):
    generator = np.random.default_rng(zlib.crc32(world.name.encode()))

    for n in (2, 3, 5, 10):
        words = published_words(generator, world, CELLS, n, truth=1.0)

        assert np.mean(words > 0) < (0.02 if n >= 5 else 1e-9)


def test_a_guest_at_a_third_of_the_speed_is_slower():
    generator = np.random.default_rng(1)

    words = published_words(generator, PUBLISHED_WORLDS[0], CELLS, 10, truth=0.3)

    assert np.mean(words == Verdict.SLOWER) == 1
