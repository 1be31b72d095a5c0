"""iperf 2: throughput of a network path.

One result row, as printed by iperf 2.0.13::

    [  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec

Mbits are 10^6 bit, the GBytes beside them 2^30 B. The row of a stream that begins at
0.0 and ends last is its total; a UDP client's own row is what it sent, the server's
report what arrived. A star before the number of a stream is its way back; where both
ways are loaded at once, SUM is the sum of both.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Parser
from benchmarks.tools.iperf.rows import parse

TOOL = Tool(
    slug="iperf",
    title="iperf",
    homepage="https://sourceforge.net/projects/iperf2/",
    metrics=(
        Metric(name="throughput", unit="Mbit/s", better="higher", component="network"),
        # What left the sender of datagrams, whether it arrived or not.
        Metric(
            name="sent throughput",
            unit="Mbit/s",
            better="higher",
            component="network",
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
    ),
    aliases=("iperf2", "iperf 2"),
    labels=("{protocol}", "{link}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"Client connecting to [^\n]{1,200}, (?:TCP|UDP) port \d",
            r"Server listening on (?:TCP|UDP) port \d",
            r"\d{14}[\d.+-]*,[\d.]+,\d+,[\d.]+,\d+,-?\d+,\d+\.\d+-\d",
        ),
        programs=("iperf", "iperf2"),
    ),
)
