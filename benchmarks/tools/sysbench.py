"""sysbench: database transactions (OLTP), and loops for CPU and memory.

One result row, as printed by sysbench 1.0.20::

        transactions:                        3317   (1103.92 per sec.)
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="sysbench",
    title="sysbench",
    homepage="https://github.com/akopytov/sysbench",
    metrics=(
        Metric(name="total time", unit="s", better="lower", component="application"),
        *(
            Metric(
                name=count,
                unit="",
                better="neither",
                component="application",
                zero_allowed=True,
            )
            for count in ("transactions", "deadlocks", "read/write requests")
        ),
        *(
            Metric(name=rate, unit="1/s", better="higher", component="application")
            for rate in ("transaction rate", "read/write request rate")
        ),
        *(
            Metric(
                name=f"request latency {which}",
                unit="ms",
                better="lower",
                component="application",
            )
            for which in ("min", "mean", "max", "p95")
        ),
        Metric(name="CPU event rate", unit="1/s", better="higher", component="CPU"),
        Metric(
            name="memory throughput", unit="MiB/s", better="higher", component="memory"
        ),
    ),
    labels=("{test}", "{threads} threads"),
)
