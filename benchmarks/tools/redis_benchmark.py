"""redis-benchmark and valkey-benchmark: requests to a key-value server.

Outputs are sections of text, one line per test (-q), or CSV; only sections have the
options. The length of pipelines (-P) is never printed, so name it as a parameter::

    SET: 357714.28 requests per second, p50=1.671 msec
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.tool import (
    APPLICATION_TAIL,
    Metric,
    Options,
    Parameter,
    Tool,
    always,
)

LINES = LineScanner(
    columns=r'"test","rps"(?P<columns>[^\n]*)$',
    csv=r'"(?P<csv>[A-Z][^"\n]{0,80})","(?P<cells>[\d.]+(?:","[\d.]+){0,12})"[ \t]*+$',
    section=r"====== (?P<section>[A-Z][^\n]{0,80}?) ======[ \t]*+$",
    clients=r"(?P<clients>\d+) parallel clients[ \t]*+$",
    payload=r"(?P<payload>\d+) bytes payload[ \t]*+$",
    threads=r"threads: (?P<threads>\d+)[ \t]*+$",
    summary=r"throughput summary: (?P<summary>[\d.]+) requests per second[ \t]*+$",
    plain=r"(?P<plain>\d+\.\d\d) requests per second[ \t]*+$",
    names=r"(?P<names>avg +min +p50 +p95 +p99 +max)[ \t]*+$",
    values=r"(?P<values>[\d.]+(?: +[\d.]+){5})[ \t]*+(?=\n)",
    quiet=r"(?P<quiet>[A-Z][A-Za-z0-9_]{1,30}(?: \([^)\n]{1,60}\))?): (?P<rate>[\d.]+) "
    r"requests per second(?:, p50=(?P<p50>[\d.]+) msec)?[ \t]*+$",
)
_NAME = re.compile(r"(avg|min|max|p\d+)")
SUMMARIES = {"avg": "latency mean", "min": "latency min", "max": "latency max"}
COLUMNS = ("rps", "avg", "min", "p50", "p95", "p99", "max")


@dataclass
class RedisRun(Draft):
    test: str = ""
    case: dict[str, Parameter] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    has_names: bool = False

    def read(self, line: MatchedLine) -> None:
        if line.kind == "section":
            self.test, self.case = line["section"], {}
        elif line.kind in ("clients", "threads"):
            self.case[line.kind] = line.integer(line.kind)
        elif line.kind == "payload":
            self.case["payload"] = f"{line.integer('payload')} B"
        elif line.kind == "columns":
            self.columns = _NAME.findall(line["columns"])
        elif line.kind == "names":
            self.has_names = True
        else:
            self._read_result(line)

    def _read_result(self, line: MatchedLine) -> None:
        if line.kind == "csv":
            self._read_csv(line)
        elif line.kind == "quiet":
            self.add_rate(line, "rate", line["quiet"])
            if line["p50"]:
                self.add_latency(line["quiet"], "p50", line.number("p50"))
        elif line.kind in ("summary", "plain"):
            if self.test:
                self.add_rate(line, line.kind, self.test)
        elif self.has_names and self.test:
            self.has_names = False
            cells = line["values"].split()
            for name, cell in zip(COLUMNS[1:], cells, strict=True):
                self.add_latency(self.test, name, line.parse_amount(cell))

    def add_rate(self, line: MatchedLine, group: str, test: str) -> None:
        self.add("request rate", line.number(group), "1/s", test=test, **self.case)

    def add_latency(self, test: str, name: str, value: float) -> None:
        if metric := SUMMARIES.get(name):
            self.add(metric, value, "ms", test=test, **self.case)
        else:
            case = self.case | {"percentile": int(name[1:])}
            self.add("latency percentile", value, "ms", test=test, **case)

    def _read_csv(self, line: MatchedLine) -> None:
        rate, *latencies = line["cells"].split('","')
        check_row_width(line, latencies, len(self.columns))
        test = line["csv"]
        self.add("request rate", line.parse_amount(rate), "1/s", test=test)
        for name, cell in zip(self.columns, latencies, strict=True):
            self.add_latency(test, name, line.parse_amount(cell))


def _test_of(line: MatchedLine) -> str:
    return line["section"] or line["csv"] or line["quiet"]


@parser("redis-benchmark printed no rate of requests.")
def parse(output: str) -> list[RedisRun]:
    runs = [RedisRun()]
    seen: set[str] = set()
    for line in LINES(output):
        test = _test_of(line)
        if line.kind == "columns" or test in seen:
            # The same test again begins another run.
            append_limited(runs, RedisRun())
            seen.clear()
        if test:
            seen.add(test)
        runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="redis-benchmark",
    title="redis-benchmark",
    homepage="https://redis.io/docs/latest/operate/oss_and_stack/management/"
    "optimization/benchmarks/",
    metrics=(
        Metric(
            "request rate",
            "1/s",
            "higher",
            "application",
            work_class=always("application: database"),
        ),
        Metric(
            "latency mean", "ms", "lower", "application", implied_by=("request rate",)
        ),
        Metric("latency min", "ms", "lower", "application"),
        Metric("latency max", "ms", "lower", "application"),
        Metric(
            "latency percentile",
            "ms",
            "lower",
            "application",
            work_class=APPLICATION_TAIL,
        ),
    ),
    aliases=("valkey-benchmark",),
    options=Options(
        {
            "-P": "pipeline",
            "-c": "clients",
            "-d": "payload",
            "--threads": "threads",
        },
        sizes=frozenset({"payload"}),
    ),
    labels=("{test}", "{clients} clients", "{payload}", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(
        r'"test","rps"',
        r'"[A-Z][A-Z_]+(?: \([^)"\n]*\))?","[\d.]+"',
        r"====== [A-Z][^\n]{0,80}? ======[ \t]*+$",
        r"[A-Z][A-Za-z0-9_]+(?: \([^)\n]*\))?: [\d.]+ requests per second",
        r"[A-Z][A-Za-z0-9_]+(?: \([^)\n]*\))?: rps=",
    ),
    programs=("redis-benchmark", "valkey-benchmark"),
    is_localized=False,
)
