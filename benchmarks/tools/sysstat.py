"""sysstat: how busy a machine was, printed by sar, mpstat and iostat, also as JSON.

Metrics of CPU, disks and network interfaces are the mean, minimum and maximum of all
intervals; rows of averages are not used. The first report of iostat counts since
the start of the machine and is excluded (also that of ``iostat -y``, which is not
distinguishable). kB are 1024 B; sectors of sar have 512 B::

    10:26:16        all     42.65     47.55      9.80      0.00      0.00      0.00
"""

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineError,
    append_limited,
    json_documents,
    json_number,
    json_rows,
    json_section,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    TRUNCATED_ROW,
    SampleSummary,
    summary_metrics,
)
from benchmarks.parsing.tool import Better, Component, Metric, Tool
from benchmarks.sentences import Sentence

CPU = {
    "user": "user",
    "usr": "user",
    "nice": "nice",
    "system": "system",
    "sys": "system",
    "iowait": "I/O wait",
    "irq": "interrupts",
    "soft": "soft interrupts",
    "steal": "steal",
    "idle": "idle",
}
SECTOR = 0.5
# Columns of devices: metric, unit and factor.
COLUMNS = {
    "r/s": ("disk reads", "1/s", 1.0),
    "w/s": ("disk writes", "1/s", 1.0),
    "rtps": ("disk reads", "1/s", 1.0),
    "wtps": ("disk writes", "1/s", 1.0),
    "rkB/s": ("disk read rate", "KiB/s", 1.0),
    "wkB/s": ("disk write rate", "KiB/s", 1.0),
    "kB_read/s": ("disk read rate", "KiB/s", 1.0),
    "kB_wrtn/s": ("disk write rate", "KiB/s", 1.0),
    "rMB/s": ("disk read rate", "KiB/s", 1024.0),
    "wMB/s": ("disk write rate", "KiB/s", 1024.0),
    "bread/s": ("disk read rate", "KiB/s", SECTOR),
    "bwrtn/s": ("disk write rate", "KiB/s", SECTOR),
    "r_await": ("disk read wait", "ms", 1.0),
    "w_await": ("disk write wait", "ms", 1.0),
    "%util": ("disk utilization", "%", 1.0),
    "util": ("disk utilization", "%", 1.0),
    "rxkB/s": ("network receive rate", "KiB/s", 1.0),
    "txkB/s": ("network send rate", "KiB/s", 1.0),
    "rxkB": ("network receive rate", "KiB/s", 1.0),
    "txkB": ("network send rate", "KiB/s", 1.0),
}
NAMES = {
    "CPU": "CPU",
    "Device": "device",
    "Device:": "device",
    "DEV": "device",
    "IFACE": "interface",
}
IOSTAT_TITLES = ("avg-cpu:", "Device", "Device:")
_HEADER = re.compile(r"Linux \S+ \((?P<host>[^)\n]*)\)[ \t]+\S+[ \t]+_\w+_", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)?|Average:", re.ASCII)
_VALUE = re.compile(r"\d{1,15}(?:\.\d{1,6})?", re.ASCII)
_NOT_READ = Sentence("Other tables than those of CPU, disk and network are not read.")


@dataclass
class SysstatLog(Draft):
    summaries: dict[tuple[str, str, str, str], SampleSummary] = field(
        default_factory=dict
    )
    columns: list[str] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    since_start: bool = False
    is_iostat: bool = False

    def begin_table(self, columns: list[str]) -> None:
        self.columns = columns
        first = columns[0]
        if first in IOSTAT_TITLES:
            self.is_iostat = True
            self.since_start = first not in self.tables
            self.tables.add(first)
        else:
            self.since_start = False

    def read_row(self, cells: list[str], number: int, text: str) -> None:
        columns = self.columns
        if columns[0] == "avg-cpu:":
            columns, instance, name = columns[1:], "all", "CPU"
        elif columns[0] in NAMES:
            name = NAMES[columns[0]]
            instance, cells, columns = cells[0], cells[1:], columns[1:]
        else:
            name = instance = ""
        if len(cells) != len(columns):
            raise LineError(
                number, text, Sentence("this row has other columns than its header.")
            )
        for column, cell in zip(columns, cells, strict=True):
            if not (known := _known(name, instance, column)):
                continue
            if not _VALUE.fullmatch(cell):
                _refuse(number, text, cell)
            if not self.since_start:
                self.add_sample(name, instance, known, float(cell))

    def add_sample(
        self, name: str, instance: str, known: tuple[str, str, float], value: float
    ) -> None:
        metric, unit, factor = known
        key = (metric, unit, name, instance)
        self.summaries.setdefault(key, SampleSummary()).append(value * factor)

    def close(self) -> None:
        for (metric, unit, name, instance), summary in self.summaries.items():
            case = {name: instance} if name and name != "CPU" else {}
            summary.add_to(self, metric, unit, **case)
        if self.is_iostat and not self.summaries:
            raise ParseError(
                "The only report of iostat counts since the start of the machine. "
                "Give iostat an interval and a count."
            )


def _refuse(number: int, text: str, cell: str) -> NoReturn:
    hint = Sentence('"{text}" is not a number that can be measured.', text=cell[:40])
    raise LineError(number, text, hint)


