"""wrk and wrk2: the requests that a web server answers over open connections.

One result row, as printed by wrk 4.1.0::

    Requests/sec:   2153.37

Its k and M of requests are 10^3 and 10^6, the KB and MB of data 2^10 and 2^20 B.
"""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.parsing.contract import WEB, Cap, Metric, Options, Parameter, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

_TIME = r"(?P<{0}>[^\s]+?)(?P<{0}_unit>us|ms|s|m|h)"
_RATE = r"(?P<{0}>[^\s]+?)(?P<{0}_unit>[kMGTP]?)"
LINES = Scanner(
    begin=r"Running (?P<planned>\S+) test @ (?P<url>\S+)[ \t]*+$",
    load=r"(?P<threads>\S+) threads? and (?P<connections>\S+) connections?[ \t]*+$",
    columns=r"Thread Stats +Avg +Stdev +(?P<third>\S+)",
    latency=rf"Latency +{_TIME.format('mean')} +\S+ +{_TIME.format('max')} +\S+%",
    thread=rf"Req/Sec +{_RATE.format('thread')} +\S+ +\S+ +\S+%",
    spectrum=r"Latency Distribution(?P<spectrum>[^\n]*)$",
    # Whole lines only, here and below: the number in a cut one may lack its end.
    percentile=rf"(?P<percent>\d+(?:\.\d+)?)% +{_TIME.format('at')}[ \t]*+(?=\n)",
    total=rf"(?P<requests>\S+) requests in {_TIME.format('duration')}, \S+B read"
    r"[ \t]*+$",
    socket=r"Socket errors: (?P<socket>[^\n]+)(?=\n)",
    status=r"Non-2xx or 3xx responses: (?P<status>\S+)[ \t]*+(?=\n)",
    rate=r"Requests/sec: +(?P<rate>\S+)",
    transfer=r"Transfer/sec: +(?P<transfer>[^\s]+?)(?P<prefix>[KMGTP]?)B[ \t]*+$",
    trouble=r"(?P<trouble>unable to (?:connect|resolve|create)[^\n]*)",
)
TIMES = {"us": "us", "ms": "ms", "s": "s", "m": "min", "h": "h"}
FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
SIZES = {"": "B/s", "K": "KiB/s", "M": "MiB/s", "G": "GiB/s", "T": "TiB/s"}
PEBI = 1024


@dataclass
class Run(Draft):
    """The lines of one run by kind; percentiles of each distribution."""

    lines: dict[str, Found] = field(default_factory=dict)
    spectra: list[tuple[str, list[Found]]] = field(default_factory=list)

    def close(self) -> None:
        self._mark_doubts()
        total = self.lines.get("total")
        if total is None or total.whole("requests") == 0:
            return
        if line := self.lines.get("begin"):
            self.facts |= {"planned": line["planned"], "url": line["url"]}
            # What is asked for is a part of the case, who is asked is not.
            path = line["url"].partition("://")[2].partition("/")[2]
            self.parameters["path"] = f"/{path}"
        if line := self.lines.get("load"):
            for name in ("threads", "connections"):
                self.parameters[name] = line.whole(name)
        self.add("requests", total.whole("requests"), "")
        self._add_time(total, "duration", "test duration")
        self._read_rates()
        for title, lines in self.spectra:
            case: dict[str, Parameter] = {}
            if "Uncorrected" in title:
                case["uncorrected"] = True
            for line in lines:
                percent = line.number_of(line["percent"])
                case["percentile"] = int(percent) if percent.is_integer() else percent
                self._add_time(line, "at", "latency percentile", **case)

    def _mark_doubts(self) -> None:
        if line := self.lines.get("trouble"):
            self.mark("failed", "wrk printed: {trouble}.", trouble=line["trouble"])
        if line := self.lines.get("socket"):
            self.mark(
                "errors", "Socket errors: {socket}.", socket=line["socket"].strip()
            )
        if line := self.lines.get("status"):
            count = line.whole("status")
            self.mark(
                "http_errors", "{count} answers were neither 2xx nor 3xx.", count=count
            )
        if "total" in self.lines and "transfer" not in self.lines:
            self.mark("cut", "The text ends before the rates of wrk.")

    def _read_rates(self) -> None:
        if line := self.lines.get("rate"):
            self.add("request rate", line.number("rate", 2), "1/s")
        if line := self.lines.get("transfer"):
            value, prefix = line.number("transfer"), line["prefix"]
            if prefix == "P":  # there is no unit for it
                value, prefix = value * PEBI, "T"
            self.add("transfer rate", value, SIZES[prefix])
        line = self.lines.get("thread")
        if line and line["thread"].strip("+-") == "nan":
            self.mark("not_measured", "Too short for a rate of each thread.")
        elif line:
            value = line.number("thread") * FACTORS[line["thread_unit"]]
            self.add("thread request rate", value, "1/s")

        if line := self.lines.get("latency"):
            self._add_time(line, "mean", "latency mean")
            columns = self.lines.get("columns")
            third = columns["third"] if columns else "Max"
            if third == "Max":
                self._add_time(line, "max", "latency max")
            elif third == "99%" and not self.spectra:
                # wrk2 has the 99th percentile in the column of wrk's maximum, and once
                # more in its distribution if it prints one.
                self._add_time(line, "max", "latency percentile", percentile=99)

    def _add_time(
        self, line: Found, group: str, metric: str, **case: Parameter
    ) -> None:
        self.add(metric, line.number(group), TIMES[line[f"{group}_unit"]], **case)


@parser("wrk got no answer.")
def parse(output: str) -> list[Run]:
    """Return one run for each "Running ... test"."""
    runs = [Run()]
    for line in LINES(output):
        # The rates stand last: what follows is of another test.
        if line.kind == "begin" or "transfer" in runs[-1].lines:
            keep(runs, Run())
        if line.kind == "spectrum":
            runs[-1].spectra.append((line["spectrum"], []))
        elif line.kind == "percentile":
            if runs[-1].spectra:
                runs[-1].spectra[-1][1].append(line)
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
        # What moves follows the rate of requests, which wrk2 is told.
        capped_by=(Cap("rate", ""), Cap("R", "")) if is_rate else (),
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
            capped_by=(Cap("rate"), Cap("R")),
            work=WEB,
        ),
        _metric("transfer rate", "MiB/s", implied_by=("request rate",)),
        _metric("thread request rate", "1/s"),
        _metric("latency mean", "ms", implied_by=("request rate",)),
        _metric("latency max", "ms"),
        _metric("latency percentile", "ms"),
        # Always as long as its option says, or as the 10 s that stand for it.
        Metric("test duration", "s", "lower", "application", kind="setting"),
        Metric("requests", "", "neither", "application", zero_allowed=True),
    ),
    aliases=("wrk2",),
    labels=("{connections} connections", "p{percentile}"),
    version=2,
    parse=parse,
    signatures=(
        r"Running \d+\S* test @ \S",
        r"\d+ requests in \S+, \S+B read$",
        r"Thread Stats   Avg ",
    ),
    programs=("wrk", "wrk2"),
    localized=False,
)
