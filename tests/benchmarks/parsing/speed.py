"""How fast each tool's output is read: a million lines, its speed and its memory.

``python -m tests.benchmarks.parsing.speed [lines]`` prints a row for each tool.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.parsing import reading
from benchmarks.tools import TOOLS
from tests.data.rebuild import outputs

LINES = 1_000_000

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


def long_output(slug: str, lines: int = LINES) -> str:
    """A saved text of the tool with so many lines in its middle."""
    texts = [path.read_text() for path in outputs(slug)]
    text = max((each for each in texts if "{" not in each), key=len)
    middle = sum(map(len, text.splitlines(keepends=True)[: text.count("\n") // 2]))
    return text[:middle] + INTERVALS.get(slug, COMMON) * lines + text[middle:]


def measure(slug: str, lines: int) -> str:
    """The row of one tool, measured in this process."""
    output = long_output(slug, lines).encode()
    before = _peak_mb()
    started = time.process_time()
    runs = reading.read(output)
    seconds = time.process_time() - started
    size = len(output) / 1e6
    readings = sum(len(run.readings) for run in runs)
    return (
        f"{slug:16} {size:6.1f} MB {seconds:6.2f} s {size / seconds:7.1f} MB/s "
        f"{_peak_mb():5.0f} MB at most ({before:.0f} MB before) {readings} readings"
    )


def _peak_mb() -> float:
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1000


def main() -> None:
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], int(sys.argv[2])))
        return
    lines = sys.argv[1] if len(sys.argv) == 2 else str(LINES)
    for slug in (tool.slug for tool in TOOLS.values() if tool.parser):
        # A process of its own, so that the memory is this tool's.
        subprocess.run([sys.executable, "-m", __spec__.name, slug, lines], check=True)


if __name__ == "__main__":
    main()
