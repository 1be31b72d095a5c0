"""stress-ng: "bogus operations" of some 300 stressors, with ``--metrics``.

Two lines above the rows name the columns. ``--yaml`` writes the same values, which are
read if there are no rows.
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Parameter, Tool, first_match, when
from benchmarks.sentences import template

_SAYS = r"stress-ng: (?:[\d:.]++ )?(?:{0}): ++(?:\[\d++\] ++)?"
_INFO = rf"(?:{_SAYS.format('info|metrc')})?"
_NAME = r"[A-Za-z][\w-]*+"
_BANDWIDTH = (
    r"(?:(?P<method>\w[\w -]{0,40}?) MB(?:/sec| per sec)"
    r"|MB per sec (?P<later_method>\w[\w -]{0,40}?)(?: rate)?)"
    r" +\((?:average|[a-z]+ mean)[^)\n]*\)"
)
LINES = LineScanner(
    hogs=rf"{_INFO}dispatching hogs: (?P<hogs>[^\n]*)$",
    head=rf"{_INFO}stressor +(?P<head>bogo ops [^\n]*)$",
    under=rf"{_INFO}(?P<under>\(secs\) [^\n]*)$",
    result=rf"{_INFO}(?P<result>un)?successful run completed",
    failed=rf"{_INFO}(?P<what>failed|metrics untrustworthy|skipped): *+(?P<count>\d+)",
    trouble=_SAYS.format("fail|error"),
    yaml=r"system-info:[ \t]*+$",
    version=r"stress-ng(?:-version:|, version) (?P<version>\d[\w.]*+)",
    stressor=rf"- stressor: (?P<stressor>{_NAME})[ \t]*+$",
    value=r"(?P<key>bogo-ops(?:-per-second-[a-z-]++)?|wall-clock-time): +"
    r"(?P<value>\S+)[ \t]*+$",
    bandwidth=rf"{_INFO}(?P<of>{_NAME}) +(?P<rate>\d\S*) +{_BANDWIDTH}",
    row=rf"(?P<prefix>{_INFO})(?P<name>{_NAME}) +(?P<cells>\S[^\n]*)$",
)
OPS, WALL, CPU = "bogo ops", "bogo op rate", "bogo op rate per CPU time"
BANDWIDTH = "bandwidth per stressor"
KEYS = {
    "bogo-ops-per-second-real-time": WALL,
    "bogo-ops-per-second-usr-sys-time": CPU,
}
COLUMNS = ("bogo ops/s", OPS, "real time", "usr time", "sys time")
_COLUMN = re.compile("|".join((*COLUMNS, "CPU used per", "RSS Max", r"\S+")))
_CELL = re.compile(r"[+-]?(?:[\d.]\S*|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_RATE = re.compile(r"\((real|usr\+sys) time\)")
_HOGS = re.compile(rf"(\d{{1,9}}) ({_NAME})")


@dataclass(slots=True)
class StressNgReport:
    is_yaml: bool = False
    run: Draft = field(default_factory=Draft)
    instances: dict[str, int] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    ops: dict[str, float] = field(default_factory=dict)
    stressor: str = ""

    def add(self, metric: str, value: float, stressor: str) -> None:
        if metric == OPS:
            self.ops[stressor] = value
        case: dict[str, Parameter] = {"stressor": stressor}
        if instances := self.instances.get(stressor):
            case["instances"] = instances
        self.run.add(metric, value, "" if metric == OPS else "1/s", **case)

    def read_row(self, line: MatchedLine) -> None:
        cells = line["cells"].split()
        # Prose may look like a row.
        if not self.columns or not all(map(_CELL.fullmatch, cells)):
            return
        known_columns = [name for name in self.columns if name != "others"]
        is_all = known_columns == self.columns
        if len(cells) < len(known_columns) or (
            is_all and len(cells) > len(known_columns)
        ):
            if line["prefix"]:
                columns = len(known_columns)
                raise line.parse_error(
                    "this row does not match its heading, which has {known} "
                    "columns or more.",
                    known=columns,
                )
            return
        # With unknown columns, -1 rejects a row at the end of the text.
        values = line.numbers("cells", decimals=2 if is_all else -1)
        if min(values) < 0:
            raise line.parse_error("this row contains a negative number.")
        row = dict(zip(known_columns, values[: len(known_columns)], strict=True))

        name = line["name"].replace("_", "-")
        if row.get("real time") == 0:
            self.run.add_warning(
                "not_run", "{name} did not run and was excluded.", name=name
            )
            return
        for metric in (OPS, WALL, CPU):
            if metric in row:
                self.add(metric, row[metric], name)
        if "real time" in row:
            self.run.facts[f"{name} real time s"] = row["real time"]

    def read_bandwidth(self, line: MatchedLine) -> None:
        case: dict[str, Parameter] = {"stressor": line["of"].replace("_", "-")}
        if instances := self.instances.get(str(case["stressor"])):
            case["instances"] = instances
        case["method"] = line["method"] or line["later_method"]
        self.run.add(BANDWIDTH, line.number("rate"), "MiB/s", **case)

    def read_yaml(self, line: MatchedLine) -> None:
        if line.kind == "stressor":
            self.stressor = line["stressor"].replace("_", "-")
        elif line.kind == "value" and self.stressor:
            if line["key"] == "bogo-ops":
                self.add(OPS, float(line.integer("value")), self.stressor)
            elif metric := KEYS.get(line["key"]):
                self.add(metric, line.number("value", decimals=6), self.stressor)

    def read_text(self, line: MatchedLine) -> None:
        if line.kind == "hogs":
            hogs = _HOGS.findall(line["hogs"])
            self.instances = {
                name.replace("_", "-"): int(count) for count, name in hogs
            }
        elif line.kind == "head":
            self.columns = _columns(line["head"], ("real", "usr+sys"))
        elif line.kind == "under" and self.columns:
            if len(order := tuple(_RATE.findall(line["under"]))) == 2:
                self.columns = _columns(" ".join(self.columns), order)
        elif line.kind == "row":
            self.read_row(line)
        elif line.kind == "bandwidth":
            self.read_bandwidth(line)
        elif line.kind == "failed":
            if line.integer("count"):
                _warn_printed(line, self.run)
        elif line.kind == "trouble" or line["result"]:
            _warn_printed(line, self.run)


@parser('stress-ng printed no metrics. Run it with "--metrics".')
def parse(output: str) -> list[Draft]:
    reports = [StressNgReport()]
    for line in LINES(output):
        report = reports[-1]
        if line.kind in {"yaml", "stressor", "value"}:
            if line.kind == "yaml" or not report.is_yaml:
                append_limited(reports, StressNgReport(is_yaml=True))
            reports[-1].read_yaml(line)
        elif line.kind == "version":
            report.run.tool_version = line["version"]
        else:
            is_begun = report.is_yaml or report.run
            if line.kind == "hogs" or (line.kind == "head" and is_begun):
                # The line with the instances precedes the heading.
                instances = report.instances if line.kind == "head" else {}
                append_limited(reports, StressNgReport(instances=instances))
            reports[-1].read_text(line)

    runs: list[Draft] = []
    table: StressNgReport | None = None
    for report, following in zip(
        reports, [*reports[1:], StressNgReport()], strict=True
    ):
        repeated: StressNgReport | None = None
        # YAML that repeats the table next to it is not a run of its own.
        if report.is_yaml and table and report.ops.items() <= table.ops.items():
            repeated = table
        elif report.is_yaml and report.ops == following.ops:
            repeated = following
        if repeated:
            repeated.run.tool_version = report.run.tool_version
        else:
            runs.append(report.run)
        table = None if report.is_yaml else report
    return runs


def _warn_printed(line: MatchedLine, run: Draft) -> None:
    is_doubt = line["what"] in {"metrics untrustworthy", "skipped"}
    add, code = run.add_failure, "failed"
    if is_doubt:
        add, code = run.add_warning, "doubtful"
    add(code, template('stress-ng printed "{text}".'), text=line.text.strip())


def _columns(head: str, order: tuple[str, ...]) -> list[str]:
    rates = iter([WALL if clock == "real" else CPU for clock in order])
    # ``head`` may contain names that this function returned.
    head = head.replace(CPU, "bogo ops/s").replace(WALL, "bogo ops/s")
    names: list[str] = []
    for name in _COLUMN.findall(head):
        if name not in COLUMNS:
            return [*names, "others"]
        names.append(next(rates, "others") if name == "bogo ops/s" else name)
    return names


STRESSOR_WORK = first_match(
    when("CPU: floating point", stressor="matrix|matrix-3d|fp|trig"),
    when("CPU: integer", stressor="prime|hash|crc16|bitops|factor"),
    when("memory: copy", stressor="memcpy|stream|memmove"),
    when("memory: read", stressor="memrate-read"),
    when("memory: latency", stressor="mcontend|randlist"),
    when("system: process creation", stressor="fork|vfork|clone|exec"),
    when("system: system call", stressor="get|getrandom|syscall|sysinfo"),
    when("system: context switch", stressor="switch|context|yield|pipe"),
)
BANDWIDTH_WORK = first_match(
    when("memory: read", stressor="memrate", method="read.*"),
    when("memory: write", stressor="memrate", method="write.*"),
)
TOOL = Tool(
    slug="stress-ng",
    title="stress-ng",
    homepage="https://github.com/ColinIanKing/stress-ng",
    metrics=(
        Metric(OPS, "", "neither", "CPU", allows_zero=True),
        Metric(WALL, "1/s", "higher", "CPU", work_class=STRESSOR_WORK),
        # Per second of CPU time, as counted by the guest.
        Metric(CPU, "1/s", "higher", "CPU", kind="cost"),
        # MB are 2^20 B.
        Metric(BANDWIDTH, "MB/s", "higher", "memory", work_class=BANDWIDTH_WORK),
    ),
    labels=("{stressor}", "{method}", "{instances} instances"),
    version=4,
    parse=parse,
    signatures=(
        r"stress-ng: (?:[\d:.]++ )?[a-z]+: ",
        r"stress-ng-version: ",
        r"- stressor: ",
        r"stressor +bogo ops ",
    ),
    programs=("stress-ng",),
    is_localized=False,
)
