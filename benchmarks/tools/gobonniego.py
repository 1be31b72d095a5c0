"""GoBonnieGo: sequential writing and reading, and random operations, of a disk.

MB are 10^6 B. IOPS are random reads and writes of a file, nine reads for each write::

    Sequential Write MB/s: 314.10
"""

from typing import Any

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    append_limited,
    json_documents,
    json_number,
    json_rows,
    parser,
)
from benchmarks.parsing.tool import DISK, NO_WORK_CLASS, Metric, Tool

LINES = LineScanner(
    begin=r"[^\n]{0,40}gobonniego starting\. version: (?P<version>[\w.]+), runs: \d+, "
    r"seconds: \d+, threads: (?P<threads>\d+), disk space to use \(MiB\): "
    r"(?P<size>\d+)[ \t]*+$",
    row=r"Sequential (?P<operation>Write|Read) MB/s: (?P<rate>\S+)[ \t]*+(?=\n)",
    iops=r"IOPS: (?P<iops>\d+)[ \t]*+(?=\n)",
)
_JSON = r'\{"version":"[^"\n]*","start_time":"[^"\n]*","gobonniego_directory"'


@parser("GoBonnieGo printed no result.")
def parse(output: str) -> list[Draft]:
    runs: list[Draft] = [Draft()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, Draft(tool_version=line["version"]))
            runs[-1].parameters["threads"] = line.integer("threads")
            runs[-1].parameters["size"] = f"{line.integer('size')} MiB"
        elif line.kind == "iops":
            runs[-1].add("IOPS", line.integer("iops"), "1/s")
        else:
            rate = line.number("rate")
            operation = line["operation"].lower()
            runs[-1].add("throughput", rate, "MB/s", operation=operation)
    for document in json_documents(output, _JSON):
        append_limited(runs, Draft(tool_version=str(document["version"])))
        runs[-1].read_line(_read_json, runs[-1], document)
    return runs


def _read_json(run: Draft, document: dict[str, Any]) -> None:
    threads = json_number(document.get("num_readers_and_writers"), "threads")
    size = json_number(document.get("disk_space_used_gib"), "size")
    run.parameters |= {"threads": int(threads), "size": f"{size * 1024:g} MiB"}
    for result in json_rows(document, "results"):
        for operation in ("write", "read"):
            rate = json_number(
                result.get(f"{operation}_megabytes_per_second"), operation
            )
            run.add("throughput", rate, "MB/s", operation=operation)
        run.add("IOPS", json_number(result.get("iops"), "iops"), "1/s")


TOOL = Tool(
    slug="gobonniego",
    title="GoBonnieGo",
    homepage="https://github.com/cunnie/gobonniego",
    metrics=(
        Metric("throughput", "MB/s", "higher", "disk", work_class=DISK),
        Metric("IOPS", "1/s", "higher", "disk", work_class=NO_WORK_CLASS),
    ),
    labels=("{size}", "{threads} threads"),
    version=1,
    parse=parse,
    signatures=(
        r"[^\n]{0,40}gobonniego starting\. version: ",
        r"Sequential (?:Write|Read) MB/s: ",
        _JSON,
    ),
    programs=("gobonniego",),
    is_localized=False,
)
