"""fio: reads and writes of any pattern, to files and disks.

One result row, as printed by fio 3.33::

      read: IOPS=63.9k, BW=250MiB/s (262MB/s)(999MiB/4001msec)

Three forms of one report are read, the most exact first; they share what makes a case
and what is doubted, so all are in this long file. The JSON is exact:
``bw_bytes`` in B/s (``bw`` in KiB/s), times in ns (before 3.0 in us). The terse form
(``--minimal``, versions 3 to 5) is one line for each job: a way (reads, writes, trims)
is KiB, KiB/s, IOPS and ms, eight latencies, twenty percentiles as ``95.000000%=203``,
min, max, mean and deviation of the whole latency, and samples, whose number differs
between the versions; times are in us. In text, version 2 wrote KB, MB and GB for powers
of 1024. A job whose ``error`` is not 0 has no result, whatever its numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.errors import ParseError
from benchmarks.parsing.contract import (
    DISK,
    Cap,
    Metric,
    Options,
    Parameter,
    ParsedRun,
    Tool,
    cost_metric,
    metrics,
)
from benchmarks.parsing.scanning import (
    Draft,
    Found,
    Pairs,
    Scanner,
    documents,
    finished,
    keep,
    number,
    section,
)

WAYS: Final = ("read", "write", "trim", "mixed")
# JSON and the terse form print four more zeros behind them.
RANKS: Final = {
    "50.00": "p50",
    "90.00": "p90",
    "95.00": "p95",
    "99.00": "p99",
    "99.90": "p99.9",
}

SHORT_S: Final = 1.0
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:([kmgtKMGT])(?:i?[bB])?|[bB])?")
_BLOCKS: Final = ("bs", "blocksize", "bsrange", "blocksize_range")
_NUMBERS: Final = {"numjobs": "jobs", "of jobs": "of jobs"}
# What else makes another case of a job, where its options are told.
_OTHERS: Final = (
    *("rwmixread", "rwmixwrite", "rate", "rate_iops", "fsync", "fdatasync", "sync"),
    *("buffered", "zonemode", "verify"),
)
_FLAGS: Final = {"1": True, "0": False}

_REPORT: Final = r"\{\s*\"fio version\""
# Long lists that nothing is read from.
_UNNEEDED: Final = {"bins", "FIO_BINS", "iodepth_level", "iodepth_submit"}

TERSE: Final = Scanner(
    job=r"[345];fio-(?P<version>[^;\n]+);(?P<name>[^;\n]*);\d+;(?P<error>-?\d+);"
    r"(?P<rest>[^\n]+)$"
)
_BEFORE_PERCENTILES: Final = 12
_PERCENTILES: Final = 20

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


def parse(output: str) -> tuple[ParsedRun, ...]:
    """Return one run for each start of fio, from its most exact form."""
    if reported := [report.run() for report in _last_of_each_start(output)]:
        return finished(reported, "fio reports nothing that was read or written.")
    terse: list[Found] = []
    run = Draft()
    for line in TERSE(output):
        keep(terse, line)
        run.tool_version = line["version"]
        if line["error"] != "0":
            _mark_failed(run, line["name"], line["error"])
        else:
            _read_terse(line, run)
    if terse:
        return finished([run], "fio printed nothing that was read or written.")
    logs = [Log()]
    for line in LINES(output):
        if line.kind == "named" and line["head"] and logs[-1].results:
            keep(logs, Log(whole=Draft(tool_version=logs[-1].whole.tool_version)))
        logs[-1].take(line)
    drafts = [log.finished() for log in logs]
    return finished(drafts, "fio printed no result of a job.")


def _case_of(options: Mapping[str, str], operation: str) -> dict[str, Parameter]:
    """Return the parameters of a job's readings of one operation."""
    case: dict[str, Parameter] = {"operation": operation}
    if pattern := options.get("rw") or options.get("readwrite"):
        # randread, randrw and so on are random; rw is sequential.
        case["access"] = "random" if pattern.startswith("rand") else "sequential"
    sizes = next(filter(None, map(options.get, _BLOCKS)), "")
    if shares := options.get("bssplit"):  # sizes and their shares: 4k/60:64k/40
        case["block"] = shares
    elif sizes and (block := _block_size(sizes, operation)):
        case["block"] = block
    if engine := options.get("ioengine"):
        case["engine"] = engine
    # What fio takes where nothing is said.
    depth = options.get("iodepth", "1")
    if depth.isdecimal():
        case["iodepth"] = int(depth[:9])
    for option, name in _NUMBERS.items():
        # One job is what every job is by itself: no parameter.
        if (jobs := options.get(option, "1")) != "1" and jobs.isdecimal():
            case[name] = int(jobs[:9])
    if (direct := _FLAGS.get(options.get("direct", ""))) is not None:
        case["direct"] = direct
    return case | {name: options[name] for name in _OTHERS if options.get(name)}


