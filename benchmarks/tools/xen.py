"""xentop -b and xl info: the resources of each Xen domain, and of the host.

In xentop, MEM(k) is KiB, and a CPU(%) of 100 is one physical CPU. CPU(%) is the
difference from the previous table. Therefore the first table of each call and the first
row of a domain are 0.0 and are omitted.

The reading of ``xl info`` and ``xm info`` is the memory of Xen and its domains in MiB:
``total_memory`` minus ``free_memory``.
"""

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineError,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    TRUNCATED_ROW,
    SampleSummary,
    count_lines,
    summary_metrics,
)
from benchmarks.parsing.tool import Metric, Tool

HEADER = r"NAME +STATE +CPU\(sec\) +CPU\(%\)"
_TABLE = re.compile(rf"^[ \t]*+(?:{HEADER})[^\n]*\n?", re.ASCII | re.MULTILINE)
XENTOP_LINES = LineScanner(
    row=r"(?P<name>[^\s:]\S*(?: \S+){0,9}?) +(?P<state>[-dsbcpr]{6}) +(?P<seconds>\S+)"
    r" +(?P<cpu>\S+) +(?P<memory>\S+)(?P<rest>[^\n]*)$",
)
_ALIKE = re.compile(
    r"^ *([^\s:]\S*) +[-dsbcpr]{6} +(\d{1,15}) +(\d{1,9}\.\d) +(\d{1,15}) [^\n]*\n",
    re.ASCII | re.MULTILINE,
)
Row = tuple[str, int, float, int]


@dataclass(slots=True)
class XenDomain:
    seconds: int
    cpu: SampleSummary = field(default_factory=SampleSummary)
    memory: SampleSummary = field(default_factory=SampleSummary)


@dataclass
class XentopLog(Draft):
    domains: dict[str, XenDomain] = field(default_factory=dict)

    def read(self, table: str) -> None:
        alike = _ALIKE.findall(table)
        if alike and len(alike) == count_lines(table):
            self._add_rows(
                [
                    (name, int(seconds), float(cpu), int(memory))
                    for name, seconds, cpu, memory in alike
                ]
            )
            return
        rows: list[Row] = []
        for line in XENTOP_LINES(table):
            if line.may_be_truncated("memory"):
                self.add_warning("cut", TRUNCATED_ROW)
                continue
            memory = line.integer("memory")
            row = line["name"], line.integer("seconds"), line.number("cpu"), memory
            rows.append(row)
        self._add_rows(rows)

    def _add_rows(self, rows: list[Row]) -> None:
        is_first = all(cpu == 0 for _, _, cpu, _ in rows)
        for name, seconds, cpu, memory in rows:
            domain = self.domains.get(name)
            # A restarted domain has used less CPU time than before.
            is_new = domain is None or seconds < domain.seconds
            if domain is None:
                domain = self.domains[name] = XenDomain(seconds)
            domain.seconds = seconds
            if not is_first and (cpu or not is_new):
                domain.cpu.append(cpu)
                domain.memory.append(memory)

    def close(self) -> None:
        for name, domain in self.domains.items():
            domain.cpu.add_to(self, "CPU utilization", "%", domain=name)
            domain.memory.add_to(self, "memory", "KiB", domain=name)
            if samples := len(domain.cpu.samples):
                self.facts["samples"] = samples


@parser(
    "xentop printed no table after the first one, which has no CPU times. Run it "
    "with -i 2 or more."
)
def parse_xentop(output: str) -> list[Draft]:
    log = XentopLog()
    headers = chain(map(re.Match.span, _TABLE.finditer(output)), [(len(output), 0)])
    for (_, start), (end, _) in pairwise(headers):
        try:
            log.read(output[start:end])
        except LineError as error:
            raise error.shifted(output.count("\n", 0, start)) from None
    return [log]


XENTOP = Tool(
    slug="xentop",
    title="xentop",
    homepage="https://xenbits.xen.org/docs/unstable/man/xentop.1.html",
    metrics=(
        *summary_metrics("CPU utilization", "%", "CPU", allows_zero=True),
        *summary_metrics("memory", "KiB", "memory"),
    ),
    labels=("{domain}",),
    version=2,
    parse=parse_xentop,
    signatures=(HEADER,),
    programs=("xentop",),
    is_localized=False,
)


_FACTS = (
    "host|release|machine|nr_cpus|nr_nodes|cores_per_socket|threads_per_core|cpu_mhz"
    "|virt_caps|total_memory|free_memory|xen_major|xen_minor|xen_extra|xen_version"
    "|xen_caps|xen_scheduler|xen_commandline|cc_compiler"
)
XL_INFO_LINES = LineScanner(fact=rf"(?P<name>{_FACTS}) +: ?(?P<value>[^\n]*)$")
MEMORY = ("total_memory", "free_memory")


@parser("xl info did not report total_memory and free_memory.")
def parse_xl_info(output: str) -> list[Draft]:
    hosts: list[dict[str, MatchedLine]] = [{}]
    for line in XL_INFO_LINES(output):
        if line["name"] in hosts[-1]:
            append_limited(hosts, {})
        hosts[-1][line["name"]] = line

    runs: list[Draft] = []
    for host in hosts:
        facts = {name: line["value"].strip() for name, line in host.items()}
        numbered = ".".join(filter(None, map(facts.get, ("xen_major", "xen_minor"))))
        version = facts.get("xen_version") or numbered + facts.get("xen_extra", "")
        run = Draft(tool_version=version, facts={**facts})
        runs.append(run)
        lines = [host[name] for name in MEMORY if name in host]
        if len(lines) < len(MEMORY):
            continue
        for line in lines:
            line.reject_if_truncated("value")
            size = line["value"].strip()
            if not size.isdecimal() or len(size) > 15:
                raise line.parse_error("this is not a whole number of MiB.")
        total, free = (int(facts[name]) for name in MEMORY)
        if free > total:
            raise host["free_memory"].parse_error(
                "free memory ({free} MiB) is larger than total memory ({total} MiB).",
                total=total,
                free=free,
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
    is_localized=False,
)
