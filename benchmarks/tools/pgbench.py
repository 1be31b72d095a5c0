"""pgbench: transactions of a PostgreSQL server.

Up to version 13, two rates are printed; the one without connecting is read, like the
only one of later versions. With -R the rate is requested, but not printed::

    tps = 98.835946 (without initial connection time)
"""

from typing import Any

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    UNKNOWN_RATE,
    Metric,
    Options,
    RateOption,
    Tool,
    always,
)

LINES = LineScanner(
    version=r"pgbench \((?:PostgreSQL\) )?(?P<version>\d[\w.]*)",
    begin=r"transaction type: (?P<transaction>[^\n]+)$",
    scale=r"scaling factor: (?P<scale>\d+)[ \t]*+$",
    mode=r"query mode: (?P<mode>\w+)[ \t]*+$",
    clients=r"number of clients: (?P<clients>\d+)[ \t]*+$",
    threads=r"number of threads: (?P<threads>\d+)[ \t]*+$",
    duration=r"duration: (?P<duration>\d+) s[ \t]*+$",
    processed=r"number of transactions actually processed: (?P<processed>\d+)"
    r"(?:/\d+)?[ \t]*+(?=\n)",
    failed=r"number of failed transactions: (?P<failed>\d+) ",
    requested=r"rate limit schedule lag: (?P<requested>avg)",
    latency=r"latency average(?: =|:) (?P<latency>\S+) ms[ \t]*+$",
    deviation=r"latency stddev(?: =|:) (?P<deviation>\S+) ms[ \t]*+$",
    tps=r"tps = (?P<tps>\S+) \((?P<which>including connections establishing|excluding "
    r"connections establishing|without initial connection time|including reconnection "
    r"times)\)",
    aborted=r"(?P<aborted>Run was aborted[^\n]*|pgbench: (?:fatal|error): [^\n]*)$",
)
PARAMETERS = ("scale", "clients", "threads")


class PgbenchRun(Draft):
    def read(self, line: MatchedLine) -> None:
        if line.kind in PARAMETERS:
            self.parameters[line.kind] = line.integer(line.kind)
        elif line.kind == "mode":
            self.parameters["mode"] = line["mode"]
        elif line.kind == "duration":
            self.facts["duration"] = line.integer("duration")
        elif line.kind == "requested":
            self.parameters["rate"] = UNKNOWN_RATE
        elif line.kind == "aborted":
            self.add_failure(
                "failed", 'pgbench printed "{text}".', text=line["aborted"]
            )
        else:
            self._read_result(line)

    def _read_result(self, line: MatchedLine) -> None:
        if line.kind == "processed":
            self.add("transactions", line.integer("processed"), "")
        elif line.kind == "failed":
            failed = line.integer("failed")
            self.add("failed transactions", failed, "")
        elif line.kind == "latency":
            self.add("latency mean", line.number("latency"), "ms")
        elif line.kind == "deviation":
            self.facts["latency deviation ms"] = line.number("deviation")
        elif line["which"] != "including connections establishing":
            self.add("transaction rate", line.number("tps", 6), "1/s")


@parser("pgbench printed no result.")
def parse(output: str) -> list[PgbenchRun]:
    runs = [PgbenchRun()]
    version = ""
    for line in LINES(output):
        if line.kind == "version":
            version = line["version"]
        elif line.kind == "begin":
            kind = {"transaction": line["transaction"].strip()}
            append_limited(runs, PgbenchRun(tool_version=version, parameters={**kind}))
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


def _metric(name: str, unit: str, **options: Any) -> Metric:
    is_rate = unit == "1/s"
    return Metric(
        name,
        unit,
        "higher" if is_rate else "lower",
        "application",
        rate_options=(RateOption("rate"),) if is_rate else (),
        **options,
    )


TOOL = Tool(
    slug="pgbench",
    title="pgbench",
    homepage="https://www.postgresql.org/docs/current/pgbench.html",
    metrics=(
        _metric("transaction rate", "1/s", work_class=always("application: database")),
        _metric("latency mean", "ms", implied_by=("transaction rate",)),
        Metric("transactions", "", "neither", "application", allows_zero=True),
        Metric("failed transactions", "", "neither", "application", allows_zero=True),
    ),
    options=Options(
        {
            **dict.fromkeys(("-c", "--client"), "clients"),
            **dict.fromkeys(("-j", "--jobs"), "threads"),
            **dict.fromkeys(("-s", "--scale"), "scale"),
            **dict.fromkeys(("-M", "--protocol"), "mode"),
            **dict.fromkeys(("-R", "--rate"), "rate"),
        }
    ),
    labels=("{transaction}", "s={scale}", "{clients} clients"),
    version=1,
    parse=parse,
    signatures=(
        r"pgbench \((?:PostgreSQL\) )?\d",
        r"transaction type: ",
        r"tps = [\d.]+ \((?:includ|exclud|without)",
    ),
    programs=("pgbench",),
    is_localized=False,
)
