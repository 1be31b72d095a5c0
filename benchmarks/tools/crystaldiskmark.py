"""CrystalDiskMark: sequential and random throughput of a disk in Windows.

MB are 10^6 B. IOPS and latencies follow from the throughput. Version 5 prints
``Q= 32,T= 1``, versions 6 to 8 add the block size, and versions below 5 have no
queues. Each number is the best of several passes.
"""

import re
from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import DISK, Metric, Parameter, Tool

LINES = LineScanner(
    version=r"CrystalDiskMark (?P<version>\d[\w.]*)",
    section=r"\[(?P<section>Read|Write|Mix)\][^\n]*$",
    old=r"(?P<access>Sequential|Random) (?P<operation>Read|Write)"
    r"(?: (?P<block>\d+ ?[KM]i?B))?(?: \((?:Q= *(?P<queue>\d+), *)?"
    r"T= *(?P<threads>\d+)\)| \(QD=(?P<depth>\d+)\))? +: *(?P<rate>[\d.]+) MB/s"
    r"(?: \[ *[\d.]+ IOPS\])?[ \t]*+$",
    row=r"(?P<short>SEQ|RND|Sequential|Random) +(?P<size>\d+[KM]i?B) "
    r"\(Q= *(?P<queues>\d+), *T= *(?P<many>\d+)\): *(?P<speed>[\d.]+) MB/s "
    r"\[ *[\d.]+ IOPS\](?: <[^\n>]*us>)?[ \t]*+$",
    test=r"Test *: (?P<test>[^\n]*)$",
)
SIZES = {"K": "KiB", "M": "MiB"}
_SIZE = re.compile(r"(\d+) ?([KM])")


def _size(text: str) -> str:
    match = _SIZE.match(text)
    return f"{match[1]} {SIZES[match[2]]}" if match else text


@dataclass
class CrystalRun(Draft):
    section: str = ""

    def read(self, line: MatchedLine) -> None:
        if line.kind == "test":
            self.facts["test"] = line["test"].strip()
            return
        is_old = line.kind == "old"
        name = line["access"] if is_old else line["short"]
        is_random = name.startswith("R")
        if not is_old and self.section not in ("read", "write"):
            self._add_mix(line)
            return
        case: dict[str, Parameter] = {
            "operation": line["operation"].lower() if is_old else self.section,
            "access": "random" if is_random else "sequential",
        }
        if block := line["block"] or line["size"]:
            case["block"] = _size(block)
        if queue := line["queue"] or line["depth"] or line["queues"]:
            case["queue"] = int(queue)
        if threads := line["threads"] or line["many"]:
            case["threads"] = int(threads)
        self.add(
            "throughput", line.number("rate" if is_old else "speed"), "MB/s", **case
        )

    def _add_mix(self, line: MatchedLine) -> None:
        if not self.section:
            raise line.parse_error(
                'the title above it ("[Read]" or "[Write]") is missing.'
            )
        self.add_warning("not_read", "Results of mixed reads and writes are not read.")


@parser("CrystalDiskMark printed no throughput.")
def parse(output: str) -> list[CrystalRun]:
    runs: list[CrystalRun] = [CrystalRun()]
    for line in LINES(output):
        if line.kind == "version":
            append_limited(runs, CrystalRun(tool_version=line["version"]))
        elif line.kind == "section":
            runs[-1].section = line["section"].lower()
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="crystaldiskmark",
    title="CrystalDiskMark",
    homepage="https://crystalmark.info/en/software/crystaldiskmark/",
    metrics=(Metric("throughput", "MB/s", "higher", "disk", work_class=DISK),),
    labels=("{block}", "Q{queue}T{threads}"),
    version=1,
    parse=parse,
    signatures=(
        r"CrystalDiskMark \d",
        r"(?:Sequential|Random) (?:Read|Write)(?: [^\n:]*)?: +[\d.]+ MB/s",
    ),
    is_localized=False,
)
