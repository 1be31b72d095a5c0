"""Iometer: disk and network load of chosen block sizes, reads and writes.

Its CSV file holds a row for each target under a line that names the columns::

    'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps

``MBps`` is 2^20 B/s in files of 2006, 10^6 B/s where it is called decimal.
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="iometer",
    title="Iometer",
    homepage="http://www.iometer.org/",
    metrics=(
        Metric(
            name="network throughput",
            unit="MB/s",
            better="higher",
            component="network",
        ),
        Metric(
            name="CPU utilization (network)",
            unit="%",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
        Metric(name="disk throughput", unit="MB/s", better="higher", component="disk"),
        Metric(
            name="CPU utilization (disk)",
            unit="%",
            better="lower",
            component="disk",
            zero_allowed=True,
        ),
        Metric(name="IOps", unit="1/s", better="higher", component="disk"),
        Metric(name="response time mean", unit="ms", better="lower", component="disk"),
        Metric(name="response time max", unit="ms", better="lower", component="disk"),
    ),
    labels=("{block_size}",),
)
