"""k6: HTTP requests of virtual users, from the summary or the JSON of --summary-export.

Times in the summary have units ("1m2.5s", "279.99µs"); JSON has milliseconds. Response
times are those of ``http_req_duration``, without connecting::

    http_reqs......................: 9480    49.02627/s
"""

import re
from dataclasses import dataclass, field
from typing import Any

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    json_documents,
    json_number,
    json_section,
    parser,
)
from benchmarks.parsing.tool import APPLICATION_TAIL, WEB, Metric, Tool

_NAME = r"(?:[^\w\s] )?{0}\.{{2,}}: *+"
LINES = LineScanner(
    begin=r"execution: local[ \t]*+$",
    script=r"script: (?P<script>[^\n]+)$",
    duration=_NAME.format("http_req_duration") + r"(?P<times>avg=[^\n]*)(?=\n)",
    failed=_NAME.format("http_req_failed")
    + r"[\d.]+% +(?:\S )?(?P<failed>\d+)(?: out of| +\S) +(?P<others>\d+)[ \t]*+(?=\n)",
    requests=_NAME.format("http_reqs") + r"(?P<count>\d+) +(?P<rate>[\d.]+)/s"
    r"[ \t]*+(?=\n)",
    users=_NAME.format("vus_max") + r"(?P<users>\d+) +min=",
)
_TIMES = re.compile(r"(avg|min|med|max|p\([\d.]{1,8}\))=(\S+)")
_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ns|µs|us|ms|s))?")
_MS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3}
_OBJECT = re.compile(r"^[ \t]*+\{", re.MULTILINE)
MINUTE, HOUR = 60_000.0, 3_600_000.0
SUMMARIES = {"avg": "mean", "min": "min", "med": "median", "max": "max"}
_OF_JSON = '"http_req_duration"'
JSON_TIMES = ("avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)")


@dataclass
class K6Run(Draft):
    failures: int = 0
    seen: set[str] = field(default_factory=set)

    def read(self, line: MatchedLine) -> None:
        if line.kind == "script":
            self.facts["script"] = line["script"].strip()
        elif line.kind == "users":
            self.parameters["users"] = line.integer("users")
        elif line.kind == "failed":
            self.failures = line.integer("failed")
        elif line.kind == "requests":
            self.add_requests(line.integer("count"), line.number("rate"))
        else:
            for name, text in _TIMES.findall(line["times"]):
                self.add_time(name, _milliseconds(line, text))

    def add_requests(self, count: float, rate: float) -> None:
        self.add("requests", count, "")
        self.add("request rate", rate, "1/s")
        self.count_errors(self.failures, count)
        if self.failures:
            self.add_warning(
                "errors", "{errors:g} requests failed.", errors=self.failures
            )

    def add_time(self, name: str, value: float) -> None:
        if summary := SUMMARIES.get(name):
            self.add(f"response time {summary}", value, "ms")
        else:
            percentile = float(name[2:-1])
            self.add("response time percentile", value, "ms", percentile=percentile)


def _milliseconds(line: MatchedLine, text: str) -> float:
    match = _TIME.fullmatch(text)
    if not match or not any(match.groups()):
        raise line.parse_error('"{text}" is not a time.', text=text)
    value = line.parse_amount(match[3]) * _MS[match[4]] if match[3] else 0.0
    return value + int(match[2] or 0) * MINUTE + int(match[1] or 0) * HOUR


def _read_json(run: K6Run, document: dict[str, Any]) -> None:
    def values(name: str) -> dict[str, Any]:
        section = json_section(document, "metrics", name)
        # handleSummary has one level more than --summary-export.
        return json_section(section, "values") or section

    users = values("vus_max").get("max", values("vus_max").get("value"))
    if users is not None:
        run.parameters["users"] = int(json_number(users, "vus_max"))
    failed = values("http_req_failed")
    run.failures = int(json_number(failed.get("passes", 0), "http_req_failed"))
    requests = values("http_reqs")
    if not requests:
        raise ParseError("k6 sent no HTTP request.")
    run.add_requests(
        json_number(requests.get("count"), "count"),
        json_number(requests.get("rate"), "rate"),
    )
    times = values("http_req_duration")
    for name in JSON_TIMES:
        if name in times:
            run.add_time(name, json_number(times[name], name))


def is_json(text: str) -> bool:
    return _OF_JSON in text and _OBJECT.search(text) is not None


@parser("k6 printed no HTTP requests.")
def parse(output: str) -> list[K6Run]:
    runs = [K6Run()]
    if _OF_JSON in output:
        for document in json_documents(output, r"\{"):
            append_limited(runs, K6Run())
            runs[-1].read_line(_read_json, runs[-1], document)
        return runs
    for line in LINES(output):
        # The summary is sorted by name, and the users come last.
        if line.kind == "begin" or line.kind in runs[-1].seen:
            append_limited(runs, K6Run())
        runs[-1].seen.add(line.kind)
        runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="k6",
    title="k6",
    homepage="https://k6.io/",
    metrics=(
        Metric("request rate", "1/s", "higher", "application", work_class=WEB),
        Metric(
            "response time mean",
            "ms",
            "lower",
            "application",
            implied_by=("request rate",),
        ),
        *(
            Metric(f"response time {which}", "ms", "lower", "application")
            for which in ("min", "median", "max")
        ),
        Metric(
            "response time percentile",
            "ms",
            "lower",
            "application",
            work_class=APPLICATION_TAIL,
        ),
        Metric("requests", "", "neither", "application", allows_zero=True),
    ),
    labels=("{users} users", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(
        r"execution: local[ \t]*+$",
        r"(?:[^\w\s] )?http_req_duration\.{2,}:",
        r"(?:[^\w\s] )?http_reqs\.{2,}:",
    ),
    recognizes=is_json,
    programs=("k6",),
    is_localized=False,
)
