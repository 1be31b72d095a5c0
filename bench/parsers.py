"""How fast the output of each tool is read.

    python -m bench.parsers [LINES]

prints the speed and the memory of each tool whose output has a million lines.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.parsing import reading
from benchmarks.tools import TOOLS
from running.processes import ROOT

# The outputs that the tests of the parsers have been given.
SAVED: Final = ROOT / "tests" / "data"
LINES: Final = 100_000
MANY_LINES: Final = 1_000_000

# What a tool prints between its first lines and its result if it is asked to report as
# it goes; the other tools get the commonest of them, which they must pass over.
INTERVALS = {
    "sysbench": "[ 1s ] thds: 1 eps: 4845.70 lat (ms,99%): 0.24\n",
    "netperf": "Interim result: 25027.91 10^6bits/s over 1.000 seconds ending at 9.1\n",
    "iperf": "[  3]  1.0- 2.0 sec   112 MBytes   941 Mbits/sec\n",
    "iperf3": "[  5]   1.00-2.00   sec  3.05 GBytes  26.2 Gbits/sec  39  767 KBytes\n",
    "fio": "Jobs: 1 (f=1): [r(1)][75.0%][r=250MiB/s][r=63.9k IOPS][eta 00m:01s]\n",
    "linpack": "    2048   0.56  73.24%   2.94%  23.83%  6620810.872\n",
    "hpl": "Column=000000120 Fraction= 0.5% Gflops=1.374e+02\n",
}
COMMON = "[  1s] some progress of some tool that nobody asked for, 12.5 % done\n"


def bench_parsers() -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of `make bench`: what, speed, limit, ratio.

    The limit is Python's own cutting of the same text into lines.
    """
    for tool in TOOLS.values():
        text = long_output(tool.slug, LINES)
        size_mb = len(text.encode()) / 1e6
        speed = size_mb / _cpu_s(reading.read, text)
        limit = size_mb / _cpu_s(_cut, text)
        yield (
            f"reading {tool.title}",
            f"{speed:,.1f} MB/s",
            f"lines {limit:,.0f} MB/s",
            f"{speed / limit:.3f}",
        )


def long_output(slug: str, lines: int) -> str:
    """Return a saved text of the tool with so many lines in its middle."""
    texts = [path.read_text() for path in sorted(SAVED.glob(f"{slug}/*.txt"))]
    # JSON has no place for lines of progress.
    text = max((text for text in texts if "{" not in text), key=len)
    middle = sum(map(len, text.splitlines(keepends=True)[: text.count("\n") // 2]))
    return text[:middle] + INTERVALS.get(slug, COMMON) * lines + text[middle:]


def measure(slug: str, lines: int) -> str:
    """Return the row of one tool, measured in this process."""
    output = long_output(slug, lines).encode()
    before_mb = _peak_mb()
    begun = time.process_time()
    runs = reading.read(output)
    seconds = time.process_time() - begun
    size_mb = len(output) / 1e6
    readings = sum(len(run.readings) for run in runs)
    return (
        f"{slug:16} {size_mb:6.1f} MB {seconds:6.2f} s {size_mb / seconds:7.1f} MB/s "
        f"{_peak_mb():5.0f} MB at most ({before_mb:.0f} MB before) {readings} readings"
    )


def _cpu_s(work: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    work(text)
    return max(time.process_time() - begun, 1e-6)


def _cut(text: str) -> list[str]:
    return [*map(str.strip, text.split("\n"))]


def _peak_mb() -> float:
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1000


def main() -> None:
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], int(sys.argv[2])))
        return
    lines = sys.argv[1] if len(sys.argv) == 2 else str(MANY_LINES)
    for slug in (tool.slug for tool in TOOLS.values() if tool.parser):
        # A process of its own, so that the memory is this tool's.
        subprocess.run([sys.executable, "-m", __spec__.name, slug, lines], check=True)


if __name__ == "__main__":
    main()
