"""ab (ApacheBench): the requests that a web server answers, and how fast.

One result row, as printed by ab 2.3::

    Requests per second:    1999.78 [#/sec] (mean)

Its Kbytes are 2^10 B, in ab 1.3 (as its kb) 10^3 B. With ``-e`` it writes percentiles::

    50,0.901
"""

from __future__ import annotations

from benchmarks.parsing.contract import Better, Metric, Tool
from benchmarks.parsing.drafts import (
    Draft,
    Parameter,
    ParsedRun,
    Parser,
    finished,
    keep,
)
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence, template

LINES = Scanner(
    banner=r"This is ApacheBench, Version (?P<version>\S+)",
    csv=r"Percentage served,Time in ms\b",
    fact=r"(?P<fact>Server Software|Server Hostname|Server Port|Document Length|"
    r"SSL/TLS Protocol|TLS Protocol): +(?P<told>\S[^\n]*)$",
    path=r"Document Path: +(?P<path>\S+)",
    concurrency=r"Concurrency Level: +(?P<concurrency>\S+)",
    duration=r"Time taken for tests: +(?P<duration>\S+) seconds",
    complete=r"Complete requests: +(?P<complete>\S+)",
    failed=r"Failed requests: +(?P<failed>\S+)",
    broken=r"Broken pipe errors: +(?P<broken>\S+)",
    why=r"\((?P<why>(?:Connect|Length): \d+, [^\n]+)\)$",
    written=r"Write errors: +(?P<written>\S+)",
    status=r"Non-2xx responses: +(?P<status>\S+)",
    moved=r"Total transferred: +(?P<moved>\S+) bytes",
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
PHASES = ("Connect", "Processing", "Waiting", "Total")
# The columns of the table of times, by their number; sd is no result.
COLUMNS = {
    5: ("min", "mean", "sd", "median", "max"),
    3: ("min", "mean", "max"),
    4: ("min", "mean", "sd", "max"),
}
# What tells lines of one kind apart.
TELLING = ("fact", "phase", "percent", "share", "doubt")
BEGIN = frozenset({"banner", "csv"})
COUNTS = ("requests", "failed requests", "non-2xx responses")
# What comes behind the line that tells whether connections were kept.
BEHIND = frozenset({"moved", "rate", "each", "transfer", "timesTotal"})
# What must be 0, and the code of the mark if it is not.
DOUBTS = {
    "failed": "errors",
    "broken": "errors",
    "written": "errors",
    "status": "http_errors",
}
TOLD = {
    "failed": template("{n} requests failed{why}."),
    "broken": template("{n} broken pipes."),
    "written": template("{n} errors of writing."),
    "status": template("{n} answers were not 2xx."),
}
Lines = dict[str, Found]


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start, and for each table of percentiles."""
    runs: list[Lines] = [{}]
    for line in LINES(output):
        key = line.kind + "".join(line[group] for group in TELLING)
        if key in runs[-1] or (line.kind in BEGIN and runs[-1]):
            keep(runs, {})
        runs[-1][key] = line
    return finished(
        [_run(lines) for lines in runs], Sentence("ab completed no request.")
    )


def _run(lines: Lines) -> Draft:
    run = Draft()
    run.attempt(_read, run, lines)
    return run


def _read(run: Draft, lines: Lines) -> None:
    _read_head(lines, run)
    _check(lines, run)
    complete = lines.get("complete")
    if "csv" in lines:
        _read_csv(lines, run)
    elif complete and complete.whole("complete") and lines.keys() & BEHIND:
        if (moved := lines.get("moved")) and moved.whole("moved") == 0:
            run.mark("errors", Sentence("No server sent a byte: nothing was answered."))
            return
        _read_counts(lines, run)
        _read_rates(lines, run)
        _read_times(lines, run)


def _read_head(lines: Lines, run: Draft) -> None:
    for key, line in lines.items():
        if line.kind == "fact":
            run.facts[line["fact"].casefold()] = line["told"].strip()
        elif key == "banner":
            run.tool_version = line["version"]
        elif key == "path":
            run.parameters["path"] = line["path"]
        elif key == "concurrency":
            run.parameters["concurrency"] = line.whole("concurrency")
        elif key == "keep":
            # The line is there with -k only.
            run.parameters["keep_alive"] = True
            run.facts["keep-alive requests"] = line.whole("keep")


def _check(lines: Lines, run: Draft) -> None:
    for kind, code in DOUBTS.items():
        if (line := lines.get(kind)) and (count := line.whole(kind)):
            why = lines.get("why")
            told = f" ({why['why']})" if why and kind == "failed" else ""
            run.mark(code, Sentence(TOLD[kind], n=count, why=told))
    for line in lines.values():
        if line.kind == "doubt":
            told = Sentence(
                "ab does not trust its {which} times: they scatter.",
                which=line["doubt"],
            )
            run.mark("unreliable", told)
    if line := lines.get("trouble"):
        run.mark(
            "failed",
            Sentence("ab printed: {trouble}.", trouble=line["trouble"].strip()),
        )
    if "complete" in lines and "rate" not in lines:
        run.mark("cut", Sentence("The text ends before the rates of ab."))


def _read_counts(lines: Lines, run: Draft) -> None:
    kinds = ("complete", "failed", "status")
    for metric, kind in zip(COUNTS, kinds, strict=True):
        if line := lines.get(kind):
            run.add(metric, line.whole(kind), "")


def _read_rates(lines: Lines, run: Draft) -> None:
    if line := lines.get("duration"):
        run.add("test duration", line.number("duration"), "s")
    if line := lines.get("rate"):
        run.add("request rate", line.number("rate"), "1/s")
    if line := lines.get("each"):
        run.add("time per request", line.number("each"), "ms")
    if line := lines.get("across"):
        run.add("time per request overall", line.number("across"), "ms")
    if line := lines.get("transfer"):
        run.add("transfer rate", line.number("transfer"), _transfer_unit(lines))


def _transfer_unit(lines: Lines) -> str:
    """KiB/s, unless the bytes and the time show the 10^3 B of old versions."""
    rate, time, moved = (lines.get(kind) for kind in ("transfer", "duration", "moved"))
    if rate and rate["unit"] == "kb/s":
        return "kB/s"
    if not (rate and time and moved):
        return "KiB/s"
    seconds, total = time.number("duration"), moved.number("moved")
    # What the two decimals of the rate and the three of the time leave open.
    slack = 6 * seconds + 0.005 * total
    told = rate.number("transfer") * seconds
    is_decimal = abs(told * 1000 - total) < slack < abs(told * 1024 - total)
    return "kB/s" if is_decimal else "KiB/s"


def _read_times(lines: Lines, run: Draft) -> None:
    for phase in PHASES:
        if line := lines.get(f"times{phase}"):
            _read_phase(line, phase.casefold(), run)
    for line in lines.values():
        if line.kind == "percent":
            _add_percentile(line.whole("percent"), line.number("at"), line, run)


def _read_phase(line: Found, phase: str, run: Draft) -> None:
    numbers = line.numbers("times", 0)
    if line.is_open("times") or len(numbers) not in COLUMNS:
        raise line.refused(Sentence("this row is cut or has other columns."))
    if min(numbers) < 0:
        raise line.refused(Sentence("a time of this row is negative."))
    for which, value in zip(COLUMNS[len(numbers)], numbers, strict=True):
        # 0 is less than the whole millisecond that ab prints.
        if which != "sd" and value:
            run.add(f"{phase} time {which}", value, "ms")


def _read_csv(lines: Lines, run: Draft) -> None:
    for line in lines.values():
        if line.kind == "cell":
            _add_percentile(line.whole("share"), line.number("ms", 3), line, run)
    if run and "cell100" not in lines:
        run.mark("cut", Sentence("The table of percentiles ends before 100 %."))


def _add_percentile(percent: int, value: float, line: Found, run: Draft) -> None:
    if percent > 100:
        raise line.refused(Sentence("there is no such percentile."))
    case: dict[str, Parameter] = {"percentile": percent}
    run.add("response time percentile", value, "ms", **case)


def _metric(name: str, unit: str, better: Better) -> Metric:
    return Metric(
        name=name,
        unit=unit,
        better=better,
        component="application",
        zero_allowed=not unit,
    )


TOOL = Tool(
    slug="ab",
    title="ab",
    homepage="https://httpd.apache.org/docs/current/programs/ab.html",
    metrics=(
        _metric("request rate", "1/s", "higher"),
        _metric("transfer rate", "KiB/s", "higher"),
        _metric("time per request", "ms", "lower"),
        _metric("time per request overall", "ms", "lower"),
        _metric("response time percentile", "ms", "lower"),
        *(
            _metric(f"{phase.casefold()} time {which}", "ms", "lower")
            for phase in PHASES
            for which in ("min", "mean", "median", "max")
        ),
        _metric("test duration", "s", "lower"),
        *(_metric(count, "", "neither") for count in COUNTS),
    ),
    aliases=("ApacheBench", "Apache Bench"),
    labels=("concurrency {concurrency}", "p{percentile}"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"This is ApacheBench, Version ",
            r"Percentage served,Time in ms",
            r"Concurrency Level: +\d",
            r"Percentage of the requests served within a certain time",
        ),
        programs=("ab", "ab2"),
        # The comma of a table of percentiles is none of a number.
        localized=False,
    ),
)
