import time

import pytest

from benchmarks.parsing import reading
from benchmarks.tools import TOOLS
from tests.benchmarks.parsing.speed import long_output

READERS = [tool.slug for tool in TOOLS.values() if tool.parser]


@pytest.mark.parametrize("slug", READERS)
def test_a_long_output_is_read_in_linear_time(slug):
    output = long_output(slug, lines=60_000)

    started = time.process_time()
    runs = reading.read(output)
    seconds = time.process_time() - started

    # A million lines in 2 s would be 0.12 s; slow machines and debuggers have more.
    assert seconds < 1.5
    assert {run.tool for run in runs} == {slug}
