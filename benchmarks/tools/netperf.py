"""netperf: throughput of a network path and the CPU time it costs at both ends.

One result row, as printed by netperf 2.7.1 with ``-c -C``::

    131072  16384  16384    2.00       34245.91   71.36    71.36    0.341   0.341

Service demand is in microseconds of CPU per KB, which is 1024 B here.
"""

from benchmarks.tools.base import Metric, Tool

ENDS = ("local", "remote")

TOOL = Tool(
    slug="netperf",
    title="netperf",
    homepage="https://github.com/HewlettPackard/netperf",
    metrics=(
        Metric(name="throughput", unit="MB/s", better="higher", component="network"),
        *(
            Metric(
                name=f"CPU utilization {end}",
                unit="%",
                better="lower",
                component="network",
                zero_allowed=True,
            )
            for end in ENDS
        ),
        *(
            Metric(
                name=f"service demand {end}",
                unit="us/KB",
                better="lower",
                component="network",
            )
            for end in ENDS
        ),
        Metric(
            name="transaction rate", unit="1/s", better="higher", component="network"
        ),
    ),
    labels=("{from} → {to}",),
)
