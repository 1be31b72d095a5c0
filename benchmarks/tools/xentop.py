"""xentop -b: what the Xen hypervisor gives to each domain.

One row, CPU(%) of one physical CPU in its fourth column (100 % is one CPU)::

      du-pv ------         12   78.6     327680   20.8     328704      20.9     1 ...

MEM(k) is KiB. A table has no time. CPU(%) is the difference to the table before: the
first table of each call, and the first row of a domain, say 0.0 and are left out.
"""

from dataclasses import dataclass, field

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES = Scanner(
    header=r"NAME +STATE +CPU\(sec\) +CPU\(%\)",
    row=r"(?P<name>[^\s:]\S*) +(?P<state>[-a-z]{6}) +(?P<seconds>\S+) +(?P<cpu>\S+)"
    r" +(?P<memory>\S+)(?P<rest>[^\n]*)$",
)


@dataclass(slots=True)
class Domains:
    """The runs of one part, and the table that is being read."""

    runs: dict[str, Draft] = field(default_factory=dict)
    kept: list[Draft] = field(default_factory=list)
    table: list[Found] = field(default_factory=list)

    def close(self) -> None:
        """Take the table, unless it is the first of a call: every CPU at 0."""
        is_first = all(row.number("cpu", 1) == 0 for row in self.table)
        for row in self.table:
            self._take(row, is_first)
        self.table = []

    def _take(self, row: Found, is_first: bool) -> None:
        name = row["name"]
        is_new = name not in self.runs
        if is_new:
            self.runs[name] = Draft(facts={"domain": name})
            keep(self.kept, self.runs[name])
        cpu = row.number("cpu", 1)
        memory = row.whole("memory")
        if not is_first and (cpu or not is_new):
            self.runs[name].add("CPU utilization", cpu, "%")
            self.runs[name].add("memory", memory, "KiB")


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each domain; each table but the first is a repetition."""
    domains = Domains()
    is_begun = False
    for line in LINES(output):
        if line.kind == "header":
            domains.close()
            is_begun = True
        elif is_begun:
            domains.table.append(line)
    domains.close()
    return finished(
        domains.kept,
        "xentop printed no table behind its first, which has no CPU times: call it "
        "with -i 2 or more.",
    )


TOOL = Tool(
    slug="xentop",
    title="xentop",
    homepage="https://xenbits.xen.org/docs/unstable/man/xentop.1.html",
    metrics=(
        Metric(
            name="CPU utilization",
            unit="%",
            better="lower",
            component="CPU",
            zero_allowed=True,
        ),
        Metric(name="memory", unit="KiB", better="lower", component="memory"),
    ),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(r"NAME +STATE +CPU\(sec\) +CPU\(%\)",),
        programs=("xentop",),
        localized=False,
    ),
)
