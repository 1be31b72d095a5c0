"""The text of fio, version 1 to 3."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.fio.options import case_of, mark_errors, mark_short

_TIME: Final = r"(?P<{0}>[^\s,]+)"
LINES: Final = Scanner(
    version=r"fio-(?P<version>[\w.-]+)[ \t]*+$",
    old=r"(?P<old_way>read|write|trim|mixed) *: io=\S+, bw=(?P<old_rate>[\d.]+)"
    r"(?P<old_unit>[KMGT]?i?B)/s, iops=(?P<old_iops>[\d.]+)(?P<old_many>[kKmM]?), "
    r"runt= *(?P<old_time>\d+)msec",
    new=r"(?P<way>read|write|trim|mixed): IOPS=(?P<iops>[\d.]+)(?P<many>[kMG]?), "
    r"BW=(?P<rate>[\d.]+)(?P<unit>[kKMGT]?i?(?:B|bit))/s "
    r"\((?P<same_rate>[\d.]+)(?P<same_unit>[kKMGT]?i?(?:B|bit))/s\)"
    r"\([^)\n/]*/(?P<time>\d+)(?P<time_unit>m?sec)\)",
    # A way without a rate: what stands below it belongs to no other.
    unread=r"(?:read|write|trim|mixed) *: ",
    latency=r"(?P<which>clat|lat) \((?P<latency_unit>[num]sec)\) *: min= *"
    rf"{_TIME.format('min')} *, max= *{_TIME.format('max')} *, avg= *"
    rf"{_TIME.format('mean')} *, stdev=",
    ranks=r"(?P<of>\w+) percentiles \((?P<ranks_unit>[num]sec)\)",
    percentiles=r"\| +(?P<percentiles>[\d.]+th=\[ *\d+\][^\n]*)",
    cpu=r"cpu +: usr=(?P<user>[^%\s]+)%, sys=(?P<system>[^%\s]+)%",
    trouble=r"(?P<trouble>fio: [^\n]*(?:err|fail|No such|denied)[^\n]*)",
    errors=r"errors +: total= *(?P<errors>\d+), first_error= *(?P<first>[^\n]*)$",
    # A colon belongs to the name, unless a blank or a part of a time follows.
    named=r"(?P<name>[^\n:]{1,200}+(?::(?! |\d\d)[^\n:]{0,200}+){0,99}): (?:"
    r"(?P<head>\(g(?:roup)?=\d+\)): rw=(?P<rw>\w+), bs=(?P<bs>[^\n]*?), "
    r"ioengine=(?P<engine>[\w:./-]+), iodepth=(?P<depth>\d+)"
    r"|(?P<created>Laying out IO files?)"
    r"|\(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= *(?P<error>\d+)"
    r"(?:[^\n]{0,300}?: pid=(?P<pid>\d+):)?)",
)
_MANY: Final = {"": 1, "k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "G": 10**9}
_WAY: Final = re.compile(r"\([RWT]\) ")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[ *(\d+)\]", re.ASCII)
_TIMES: Final = {"nsec": "ns", "usec": "us", "msec": "ms"}
_RANKS: Final = {
    "50.00": "p50",
    "90.00": "p90",
    "95.00": "p95",
    "99.00": "p99",
    "99.90": "p99.9",
}


@dataclass
class Log:
    """What was read so far: the run, its jobs, their options, where it stands.

    ``--status-interval`` prints a job again and again while it runs, with the same
    process: what it says last is its result.
    """

    whole: Draft = field(default_factory=Draft)
    results: dict[object, Draft] = field(default_factory=dict)
    run: Draft = field(default_factory=Draft)
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    job: str = ""
    jobs: str = "1"
    case: dict[str, Parameter] | None = None
    unit: str = "us"

    def begin(self, line: Found) -> None:
        """The result of a job, or a later one of the same."""
        process = (line["name"], line["group"], line["pid"] or len(self.results))
        self.run = self.results[process] = Draft()

    def finished(self) -> Draft:
        """The run: the last result of each job."""
        for result in map(Draft.finished, self.results.values()):
            for each in result.readings:
                self.whole.add(each.metric, each.value, each.unit, **each.parameters)
            for doubt in result.warnings:
                self.whole.mark(doubt.code, doubt.sentence)
        return self.whole


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of fio."""
    logs = [Log()]
    for line in LINES(output):
        if line.kind == "named" and line["head"] and logs[-1].results:
            keep(logs, Log(whole=Draft(tool_version=logs[-1].whole.tool_version)))
        _take(line, logs[-1])
    return finished(
        [log.finished() for log in logs], Sentence("fio printed no result of a job.")
    )


