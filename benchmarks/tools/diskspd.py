"""DiskSpd: throughput and latency of disks in Windows, as text and as XML (-Rxml).

MB/s of old versions are MiB/s. XML has bytes and seconds instead of rates. Percentiles
need -L. A mix of reads and writes gives separate results with their share.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.tool import (
    DISK,
    DISK_TAIL,
    Metric,
    Parameter,
    RateOption,
    Tool,
)
from benchmarks.parsing.xml_documents import xml_documents, xml_number
from benchmarks.units import format_whole_size

LINES = LineScanner(
    begin=r"Input parameters:[ \t]*+$",
    span=r"timespan: +\d+[ \t]*+$",
    path=r"path: '(?P<path>[^'\n]*)'[ \t]*+$",
    cache=r"(?P<cache>using software cache|software cache disabled|hardware and "
    r"software write caches disabled|local software cache disabled)[^\n]*$",
    through=r"(?P<through>hardware write cache disabled, writethrough on)[ \t]*+$",
    work=r"performing (?P<work>read|write|mix) test(?: \(read/write ratio: "
    r"(?P<reads>\d+)/(?P<writes>\d+)\))?[ \t]*+$",
    block=r"block size: (?P<block>\d+)(?P<prefix>[KMG]?)(?:iB)?[ \t]*+$",
    access=r"using(?P<interlocked> interlocked)? (?P<access>random|sequential|"
    r"mixed random/sequential) I/O ",
    queue=r"number of outstanding I/O operations(?: per thread)?: (?P<queue>\d+)"
    r"[ \t]*+$",
    threads=r"threads per file: (?P<threads>\d+)[ \t]*+$",
    limit=r"throughput rate-limited to (?P<limit>\d+ \S+)[ \t]*+$",
    results=r"Results for timespan (?P<results>\d+):",
    section=r"(?P<section>Total|Read|Write) IO[ \t]*+$",
    columns=r"thread \|(?P<columns>[^\n]*)$",
    total=r"total: +(?P<cells>\d+ \|[^\n]*)(?=\n)",
    cpu=r"avg\. *\| *(?P<cpu>[\d.]+)% *\|[^\n]*$",
    tails=r"(?P<tails>total:|Total latency distribution:)[ \t]*+$",
    other_tails=r"Latency distribution:",
    tail=r"(?P<rank>min|max|\d+th|\d-nines) *\| *(?P<read>\S+) *\| *(?P<write>\S+) *\| "
    r"*[\d.]+[ \t]*+(?=\n)",
    interrupted=r"(?P<interrupted>The test was interrupted [^\n]*)$",
)
RANKS: dict[str, float] = {
    "50th": 50,
    "90th": 90,
    "95th": 95,
    "99th": 99,
    "3-nines": 99.9,
    "4-nines": 99.99,
}
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
SOFTWARE, WRITE_THROUGH = "software cache", "write-through"
OPERATIONS = ("read", "write")


@dataclass
class DiskspdRun(Draft):
    section: str = ""
    columns: list[str] = field(default_factory=list)
    shares: dict[str, int] = field(default_factory=dict)
    has_tails: bool = False

    def option(self, name: str, value: Parameter) -> None:
        """Set an option; one that differs between targets is not known."""
        values = self.parameters.get(name, value)
        self.parameters[name] = value if values == value else "several"

    def read(self, line: MatchedLine) -> None:
        if line.kind == "path":
            self.facts["path"] = line["path"]
        elif line.kind == "cache":
            self.option(SOFTWARE, line["cache"].startswith("using"))
        elif line.kind == "through":
            self.option(WRITE_THROUGH, True)
        elif line.kind == "work":
            reads = {"read": 100, "write": 0}.get(line["work"])
            self.add_work(line.integer("reads") if reads is None else reads)
        elif line.kind == "block":
            size = line.integer("block") * _SIZES[line["prefix"]]
            self.option("block", format_whole_size(size))
        elif line.kind == "access":
            self.option("access", line["access"].split("/")[0])
        elif line.kind in ("queue", "threads"):
            self.option(line.kind, line.integer(line.kind))
        elif line.kind == "limit":
            self.option("rate limit", line["limit"])
        else:
            self._read_results(line)

    def add_work(self, read_percent: int) -> None:
        if self.shares and self.shares["read"] != read_percent:
            raise ParseError(
                "The targets have different shares of reads, which cannot be read."
            )
        self.shares = {"read": read_percent, "write": 100 - read_percent}

    def _read_results(self, line: MatchedLine) -> None:
        if line.kind == "interrupted":
            raise line.parse_error("DiskSpd measured nothing.")
        if line.kind == "section":
            self.section = line["section"].lower()
        elif line.kind == "columns":
            self.columns = [cell.strip() for cell in line["columns"].split("|")]
        elif line.kind == "total":
            self._read_total(line)
        elif line.kind == "cpu":
            self.add("CPU utilization", line.number("cpu"), "%")
        elif line.kind == "tail" and self.has_tails:
            for operation in OPERATIONS:
                if line[operation] != "N/A":
                    self.add_latency(line["rank"], operation, line.number(operation))
        else:
            self.has_tails = line.kind == "tails"

    def _read_total(self, line: MatchedLine) -> None:
        if self.section not in OPERATIONS or not self.is_measured(self.section):
            return
        cells = [cell.strip() for cell in line["cells"].split("|")]
        # The last column, the file, has no total.
        check_row_width(line, cells, len(self.columns) - 1)
        named = dict(zip(self.columns, cells, strict=False))
        case = self.case(self.section)
        rate = named.get("MiB/s", named.get("MB/s", ""))
        self.add("throughput", line.parse_amount(rate), "MiB/s", **case)
        self.add("IOPS", line.parse_amount(named.get("I/O per s", "")), "1/s", **case)
        if latency := named.get("AvgLat"):
            self.add("latency mean", line.parse_amount(latency), "ms", **case)

    def is_measured(self, operation: str) -> bool:
        return self.shares.get(operation, 100) > 0

    def case(self, operation: str) -> dict[str, Parameter]:
        share = self.shares.get(operation, 100)
        case: dict[str, Parameter] = {"operation": operation}
        return case if share == 100 else case | {"share": f"{share} %"}

    def add_latency(self, rank: str, operation: str, value: float) -> None:
        if not self.is_measured(operation):
            return
        case = self.case(operation)
        if rank in ("min", "max"):
            self.add(f"latency {rank}", value, "ms", **case)
        elif percentile := RANKS.get(rank):
            self.add("latency percentile", value, "ms", percentile=percentile, **case)


def _read_text(output: str) -> list[DiskspdRun]:
    runs: list[DiskspdRun] = []
    options: list[DiskspdRun] = []
    for line in LINES(output):
        if line.kind in ("begin", "span"):
            if line.kind == "begin":
                options = []
            else:
                options.append(DiskspdRun())
        elif line.kind == "results":
            index = line.integer("results") - 1
            append_limited(
                runs, options[index] if index < len(options) else DiskspdRun()
            )
        elif runs and runs[-1] in options and line.kind in ("path", "work"):
            runs[-1].read_line(_refuse_options, line)
        elif current := (runs[-1:] if runs and _is_result(line) else options[-1:]):
            current[0].read_line(current[0].read, line)
    return runs


def _is_result(line: MatchedLine) -> bool:
    return line.kind in {
        *("section", "columns", "total", "cpu", "tails", "other_tails", "tail"),
        "interrupted",
    }


def _refuse_options(line: MatchedLine) -> None:
    raise line.parse_error("an option of a test was printed among its results.")


def _read_xml(output: str) -> list[DiskspdRun]:
    runs: list[DiskspdRun] = []
    for document in xml_documents(output, "Results"):
        version = document.findtext("System/Tool/Version") or ""
        spans = document.findall("Profile/TimeSpans/TimeSpan")
        for index, result in enumerate(document.findall("TimeSpan")):
            run = DiskspdRun(tool_version=version)
            append_limited(runs, run)
            targets = spans[index].iter("Target") if index < len(spans) else ()
            run.read_line(_read_time_span, run, targets, result)
    return runs


def _read_time_span(
    run: DiskspdRun, targets: Iterable[Element], result: Element
) -> None:
    if error := result.findtext("Error"):
        raise ParseError("DiskSpd reports: {error}", error=error)
    for target in targets:
        _read_target(run, target)
    seconds = xml_number(result, "TestTimeSeconds") or 0.0
    for operation in OPERATIONS:
        amounts = [
            sum(
                xml_number(part, f"{operation.title()}{what}") or 0.0
                for part in result.findall("Thread/Target")
            )
            for what in ("Bytes", "Count")
        ]
        if seconds and amounts[0] and run.is_measured(operation):
            case = run.case(operation)
            run.add("throughput", amounts[0] / seconds, "B/s", **case)
            run.add("IOPS", amounts[1] / seconds, "1/s", **case)
        _read_latencies(run, result, operation)
    cpu = xml_number(result, "CpuUtilization/Average/UsagePercent")
    if run and cpu is not None:
        run.add("CPU utilization", cpu, "%")


def _read_target(run: DiskspdRun, target: Element) -> None:
    run.facts["path"] = target.findtext("Path") or ""
    ratio = xml_number(target, "WriteRatio") or 0
    run.add_work(round(100 - ratio))
    if block := xml_number(target, "BlockSize"):
        run.option("block", format_whole_size(int(block)))
    is_random = target.findtext("RandomAccess") == "true" or bool(
        xml_number(target, "Random")
    )
    run.option("access", "random" if is_random else "sequential")
    for name, tag in (("queue", "RequestCount"), ("threads", "ThreadsPerFile")):
        if value := xml_number(target, tag):
            run.option(name, int(value))
    if xml_number(target, "Throughput"):
        run.option("rate limit", target.findtext("Throughput") or "")
    if target.findtext("DisableOSCache") == "true":
        run.option(SOFTWARE, False)
    if target.findtext("WriteThrough") == "true":
        run.option(WRITE_THROUGH, True)


def _read_latencies(run: DiskspdRun, result: Element, operation: str) -> None:
    title = operation.title()
    mean = xml_number(result, f"Latency/Average{title}Milliseconds")
    if mean and run.is_measured(operation):
        run.add("latency mean", mean, "ms", **run.case(operation))
    names = {rank: name for name, rank in RANKS.items()} | {0: "min", 100: "max"}
    for bucket in result.findall("Latency/Bucket"):
        rank = xml_number(bucket, "Percentile")
        value = xml_number(bucket, f"{title}Milliseconds")
        if rank is not None and value is not None:
            run.add_latency(names.get(rank, ""), operation, value)


@parser("DiskSpd printed no result.")
def parse(output: str) -> list[DiskspdRun]:
    return [*_read_text(output), *_read_xml(output)]


def _metric(name: str, unit: str, **options: Any) -> Metric:
    is_rate = unit.endswith("/s")
    return Metric(
        name,
        unit,
        "higher" if is_rate else "lower",
        "disk",
        rate_options=(RateOption("rate limit", ""),) if is_rate else (),
        **options,
    )


TOOL = Tool(
    slug="diskspd",
    title="DiskSpd",
    homepage="https://github.com/microsoft/diskspd",
    metrics=(
        _metric("throughput", "MB/s", work_class=DISK),
        _metric("IOPS", "1/s", implied_by=("throughput",)),
        _metric("latency mean", "ms", implied_by=("throughput", "IOPS")),
        _metric("latency min", "ms"),
        _metric("latency max", "ms"),
        _metric("latency percentile", "ms", work_class=DISK_TAIL),
        _metric("CPU utilization", "%", allows_zero=True),
    ),
    labels=("{block}", "{threads} threads", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(
        r"Input parameters:[ \t]*+$",
        r"<Results>[ \t]*+\n[ \t]*+<System>",
        r"Results for timespan \d+:",
    ),
    programs=("diskspd", "diskspd64"),
    targets=("path",),
    is_localized=False,
)
