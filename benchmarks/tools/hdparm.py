"""hdparm: sequential reads from a disk, and from the cache above it.

One result row, as printed with ``-tT``::

     Timing buffered disk reads: 760 MB in  3.00 seconds = 252.92 MB/sec
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="hdparm",
    title="hdparm",
    homepage="https://sourceforge.net/projects/hdparm/",
    metrics=(
        Metric(name="buffered read", unit="MB/s", better="higher", component="disk"),
        # Served from RAM: no disk is read.
        Metric(name="cached read", unit="MB/s", better="higher", component="memory"),
    ),
)
