"""httperf: the load one client can put on a web server.

KB are 2^10 B. The rate of replies is sampled every 5 s.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    WEB,
    Better,
    ErrorMetrics,
    Metric,
    RateOption,
    Tool,
)

LINES = LineScanner(
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
    # These lines must be complete.
    errors=r"Errors: total (?P<errors>\S+) (?P<why>[^\n]+)(?=\n)",
    more=r"Errors: (?P<more>fd-unavail [^\n]+)(?=\n)",
    sessions=r"Session rate \[sess/s\]: min \S+ avg (?P<session>\S+) max \S+ "
    r"stddev \S+ \((?P<done>\d+)/(?P<all>\d+)\)",
    lifetime=r"Session lifetime \[s\]: (?P<lifetime>\S+)$",
)
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
SHAPES = ("uri", "period", "burst-length", "wsesslog", "wset", "wlog", "method")
FACTS = ("server", "port", "timeout", "client")
# Options that set the duration of a test: connections per second, the time between two
# connections, or the think time of a session (the last number of `wsess`).
PACE_OPTIONS = ("rate", "period", "wsess")
CALLS = (RateOption("rate", multipliers=("calls", "wsess.1")),)
COUNTS = ("requests", "replies", "errors")


@dataclass
class HttperfRun(Draft):
    replies: int | None = None
    has_errors: bool = False
    requests: int = 0
    bad_replies: int = 0

    def close(self) -> None:
        if self.errors is not None:
            self.operations = max(self.requests, (self.replies or 0) + self.errors)
            self.errors += self.bad_replies

    def read(self, line: MatchedLine) -> None:
        if line.kind == "command":
            self._read_options(line)
        elif line.kind == "total":
            self.replies = line.integer("replies")
            self.requests = line.integer("requests")
            self.errors = max(self.requests - self.replies, 0)
            if self.replies:
                self.add("test duration", line.number("duration"), "s")
                self.add("requests", line.integer("requests"), "")
                self.add("replies", self.replies, "")
            if 0 < self.replies < line.integer("requests"):
                self.add_warning(
                    "errors",
                    "Only {replies} of {requests} requests received a reply.",
                    replies=self.replies,
                    requests=line["requests"],
                )
        elif line.kind == "errors":
            self.has_errors = True
            errors = line.integer("errors")
            if self.replies:
                self.add("errors", errors, "")
            # Connections that failed sent no requests.
            self.errors = max(self.errors or 0, errors)
            if errors:
                errors_text = f"{line['errors']} ({line['why'].strip()})"
                self.add_warning(
                    "errors", "httperf counted errors: {errors}.", errors=errors_text
                )
        elif line.kind in {"more", "status"}:
            self._warn_about_trouble(line)
        elif self.replies:
            self._read_numbers(line)

    def _read_options(self, line: MatchedLine) -> None:
        options = dict(
            option.removeprefix("--").split("=", 1)
            for option in line["options"].split()
            if option.startswith("--") and "=" in option
        )
        if session := options.get("wsess"):
            # httperf prints 4,15,10.000 if 4,15,10 was requested.
            parts = [f"{line.parse_number(part):g}" for part in session.split(",")]
            self.parameters["wsess"] = ",".join(parts)
        for option, name in OPTIONS.items():
            # A session makes its own connections and calls, regardless of their
            # options.
            if option in options and not (session and option != "rate"):
                value = line.parse_number(options[option])
                self.parameters[name] = int(value) if value.is_integer() else value
        self.parameters.update(
            {name: options[name] for name in SHAPES if name in options}
        )
        self.facts.update({name: options[name] for name in FACTS if name in options})

    def _warn_about_trouble(self, line: MatchedLine) -> None:
        if line.kind == "more":
            counts = line["more"].split()
            if any(count.isdigit() and int(count) for count in counts):
                self.add_warning(
                    "client_limit",
                    "The client reached its limits: {limits}.",
                    limits=line["more"].strip(),
                )
            return
        for answer in line["status"].split():
            status, _, count = answer.partition("=")
            if status in {"4xx", "5xx"} and (number := line.parse_number(count)) > 0:
                self.bad_replies += round(number)
                self.add_warning(
                    "http_errors",
                    "Replies with the status {status}: {count}.",
                    count=count,
                    status=status,
                )

    def _read_numbers(self, line: MatchedLine) -> None:
        for group, metric, unit in NUMBERS.get(line.kind, ()):
            # 0.0 is below the resolution of the tool.
            if value := line.number(group, 1):
                self.add(metric, value, unit)
        if line.kind == "cpu":
            for mode in ("user", "system"):
                self.add(f"client CPU {mode}", line.number(mode), "s")
        elif line.kind == "reply":
            if line.integer("samples"):
                self.add("reply rate", line.number("reply"), "1/s")
            else:
                self.add_warning(
                    "too_short",
                    "The test ran less than 5 s, so the reply rate has no sample.",
                )
        elif line.kind == "sessions" and line["done"] != line["all"]:
            sessions = f"{line['done']} of {line['all']}"
            self.add_warning(
                "errors",
                "Completed sessions: only {sessions}.",
                sessions=sessions,
            )


@parser("httperf received no replies.")
def parse(output: str) -> list[HttperfRun]:
    runs = [HttperfRun()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
            continue
        is_next = line.kind == "total" and runs[-1].replies is not None
        if line.kind == "command" or is_next:
            append_limited(runs, HttperfRun(tool_version=version))
            version = ""
        runs[-1].read_line(runs[-1].read, line)
    for run in runs:
        if run.replies and not run.has_errors:
            run.add_warning("cut", "The text ends before the error counts of httperf.")
    return runs


def _metric(name: str, unit: str, better: Better, **options: Any) -> Metric:
    is_count = better == "neither"
    return Metric(name, unit, better, "application", allows_zero=is_count, **options)


IMPLYING_RATE = ("reply rate",)
IMPLYING_RATE_AND_TIME = ("reply rate", "reply time")
TOOL = Tool(
    slug="httperf",
    title="httperf",
    homepage="https://github.com/httperf/httperf",
    metrics=(
        _metric(
            "test duration",
            "s",
            "lower",
            fixed_by_parameters=PACE_OPTIONS,
            implied_by=IMPLYING_RATE_AND_TIME,
        ),
        _metric("reply time", "ms", "lower", implied_by=IMPLYING_RATE),
        # httperf polls in a busy loop, so its CPU time follows the test duration.
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
                rate_options=(RateOption("rate"),),
                implied_by=IMPLYING_RATE,
            )
            for what in ("connection", "session")
        ),
        _metric(
            "request rate",
            "1/s",
            "higher",
            rate_options=CALLS,
            implied_by=IMPLYING_RATE,
        ),
        _metric("reply rate", "1/s", "higher", rate_options=CALLS, work_class=WEB),
        _metric(
            "connection time mean", "ms", "lower", implied_by=IMPLYING_RATE_AND_TIME
        ),
        *(
            _metric(f"connection time {which}", "ms", "lower")
            for which in ("min", "median", "max")
        ),
        _metric("connect time", "ms", "lower"),
        _metric("transfer time", "ms", "lower"),
        _metric("session lifetime", "s", "lower", fixed_by_parameters=PACE_OPTIONS),
        _metric(
            "network throughput",
            "KiB/s",
            "higher",
            rate_options=(RateOption("rate", ""),),
            implied_by=IMPLYING_RATE_AND_TIME,
        ),
    ),
    labels=("wsess={wsess}",),
    version=3,
    parse=parse,
    targets=("server", "port"),
    signatures=(
        r"httperf: httperf-\S+ compiled ",
        r"httperf: (?:warning: |maximum number of open descriptors)",
        r"httperf (?:--(?!client=)\w[\w-]*+(?:=\S*+)? ){0,99}--client=\d+/\d+ ",
        r"Total: connections \S+ requests \S+ replies \S+ test-duration ",
    ),
    programs=("httperf",),
    error_metrics=ErrorMetrics(("errors",), "requests", successes="replies"),
)
