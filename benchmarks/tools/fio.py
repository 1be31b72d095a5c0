"""fio: reads and writes of any pattern, to files and disks.

The most exact of three formats is read:

- JSON: ``bw_bytes`` is in B/s, ``bw`` in KiB/s; times are in ns, before fio 3.0 in us.
- Terse (``--minimal``, versions 3 to 5): a line per job. Reads, writes and trims have
  KiB, KiB/s, IOPS, ms, 8 latencies in us, 20 percentiles (``95.000000%=203``), 4 total
  latencies, and a varying number of further fields.
- Text: fio 2 wrote KB, MB and GB for powers of 1024.

A job whose ``error`` is not 0 has no result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    Pairs,
    append_limited,
    finish_drafts,
    json_documents,
    json_number,
    json_section,
    unique_keys,
)
from benchmarks.parsing.tool import (
    DISK,
    DISK_TAIL,
    Metric,
    Options,
    Parameter,
    ParsedRun,
    RateOption,
    Tool,
    cost_metric,
    metrics,
)

FIO_OPERATIONS: Final = ("read", "write", "trim", "mixed")
# JSON and the terse form append four zeros.
PERCENTILE_NAMES: Final = {
    "50.00": "p50",
    "90.00": "p90",
    "95.00": "p95",
    "99.00": "p99",
    "99.50": "p99.5",
    "99.90": "p99.9",
    "99.95": "p99.95",
    "99.99": "p99.99",
}

MIN_RUNTIME_S: Final = 1.0
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:([kmgtKMGT])(?:i?[bB])?|[bB])?")
_BLOCKS: Final = ("bs", "blocksize", "bsrange", "blocksize_range")
_NUMBERS: Final = {"numjobs": "jobs", "of jobs": "of jobs"}
_OTHER_OPTIONS: Final = (
    *("rwmixread", "rwmixwrite", "rate", "rate_iops", "fsync", "fdatasync", "sync"),
    *("buffered", "zonemode", "verify"),
)
_FLAGS: Final = {"1": True, "0": False}

_REPORT: Final = r"\{\s*\"fio version\""
# The sum of several machines, whose jobs are listed as well.
_ALL_CLIENTS: Final = "All clients"
_UNNEEDED: Final = {"bins", "FIO_BINS", "iodepth_submit"}
# Shares of requests by the number of requests in flight.
_LEVELS: Final = {
    "1": "1",
    "2": "2-3",
    "4": "4-7",
    "8": "8-15",
    "16": "16-31",
    "32": "32-63",
    ">=64": ">=64",
}
_MIN_LEVEL_SHARE: Final = 90.0
_OPTION: Final = re.compile(
    r"""(?:^| )--([a-z]\w*)(?:[= ]("[^"]*"|'[^']*'|[^\s-]\S*))?""", re.ASCII
)

TERSE: Final = LineScanner(
    job=r"[345];fio-(?P<version>[^;\n]+);(?P<name>[^;\n]*);\d+;(?P<error>-?\d+);"
    r"(?P<rest>[^\n]+)$"
)
_BEFORE_PERCENTILES: Final = 12
_PERCENTILES: Final = 20

