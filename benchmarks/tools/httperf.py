"""httperf: the load one client can put on a web server.

One result row, as printed by httperf 0.9.0::

    Total: connections 300 requests 300 replies 300 test-duration 2.991 s

It ends with 0 though every connection was refused: a run without a reply is none. The
KB of its net I/O are 2^10 B. The rate of replies is sampled every 5 s.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks.parsing.contract import WEB, Better, Cap, Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

LINES = Scanner(
    version=r"httperf: httperf-(?P<version>\S+) compiled ",
    command=r"httperf(?P<options>(?: +--?[a-z][^\n]*)?)$",
    total=r"Total: connections \S+ requests (?P<requests>\S+) replies (?P<replies>\S+) "
    r"test-duration (?P<duration>\S+) s\b",
    connection=r"Connection rate: (?P<connection>\S+) conn/s\b",
    life=r"Connection time \[ms\]: min (?P<min>\S+) avg (?P<mean>\S+) max (?P<max>\S+) "
    r"median (?P<median>\S+) stddev ",
    connect=r"Connection time \[ms\]: connect (?P<connect>\S+)$",
    request=r"Request rate: (?P<request>\S+) req/s\b",
    reply=r"Reply rate \[replies/s\]: min \S+ avg (?P<reply>\S+) max \S+ stddev \S+ "
    r"\((?P<samples>\d+) samples?\)",
    time=r"Reply time \[ms\]: response (?P<response>\S+) transfer (?P<transfer>\S+)$",
    status=r"Reply status: (?P<status>[^\n]*\b5xx=\d+)$",
    cpu=r"CPU time \[s\]: user (?P<user>\S+) system (?P<system>\S+) \(",
    net=r"Net I/O: (?P<net>\S+) KB/s\b",
    # Whole lines only: the last count of a cut one would be another number.
    errors=r"Errors: total (?P<errors>\S+) (?P<why>[^\n]+)(?=\n)",
    more=r"Errors: (?P<more>fd-unavail [^\n]+)(?=\n)",
    sessions=r"Session rate \[sess/s\]: min \S+ avg (?P<session>\S+) max \S+ "
    r"stddev \S+ \((?P<done>\d+)/(?P<all>\d+)\)",
    lifetime=r"Session lifetime \[s\]: (?P<lifetime>\S+)$",
)
# What is read from a line with one decimal: the group, its metric and unit.
NUMBERS = {
    "connection": (("connection", "connection rate", "1/s"),),
    "life": tuple(
        (which, f"connection time {which}", "ms")
        for which in ("min", "mean", "median", "max")
    ),
    "connect": (("connect", "connect time", "ms"),),
    "request": (("request", "request rate", "1/s"),),
    "time": (("response", "reply time", "ms"), ("transfer", "transfer time", "ms")),
    "net": (("net", "network throughput", "KiB/s"),),
    "sessions": (("session", "session rate", "1/s"),),
    "lifetime": (("lifetime", "session lifetime", "s"),),
}
OPTIONS = {"rate": "rate", "num-conns": "connections", "num-calls": "calls"}
# How the load is shaped otherwise, as it was asked for.
SHAPES = ("uri", "period", "burst-length", "wsesslog", "wset", "wlog", "method")
FACTS = ("server", "port", "timeout", "client")
# What sets when it asks, and so how long a test lasts: connections a second, the time
# between two, or the time that a session thinks (the last number of `wsess`).
PACES = ("rate", "period", "wsess")
# The rate is that of connections, or of sessions: each makes so many calls.
CALLS = (Cap("rate", times=("calls", "wsess.1")),)
COUNTS = ("requests", "replies", "errors")


@dataclass
class Run(Draft):
    """One run; ``replies`` is None until its total was read."""

    replies: int | None = None
    has_errors: bool = False

    def read(self, line: Found) -> None:
        if line.kind == "command":
            self._read_options(line)
        elif line.kind == "total":
            self.replies = line.whole("replies")
            if self.replies:
                self.add("test duration", line.number("duration"), "s")
                self.add("requests", line.whole("requests"), "")
                self.add("replies", self.replies, "")
            if 0 < self.replies < line.whole("requests"):
                self.mark(
                    "errors",
                    "Only {replies} of {requests} requests were replied.",
                    replies=self.replies,
                    requests=line["requests"],
                )
        elif line.kind == "errors":
            self.has_errors = True
            errors = line.whole("errors")
            if self.replies:
                self.add("errors", errors, "")
            if errors:
                told = f"{line['errors']} ({line['why'].strip()})"
                self.mark("errors", "httperf counted errors: {told}.", told=told)
        elif line.kind in {"more", "status"}:
            self._mark_trouble(line)
        elif self.replies:
            self._read_numbers(line)

    def _read_options(self, line: Found) -> None:
        given = dict(
            option.removeprefix("--").split("=", 1)
            for option in line["options"].split()
            if option.startswith("--") and "=" in option
        )
        if session := given.get("wsess"):
            # 4,15,10.000 is the 4,15,10 that was asked for.
            parts = [f"{line.number_of(part):g}" for part in session.split(",")]
            self.parameters["wsess"] = ",".join(parts)
        for option, name in OPTIONS.items():
            # A session makes its own connections and calls, whatever their options say.
            if option in given and not (session and option != "rate"):
                value = line.number_of(given[option])
                self.parameters[name] = int(value) if value.is_integer() else value
        self.parameters.update({name: given[name] for name in SHAPES if name in given})
        self.facts.update({name: given[name] for name in FACTS if name in given})

    def _mark_trouble(self, line: Found) -> None:
        if line.kind == "more":
            counts = line["more"].split()
            if any(count.isdigit() and int(count) for count in counts):
                self.mark(
                    "client_limit",
                    "The client met its limits: {told}.",
                    told=line["more"].strip(),
                )
            return
        for answer in line["status"].split():
            status, _, count = answer.partition("=")
            if status in {"4xx", "5xx"} and line.number_of(count) > 0:
                self.mark(
                    "http_errors",
                    "{count} replies were {status}.",
                    count=count,
                    status=status,
                )

    def _read_numbers(self, line: Found) -> None:
        for group, metric, unit in NUMBERS.get(line.kind, ()):
            # What is printed as 0.0 is below the resolution of the tool.
            if value := line.number(group, 1):
                self.add(metric, value, unit)
        if line.kind == "cpu":
            for mode in ("user", "system"):
                self.add(f"client CPU {mode}", line.number(mode), "s")
        elif line.kind == "reply":
            if line.whole("samples"):
                self.add("reply rate", line.number("reply"), "1/s")
            else:
                self.mark(
                    "too_short", "It ran less than 5 s: the reply rate has no sample."
                )
        elif line.kind == "sessions" and line["done"] != line["all"]:
            told = f"{line['done']} of {line['all']}"
            self.mark("errors", "Only {told} sessions were completed.", told=told)


@parser("httperf got no reply.")
def parse(output: str) -> list[Run]:
    """Return one run for each command that httperf repeats above its numbers."""
    runs = [Run()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
            continue
        is_next = line.kind == "total" and runs[-1].replies is not None
        if line.kind == "command" or is_next:
            keep(runs, Run(tool_version=version))
            version = ""
        runs[-1].attempt(runs[-1].read, line)
    for run in runs:
        if run.replies and not run.has_errors:
            run.mark("cut", "The text ends before httperf counted its errors.")
    return runs


def _metric(name: str, unit: str, better: Better, **options: Any) -> Metric:
    is_count = better == "neither"
    return Metric(name, unit, better, "application", zero_allowed=is_count, **options)


# A metric that these imply stands for a test where none of them was measured.
BY_RATE = ("reply rate",)
BY_BOTH = ("reply rate", "reply time")
TOOL = Tool(
    slug="httperf",
    title="httperf",
    homepage="https://github.com/httperf/httperf",
    metrics=(
        _metric("test duration", "s", "lower", fixed_by=PACES, implied_by=BY_BOTH),
        _metric("reply time", "ms", "lower", implied_by=BY_RATE),
        # httperf polls in a busy loop: its CPU time follows the duration of the test
        # and says nothing about the server or the client.
        *(
            _metric(f"client CPU {mode}", "s", "neither", kind="amount")
            for mode in ("user", "system")
        ),
        *(_metric(count, "", "neither") for count in COUNTS),
        *(
            _metric(
                f"{what} rate",
                "1/s",
                "higher",
                capped_by=(Cap("rate"),),
                implied_by=BY_RATE,
            )
            for what in ("connection", "session")
        ),
        _metric("request rate", "1/s", "higher", capped_by=CALLS, implied_by=BY_RATE),
        _metric("reply rate", "1/s", "higher", capped_by=CALLS, work=WEB),
        _metric("connection time mean", "ms", "lower", implied_by=BY_BOTH),
        *(
            _metric(f"connection time {which}", "ms", "lower")
            for which in ("min", "median", "max")
        ),
        _metric("connect time", "ms", "lower"),
        _metric("transfer time", "ms", "lower"),
        _metric("session lifetime", "s", "lower", fixed_by=PACES),
        _metric(
            "network throughput",
            "KiB/s",
            "higher",
            capped_by=(Cap("rate", ""),),
            implied_by=BY_BOTH,
        ),
    ),
    labels=("wsess={wsess}",),
    version=2,
    parse=parse,
    signatures=(
        r"httperf: httperf-\S+ compiled ",
        r"httperf: (?:warning: |maximum number of open descriptors)",
        r"httperf (?:--(?!client=)\w[\w-]*+(?:=\S*+)? ){0,99}--client=\d+/\d+ ",
        r"Total: connections \S+ requests \S+ replies \S+ test-duration ",
    ),
    programs=("httperf",),
)
