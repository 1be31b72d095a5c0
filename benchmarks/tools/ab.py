"""ab (ApacheBench): the requests that a web server answers, and how fast.

Kbytes are 2^10 B, but in ab 1.3 Kbytes and kb are 10^3 B. With ``-e`` ab writes
percentiles as CSV.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    AMOUNT_OPTIONS,
    APPLICATION_TAIL,
    DURATION_OPTIONS,
    WEB,
    Better,
    ErrorMetrics,
    Metric,
    Options,
    Tool,
)
from benchmarks.sentences import template

LINES = LineScanner(
    banner=r"This is ApacheBench, Version (?P<version>\S+)",
    csv=r"Percentage served,Time in ms\b",
    fact=r"(?P<fact>Server Software|Server Hostname|Server Port|Document Length|"
    r"SSL/TLS Protocol|TLS Protocol): +(?P<value>\S[^\n]*)$",
    path=r"Document Path: +(?P<path>\S+)",
    concurrency=r"Concurrency Level: +(?P<concurrency>\S+)",
    duration=r"Time taken for tests: +(?P<duration>\S+) seconds",
    complete=r"Complete requests: +(?P<complete>\S+)",
    failed=r"Failed requests: +(?P<failed>\S+)",
    broken=r"Broken pipe errors: +(?P<broken>\S+)",
    why=r"\((?P<why>(?:Connect|Length): \d+, [^\n]+)\)$",
    written=r"Write errors: +(?P<written>\S+)",
    status=r"Non-2xx responses: +(?P<status>\S+)",
    received=r"Total transferred: +(?P<received>\S+) bytes",
    keep=r"Keep-Alive requests: +(?P<keep>\S+)",
    rate=r"Requests per second: +(?P<rate>\S+)",
    each=r"Time per request: +(?P<each>\S+)(?: \[ms\])? \(mean\)",
    across=r"Time per request: +(?P<across>\S+)(?: \[ms\])? \(mean, across ",
    transfer=r"Transfer rate: +(?P<transfer>\S+) "
    r"(?P<unit>\[Kbytes/sec\]|kb/s) received",
    times=r"(?P<phase>Connect|Processing|Waiting|Total): +(?P<times>[^\s][^\n]*)$",
    percent=r"(?P<percent>\d{1,3})% +(?P<at>[^\s%]+)(?: \(l[^\n]*)?$",
    cell=r"(?P<share>\d{1,3}),(?P<ms>[^\s,]+)$",
    trouble=r"(?P<trouble>(?:apr_\w+(?:\(\))?|ab|SSL handshake failed|socket)\b[^\n]*: "
    r"[^\n]*|Total of \d+ requests completed|Test aborted after [^\n]*)",
    doubt=r"(?:ERROR|WARNING): The median and mean for the (?P<doubt>[\w ]{1,40}) time",
)
_LENGTH = re.compile(r"Length: (\d{1,18})")
PHASES = ("Connect", "Processing", "Waiting", "Total")
# Columns of the table of times, by their number.
COLUMNS = {
    5: ("min", "mean", "sd", "median", "max"),
    3: ("min", "mean", "max"),
    4: ("min", "mean", "sd", "max"),
}
RESULT_LINES = ("fact", "phase", "percent", "share", "doubt")
FIRST_LINES = frozenset({"banner", "csv"})
FOLLOWING_LINES = frozenset({"received", "rate", "each", "transfer", "timesTotal"})
WARNING_CODES = {
    "failed": "errors",
    "broken": "errors",
    "written": "errors",
    "status": "http_errors",
}
WARNING_TEXTS = {
    "failed": template("Failed requests: {n}{why}."),
    "broken": template("Broken pipes: {n}."),
    "written": template("Write errors: {n}."),
    "status": template("Responses with a status other than 2xx: {n}."),
}
# Groups of the percentile and of its time, and the decimals of the time.
PERCENTILES: dict[str, tuple[str, str, int | None]] = {
    "percent": ("percent", "at", None),
    "cell": ("share", "ms", 3),
}
NUMBERS = {
    "complete": ("requests", ""),
    "failed": ("failed requests", ""),
    "status": ("non-2xx responses", ""),
    "duration": ("test duration", "s"),
    "rate": ("request rate", "1/s"),
    "each": ("time per request", "ms"),
    "across": ("time per request overall", "ms"),
}


@dataclass
class AbReport(Draft):
    lines: dict[str, MatchedLine] = field(default_factory=dict)

    def close(self) -> None:
        self.facts.update(
            (line["fact"].casefold(), line["value"].strip())
            for line in self.lines.values()
            if line.kind == "fact"
        )
        if banner := self.lines.get("banner"):
            self.tool_version = banner["version"]
        if path := self.lines.get("path"):
            self.parameters["path"] = path["path"]
        if concurrency := self.lines.get("concurrency"):
            self.parameters["concurrency"] = concurrency.integer("concurrency")
        if keep := self.lines.get("keep"):
            # The line exists only with -k.
            self.parameters["keep_alive"] = True
            self.facts["keep-alive requests"] = keep.integer("keep")
        self._add_warnings()

        complete, received = self.lines.get("complete"), self.lines.get("received")
        if "csv" in self.lines:
            self._add_percentiles("cell")
            if self and "cell100" not in self.lines:
                self.add_warning("cut", "The table of percentiles ends before 100%.")
        # Without these lines, the text may be truncated before the line of ``-k``.
        elif (
            complete
            and complete.integer("complete")
            and self.lines.keys() & FOLLOWING_LINES
        ):
            if received and received.integer("received") == 0:
                self.add_warning(
                    "errors", "No bytes were received, so no request was answered."
                )
            else:
                self._read_results()
                self._add_percentiles("percent")

    def _add_warnings(self) -> None:
        why = self.lines.get("why")
        errors = 0
        for kind, code in WARNING_CODES.items():
            if (line := self.lines.get(kind)) and (count := line.integer(kind)):
                reason = f" ({why['why']})" if why and kind == "failed" else ""
                self.add_warning(code, WARNING_TEXTS[kind], n=count, why=reason)
                errors += count
        if complete := self.lines.get("complete"):
            # Pages of varying length are answers, although ab counts them as failed.
            varied = _LENGTH.search(why["why"]) if why else None
            errors -= int(varied[1]) if varied else 0
            self.count_errors(max(errors, 0), complete.integer("complete"))
        for line in self.lines.values():
            if line.kind == "doubt":
                self.add_warning(
                    "unreliable",
                    "ab reports that its {which} times are not reliable because "
                    "they vary too much.",
                    which=line["doubt"],
                )
        if trouble := self.lines.get("trouble"):
            printed = trouble["trouble"].strip()
            self.add_failure("failed", "ab printed: {trouble}.", trouble=printed)
        if "complete" in self.lines and "rate" not in self.lines:
            self.add_warning("cut", "The text ends before the rates of ab.")

    def _read_results(self) -> None:
        for kind in (kind for kind in NUMBERS if kind in self.lines):
            (metric, unit), line = NUMBERS[kind], self.lines[kind]
            self.add(metric, line.number(kind) if unit else line.integer(kind), unit)

        duration, received = self.lines.get("duration"), self.lines.get("received")
        if transfer := self.lines.get("transfer"):
            rate = transfer.number("transfer")
            unit = "kB/s" if transfer["unit"] == "kb/s" else "KiB/s"
            if unit == "KiB/s" and duration and received:
                # In old versions this unit is 10^3 B. Bytes and time show which it is,
                # within the rounding of the rate (two decimals) and time (three).
                seconds = duration.number("duration")
                total = received.number("received")
                slack = 6 * seconds + 0.005 * total
                thousands = rate * seconds
                if (
                    abs(thousands * 1000 - total)
                    < slack
                    < abs(thousands * 1024 - total)
                ):
                    unit = "kB/s"
            self.add("transfer rate", rate, unit)

        rows = {phase: self.lines.get(f"times{phase}") for phase in PHASES}
        for phase, row in ((phase, row) for phase, row in rows.items() if row):
            times = row.numbers("times", 0)
            if row.may_be_truncated("times") or len(times) not in COLUMNS:
                raise row.parse_error("this row is truncated or has different columns.")
            if min(times) < 0:
                raise row.parse_error("a time in this row is negative.")
            for which, value in zip(COLUMNS[len(times)], times, strict=True):
                # A time below one millisecond is printed as 0.
                if which != "sd" and value:
                    self.add(f"{phase.casefold()} time {which}", value, "ms")

    def _add_percentiles(self, kind: str) -> None:
        rank, time, decimals = PERCENTILES[kind]
        for line in self.lines.values():
            if line.kind == kind:
                percent, value = line.integer(rank), line.number(time, decimals)
                if percent > 100:
                    raise line.parse_error("a percentile cannot be above 100.")
                self.add("response time percentile", value, "ms", percentile=percent)


@parser("ab completed no request.")
def parse(output: str) -> list[AbReport]:
    reports = [AbReport()]
    for line in LINES(output):
        key = line.kind + "".join(line[group] for group in RESULT_LINES)
        lines = reports[-1].lines
        # A repeated line begins another report, because a copy may lack its banner.
        if key in lines or (line.kind in FIRST_LINES and lines):
            append_limited(reports, AbReport())
        reports[-1].lines[key] = line
    return reports


def _metric(name: str, unit: str, better: Better, **options: Any) -> Metric:
    is_count = not unit
    return Metric(name, unit, better, "application", allows_zero=is_count, **options)


TOOL = Tool(
    slug="ab",
    title="ab",
    homepage="https://httpd.apache.org/docs/current/programs/ab.html",
    options=Options({"-c": "concurrency"}),
    metrics=(
        _metric("request rate", "1/s", "higher", work_class=WEB),
        _metric("transfer rate", "KiB/s", "higher", implied_by=("request rate",)),
        _metric("time per request", "ms", "lower", implied_by=("request rate",)),
        _metric(
            "time per request overall", "ms", "lower", implied_by=("request rate",)
        ),
        _metric("response time percentile", "ms", "lower", work_class=APPLICATION_TAIL),
        *(
            _metric(f"{phase.casefold()} time {which}", "ms", "lower")
            for phase in PHASES
            for which in ("min", "mean", "median", "max")
        ),
        Metric(
            "test duration",
            "s",
            "lower",
            "application",
            fixed_by_parameters=("t", *DURATION_OPTIONS),
            amount_options=AMOUNT_OPTIONS,
            implied_by=("request rate", "time per request"),
        ),
        *(
            _metric(name, unit, "neither")
            for name, unit in NUMBERS.values()
            if not unit
        ),
    ),
    aliases=("ApacheBench", "Apache Bench"),
    labels=("concurrency {concurrency}", "p{percentile}"),
    version=3,
    parse=parse,
    targets=("server hostname", "server port"),
    signatures=(
        r"This is ApacheBench, Version ",
        r"Percentage served,Time in ms",
        r"Concurrency Level: +\d",
        r"Percentage of the requests served within a certain time",
    ),
    programs=("ab", "ab2"),
    error_metrics=ErrorMetrics(("failed requests", "non-2xx responses"), "requests"),
    is_localized=False,
)
