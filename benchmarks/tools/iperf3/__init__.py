"""iperf3: throughput of a network path.

One result row, as printed by iperf 3.12::

    [  5]   0.00-4.00   sec  11.9 GBytes  25.6 Gbits/sec                  receiver

Gbits are 10^9 bit, the GBytes beside them 2^30 B. What the receiver counts is the
throughput; with several streams it is the row (or object) of their sum.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import ParsedRun, Parser
from benchmarks.tools.iperf3 import reports, rows


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each test, from its JSON if there is any."""
    return reports.parse(output) or rows.parse(output)


TOOL = Tool(
    slug="iperf3",
    title="iperf3",
    homepage="https://software.es.net/iperf/",
    metrics=(
        Metric(name="throughput", unit="Mbit/s", better="higher", component="network"),
        Metric(
            name="sent throughput",
            unit="Mbit/s",
            better="higher",
            component="network",
        ),
        Metric(
            name="retransmits",
            unit="",
            better="neither",
            component="network",
            zero_allowed=True,
        ),
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
        *(
            Metric(
                name=f"CPU utilization {end}",
                unit="%",
                better="lower",
                component="network",
                zero_allowed=True,
            )
            for end in ("local", "remote")
        ),
    ),
    aliases=("iperf 3",),
    labels=("{protocol}", "{operation}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"Connecting to host [^\n]{1,200}, port \d",
            r"Server listening on \d+(?: \(test|[ \t]*+$)",
            r"Accepted connection from [^\n]{1,200}, port \d",
            r"iperf3: (?:error|interrupt)",
            r"\{\s*\"start\"\s*:\s*\{",
            r"\{\s*\"event\"\s*:\s*\"start\"",
        ),
        programs=("iperf3",),
        localized=False,
    ),
)
