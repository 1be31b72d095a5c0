"""httperf: the load one client can put on a web server.

One result row, as printed by httperf 0.9.0::

    Total: connections 300 requests 300 replies 300 test-duration 2.991 s
"""

from benchmarks.tools.base import Metric, Tool

COUNTS = ("requests", "replies", "errors")

TOOL = Tool(
    slug="httperf",
    title="httperf",
    homepage="https://github.com/httperf/httperf",
    metrics=(
        Metric(name="test duration", unit="s", better="lower", component="application"),
        Metric(name="reply time", unit="ms", better="lower", component="application"),
        # httperf polls in a busy loop: its CPU time follows the duration of the test
        # and says nothing about the server or the client.
        *(
            Metric(
                name=f"client CPU {mode}",
                unit="s",
                better="neither",
                component="application",
                zero_allowed=True,
            )
            for mode in ("user", "system")
        ),
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
            Metric(
                name=f"{what} rate",
                unit="1/s",
                better="higher",
                component="application",
            )
            for what in ("connection", "request", "reply")
        ),
        Metric(
            name="connection time mean",
            unit="ms",
            better="lower",
            component="application",
        ),
    ),
    labels=("wsess={wsess}",),
)