def _block_size(text: str, operation: str) -> str:
    """Return ``4k`` or ``4096B-4096B`` as a size; a range stays a text."""
    ways = re.split(r"[,/]", text.strip())
    place = {"read": 0, "write": 1, "trim": 2, "mixed": 0}[operation]
    mine = (ways[place] if place < len(ways) else "").strip() or ways[-1].strip()
    low, _, high = mine.partition("-")
    size = _SIZE.fullmatch(low)
    if not size or high not in ("", low):
        return mine
    return f"{size[1]} {size[2].upper()}iB" if size[2] else f"{size[1]} B"


def _mark_failed(run: Draft, job: str, error: Parameter) -> None:
    run.mark("failed", "{name} ended with error {error}.", name=job, error=error)


def _mark_short(run: Draft, job: str, runtime_s: float) -> None:
    if 0 < runtime_s < SHORT_S:
        run.mark(
            "short",
            "{job} ran {seconds:g} s: too short to be relied on.",
            job=job,
            seconds=runtime_s,
        )


def _mark_errors(run: Draft, job: str, errors: float) -> None:
    # With ``continue_on_error`` fio counts errors and ends without one.
    if errors:
        run.mark(
            "errors", "{job} passed over {errors:g} errors.", job=job, errors=errors
        )


@dataclass(frozen=True, slots=True)
class Report:
    document: Mapping[str, Any]

    @property
    def jobs(self) -> list[dict[str, Any]]:
        jobs = self.document.get("jobs", self.document.get("client_stats", []))
        if not isinstance(jobs, list):
            raise ParseError("The jobs of this fio report are not a list.")
        return [job for job in jobs if isinstance(job, dict)]

    @property
    def runtime_ms(self) -> float:
        """Return how long its jobs ran; those behind a stonewall run in sequence."""
        runtimes: dict[object, float] = {}
        for job in self.jobs:
            ways = (section(job, way).get("runtime", 0) for way in WAYS)
            longest = max(number(runtime, "runtime") for runtime in ways)
            group = job.get("groupid")
            runtimes[group] = max(longest, runtimes.get(group, 0))
        return sum(runtimes.values())

    def goes_on_in(self, later: Report) -> bool:
        """Return whether a later report has the same jobs and start."""
        names, names_later = (
            [job.get("jobname") for job in report.jobs] for report in (self, later)
        )
        if not names or names != names_later:
            return False
        moment, moment_later = (
            number(report.document.get("timestamp_ms", 0), "timestamp_ms")
            for report in (self, later)
        )
        ran, ran_later = self.runtime_ms, later.runtime_ms
        # When each of them started, by its own account; printing takes its time.
        apart = abs((moment_later - ran_later) - (moment - ran))
        return moment > 0 and ran_later > ran and apart < min(500.0, ran / 2)

    def run(self) -> Draft:
        version = str(self.document.get("fio version", "")).removeprefix("fio-")
        # A text of JSON can be of any length.
        run = Draft(tool_version=version[:40])
        common = section(self.document, "global options")
        entries = Counter(str(job.get("jobname")) for job in self.jobs)
        for job in self.jobs:
            name = str(job.get("jobname", ""))[:200]
            # The sum over several machines: their jobs stand beside it.
            if name == "All clients":
                continue
            if error := job.get("error"):
                _mark_failed(run, name, error)
                continue
            _mark_errors(run, name, number(job.get("total_err", 0), "total_err"))
            options = {**common, **section(job, "job options")}
            texts = {key: str(value) for key, value in options.items()}
            if entries[str(job.get("jobname"))] > 1 and "numjobs" in texts:
                # Without group_reporting, each of these jobs has an entry of its own.
                texts["of jobs"] = texts.pop("numjobs")
            _read_job(run, job, name, texts)
        return run


