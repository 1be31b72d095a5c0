"""b_eff_io: effective I/O bandwidth of a parallel application.

The last row, as its source prints it::

     b_eff_io = %8.3f MB/s on %1d processes with %3d MByte/PE, scheduled time=%3.1f Min

MB are 10^6 B, MByte 2^20 B.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="b_eff_io",
    title="b_eff_io",
    homepage="https://fs.hlrs.de/projects/par/mpi/b_eff_io/",
    metrics=(
        Metric(
            name="weighted bandwidth", unit="MB/s", better="higher", component="disk"
        ),
        Metric(
            name="b_eff_io",
            title="b_eff_io",
            unit="MB/s",
            better="higher",
            component="disk",
        ),
    ),
    aliases=("beffio", "b-eff-io"),
    labels=("{processes} processes",),
)
