"""iperf 2: throughput of a network path.

A result row ends with the amount of data and the rate: ``870 Mbits/sec``. Mbits are
10^6 bit, the GBytes beside them 2^30 B.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="iperf",
    title="iperf",
    homepage="https://sourceforge.net/projects/iperf2/",
    metrics=(
        Metric(name="throughput", unit="Mbit/s", better="higher", component="network"),
        Metric(
            name="jitter",
            unit="ms",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
        Metric(
            name="packet loss",
            unit="%",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
    ),
    aliases=("iperf2", "iperf 2"),
    labels=("{link}",),
)
