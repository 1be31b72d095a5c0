from pathlib import Path

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing import run_extraction
from benchmarks.tools import TOOLS

# Linear work takes a tenth of a second here; quadratic work takes minutes and fails.
pytestmark = pytest.mark.timeout(60)

SAVED = Path(__file__).parents[2] / "data"
READERS = [tool.slug for tool in TOOLS.values() if tool.parse]

# Progress that a tool prints between its first lines and its result if requested. The
# other tools get the most common ones, which they must ignore.
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


def long_output(slug, lines):
    """Return a saved text of the tool with this many lines in the middle."""
    texts = [path.read_text() for path in sorted(SAVED.glob(f"{slug}/*.txt"))]
    # JSON cannot contain lines of progress.
    text = max((text for text in texts if text.lstrip()[:1] not in "{["), key=len)
    middle = sum(map(len, text.splitlines(keepends=True)[: text.count("\n") // 2]))
    return text[:middle] + INTERVALS.get(slug, COMMON) * lines + text[middle:]


@pytest.mark.parametrize("slug", READERS)
def test_a_long_output_takes_linear_time(slug):
    output = long_output(slug, lines=60_000)

    runs = run_extraction.extract_runs(output)

    assert {run.tool for run in runs} == {slug}


# Long lines on which a pattern repeats a group: 200,000 repetitions without a match at
# the end. The tool is the first word of the name, if it is a tool.
MANY = 200_000
PDH = r'"(PDH-CSV 4.0) (UTC)(0)","\\h\Processor(_Total)\% Processor Time"' + "\n"
SAMPLE = '"11/20/2026 21:44:36.000","{}"\n'
REPEATED = {
    "fio: a name": "job" + ":a" * MANY,
    "fio: many names": ("job" + ":a" * 500 + "\n") * (MANY // 500),
    "rapl: the columns of turbostat": "Core\t" * MANY,
    "rapl: many rows of columns": ("Core\t" * 500 + "\n") * (MANY // 500),
    "iozone: a row": "kB  reclen  write\n64 4" + " 3" * MANY + "\t5",
    "iozone: blanks": "kB  reclen  write\n64 4" + " " * MANY + "\t5",
    "iozone: a sheet": '"Writer report"\n"4"\n"64"' + " 3" * MANY + "\t5",
    "netperf: a row": "TCP STREAM TEST from a to b\n1" + " 3" * MANY + "\t5",
    "netperf: bare rows": " 87380  16384  16384    10.00    941.40\n" * 480 + "x",
    "netperf: blank rows": " \t \n" * 4_900 + "x",
    "postmark: prompts": "pm>" * MANY,
    "httperf: options": "httperf " + "--a=b " * MANY,
    "httperf: a value": "httperf --" + "a" * MANY + "=" * MANY,
    "dbench: a result": "Throughput 1 MB/sec" + " (sync a)" * MANY,
    "pdh-csv: samples": PDH + SAMPLE.format(1.5) * (MANY // 20) + SAMPLE.format("x"),
    "words before a program": "$ " + "1a=b " * MANY + ";",
    "an assignment": "$ " + "a=" * MANY,
    "clocks": ("21:44:36.123456789" * 5 + "\n") * (MANY // 90),
    "zones": "2026-11-20 21:44:36 +01" * MANY,
    "thousands": "Score 1" + ".234" * MANY + ",",
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_group_takes_linear_time(name):
    tool = name.partition(":")[0]

    try:
        answer = run_extraction.extract_runs(
            REPEATED[name], tool=tool if ":" in name else None, locale="de_DE"
        )
    except ParseError as error:
        answer = str(error)

    assert answer
