"""iozone: reads and writes of a file in records of many sizes.

One result row, as printed by iozone 3.471 with ``-a``::

            4096       4  1295830  4244242  4315676  5083093  5475122  2758132

kB (KB, Kbytes in older versions) are 2^10 B. Tests that were not run leave blanks, so
a number belongs to the heading above its last digit. Without ``-I`` and with a file
smaller than the memory these are figures of the page cache.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Parser
from benchmarks.tools.iozone.runs import parse

TOOL = Tool(
    slug="iozone",
    title="iozone",
    homepage="https://www.iozone.org/",
    metrics=(
        # In throughput mode (-t): the sum over all processes.
        Metric(name="throughput", unit="MB/s", better="higher", component="disk"),
        # The same over the time from the first start to the last end.
        Metric(
            name="parent throughput", unit="MB/s", better="higher", component="disk"
        ),
        *(
            Metric(
                name=f"process throughput {which}",
                unit="MB/s",
                better="higher",
                component="disk",
            )
            for which in ("min", "mean", "max")
        ),
        Metric(name="operation rate", unit="1/s", better="higher", component="disk"),
        Metric(name="operation time", unit="us", better="lower", component="disk"),
    ),
    labels=("{file_size}", "{record}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"Iozone: Performance Test of File I/O",
            r"[kK]B +reclen +write +rewrite",
            r"Children see throughput for +\d",
            r"\"(?:Re-)?[Ww]riter report\"",
        ),
        programs=("iozone", "iozone3"),
    ),
)
