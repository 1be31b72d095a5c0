"""Watts up? Pro: a power meter between the wall and the machine.

One packet, power first and in tenths of a watt::

    #d,-,18,972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020;
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="watts-up",
    title="Watts up? Pro",
    homepage="https://metacpan.org/dist/WattsUp-Daemon",
    metrics=(
        Metric(name="energy", unit="J", better="lower", component="power"),
        # The window in which the meter ran, not the duration of the work.
        Metric(name="meter time", unit="s", better="neither", component="power"),
        Metric(name="power mean", unit="W", better="lower", component="power"),
        Metric(name="power max", unit="W", better="lower", component="power"),
    ),
    aliases=("Watts up?", "Watts up", "wattsup"),
    labels=("{workload}",),
)
