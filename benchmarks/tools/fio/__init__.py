"""fio: reads and writes of any pattern, to files and disks.

One result row, as printed by fio 3.33::

      read: IOPS=63.9k, BW=250MiB/s (262MB/s)(999MiB/4001msec)

Its JSON is exact: ``bw_bytes`` in B/s (``bw`` in KiB/s), times in ns (before 3.0 in
us). Version 2 wrote KB, MB and GB for powers of 1024. A job whose ``error`` is not 0
has no result, whatever its numbers.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import ParsedRun, Parser
from benchmarks.tools.fio import reports, rows, terse


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of fio, from its most exact form."""
    return reports.parse(output) or terse.parse(output) or rows.parse(output)


TOOL = Tool(
    slug="fio",
    title="fio",
    homepage="https://github.com/axboe/fio",
    metrics=(
        Metric(name="throughput", unit="MB/s", better="higher", component="disk"),
        Metric(name="IOPS", unit="1/s", better="higher", component="disk"),
        *(
            Metric(name=f"latency {which}", unit="us", better="lower", component="disk")
            for which in ("min", "mean", "max")
        ),
        *(
            Metric(
                name=f"completion latency {which}",
                unit="us",
                better="lower",
                component="disk",
            )
            for which in ("mean", "p50", "p90", "p95", "p99", "p99.9")
        ),
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
    ),
    labels=("{job}", "{block}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"\{\s*\"fio version\"",
            r"[345];fio-\d[^;\n]*;",
            r"[^\n:|<>\[\]]{1,200}+(?::(?! |\d\d)[^\n:|<>\[\]]{0,200}+){0,99}"
            r": \(g(?:roup(?:id)?)?=\d+(?:\): rw=|, jobs=\d+\): err=)",
        ),
        programs=("fio",),
        localized=False,
    ),
)
