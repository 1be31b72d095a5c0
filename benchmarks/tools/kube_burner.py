"""kube-burner: how long pods and KubeVirt machines take until each condition.

The quantiles in its log and in the JSON of local indexing are read. They are in ms, but
in the log of many versions rounded to seconds::

    level=info msg="density: Ready 50th: 2000 99th: 3000 max: 3000 avg: 1930"
"""

from typing import Any

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    json_documents,
    json_number,
    parser,
)
from benchmarks.parsing.tool import (
    APPLICATION_TAIL,
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
)

_MS = r"(?: ?ms)?"
LINES = LineScanner(
    version=r'time="[^"\n]*" level=info msg="[^"\n]*Starting kube-burner '
    r"\((?P<version>[^@)\n]*)",
    row=r'time="[^"\n]*" level=info msg="(?P<job>[^":\n]{1,80}): '
    rf"(?P<condition>[A-Za-z]{{1,40}}) (?:50th: (?P<p50>\d+){_MS} )?"
    rf"99th: (?P<p99>\d+){_MS} max: (?P<max>\d+){_MS} avg: (?P<mean>\d+){_MS}\"",
)
_JSON = r'\{[ \t\n]*+"quantileName"'
METRICS = {"Max": "max", "max": "max", "Avg": "mean", "avg": "mean", "min": "min"}
PERCENTILES = ("P50", "P95", "P99")


def _read(run: Draft, line: MatchedLine) -> None:
    case: dict[str, Parameter] = {"job": line["job"], "condition": line["condition"]}
    for rank in (50, 99):
        if line[f"p{rank}"]:
            value = line.integer(f"p{rank}")
            run.add("latency percentile", value, "ms", percentile=rank, **case)
    for which in ("max", "mean"):
        run.add(f"latency {which}", line.integer(which), "ms", **case)


def _read_json(run: Draft, document: dict[str, Any]) -> None:
    case: dict[str, Parameter] = {"condition": str(document["quantileName"])}
    if job := document.get("jobName"):
        case["job"] = str(job)
    for name in PERCENTILES:
        if name in document:
            value = json_number(document[name], name)
            rank = int(name[1:])
            run.add("latency percentile", value, "ms", percentile=rank, **case)
    for name, metric in METRICS.items():
        if name in document:
            value = json_number(document[name], name)
            run.add(f"latency {metric}", value, "ms", **case)


@parser("kube-burner printed no latency.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    seen: set[tuple[str, str]] = set()
    for line in LINES(output):
        row = (line["job"], line["condition"])
        if line.kind == "version" or row in seen:
            append_limited(runs, Draft(tool_version=line["version"]))
            seen.clear()
        if line.kind == "row":
            seen.add(row)
            runs[-1].read_line(_read, runs[-1], line)
    for document in json_documents(output, _JSON):
        row = (str(document.get("jobName")), str(document["quantileName"]))
        if row in seen:
            append_limited(runs, Draft())
            seen.clear()
        seen.add(row)
        runs[-1].read_line(_read_json, runs[-1], document)
    return runs


TOOL = Tool(
    slug="kube-burner",
    title="kube-burner",
    homepage="https://kube-burner.github.io/kube-burner/",
    metrics=(
        Metric(
            "latency percentile",
            "ms",
            "lower",
            "application",
            work_class=APPLICATION_TAIL,
        ),
        Metric("latency mean", "ms", "lower", "application", work_class=NO_WORK_CLASS),
        Metric("latency min", "ms", "lower", "application"),
        Metric("latency max", "ms", "lower", "application"),
    ),
    labels=("{job}", "{condition}", "p{percentile}"),
    version=1,
    parse=parse,
    signatures=(
        r'time="[^"\n]*" level=info msg="[^"\n]*Starting kube-burner ',
        r'time="[^"\n]*" level=info msg="[^":\n]{1,80}: [A-Za-z]+ (?:50th|99th): ',
        _JSON,
    ),
    programs=("kube-burner", "kube-burner-ocp"),
    is_localized=False,
)
