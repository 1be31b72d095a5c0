"""How fast the output of each tool is read."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.parsing import reading
from benchmarks.tools import TOOLS
from tests.benchmarks.parsing.speed import long_output

LINES: Final = 100_000


def bench_parsers() -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of `make bench`: what, speed, limit, ratio.

    The limit is Python's own cutting of the same text into lines.
    """
    for tool in TOOLS.values():
        text = long_output(tool.slug, LINES)
        size_mb = len(text.encode()) / 1e6
        speed = size_mb / _cpu_s(lambda text=text: reading.read(text))
        limit = size_mb / _cpu_s(lambda text=text: [*map(str.strip, text.split("\n"))])
        yield (
            f"reading {tool.title}",
            f"{speed:,.1f} MB/s",
            f"lines {limit:,.0f} MB/s",
            f"{speed / limit:.3f}",
        )


def _cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return max(time.process_time() - begun, 1e-6)
