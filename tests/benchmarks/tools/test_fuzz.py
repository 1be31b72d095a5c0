"""Saved outputs with random damage: every tool rejects them or reads valid values."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.errors import ParseError
from benchmarks.parsing import run_extraction
from benchmarks.tools import TOOLS
from tests.data.rebuild import outputs

READERS = [tool for tool in TOOLS.values() if tool.parse]
PIECES = [
    "nan",
    "-1",
    ",",
    "\n",
    "%",
    "\x00",
    "{",
    '"',
    "1e999",
    "9" * 400,
    "\u202e",
    " ",
]

# Random damage in a loop costs parsing time only, without drawing strategies.
EXAMPLES = 150
MOST_DAMAGES = 6


def piece(chance):
    """Return one of the pieces, or a few random characters."""
    if chance.random() < 0.7:
        return chance.choice(PIECES)
    letters = [chr(chance.randrange(1, 0xD800)) for _ in range(chance.randrange(6))]
    return "".join(letters)


def damaged(text, chance):
    for _ in range(chance.randint(1, MOST_DAMAGES)):
        position, length = chance.randrange(len(text) + 1), chance.randint(0, 40)
        text = f"{text[:position]}{piece(chance)}{text[position + length :]}"
    return text


@pytest.mark.parametrize("tool", READERS, ids=lambda tool: tool.slug)
def test_tools_survive_random_damage(tool):
    texts = [path.read_text() for path in outputs(tool.slug)]
    chance = Random(tool.slug)

    for _ in range(EXAMPLES):
        text = damaged(chance.choice(texts), chance)
        assert is_sensible(text, chance.choice([None, tool.slug])), text


def is_sensible(text, slug):
    """Return whether a text is rejected, or every run is valid or has a problem."""
    try:
        runs = run_extraction.extract_runs(text, tool=slug)
    except ParseError:
        return True
    return all(
        run.status == ("rejected" if run.problem else "parsed")
        # Parts that are not assigned yet have both.
        and (bool(run.readings) != bool(run.problem) or bool(run.part))
        and all(is_measured(TOOLS[run.tool], reading) for reading in run.readings)
        for run in runs
    )


def is_measured(tool, reading):
    can_be = reading.value > 0 or tool.metric(reading.metric).allows_zero
    return math.isfinite(reading.value) and can_be


# Single items, because Hypothesis also draws constants of the loaded modules, and these
# include outputs of tools.
RANDOM_BYTES = st.lists(st.integers(0, 255), max_size=400).map(bytes)
RANDOM_TEXT = st.lists(st.characters(), max_size=400).map("".join)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(RANDOM_BYTES | RANDOM_TEXT)
def test_random_bytes_are_rejected(output):
    with pytest.raises(ParseError):
        run_extraction.extract_runs(output)