def _last_of_each_start(output: str) -> Iterator[Report]:
    """Yield the last report of each run: ``--status-interval`` repeats it."""

    def needed(pairs: Pairs) -> dict[str, Any]:
        return {key: value for key, value in pairs if key not in _UNNEEDED}

    held: Report | None = None
    for document in documents(output, _REPORT, needed):
        report = Report(document)
        if held is not None and not held.goes_on_in(report):
            yield held
        held = report
    if held is not None:
        yield held


def _read_job(
    run: Draft, job: Mapping[str, Any], name: str, options: Mapping[str, str]
) -> None:
    has_read = False
    for operation in WAYS:
        way = section(job, operation)
        if not way or not number(way.get("io_bytes", 0), "io_bytes"):
            continue
        case = {"job": name, **_case_of(options, operation)}
        has_read = True
        if "bw_bytes" in way:
            run.add("throughput", number(way["bw_bytes"], "bw_bytes"), "B/s", **case)
        elif "bw" in way:
            run.add("throughput", number(way["bw"], "bw"), "KiB/s", **case)
        if "iops" in way:
            run.add("IOPS", number(way["iops"], "iops"), "1/s", **case)

        unit, ending = ("ns", "_ns") if "lat_ns" in way else ("us", "")
        whole, completion = section(way, f"lat{ending}"), section(way, f"clat{ending}")
        percentiles = section(completion, "percentile")
        for metric, times, key in (
            *((f"latency {which}", whole, which) for which in ("min", "mean", "max")),
            ("completion latency mean", completion, "mean"),
            *(
                (f"completion latency {which}", percentiles, f"{rank}0000")
                for rank, which in RANKS.items()
            ),
        ):
            if time := number(times.get(key, 0), key):
                run.add(metric, time, unit, **case)
        _mark_short(run, name, number(way.get("runtime", 0), "runtime") / 1000)
    if has_read:
        run.add("CPU user", number(job.get("usr_cpu", 0), "usr_cpu"), "%", job=name)
        run.add("CPU system", number(job.get("sys_cpu", 0), "sys_cpu"), "%", job=name)


def _read_terse(line: Found, run: Draft) -> None:
    fields = line["rest"].split(";")
    # Where the percentiles of each way begin.
    firsts = [
        place
        for place, text in enumerate(fields)
        if "%=" in text and "%=" not in fields[place - 1]
    ]
    is_whole = len(firsts) >= 2 and all(
        first >= _BEFORE_PERCENTILES
        and len(fields) > first + _PERCENTILES + 5
        and all("%=" in text for text in fields[first : first + _PERCENTILES])
        for first in firsts
    )
    if not is_whole:
        raise line.refused("its fields are not those of a whole line.")
    for operation, first in zip(("read", "write", "trim"), firsts, strict=False):
        way = fields[first - _BEFORE_PERCENTILES :]
        if not line.number_of(way[0]):
            continue
        case: dict[str, Parameter] = {"job": line["name"], "operation": operation}
        run.add("throughput", line.number_of(way[1]), "KiB/s", **case)
        run.add("IOPS", line.number_of(way[2]), "1/s", **case)
        _mark_short(run, line["name"], line.number_of(way[3]) / 1000)
        run.add("completion latency mean", line.number_of(way[10]), "us", **case)
        end = _BEFORE_PERCENTILES + _PERCENTILES
        for text in way[_BEFORE_PERCENTILES:end]:
            rank, _, value = text.partition("%=")
            if name := RANKS.get(rank.removesuffix("0000")):
                time = line.number_of(value)
                run.add(f"completion latency {name}", time, "us", **case)
        for which, value in zip(("min", "max", "mean"), way[end:], strict=False):
            run.add(f"latency {which}", line.number_of(value), "us", **case)