def _known(name: str, instance: str, column: str) -> tuple[str, str, float] | None:
    if name == "CPU":
        kind = CPU.get(column.lstrip("%"))
        return (f"CPU {kind}", "%", 1.0) if kind and instance == "all" else None
    return COLUMNS.get(column)


def _is_header(cells: list[str]) -> bool:
    return not any(cell[0].isdigit() for cell in cells)


def _read_text(output: str) -> list[SysstatLog]:
    logs: list[SysstatLog] = []
    end = len(output) if output.endswith("\n") else output.rfind("\n") + 1
    for number, text in enumerate(output[:end].split("\n"), 1):
        if not text or text.isspace():
            if logs and not logs[-1].is_iostat:
                logs[-1].columns = []
            continue
        if header := _HEADER.match(text.lstrip()):
            append_limited(logs, SysstatLog(facts={"host": header["host"]}))
            continue
        if not logs:
            append_limited(logs, SysstatLog())
        logs[-1].read_line(_read_line, logs[-1], number, text)
    if logs and end < len(output) and logs[-1].columns:
        logs[-1].add_warning("cut", TRUNCATED_ROW)
    return logs


def _read_line(log: SysstatLog, number: int, text: str) -> None:
    line = text.strip()
    time = _TIME.match(line)
    cells = line[time.end() :].split() if time else line.split()
    if not cells:
        return
    is_table = cells[0] in IOSTAT_TITLES or (
        time and _is_header(cells) and len(cells) > 2
    )
    if is_table:
        log.begin_table(cells)
        if time and not _is_read(cells):
            log.add_warning("not_read", _NOT_READ)
            log.columns = []
    elif log.columns and not (time and time[0] == "Average:"):
        # A line of words is not part of the table.
        has_numbers = any(cell[0].isdigit() for cell in cells[1:])
        if has_numbers and bool(time) != log.is_iostat:
            log.read_row(cells, number, text)


def _is_read(columns: list[str]) -> bool:
    return columns[0] == "CPU" or any(column in COLUMNS for column in columns)


def _read_json(output: str) -> list[SysstatLog]:
    logs: list[SysstatLog] = []
    for document in json_documents(output, r'\{"sysstat"'):
        for host in json_rows(document["sysstat"], "hosts"):
            log = SysstatLog(facts={"host": str(host.get("nodename", ""))})
            append_limited(logs, log)
            log.read_line(_read_reports, log, host)
    return logs


def _read_reports(log: SysstatLog, host: dict[str, Any]) -> None:
    for index, report in enumerate(json_rows(host, "statistics")):
        log.is_iostat = log.is_iostat or "avg-cpu" in report or "disk" in report
        if log.is_iostat and index == 0:
            continue
        tables = (
            ("CPU", "cpu", [{"cpu": "all", **json_section(report, "avg-cpu")}]),
            ("CPU", "cpu", json_rows(report, "cpu-load")),
            ("CPU", "cpu", json_rows(report, "cpu-load-all")),
            ("device", "disk_device", json_rows(report, "disk")),
            ("interface", "iface", json_rows(report.get("network"), "net-dev")),
        )
        for name, key, rows in tables:
            for row in rows:
                _read_json_row(log, name, str(row.get(key)), row)


def _read_json_row(
    log: SysstatLog, name: str, instance: str, row: dict[str, Any]
) -> None:
    for column, value in row.items():
        if known := _known(name, instance, column):
            log.add_sample(name, instance, known, json_number(value, column))


@parser("No interval of sar, mpstat or iostat was found.")
def parse(output: str) -> list[SysstatLog]:
    if re.search(r'^[ \t]*+\{"sysstat"', output, re.MULTILINE):
        return _read_json(output)
    return _read_text(output)


def _summary(name: str, unit: str, component: Component) -> tuple[Metric, ...]:
    better: Better = "higher" if unit.endswith("/s") else "lower"
    return summary_metrics(name, unit, component, better, allows_zero=True)


TOOL = Tool(
    slug="sysstat",
    title="sysstat (sar, mpstat, iostat)",
    homepage="https://github.com/sysstat/sysstat",
    metrics=(
        *(
            metric
            for kind in dict.fromkeys(CPU.values())
            for metric in _summary(f"CPU {kind}", "%", "CPU")
        ),
        *_summary("disk reads", "1/s", "disk"),
        *_summary("disk writes", "1/s", "disk"),
        *_summary("disk read rate", "KiB/s", "disk"),
        *_summary("disk write rate", "KiB/s", "disk"),
        *_summary("disk read wait", "ms", "disk"),
        *_summary("disk write wait", "ms", "disk"),
        *_summary("disk utilization", "%", "disk"),
        *_summary("network receive rate", "KiB/s", "network"),
        *_summary("network send rate", "KiB/s", "network"),
    ),
    aliases=("sysstat", "sar", "mpstat", "iostat", "sadf"),
    labels=("{device}", "{interface}"),
    version=1,
    parse=parse,
    signatures=(
        r"Linux \S+ \([^)\n]*\)[ \t]++\S+[ \t]++_\w+_",
        r"(?:\d\d:\d\d:\d\d(?: [AP]M)?|Average:) ++CPU ++%us",
        r"avg-cpu: ++%user",
        r'\{"sysstat"',
    ),
    programs=("sar", "mpstat", "iostat", "sadf"),
)