def _take(line: Found, log: Log) -> None:
    if line.kind == "named":
        # A line that a job's name begins: its options, its file or its result.
        name = line["name"]
        if line["head"]:
            log.options[name] = {
                "rw": line["rw"],
                "bs": _WAY.sub("", line["bs"]),
                "ioengine": line["engine"],
                "iodepth": line["depth"],
            }
        elif line["created"]:
            log.whole.mark(
                "file_created",
                Sentence("fio wrote the file itself before it measured."),
            )
        else:
            log.begin(line)
            failed = line["error"] != "0"
            log.job, log.jobs, log.case = "" if failed else name, line["jobs"], None
            if failed:
                log.run.mark(
                    "failed",
                    Sentence(
                        "{name} ended with error {error}.",
                        name=name,
                        error=line["error"],
                    ),
                )
    elif line.kind == "version":
        log.whole.tool_version = line["version"]
    elif line.kind == "trouble":
        said = line["trouble"].strip()[:200]
        log.whole.mark("failed", Sentence("{said}", said=said))
    elif log.job:
        _take_result(line, log)


def _take_result(line: Found, log: Log) -> None:
    if line.kind in {"old", "new"}:
        log.case = _case(line, log)
        _read_rates(line, log.run, log.case)
    elif line.kind == "unread":
        log.case = None
    elif line.kind == "ranks":
        log.unit = _TIMES[line["ranks_unit"]] if line["of"] == "clat" else ""
    elif line.kind == "errors":
        mark_errors(log.run, log.job, int(line["errors"][:18]))
    elif line.kind == "cpu" and log.run:
        log.run.add("CPU user", line.number("user"), "%", job=log.job)
        log.run.add("CPU system", line.number("system"), "%", job=log.job)
        log.case = None
    elif log.case is not None:
        _read_times(line, log.run, log.case, log.unit)


def _case(line: Found, log: Log) -> dict[str, Parameter]:
    operation = line["way"] or line["old_way"]
    options = {**log.options.get(log.job, {}), "numjobs": log.jobs}
    return {"job": log.job, **case_of(options, operation)}


def _read_rates(line: Found, run: Draft, case: dict[str, Parameter]) -> None:
    old = "old_" if line.kind == "old" else ""
    unit, rate = line[f"{old}unit"], line.number(f"{old}rate")
    if old and unit != "B" and "i" not in unit:
        unit = unit.replace("B", "iB")
    if unit.endswith("ibit"):
        unit, rate = line["same_unit"], line.number("same_rate")
    run.add("throughput", rate, f"{unit}/s", **case)
    iops = line.number(f"{old}iops") * _MANY[line[f"{old}many"]]
    run.add("IOPS", iops, "1/s", **case)
    divisor = 1 if line["time_unit"] == "sec" else 1000
    mark_short(run, str(case["job"]), line.number(f"{old}time") / divisor)


def _read_times(line: Found, run: Draft, case: dict[str, Parameter], unit: str) -> None:
    if line.kind == "percentiles":
        for rank, time in _PERCENTILE.findall(line["percentiles"]):
            if unit and (name := _RANKS.get(rank)):
                run.add(f"completion latency {name}", float(time), unit, **case)
        return
    unit = _TIMES[line["latency_unit"]]
    if line["which"] == "clat":
        run.add("completion latency mean", _time(line, "mean"), unit, **case)
        return
    for which in ("min", "max", "mean"):
        run.add(f"latency {which}", _time(line, which), unit, **case)


def _time(line: Found, group: str) -> float:
    """``1616``, ``16.2k``: thousands, whatever the case of the letter."""
    text = line[group]
    many = _MANY.get(text[-1:], 1) if text[-1:].isalpha() else 1
    return line.number_of(text[:-1] if text[-1:].isalpha() else text) * many