@dataclass
class Log:
    """The text of one start; a job's last report counts (``--status-interval``)."""

    whole: Draft = field(default_factory=Draft)
    results: dict[object, Draft] = field(default_factory=dict)
    run: Draft = field(default_factory=Draft)
    options: dict[str, dict[str, str]] = field(default_factory=dict)
    job: str = ""
    jobs: str = "1"
    case: dict[str, Parameter] | None = None
    unit: str = "us"

    def take(self, line: Found) -> None:
        if line.kind == "named":
            self._take_named(line)
        elif line.kind == "version":
            self.whole.tool_version = line["version"]
        elif line.kind == "trouble":
            printed = line["trouble"].strip()[:200]
            self.whole.mark("failed", "{said}", said=printed)
        # A failed job has no name here: what stands below it is no result.
        elif self.job:
            self._take_result(line)

    def _take_named(self, line: Found) -> None:
        # A line that a job's name begins: its options, its file or its result.
        name = line["name"]
        if line["head"]:
            self.options[name] = {
                "rw": line["rw"],
                "bs": _WAY.sub("", line["bs"]),
                "ioengine": line["engine"],
                "iodepth": line["depth"],
            }
        elif line["created"]:
            self.whole.mark(
                "file_created", "fio wrote the file itself before it measured."
            )
        else:
            # The result of a job, or a later one of the same.
            # Without a process number nothing tells a later report from another job.
            process = (name, line["group"], line["pid"] or len(self.results))
            self.run = self.results[process] = Draft()
            failed = line["error"] != "0"
            self.job, self.jobs = "" if failed else name, line["jobs"]
            self.case = None
            if failed:
                _mark_failed(self.run, name, line["error"])

    def _take_result(self, line: Found) -> None:
        if line.kind in {"old", "new"}:
            self._take_rates(line)
        elif line.kind == "unread":
            self.case = None
        elif line.kind == "ranks":
            self.unit = _TIMES[line["ranks_unit"]] if line["of"] == "clat" else ""
        elif line.kind == "errors":
            _mark_errors(self.run, self.job, int(line["errors"][:18]))
        elif line.kind == "cpu" and self.run:
            self.run.add("CPU user", line.number("user"), "%", job=self.job)
            self.run.add("CPU system", line.number("system"), "%", job=self.job)
            self.case = None
        elif self.case is not None:
            self._take_times(line, self.case)

    def _take_rates(self, line: Found) -> None:
        old = "old_" if line.kind == "old" else ""
        operation = line[f"{old}way"]
        options = {**self.options.get(self.job, {}), "numjobs": self.jobs}
        case = self.case = {"job": self.job, **_case_of(options, operation)}
        unit, rate = line[f"{old}unit"], line.number(f"{old}rate")
        if old and unit != "B" and "i" not in unit:
            unit = unit.replace("B", "iB")
        if unit.endswith("ibit"):  # there is no such unit: the same stands in brackets
            unit, rate = line["same_unit"], line.number("same_rate")
        self.run.add("throughput", rate, f"{unit}/s", **case)
        iops = line.number(f"{old}iops") * _MANY[line[f"{old}many"]]
        self.run.add("IOPS", iops, "1/s", **case)
        divisor = 1 if line["time_unit"] == "sec" else 1000
        _mark_short(self.run, self.job, line.number(f"{old}time") / divisor)

    def _take_times(self, line: Found, case: dict[str, Parameter]) -> None:
        if line.kind == "percentiles":
            for rank, time in _PERCENTILE.findall(line["percentiles"]):
                if self.unit and (name := RANKS.get(rank)):
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

    def finished(self) -> Draft:
        """Return the run with the last result of each job."""
        for result in map(Draft.finished, self.results.values()):
            for reading in result.readings:
                self.whole.add(
                    reading.metric, reading.value, reading.unit, **reading.parameters
                )
            for doubt in result.warnings:
                self.whole.mark(doubt.code, doubt.sentence)
        return self.whole


def _time(line: Found, group: str) -> float:
    """Return ``1616`` or ``16.2k`` as a number."""
    text = line[group]
    many = _MANY.get(text[-1:], 1) if text[-1:].isalpha() else 1
    return line.number_of(text[:-1] if text[-1:].isalpha() else text) * many


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
            capped_by=(Cap("rate", "B/s", times=("jobs",), ways=WAYS),),
            work=DISK,
        ),
        Metric(
            "IOPS",
            "1/s",
            "higher",
            "disk",
            capped_by=(
                Cap("rate_iops", times=("jobs",), ways=WAYS),
                Cap("rate", ""),
            ),
            implied_by=("throughput",),
        ),
        *metrics(
            (
                *(f"latency {which}" for which in ("min", "mean", "max")),
                *(f"completion latency {w}" for w in ("mean", *RANKS.values())),
            ),
            "us",
            "lower",
            "disk",
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
            zero_allowed=True,
        ),
        cost_metric(
            "CPU time per data",
            "disk",
            ("CPU user", "CPU system"),
            "throughput",
        ),
    ),
    labels=("{job}", "{block}"),
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
)
