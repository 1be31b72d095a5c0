"""RAMspeed: bandwidth of memory and caches, block by block.

One result row, as printed by RAMspeed/SMP 3.5.0::

    INTEGER & WRITING         1 Kb block: 51133.00 MB/s

``MB/s`` is 10^6 B/s; ``Mb/s``, printed by older versions, is 2^20 B/s.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="ramspeed",
    title="RAMspeed",
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(
        Metric(name="bandwidth", unit="MB/s", better="higher", component="memory"),
    ),
    aliases=("ramsmp", "RAMspeed/SMP"),
    labels=("{level}", "{block}"),
)
