"""LINPACK: a dense system of n linear equations solved in double precision.

One result row, as printed by netlib's ``linpack.c``::

        16384  15.02  88.94%   2.95%   8.11%  1630594.203

The last column is in KFLOPS, 1000 floating-point operations a second. The variant of
the LMU studies prints the elapsed time that it asked of a time server.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="linpack",
    title="LINPACK",
    homepage="https://www.netlib.org/benchmark/",
    metrics=(
        Metric(name="time", unit="s", better="lower", component="CPU"),
        Metric(name="performance", unit="Mflop/s", better="higher", component="CPU"),
    ),
    aliases=("netlib LINPACK",),
    labels=("n={n}",),
)
