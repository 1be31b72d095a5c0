"""wrk and wrk2: the requests that a web server answers over open connections.

k and M of requests are 10^3 and 10^6, KB and MB of data 2^10 and 2^20 B.
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
    APPLICATION_TAIL,
    WEB,
    Metric,
    Options,
    Parameter,
    RateOption,
    Tool,
)

_TIME = r"(?P<{0}>[^\s]+?)(?P<{0}_unit>us|ms|s|m|h)"
_RATE = r"(?P<{0}>[^\s]+?)(?P<{0}_unit>[kMGTP]?)"
LINES = LineScanner(
    begin=r"Running (?P<planned>\S+) test @ (?P<url>\S+)[ \t]*+$",
    load=r"(?P<threads>\S+) threads? and (?P<connections>\S+) connections?[ \t]*+$",
    columns=r"Thread Stats +Avg +Stdev +(?P<third>\S+)",
    latency=rf"Latency +{_TIME.format('mean')} +\S+ +{_TIME.format('max')} +\S+%",
    thread=rf"Req/Sec +{_RATE.format('thread')} +\S+ +\S+ +\S+%",
    spectrum=r"Latency Distribution(?P<spectrum>[^\n]*)$",
    # Lines must be complete, because a truncated number may lack digits.
    percentile=rf"(?P<percent>\d+(?:\.\d+)?)% +{_TIME.format('at')}[ \t]*+(?=\n)",
    total=rf"(?P<requests>\S+) requests in {_TIME.format('duration')}, \S+B read"
    r"[ \t]*+$",
    socket=r"Socket errors: (?P<socket>[^\n]+)(?=\n)",
    status=r"Non-2xx or 3xx responses: (?P<status>\S+)[ \t]*+(?=\n)",
    rate=r"Requests/sec: +(?P<rate>\S+)",
    transfer=r"Transfer/sec: +(?P<transfer>[^\s]+?)(?P<prefix>[KMGTP]?)B[ \t]*+$",
    trouble=r"(?P<trouble>unable to (?:connect|resolve|create)[^\n]*)",
)
_SOCKET = re.compile(r"(\w+) (\d{1,18})")
TIMES = {"us": "us", "ms": "ms", "s": "s", "m": "min", "h": "h"}
FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
SIZES = {"": "B/s", "K": "KiB/s", "M": "MiB/s", "G": "GiB/s", "T": "TiB/s"}
PEBI = 1024


@dataclass
class WrkRun(Draft):
    lines: dict[str, MatchedLine] = field(default_factory=dict)
    distributions: list[tuple[str, list[MatchedLine]]] = field(default_factory=list)

    def close(self) -> None:
        self._add_warnings()
        total = self.lines.get("total")
        if total is None or total.integer("requests") == 0:
            return
        if line := self.lines.get("begin"):
            self.facts |= {"planned": line["planned"], "url": line["url"]}
            # The path is part of the case, the host is not.
            server, _, path = line["url"].partition("://")[2].partition("/")
            self.facts["server"] = server
            self.parameters["path"] = f"/{path}"
        if line := self.lines.get("load"):
            for name in ("threads", "connections"):
                self.parameters[name] = line.integer(name)
        self.add("requests", total.integer("requests"), "")
        self._add_time(total, "duration", "test duration")
        self._read_rates()
        for title, lines in self.distributions:
            case: dict[str, Parameter] = {}
            if "Uncorrected" in title:
                case["uncorrected"] = True
            for line in lines:
                case["percentile"] = line.parse_number(line["percent"])
                self._add_time(line, "at", "latency percentile", **case)

    def _add_warnings(self) -> None:
        # Timed-out requests and bad answers are among the requests.
        errors = unanswered = 0
        if line := self.lines.get("trouble"):
            self.add_failure(
                "failed", "wrk printed: {trouble}.", trouble=line["trouble"]
            )
        if line := self.lines.get("socket"):
            self.add_warning(
                "errors", "Socket errors: {socket}.", socket=line["socket"].strip()
            )
            sockets = dict(_SOCKET.findall(line["socket"]))
            errors = sum(map(int, sockets.values()))
            unanswered = errors - int(sockets.get("timeout", 0))
        if line := self.lines.get("status"):
            count = line.integer("status")
            self.add_warning(
                "http_errors",
                "Responses with a status other than 2xx or 3xx: {count}.",
                count=count,
            )
            errors += count
        if total := self.lines.get("total"):
            self.count_errors(errors, total.integer("requests") + unanswered)
        if "total" in self.lines and "transfer" not in self.lines:
            self.add_warning(
                "cut", "The output is truncated: the final rates of wrk are missing."
            )

    def _read_rates(self) -> None:
        if line := self.lines.get("rate"):
            self.add("request rate", line.number("rate", 2), "1/s")
        if line := self.lines.get("transfer"):
            value, prefix = line.number("transfer"), line["prefix"]
            if prefix == "P":
                value, prefix = value * PEBI, "T"
            self.add("transfer rate", value, SIZES[prefix])
        line = self.lines.get("thread")
        if line and line["thread"].strip("+-") == "nan":
            self.add_warning(
                "not_measured", "The run is too short for per-thread rates."
            )
        elif line:
            value = line.number("thread") * FACTORS[line["thread_unit"]]
            self.add("thread request rate", value, "1/s")

        if line := self.lines.get("latency"):
            self._add_time(line, "mean", "latency mean")
            columns = self.lines.get("columns")
            third = columns["third"] if columns else "Max"
            if third == "Max":
                self._add_time(line, "max", "latency max")
            elif third == "99%" and not self.distributions:
                # wrk2 prints the 99th percentile instead of wrk's maximum.
                self._add_time(line, "max", "latency percentile", percentile=99)

    def _add_time(
        self, line: MatchedLine, group: str, metric: str, **case: Parameter
    ) -> None:
        self.add(metric, line.number(group), TIMES[line[f"{group}_unit"]], **case)


@parser("wrk received no response.")
def parse(output: str) -> list[WrkRun]:
    runs = [WrkRun()]
    for line in LINES(output):
        if line.kind == "begin" or "transfer" in runs[-1].lines:
            append_limited(runs, WrkRun())
        if line.kind == "spectrum":
            runs[-1].distributions.append((line["spectrum"], []))
        elif line.kind == "percentile":
            if runs[-1].distributions:
                runs[-1].distributions[-1][1].append(line)
        else:
            runs[-1].lines[line.kind] = line
    return runs


def _metric(name: str, unit: str, **options: Any) -> Metric:
    is_rate = unit.endswith("/s")
    return Metric(
        name=name,
        unit=unit,
        better="higher" if is_rate else "lower",
        component="application",
        # All rates follow from the request rate, which is set in wrk2.
        rate_options=(RateOption("rate", ""), RateOption("R", "")) if is_rate else (),
        **options,
    )


TOOL = Tool(
    slug="wrk",
    title="wrk",
    homepage="https://github.com/wg/wrk",
    options=Options(
        {
            **dict.fromkeys(("-t", "--threads"), "threads"),
            **dict.fromkeys(("-c", "--connections"), "connections"),
        }
    ),
    metrics=(
        Metric(
            "request rate",
            "1/s",
            "higher",
            "application",
            rate_options=(RateOption("rate"), RateOption("R")),
            work_class=WEB,
        ),
        _metric("transfer rate", "MiB/s", implied_by=("request rate",)),
        _metric("thread request rate", "1/s"),
        _metric("latency mean", "ms", implied_by=("request rate",)),
        _metric("latency max", "ms"),
        _metric("latency percentile", "ms", work_class=APPLICATION_TAIL),
        Metric("test duration", "s", "lower", "application", kind="setting"),
        Metric("requests", "", "neither", "application", allows_zero=True),
    ),
    aliases=("wrk2",),
    labels=("{connections} connections", "p{percentile}"),
    version=3,
    parse=parse,
    targets=("server",),
    signatures=(
        r"Running \d+\S* test @ \S",
        r"\d+ requests in \S+, \S+B read$",
        r"Thread Stats   Avg ",
    ),
    programs=("wrk", "wrk2"),
    is_localized=False,
)