_TIME: Final = r"(?P<{0}>[^\s,]+)"
LINES: Final = LineScanner(
    version=r"fio-(?P<version>[\w.-]+)[ \t]*+$",
    old=r"(?P<old_operation>read|write|trim|mixed) *: io=\S+, bw=(?P<old_rate>[\d.]+)"
    r"(?P<old_unit>[KMGT]?i?B)/s, iops=(?P<old_iops>[\d.]+)(?P<old_many>[kKmM]?), "
    r"runt= *(?P<old_time>\d+)msec",
    new=r"(?P<operation>read|write|trim|mixed): IOPS=(?P<iops>[\d.]+)(?P<many>[kMG]?), "
    r"BW=(?P<rate>[\d.]+)(?P<unit>[kKMGT]?i?(?:B|bit))/s "
    r"\((?P<same_rate>[\d.]+)(?P<same_unit>[kKMGT]?i?(?:B|bit))/s\)"
    r"\([^)\n/]*/(?P<time>\d+)(?P<time_unit>m?sec)\)",
    # A direction without a rate, so that the lines below it are not read.
    unread=r"(?:read|write|trim|mixed) *: ",
    latency=r"(?P<which>clat|lat) \((?P<latency_unit>[num]sec)\) *: min= *"
    rf"{_TIME.format('min')} *, max= *{_TIME.format('max')} *, avg= *"
    rf"{_TIME.format('mean')} *, stdev=",
    ranks=r"(?P<of>\w+) percentiles \((?P<ranks_unit>[num]sec)\)",
    percentiles=r"\| +(?P<percentiles>[\d.]+th=\[ *\d+\][^\n]*)",
    cpu=r"cpu +: usr=(?P<user>[^%\s]+)%, sys=(?P<system>[^%\s]+)%",
    trouble=r"(?P<trouble>fio: [^\n]*(?:err|fail|No such|denied)[^\n]*)",
    levels=r"IO depths +: (?P<levels>1=[^\n]*)$",
    target=r"latency +: target=0, window=0, [^\n]*?\bdepth=(?P<target_depth>\d+)",
    errors=r"errors +: total= *(?P<errors>\d+), first_error= *(?P<first>[^\n]*)$",
    # A colon belongs to the name, unless a blank or a part of a time follows.
    named=r"(?P<name>[^\n:]{1,200}+(?::(?! |\d\d)[^\n:]{0,200}+){0,99}): (?:"
    r"(?P<head>\(g(?:roup)?=\d+\)): rw=(?P<rw>\w+), bs=(?P<bs>[^\n]*?), "
    r"ioengine=(?P<engine>[\w:./-]+), iodepth=(?P<depth>\d+)"
    r"|(?P<created>Laying out IO files?)"
    r"|\(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= *(?P<error>\d+)"
    r"(?:[^\n]{0,300}?: pid=(?P<pid>\d+):)?)",
    command=r"(?:\[[^\]\n]{0,80}\][$#] ?|[^\s$#%>]{0,80}[$#%>] ?)?(?:sudo |time ){0,2}"
    r"(?:[\w.-]{0,40}/){0,9}fio(?P<command>(?: [^\n]*)? -[^\n]*)$",
)
_MANY: Final = {"": 1, "k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "G": 10**9}
_DIRECTION: Final = re.compile(r"\([RWT]\) ")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[ *(\d+)\]", re.ASCII)
_TIMES: Final = {"nsec": "ns", "usec": "us", "msec": "ms"}


def parse(output: str) -> tuple[ParsedRun, ...]:
    if reported := [report.run() for report in _final_reports(output)]:
        return finish_drafts(reported, "The fio report contains no reads or writes.")
    terse: list[MatchedLine] = []
    run = Draft()
    for line in TERSE(output):
        append_limited(terse, line)
        run.tool_version = line["version"]
        if line["error"] != "0":
            _warn_failed(run, line["name"], line["error"])
        else:
            _read_terse(line, run)
    if terse:
        return finish_drafts([run], "The fio output contains no reads or writes.")
    logs = [FioLog()]
    for line in LINES(output):
        if line.kind == "named" and line["head"] and logs[-1].results:
            append_limited(
                logs, FioLog(draft=Draft(tool_version=logs[-1].draft.tool_version))
            )
        logs[-1].read(line)
    drafts = [log.finish() for log in logs]
    return finish_drafts(drafts, "fio printed no job result.")


def _case_of(options: Mapping[str, str], operation: str) -> dict[str, Parameter]:
    case: dict[str, Parameter] = {"operation": operation}
    if pattern := options.get("rw") or options.get("readwrite"):
        case["access"] = "random" if pattern.startswith("rand") else "sequential"
    sizes = next(filter(None, map(options.get, _BLOCKS)), "")
    if shares := options.get("bssplit"):  # sizes and their shares: 4k/60:64k/40
        case["block"] = shares
    elif sizes and (block := _block_size(sizes, operation)):
        case["block"] = block
    if engine := options.get("ioengine"):
        case["engine"] = engine
    if depth := options.get("iodepth"):
        case["iodepth"] = int(depth[:9]) if depth.isdecimal() else depth[:20]
    for option, name in _NUMBERS.items():
        if (jobs := options.get(option, "1")) != "1" and jobs.isdecimal():
            case[name] = int(jobs[:9])
    if (direct := _FLAGS.get(options.get("direct", ""))) is not None:
        case["direct"] = direct
    return case | {name: options[name] for name in _OTHER_OPTIONS if options.get(name)}


def _block_size(text: str, operation: str) -> str:
    parts = re.split(r"[,/]", text.strip())
    index = {"read": 0, "write": 1, "trim": 2, "mixed": 0}[operation]
    size_text = (parts[index] if index < len(parts) else "").strip() or parts[
        -1
    ].strip()
    low, _, high = size_text.partition("-")
    size = _SIZE.fullmatch(low)
    if not size or high not in ("", low):
        return size_text
    return f"{size[1]} {size[2].upper()}iB" if size[2] else f"{size[1]} B"


def _depth_from_levels(shares: Mapping[str, float]) -> str:
    """Return the depth that nearly all requests had, or a range; "" if unknown."""
    level = max(shares, key=lambda name: shares[name], default="")
    return _LEVELS.get(level, "") if shares[level] >= _MIN_LEVEL_SHARE else ""


def _command_options(command: str) -> dict[str, dict[str, str]]:
    """Return the options of each job of a command line.

    Options of a job file are unknown, so the result is empty if there is one.
    """
    if re.search(r"\.(?:fio|job|ini|cfg)\b", command):
        return {}
    common: dict[str, str] = {"iodepth": "1"}
    jobs: dict[str, dict[str, str]] = {}
    options = common
    for name, value in _OPTION.findall(command):
        if name == "name":
            options = jobs.setdefault(value.strip("'\""), {**common})
        options[name] = value or "1"
    return jobs


def _warn_failed(run: Draft, job: str, error: Parameter) -> None:
    run.add_failure("failed", "{name} ended with error {error}.", name=job, error=error)


def _warn_short(run: Draft, job: str, runtime_s: float) -> None:
    if 0 < runtime_s < MIN_RUNTIME_S:
        run.add_warning(
            "short",
            "{job} ran {seconds:g} s, which is too short to be reliable.",
            job=job,
            seconds=runtime_s,
        )


def _warn_errors(run: Draft, job: str, errors: float) -> None:
    # With ``continue_on_error`` fio counts errors and ends without one.
    if errors:
        run.add_warning(
            "errors",
            "{job} continued despite errors ({errors:g}).",
            job=job,
            errors=errors,
        )


@dataclass(frozen=True, slots=True)
class FioReport:
    document: Mapping[str, Any]

    @property
    def jobs(self) -> list[dict[str, Any]]:
        jobs = self.document.get("jobs", self.document.get("client_stats", []))
        if not isinstance(jobs, list):
            raise ParseError("The jobs of this fio report are not a list.")
        return [job for job in jobs if isinstance(job, dict)]

    @property
    def runtime_ms(self) -> float:
        """The total runtime of the groups of jobs, which run in sequence."""
        runtimes: dict[object, float] = {}
        for job in self.jobs:
            runtimes_ms = (
                json_section(job, operation).get("runtime", 0)
                for operation in FIO_OPERATIONS
            )
            longest = max(json_number(runtime, "runtime") for runtime in runtimes_ms)
            group = job.get("groupid")
            runtimes[group] = max(longest, runtimes.get(group, 0))
        return sum(runtimes.values())

    def is_continued_by(self, later: FioReport) -> bool:
        names, names_later = (
            [job.get("jobname") for job in report.jobs] for report in (self, later)
        )
        if not names or names != names_later:
            return False
        moment, moment_later = (
            json_number(report.document.get("timestamp_ms", 0), "timestamp_ms")
            for report in (self, later)
        )
        ran, ran_later = self.runtime_ms, later.runtime_ms
        # The computed starts differ by the time for printing.
        difference = abs((moment_later - ran_later) - (moment - ran))
        return moment > 0 and ran_later > ran and difference < min(500.0, ran / 2)

    def run(self) -> Draft:
        version = str(self.document.get("fio version", "")).removeprefix("fio-")
        run = Draft(tool_version=version[:40])
        common = json_section(self.document, "global options")
        hosts = {str(job["hostname"]) for job in self.jobs if "hostname" in job}
        targets: dict[str, None] = {}
        entries = Counter(
            (str(job.get("jobname")), str(job.get("hostname", ""))) for job in self.jobs
        )
        for job in self.jobs:
            name = str(job.get("jobname", ""))[:200]
            host = str(job.get("hostname", ""))[:200]
            case: dict[str, Parameter] = {"job": name}
            if name == _ALL_CLIENTS:
                case["clients"] = len(hosts)
            elif len(hosts) > 1:
                case["host"] = host
            if error := job.get("error"):
                _warn_failed(run, name, error)
                continue
            errors = json_number(job.get("total_err", 0), "total_err")
            _warn_errors(run, name, errors)
            operations = (
                json_section(job, operation).get("total_ios", 0)
                for operation in FIO_OPERATIONS
            )
            if total := sum(json_number(count, "total_ios") for count in operations):
                run.count_errors(errors, max(total, errors))
            texts = _job_options(job, common)
            if entries[str(job.get("jobname")), host] > 1 and "numjobs" in texts:
                # Without group_reporting, each job has its own entry.
                texts["of jobs"] = texts.pop("numjobs")
            if target := texts.get("filename") or texts.get("directory"):
                targets[target] = None
            _read_job(run, job, case, texts)
        if targets:
            run.facts["filename"] = ", ".join(targets)
        return run


def _job_options(job: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, str]:
    own = json_section(job, "job options")
    texts = {key: str(value) for key, value in {**common, **own}.items()}
    # fio lists the options that were set. Old versions list none.
    if texts:
        texts.setdefault("iodepth", "1")
    elif "iodepth_level" in job:
        levels = json_section(job, "iodepth_level")
        texts["iodepth"] = _depth_from_levels(
            {name: json_number(share, name) for name, share in levels.items()}
        )
    return texts


def _final_reports(output: str) -> Iterator[FioReport]:
    """Yield the last report of each execution (``--status-interval`` prints more)."""

    def shape(pairs: Pairs) -> dict[str, Any]:
        # Options are texts. Of a repeated option, fio uses the last one.
        if all(isinstance(value, str) for _, value in pairs):
            return dict(pairs)
        return unique_keys([pair for pair in pairs if pair[0] not in _UNNEEDED])

    latest: FioReport | None = None
    for document in json_documents(output, _REPORT, shape):
        report = FioReport(document)
        if latest is not None and not latest.is_continued_by(report):
            yield latest
        latest = report
    if latest is not None:
        yield latest


def _read_job(
    run: Draft,
    job: Mapping[str, Any],
    job_case: Mapping[str, Parameter],
    options: Mapping[str, str],
) -> None:
    name, has_read = str(job_case["job"]), False
    for operation in FIO_OPERATIONS:
        section = json_section(job, operation)
        if not section or not json_number(section.get("io_bytes", 0), "io_bytes"):
            continue
        case = {**job_case, **_case_of(options, operation)}
        has_read = True
        if "bw_bytes" in section:
            run.add(
                "throughput",
                json_number(section["bw_bytes"], "bw_bytes"),
                "B/s",
                **case,
            )
        elif "bw" in section:
            run.add("throughput", json_number(section["bw"], "bw"), "KiB/s", **case)
        if "iops" in section:
            run.add("IOPS", json_number(section["iops"], "iops"), "1/s", **case)

        unit, ending = ("ns", "_ns") if "lat_ns" in section else ("us", "")
        total, completion = (
            json_section(section, f"lat{ending}"),
            json_section(section, f"clat{ending}"),
        )
        percentiles = json_section(completion, "percentile")
        for metric, times, key in (
            *((f"latency {which}", total, which) for which in ("min", "mean", "max")),
            ("completion latency mean", completion, "mean"),
            *(
                (f"completion latency {which}", percentiles, f"{rank}0000")
                for rank, which in PERCENTILE_NAMES.items()
            ),
        ):
            if time := json_number(times.get(key, 0), key):
                run.add(metric, time, unit, **case)
        _warn_short(run, name, json_number(section.get("runtime", 0), "runtime") / 1000)
    for mode, key in (("user", "usr_cpu"), ("system", "sys_cpu")):
        if has_read and key in job:
            run.add(f"CPU {mode}", json_number(job[key], key), "%", **job_case)


def _read_terse(line: MatchedLine, run: Draft) -> None:
    fields = line["rest"].split(";")
    firsts = [
        index
        for index, text in enumerate(fields)
        if "%=" in text and "%=" not in fields[index - 1]
    ]
    is_whole = len(firsts) >= 2 and all(
        first >= _BEFORE_PERCENTILES
        and len(fields) > first + _PERCENTILES + 5
        and all("%=" in text for text in fields[first : first + _PERCENTILES])
        for first in firsts
    )
    if not is_whole:
        raise line.parse_error("the line does not have all its fields.")
    for operation, first in zip(("read", "write", "trim"), firsts, strict=False):
        values = fields[first - _BEFORE_PERCENTILES :]
        if not line.parse_number(values[0]):
            continue
        case: dict[str, Parameter] = {"job": line["name"], "operation": operation}
        run.add("throughput", line.parse_number(values[1]), "KiB/s", **case)
        run.add("IOPS", line.parse_number(values[2]), "1/s", **case)
        _warn_short(run, line["name"], line.parse_number(values[3]) / 1000)
        run.add("completion latency mean", line.parse_number(values[10]), "us", **case)
        end = _BEFORE_PERCENTILES + _PERCENTILES
        for text in values[_BEFORE_PERCENTILES:end]:
            rank, _, value = text.partition("%=")
            if name := PERCENTILE_NAMES.get(rank.removesuffix("0000")):
                time = line.parse_number(value)
                run.add(f"completion latency {name}", time, "us", **case)
        for which, value in zip(("min", "max", "mean"), values[end:], strict=False):
            run.add(f"latency {which}", line.parse_number(value), "us", **case)


@dataclass
class FioLog:
    draft: Draft = field(default_factory=Draft)
    results: dict[object, Draft] = field(default_factory=dict)
    # Depths printed below the readings of a result, and the options of a command line.
    depths: dict[object, str] = field(default_factory=dict)
    commanded: dict[str, dict[str, str]] = field(default_factory=dict)
    process: object = None
    run: Draft = field(default_factory=Draft)
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    job: str = ""
    jobs: str = "1"
    case: dict[str, Parameter] | None = None
    unit: str = "us"

    def read(self, line: MatchedLine) -> None:
        if line.kind == "named":
            self._read_named(line)
        elif line.kind == "command":
            self.commanded = _command_options(line["command"])
        elif line.kind == "version":
            self.draft.tool_version = line["version"]
        elif line.kind == "trouble":
            printed = line["trouble"].strip()[:200]
            self.draft.add_failure("failed", "{said}", said=printed)
        # ``job`` is empty after a failed job, so the lines below are not read.
        elif self.job:
            self._read_result(line)

    def _read_named(self, line: MatchedLine) -> None:
        name = line["name"]
        if line["head"]:
            self.options[name] = {
                "rw": line["rw"],
                "bs": _DIRECTION.sub("", line["bs"]),
                "ioengine": line["engine"],
                "iodepth": line["depth"],
            }
        elif line["created"]:
            self.draft.add_warning(
                "file_created", "fio created the file itself before the measurement."
            )
        else:
            # Without a process number, a later report cannot be distinguished from
            # another job.
            process = (name, line["group"], line["pid"] or len(self.results))
            self.run = self.results[process] = Draft()
            self.process = process
            failed = line["error"] != "0"
            self.job, self.jobs = "" if failed else name, line["jobs"]
            self.case = None
            if failed:
                _warn_failed(self.run, name, line["error"])

    def _read_result(self, line: MatchedLine) -> None:
        if line.kind in {"old", "new"}:
            self._read_rates(line)
        elif line.kind == "unread":
            self.case = None
        elif line.kind in {"levels", "target"}:
            self._read_depth(line)
        elif line.kind == "ranks":
            self.unit = _TIMES[line["ranks_unit"]] if line["of"] == "clat" else ""
        elif line.kind == "errors":
            _warn_errors(self.run, self.job, int(line["errors"][:18]))
        elif line.kind == "cpu" and self.run:
            self.run.add("CPU user", line.number("user"), "%", job=self.job)
            self.run.add("CPU system", line.number("system"), "%", job=self.job)
            self.case = None
        elif self.case is not None:
            self._read_times(line, self.case)

    def _read_depth(self, line: MatchedLine) -> None:
        if line.kind == "target":
            # Without a target latency, this is the option.
            self.depths[self.process] = line["target_depth"]
        else:
            shares = dict(re.findall(r"(>?=?\d+)=([\d.]+)%", line["levels"]))
            levels = {name: line.parse_number(text) for name, text in shares.items()}
            self.depths[self.process] = _depth_from_levels(levels)

    def _read_rates(self, line: MatchedLine) -> None:
        old = "old_" if line.kind == "old" else ""
        operation = line[f"{old}operation"]
        known = self.options.get(self.job) or self.commanded.get(self.job, {})
        options = {**known, "numjobs": self.jobs}
        case = self.case = {"job": self.job, **_case_of(options, operation)}
        unit, rate = line[f"{old}unit"], line.number(f"{old}rate")
        if old and unit != "B" and "i" not in unit:
            unit = unit.replace("B", "iB")
        if unit.endswith("ibit"):  # an unknown unit, but brackets repeat the rate
            unit, rate = line["same_unit"], line.number("same_rate")
        self.run.add("throughput", rate, f"{unit}/s", **case)
        iops = line.number(f"{old}iops") * _MANY[line[f"{old}many"]]
        self.run.add("IOPS", iops, "1/s", **case)
        divisor = 1 if line["time_unit"] == "sec" else 1000
        _warn_short(self.run, self.job, line.number(f"{old}time") / divisor)

    def _read_times(self, line: MatchedLine, case: dict[str, Parameter]) -> None:
        if line.kind == "percentiles":
            for rank, time in _PERCENTILE.findall(line["percentiles"]):
                if self.unit and (name := PERCENTILE_NAMES.get(rank)):
                    metric = f"completion latency {name}"
                    self.run.add(metric, float(time), self.unit, **case)
            return
        unit = _TIMES[line["latency_unit"]]
        if line["which"] == "clat":
            mean = _time(line, "mean")
            self.run.add("completion latency mean", mean, unit, **case)
            return
        for which in ("min", "max", "mean"):
            self.run.add(f"latency {which}", _time(line, which), unit, **case)

    def finish(self) -> Draft:
        for process, draft in self.results.items():
            result, depth = draft.finish(), self.depths.get(process)
            for reading in result.readings:
                case = {**reading.parameters}
                if depth and "operation" in case and "iodepth" not in case:
                    case["iodepth"] = int(depth) if depth.isdecimal() else depth
                self.draft.add(reading.metric, reading.value, reading.unit, **case)
            for warning in result.warnings:
                self.draft.add_warning(warning.code, warning.message)
        return self.draft


def _time(line: MatchedLine, group: str) -> float:
    text = line[group]
    many = _MANY.get(text[-1:], 1) if text[-1:].isalpha() else 1
    return line.parse_number(text[:-1] if text[-1:].isalpha() else text) * many


TOOL = Tool(
    slug="fio",
    title="fio",
    homepage="https://github.com/axboe/fio",
    options=Options(
        {
            **dict.fromkeys(("--bs", "--blocksize"), "block"),
            "--iodepth": "iodepth",
            "--ioengine": "engine",
            "--direct": "direct",
            "--numjobs": "jobs",
        },
        sizes=frozenset({"block"}),
        switches=frozenset({"direct"}),
    ),
    metrics=(
        Metric(
            "throughput",
            "MB/s",
            "higher",
            "disk",
            rate_options=(
                RateOption(
                    "rate", "B/s", multipliers=("jobs",), directions=FIO_OPERATIONS
                ),
            ),
            work_class=DISK,
        ),
        Metric(
            "IOPS",
            "1/s",
            "higher",
            "disk",
            rate_options=(
                RateOption(
                    "rate_iops", multipliers=("jobs",), directions=FIO_OPERATIONS
                ),
                RateOption("rate", ""),
            ),
            implied_by=("throughput",),
        ),
        *metrics(
            (
                *(f"latency {which}" for which in ("min", "mean", "max")),
                *(
                    f"completion latency {w}"
                    for w in ("mean", *PERCENTILE_NAMES.values())
                ),
            ),
            "us",
            "lower",
            "disk",
            work_class={
                f"completion latency {name}": DISK_TAIL
                for name in PERCENTILE_NAMES.values()
                if name != "p50"
            },
            implied_by={
                "latency mean": ("throughput", "IOPS"),
                "completion latency mean": ("throughput", "IOPS", "latency mean"),
            },
        ),
        *metrics(
            (f"CPU {mode}" for mode in ("user", "system")),
            "%",
            "lower",
            "disk",
            allows_zero=True,
        ),
        cost_metric(
            "CPU time per data",
            "disk",
            ("CPU user", "CPU system"),
            "throughput",
        ),
    ),
    labels=("{job}", "{block}"),
    version=4,
    parse=parse,
    targets=("filename",),
    signatures=(
        r"\{\s*\"fio version\"",
        r"fio: (?:pid=\d+, (?:err|got signal)=|io_u error on file|job startup hung|"
        r"no I/O performed|failed )",
        r"[345];fio-\d[^;\n]*;",
        r"[^\n:|<>\[\]]{1,200}+(?::(?! |\d\d)[^\n:|<>\[\]]{0,200}+){0,99}"
        r": \(g(?:roup(?:id)?)?=\d+(?:\): rw=|, jobs=\d+\): err=)",
    ),
    programs=("fio",),
    is_localized=False,
)
