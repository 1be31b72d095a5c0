"""xentop -b and xl info: what Xen gives to each domain, and the host below it.

One row of xentop, CPU(%) of one physical CPU in its fourth column (100 % is one CPU)::

      du-pv ------         12   78.6     327680   20.8     328704      20.9     1 ...

MEM(k) is KiB. A table has no time. CPU(%) is the difference to the table before: the
first table of each call, and the first row of a domain, say 0.0 and are left out. The
other tables are summarized.

One line of xl info, MiB::

    free_memory            : 128

It is mostly facts of a host (processors, version, scheduler, command line); the one
sample is the memory that Xen and its domains hold: ``total_memory`` without
``free_memory``. ``xm info`` prints the same.
"""

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.scanning import (
    Draft,
    Found,
    LineError,
    Scanner,
    keep,
    parser,
)
from benchmarks.parsing.telemetry import CUT, Summary, lines_of, summary_metrics

HEADER = r"NAME +STATE +CPU\(sec\) +CPU\(%\)"
_TABLE = re.compile(rf"^[ \t]*+(?:{HEADER})[^\n]*\n?", re.ASCII | re.MULTILINE)
XENTOP_LINES = Scanner(
    row=r"(?P<name>[^\s:]\S*(?: \S+){0,9}?) +(?P<state>[-dsbcpr]{6}) +(?P<seconds>\S+)"
    r" +(?P<cpu>\S+) +(?P<memory>\S+)(?P<rest>[^\n]*)$",
)
# Names that hold a blank are left to the slower pattern.
_ALIKE = re.compile(
    r"^ *([^\s:]\S*) +[-dsbcpr]{6} +(\d{1,15}) +(\d{1,9}\.\d) +(\d{1,15}) [^\n]*\n",
    re.ASCII | re.MULTILINE,
)
Row = tuple[str, int, float, int]


@dataclass(slots=True)
class Domain:
    seconds: int
    cpu: Summary = field(default_factory=Summary)
    memory: Summary = field(default_factory=Summary)


@dataclass
class Log(Draft):
    """The domains of one part, in their order."""

    domains: dict[str, Domain] = field(default_factory=dict)

    def read(self, table: str) -> None:
        """Take a table: at once if it has nothing else, else row by row."""
        alike = _ALIKE.findall(table)
        # Every line was matched: no row of the table is of another form.
        if alike and len(alike) == lines_of(table):
            self._take(
                [
                    (name, int(seconds), float(cpu), int(memory))
                    for name, seconds, cpu, memory in alike
                ]
            )
            return
        rows: list[Row] = []
        for line in XENTOP_LINES(table):
            if line.is_open("memory"):
                self.mark("cut", CUT)
                continue
            memory = line.whole("memory")
            row = line["name"], line.whole("seconds"), line.number("cpu"), memory
            rows.append(row)
        self._take(rows)

    def _take(self, rows: list[Row]) -> None:
        # The first table of a call has no time before it: every CPU is at 0.
        is_first = all(cpu == 0 for _, _, cpu, _ in rows)
        for name, seconds, cpu, memory in rows:
            domain = self.domains.get(name)
            # A domain that was started anew has used less than before.
            is_new = domain is None or seconds < domain.seconds
            if domain is None:
                domain = self.domains[name] = Domain(seconds)
            domain.seconds = seconds
            if not is_first and (cpu or not is_new):
                domain.cpu.take(cpu)
                domain.memory.take(memory)

    def close(self) -> None:
        for name, domain in self.domains.items():
            domain.cpu.add_to(self, "CPU utilization", "%", domain=name)
            domain.memory.add_to(self, "memory", "KiB", domain=name)
            if samples := len(domain.cpu.samples):
                self.facts["samples"] = samples


@parser(
    "xentop printed no table behind its first, which has no CPU "
    "times: call it with -i 2 or more."
)
def parse_xentop(output: str) -> list[Draft]:
    """Return one run; each domain is a case of its own."""
    log = Log()
    headers = chain(map(re.Match.span, _TABLE.finditer(output)), [(len(output), 0)])
    for (_, start), (end, _) in pairwise(headers):
        try:
            log.read(output[start:end])
        except LineError as error:
            raise error.moved(output.count("\n", 0, start)) from None
    return [log]


XENTOP = Tool(
    slug="xentop",
    title="xentop",
    homepage="https://xenbits.xen.org/docs/unstable/man/xentop.1.html",
    metrics=(
        *summary_metrics("CPU utilization", "%", "CPU", zero_allowed=True),
        *summary_metrics("memory", "KiB", "memory"),
    ),
    labels=("{domain}",),
    version=2,
    parse=parse_xentop,
    signatures=(HEADER,),
    programs=("xentop",),
    localized=False,
)


_FACTS = (
    "host|release|machine|nr_cpus|nr_nodes|cores_per_socket|threads_per_core|cpu_mhz"
    "|virt_caps|total_memory|free_memory|xen_major|xen_minor|xen_extra|xen_version"
    "|xen_caps|xen_scheduler|xen_commandline|cc_compiler"
)
XL_INFO_LINES = Scanner(fact=rf"(?P<name>{_FACTS}) +: ?(?P<value>[^\n]*)$")
MEMORY = ("total_memory", "free_memory")


@parser("xl info reported no total_memory and free_memory.")
def parse_xl_info(output: str) -> list[Draft]:
    """Return one run for each host that is described."""
    hosts: list[dict[str, Found]] = [{}]
    for line in XL_INFO_LINES(output):
        if line["name"] in hosts[-1]:
            keep(hosts, {})
        hosts[-1][line["name"]] = line

    runs: list[Draft] = []
    for host in hosts:
        facts = {name: line["value"].strip() for name, line in host.items()}
        # xm info prints its parts only.
        numbered = ".".join(filter(None, map(facts.get, ("xen_major", "xen_minor"))))
        version = facts.get("xen_version") or numbered + facts.get("xen_extra", "")
        run = Draft(tool_version=version, facts={**facts})
        runs.append(run)
        lines = [host[name] for name in MEMORY if name in host]
        if len(lines) < len(MEMORY):
            continue
        for line in lines:
            line.refuse_open("value")
            size = line["value"].strip()
            if not size.isdecimal() or len(size) > 15:
                raise line.refused("this is not a whole number of MiB.")
        total, free = (int(facts[name]) for name in MEMORY)
        if free > total:
            raise host["free_memory"].refused(
                "of {total} MiB, {free} are not free.", total=total, free=free
            )
        run.add("memory in use", total - free, "MiB")
    return runs


XL_INFO = Tool(
    slug="xl-info",
    title="xl info",
    homepage="https://xenbits.xen.org/docs/unstable/man/xl.1.html",
    metrics=(Metric("memory in use", "MiB", "lower", "memory"),),
    aliases=("xm info",),
    version=1,
    parse=parse_xl_info,
    signatures=(r"(?:virt_caps|hw_caps|xen_(?:major|version|caps)) +: ",),
    localized=False,
)
