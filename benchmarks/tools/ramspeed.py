"""RAMspeed: bandwidth of memory and caches, block by block.

``MB/s`` is 10^6 B/s; ``Mb/s``, printed by older versions and with ``-r``, is 2^20 B/s.
A Kb is 2^10 B.
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import MEMORY, Metric, Tool

_KIND = r"(?:INTEGER|FL-POINT|MMX|SSE)(?: \(nt\))?"
_RATE = r"(?P<{0}>\S+) (?P<{0}_unit>M[Bb])/s"
LINES = LineScanner(
    banner=r"RAMspeed(?:/\w+)?(?: \((?P<system>[^)\n]*)\))? v(?P<version>[\w.-]+)",
    mode=r"(?P<pass>\d+)Gb per pass mode(?:, (?P<processes>\d+) process)?",
    batch=r"(?P<runs>\d+)-benchmark \S+ BatchRun mode",
    number=r"Benchmark #(?P<number>\d+):",
    mark=rf"(?P<kind>{_KIND}) +& (?P<operation>READING|WRITING) +(?P<block>\d+) "
    rf"(?P<prefix>[KM])b block: +{_RATE.format('rate')}",
    mean=rf"(?:{_KIND}) +BatchRun +(?P<mean_of>\w+): +{_RATE.format('mean_rate')}",
    mem=rf"(?P<mem_kind>{_KIND}) +(?P<kernel>Copy|Scale|Add|Triad|AVERAGE): +"
    rf"{_RATE.format('mem_rate')}",
    # Unknown or truncated rows.
    lost=r"(?P<lost>(?:INTEGER|FL-POINT|MMX|SSE)\b[^\n]*|[IFMS][A-Z-]{0,7}\Z)",
)
UNITS = {"MB": "MB/s", "Mb": "MiB/s"}
TYPES = {"INTEGER": "integer", "FL-POINT": "floating point"}
OPERATIONS = {"READING": "read", "WRITING": "write"}


@parser("RAMspeed printed no bandwidth.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    header = Draft()
    seen: set[str] = set()
    for line in LINES(output):
        if line.kind == "banner":
            header.tool_version = line["version"]
            if line["system"]:
                header.facts["system"] = line["system"]
        elif line.kind == "batch":
            header.facts["runs"] = line.integer("runs")
        elif line.kind == "mode":
            header.facts["GiB per pass"] = line.integer("pass")
            if line["processes"]:
                header.parameters["processes"] = line.integer("processes")
        elif line.kind == "lost":
            runs[-1].add_warning(
                "cut",
                'The line "{row}" is truncated and was excluded.',
                row=line["lost"].strip()[:80],
            )
        else:
            label = line.text.partition(":")[0]
            # A batch prints the same row for each of its numbered benchmarks.
            is_repeated = line.kind == "mem" and any("#" in kind for kind in seen)
            if label in seen and not is_repeated:
                append_limited(runs, Draft())
                seen.clear()
            seen.add(label)
            _read(line, runs[-1], header)
    return runs


def _read(line: MatchedLine, run: Draft, header: Draft) -> None:
    run.tool_version = header.tool_version
    run.parameters.update(header.parameters)
    run.facts.update(header.facts)
    if line.kind == "mark":
        kind = line["kind"]
        case = {
            "type": TYPES.get(kind, kind),
            "operation": OPERATIONS[line["operation"]],
            "block": f"{line.integer('block')} {line['prefix']}iB",
        }
        run.add("bandwidth", line.number("rate"), UNITS[line["rate_unit"]], **case)
    elif line.kind == "mem":
        kind = line["mem_kind"]
        case = {
            "type": TYPES.get(kind, kind),
            "operation": line["kernel"].casefold(),
        }
        rate = line.number("mem_rate")
        run.add("bandwidth", rate, UNITS[line["mem_rate_unit"]], **case)
    elif line.kind == "mean":
        mean = f"mean {line['mean_of'].casefold()} {UNITS[line['mean_rate_unit']]}"
        run.facts[mean] = line.number("mean_rate")


TOOL = Tool(
    slug="ramspeed",
    title="RAMspeed",
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(Metric("bandwidth", "MB/s", "higher", "memory", work_class=MEMORY),),
    aliases=("ramsmp", "RAMspeed/SMP"),
    labels=("{type}", "{level}", "{block}"),
    version=2,
    parse=parse,
    signatures=(
        r"RAMspeed\b[^\n]* v\d",
        rf"{_KIND} +(?:& (?:READING|WRITING)|(?:BatchRun +)?\w+: +\S+ M[Bb]/s)",
    ),
    programs=("ramsmp", "ramspeed"),
)
