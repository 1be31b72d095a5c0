"""netperf: throughput of a network path and the CPU time it costs at both ends.

One result row, as printed by netperf 2.7.1 with ``-c -C``::

    131072  16384  16384    2.00       34245.91   71.36    71.36    0.341   0.341

Its KBytes, MBytes and GBytes (``-f``) are powers of 1024 bytes, its 10^6bits are not.
Service demand is in microseconds of CPU per KB, which is 1024 B here, or per
transaction. Of the two rows of a UDP stream the second is what arrived.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Parser
from benchmarks.tools.netperf.classic import has_bare_rows
from benchmarks.tools.netperf.runs import parse

ENDS = ("local", "remote")

TOOL = Tool(
    slug="netperf",
    title="netperf",
    homepage="https://github.com/HewlettPackard/netperf",
    metrics=(
        Metric(name="throughput", unit="MB/s", better="higher", component="network"),
        # What left the sender of datagrams, whether it arrived or not.
        Metric(
            name="sent throughput", unit="MB/s", better="higher", component="network"
        ),
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
        *(
            Metric(
                name=f"CPU time per transaction {end}",
                unit="us",
                better="lower",
                component="network",
            )
            for end in ENDS
        ),
        Metric(
            name="transaction rate", unit="1/s", better="higher", component="network"
        ),
        *(
            Metric(
                name=f"latency {which}", unit="us", better="lower", component="network"
            )
            for which in ("min", "mean", "max", "p50", "p90", "p99")
        ),
    ),
    labels=("{test}", "{from} → {to}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"(?:MIGRATED )?(?:TCP|UDP|SCTP|DCCP|UDPLITE|OMNI)[ \w/|]{0,50} "
            r"T(?:EST|est) (?:from|to)\b",
            r"(?:THROUGHPUT|THROUGHPUT_UNITS|ELAPSED_TIME|LOCAL_SEND_SIZE|PROTOCOL)=",
            r"establish[ _]control\b",
        ),
        shape=has_bare_rows,
        programs=("netperf",),
    ),
)
