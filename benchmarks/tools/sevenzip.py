"""7-Zip's benchmark (``7z b``): compression and decompression with LZMA.

Ratings are MIPS of a reference processor; usage is in % of one CPU. Only
the averages over all dictionaries are read. Speeds follow from the ratings::

    Avr:       293     9   3041    264  |       4047    10   3161    332
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Tool, always

LINES = LineScanner(
    begin=r"7-Zip[^\n]{0,20}? (?P<version>\d+\.\d+)[^\n]*Copyright",
    threads=r"RAM usage:[^\n]*# Benchmark threads: +(?P<threads>\d+)[ \t]*+$",
    size=r"(?P<size>\d+): +\d+ +\d+ +\d+ +\d+ +\| ",
    average=r"Avr: +(?P<packing>\d+) +(?P<usage>\d+) +\d+ +(?P<pack>\d+) +\| +"
    r"(?P<unpacking>\d+) +\d+ +\d+ +(?P<unpack>\d+)[ \t]*+(?=\n)",
    total=r"Tot: +\d+ +\d+ +(?P<total>\d+)[ \t]*+(?=\n|$)",
)


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind == "threads":
        run.parameters["threads"] = line.integer("threads")
    elif line.kind == "size":
        run.parameters["dictionary"] = f"2^{line.integer('size')} B"
    elif line.kind == "total":
        run.add("total rating", line.integer("total"), "MIPS")
    else:
        for operation, rating, speed in (
            ("compress", "pack", "packing"),
            ("decompress", "unpack", "unpacking"),
        ):
            run.add("rating", line.integer(rating), "MIPS", operation=operation)
            run.add("speed", line.integer(speed), "KiB/s", operation=operation)


@parser("7-Zip printed no average.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, Draft(tool_version=line["version"]))
        else:
            runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="7zip",
    title="7-Zip benchmark",
    homepage="https://www.7-zip.org/",
    metrics=(
        Metric("rating", "MIPS", "higher", "CPU", work_class=always("CPU: integer")),
        Metric("speed", "KiB/s", "higher", "CPU", implied_by=("rating",)),
        Metric("total rating", "MIPS", "higher", "CPU", implied_by=("rating",)),
    ),
    aliases=("7z b", "p7zip"),
    labels=("{dictionary}", "{threads} threads"),
    version=1,
    parse=parse,
    signatures=(
        r"7-Zip[^\n]{0,20} \d+\.\d+[^\n]*Copyright",
        r"RAM size:[^\n]*# CPU hardware threads:",
        r"Avr: +\d+ +\d+ +\d+ +\d+ +\|",
    ),
    programs=("7z", "7za", "7zz", "7zr"),
    is_localized=False,
)
