"""sysbench: database transactions (OLTP), and loops for CPU, memory, threads and files.

One result row, as printed by sysbench 1.0.20::

        transactions:                        3317   (1103.92 per sec.)

Versions 0.4 and 0.5 say "per-request statistics" or "response time" where 1.0 says
"Latency (ms)", and write KB, MB, Kb, Mb and Gb for powers of 1024 bytes.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Parser
from benchmarks.tools.sysbench.runs import parse

COUNTS = (
    "transactions",
    "deadlocks",
    "read/write requests",
    "queries",
    "other operations",
    "ignored errors",
    "reconnects",
    "events",
)
RATES = ("transaction rate", "read/write request rate", "query rate", "event rate")
LATENCIES = ("min", "mean", "max", "p95", "percentile")
FILE_RATES = ("read rate", "write rate", "fsync rate", "file request rate")
FILE_THROUGHPUTS = ("read throughput", "write throughput", "file throughput")

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
            for count in COUNTS
        ),
        *(
            Metric(name=rate, unit="1/s", better="higher", component="application")
            for rate in RATES
        ),
        *(
            Metric(
                name=f"request latency {which}",
                unit="ms",
                better="lower",
                component="application",
            )
            for which in LATENCIES
        ),
        Metric(name="CPU event rate", unit="1/s", better="higher", component="CPU"),
        Metric(
            name="memory throughput", unit="MiB/s", better="higher", component="memory"
        ),
        Metric(
            name="memory operation rate",
            unit="1/s",
            better="higher",
            component="memory",
        ),
        *(
            Metric(name=rate, unit="1/s", better="higher", component="disk")
            for rate in FILE_RATES
        ),
        *(
            Metric(name=rate, unit="MiB/s", better="higher", component="disk")
            for rate in FILE_THROUGHPUTS
        ),
    ),
    labels=("{test}", "{threads} threads"),
    parser=Parser(
        version=3,
        parse=parse,
        signatures=(
            r"sysbench v?\d[\w.-]*+(?:: | \()",
            r"Running the test with following options:",
        ),
        programs=("sysbench",),
        localized=False,
        needs_command=True,
    ),
)
