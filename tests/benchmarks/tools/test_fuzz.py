"""Saved outputs with random damage: every tool either refuses them or reads sense."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import reading
from benchmarks.errors import ParseError
from benchmarks.tools import TOOLS
from tests.data.rebuild import outputs

READERS = [tool for tool in TOOLS.values() if tool.parser]
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

damages = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.sampled_from(PIECES) | st.text(max_size=5),
    ),
    min_size=1,
    max_size=6,
)


def damaged(text, damage):
    for share, length, piece in damage:
        place = int(share * len(text))
        text = f"{text[:place]}{piece}{text[place + length :]}"
    return text


@pytest.mark.parametrize("tool", READERS, ids=lambda tool: tool.slug)
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_it_survives_random_damage(tool, data):
    path = data.draw(st.sampled_from(outputs(tool.slug)))
    text = damaged(path.read_text(), data.draw(damages))

    try:
        runs = reading.read(text, tool=data.draw(st.sampled_from([None, tool.slug])))
    except ParseError:
        return

    for run in runs:
        owner = TOOLS[run.tool]
        assert run.status == ("rejected" if run.problem else "parsed")
        assert bool(run.readings) != bool(run.problem)
        for each in run.readings:
            assert math.isfinite(each.value)
            assert each.value > 0 or owner.metric(each.metric).zero_allowed


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=400) | st.text(max_size=400))
def test_random_bytes_are_refused(output):
    with pytest.raises(ParseError):
        reading.read(output)
