"""PostMark: many small files of a mail server, created, read, appended and deleted.

Times are whole seconds, at least one. Kilobytes are 2^10 B and megabytes are 2^20 B.
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool, metrics

# The output has prompts if the commands are piped into the program.
_PROMPT = r"(?:pm>[ \t]*+){0,99}"
LINES = LineScanner(
    banner=rf"{_PROMPT}PostMark v(?P<version>\d[\w.]*+)",
    time=rf"{_PROMPT}Time:[ \t]*+$",
    total=r"(?P<total>\S+) seconds total[ \t]*+$",
    transactions=r"(?P<seconds>\S+) seconds of transactions "
    r"\((?P<transactions>\S+) per second\)",
    files=r"(?P<count>\d\S*+) (?P<what>created|read|appended|deleted) "
    r"\((?P<rate>\S+) per second\)",
    part=r"(?P<part>Creation alone|Deletion alone|Mixed with transactions): *+"
    r"(?P<size>\S+) files \((?P<part_rate>\S+) per second\)",
    data=r"\S+ (?:(?:kilo|mega|giga)?bytes )?(?P<direction>read|written) "
    r"\((?P<data>\S+) (?:(?P<unit>(?:kilo|mega|giga)?bytes) )?per second\)",
    failed=rf"{_PROMPT}(?:Error: |out of files!)",
)
UNITS = {
    "bytes": "B/s",
    "kilobytes": "KiB/s",
    "megabytes": "MiB/s",
    "gigabytes": "GiB/s",
}
RATES = {
    "created": "file creation rate",
    "read": "file read rate",
    "appended": "file append rate",
    "deleted": "file deletion rate",
}
DATA = {"read": "read throughput", "written": "write throughput"}
MIN_RUN_S = 10


@parser("PostMark printed no result.")
def parse(output: str) -> list[Draft]:
    reports: list[list[MatchedLine]] = [[]]
    for line in LINES(output):
        # A report ends with two lines of data.
        is_over = any(above.kind == "data" for above in reports[-1][-3:])
        if line.kind == "banner" or (line.kind == "time" and is_over):
            append_limited(reports, [])
        reports[-1].append(line)
    runs: list[Draft] = []
    version = ""
    for lines in reports:
        if lines and lines[0].kind == "banner":
            version = lines[0]["version"]
        run = Draft(tool_version=version)
        runs.append(run)
        creation = [line for line in lines if line["part"] == "Creation alone"]
        if creation:
            run.parameters["files"] = creation[0].integer("size")
        elif any(line.kind == "total" for line in lines):
            run.add_warning(
                "cut", "The report is truncated: the number of files is missing."
            )
        for line in lines:
            if creation or line.kind == "failed":
                _read(line, run)
    return runs


def _read(line: MatchedLine, run: Draft) -> None:
    if line.kind == "total":
        seconds = line.number("total")
        run.add("total time", seconds, "s")
        if seconds < MIN_RUN_S:
            run.add_warning(
                "short",
                "The run is too short: {seconds:g} s, measured in whole seconds.",
                seconds=seconds,
            )
    elif line.kind == "transactions":
        run.facts["transaction seconds"] = line.number("seconds")
        run.add("transaction rate", line.number("transactions"), "1/s")
    elif line.kind == "files":
        run.facts[f"files {line['what']}"] = line.integer("count")
        run.add(RATES[line["what"]], line.number("rate"), "1/s", phase="all")
    elif line.kind == "part":
        # "Mixed with transactions" occurs below creation and below deletion.
        is_deletion = "files deleted" in run.facts
        if line["part"] != "Mixed with transactions":
            is_deletion = line["part"] == "Deletion alone"
        rate = RATES["deleted" if is_deletion else "created"]
        phase = "alone" if "alone" in line["part"] else "mixed"
        run.add(rate, line.number("part_rate"), "1/s", phase=phase)
    elif line.kind == "data":
        unit = UNITS[line["unit"] or "bytes"]
        run.add(DATA[line["direction"]], line.number("data"), unit)
    elif line.kind == "failed":
        run.add_failure("failed", 'PostMark printed "{text}".', text=line.text.strip())


TOOL = Tool(
    slug="postmark",
    title="PostMark",
    homepage="https://packages.debian.org/stable/postmark",
    metrics=(
        Metric("total time", "s", "lower", "disk", implied_by=("transaction rate",)),
        Metric("transaction rate", "1/s", "higher", "disk", work_class=NO_WORK_CLASS),
        *metrics(RATES.values(), "1/s", "higher", "disk"),
        *metrics(DATA.values(), "MiB/s", "higher", "disk"),
    ),
    labels=("{phase}", "{files} files"),
    version=2,
    parse=parse,
    signatures=(
        rf"{_PROMPT}PostMark v\d",
        r"\S+ seconds of transactions \(",
    ),
    programs=("postmark",),
    is_localized=False,
)
