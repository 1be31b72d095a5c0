"""Geekbench 4 to 6: scores of the text that the command line prints.

Only the scores of sections and workloads are read; the rates next to them follow from
the scores. Scores of different major versions are not comparable::

    AES-XTS                        1091              1.86 GB/sec
"""

from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool

LINES = LineScanner(
    version=r"Geekbench (?P<version>\d+\.[\d.]+)(?P<edition>[^:\n]*):",
    system=r"(?:System|Processor|Memory) Information[ \t]*+$",
    section=r"(?P<section>Single-Core|Multi-Core|Compute|Summary|Benchmark Summary)"
    r"(?: Performance)?[ \t]*+$",
    summary=r"(?P<part>Single-Core|Multi-Core) Score +(?P<score>\d{1,7})[ \t]*+(?=\n)",
    group=r"(?P<group>Crypto|Integer|Floating Point|Memory) Score +"
    r"(?P<group_score>\d{1,7})[ \t]*+(?=\n)",
    row=r"(?P<test>[A-Z0-9][\w()/.,+-]{0,30}(?: [\w()/.,+-]{1,30}){0,5}) {2,}"
    r"(?P<value>\d{1,7}) {2,}[\d.]+ [A-Za-z/]{1,20}[ \t]*+$",
)


@dataclass
class GeekbenchRun(Draft):
    section: str = ""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "system":
            self.section = ""
        elif line.kind == "section":
            name = line["section"].lower()
            self.section = name if name.endswith("core") else ""
        elif line.kind == "summary":
            part = line["part"].lower()
            self.add("score", line.integer("score"), "", section=part)
        elif self.section and line.kind == "group":
            score = line.integer("group_score")
            self._add_part(line["group"].lower(), score)
        elif self.section and line.kind == "row":
            self._add_part(line["test"], line.integer("value"))

    def _add_part(self, test: str, score: int) -> None:
        self.add("workload score", score, "", section=self.section, test=test)


@parser("Geekbench printed no score.")
def parse(output: str) -> list[GeekbenchRun]:
    runs = [GeekbenchRun()]
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
            run = GeekbenchRun(tool_version=version)
            run.parameters["major version"] = int(version.partition(".")[0])
            append_limited(runs, run)
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="geekbench",
    title="Geekbench",
    homepage="https://www.geekbench.com/",
    metrics=(
        Metric("score", "", "higher", "CPU", work_class=NO_WORK_CLASS),
        Metric("workload score", "", "higher", "CPU"),
    ),
    labels=("Geekbench {major version}", "{section}", "{test}"),
    version=1,
    parse=parse,
    signatures=(r"Geekbench \d+\.[\d.]+[^:\n]*:", r"(?:Single|Multi)-Core Score +\d"),
    programs=("geekbench4", "geekbench5", "geekbench6", "geekbench_x86_64"),
    is_localized=False,
)
