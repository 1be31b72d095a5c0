"""mpi-io-test: bandwidth of a parallel file system, from the PVFS2 tests.

Its two result rows, as its source prints them::

    Write bandwidth = %f Mbytes/sec
    Read bandwidth = %f Mbytes/sec

Mbytes are 10^6 B.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="mpi-io-test",
    title="mpi-io-test (PVFS2)",
    homepage="https://github.com/waltligon/orangefs",
    metrics=(Metric(name="bandwidth", unit="MB/s", better="higher", component="disk"),),
    aliases=("mpi_io_test", "PVFS2 mpi-io-test", "OrangeFS mpi-io-test"),
    labels=("{client} → {server}",),
)
