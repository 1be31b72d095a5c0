"""tiotest: threaded reads and writes of a file, sequential and random.

One result row::

    | Write          64 MBs |    0.1 s | 589.590 MB/s |   0.0 %  |  66.4 % |

The CPU columns add up the threads: they pass 100 %.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="tiotest",
    title="tiotest",
    homepage="https://sourceforge.net/projects/tiobench/",
    metrics=(
        Metric(name="rate", unit="MB/s", better="higher", component="disk"),
        Metric(name="time", unit="s", better="lower", component="disk"),
        *(
            Metric(
                name=f"CPU {mode}",
                unit="%",
                better="lower",
                component="disk",
                zero_allowed=True,
            )
            for mode in ("user", "system")
        ),
        *(
            Metric(name=f"latency {which}", unit="ms", better="lower", component="disk")
            for which in ("mean", "max")
        ),
    ),
    labels=("{size}", "{threads} threads"),
)
