"""Watts up? Pro: a power meter between the wall and the machine.

One packet, power first and in tenths of a watt::

    #d,-,18,972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020;

Meters before USB send 16 fields; ``_`` is a field that is switched off. Energy is known
only if the interval was set (``#L,W,3,E,0,1;``) or packets are preceded by seconds
since 1970.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from functools import partial
from math import fsum

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    ENERGY_METRICS,
    TRUNCATED_ROW,
    count_lines,
    read_chunks,
    summarize,
)
from benchmarks.parsing.tool import Tool
from benchmarks.sentences import Sentence

_AT = r"(?:(?P<at>\d{9,10}(?:\.\d{1,9})?)[ ,;:\t]+)?"
LINES = LineScanner(
    packet=rf"(?P<packet>{_AT}#d,[^,;\n]?,(?P<fields>[^,;\n]*),(?P<cells>[^;\n]*)"
    r"(?P<end>;?))",
    cut=r"(?P<cut>(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d[^\n]*)$",
    header=r"#h,[^,;\n]?,\d+,(?P<names>[^;\n]+);",
    logging=r"#L,W,3,[EIei],[^,;\n]*,(?P<interval>\d+);",
)
FIELDS = ("W", "V", "A")
TENTHS = 10
OFF = "_"
# A complete packet whose first field is the power.
_ALIKE = re.compile(
    r"^[ \t]*+(\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d,[^,;\n]?,(\d{1,2}),"
    r"([1-9]\d{0,6}),([-\d_,]*);[^\n]*\n",
    re.ASCII | re.MULTILINE,
)


@dataclass
class WattsUpLog(Draft):
    watts: array[float] = field(default_factory=lambda: array("d"))
    times: array[int] = field(default_factory=lambda: array("q"))
    names: tuple[str, ...] = FIELDS
    interval: int = 0
    has_holes: bool = False

    def close(self) -> None:
        # Times are ignored if only some packets have one.
        if len(self.times) == len(self.watts):
            summarize(self, self.times, self.watts, has_holes=self.has_holes)
            return
        summarize(self, (), self.watts)
        if self.interval and self.watts and not self.has_holes:
            # A packet covers the interval before it.
            self.facts["interval s"] = self.interval
            self.add("energy", fsum(self.watts) * self.interval, "J")
            self.add("meter time", len(self.watts) * self.interval, "s")

    def read_uniform_chunk(self, chunk: str) -> bool:
        packets = _ALIKE.findall(chunk)
        if self.names[0] != "W" or len(packets) != count_lines(chunk):
            return False
        if any(rest.count(",") + 2 != int(many) for _, many, _, rest in packets):
            return False
        if any(time for time, *_ in packets):
            return False
        self.watts.extend(int(power) / TENTHS for _, _, power, _ in packets)
        return True

    def read_packet(self, line: MatchedLine) -> None:
        cells = [cell.strip() for cell in line["cells"].split(",")]
        if len(cells) != line.integer("fields"):
            raise line.parse_error(
                "this packet is damaged: it declares {fields} fields but has {cells}.",
                fields=line["fields"],
                cells=len(cells),
            )
        power = dict(zip(self.names, cells, strict=False)).get("W", OFF)
        value = 0.0 if power == OFF else line.parse_number(power)
        if value < 0 or not value.is_integer():
            raise line.parse_error(
                "the column W contains {power}, which is not a whole number of "
                "tenths of a watt.",
                power=power,
            )
        if not value:
            what = Sentence("power switched off") if power == OFF else "0 W"
            self.add_warning(
                "not_measured", "Packets with {what} were excluded.", what=what
            )
            self.has_holes = True
            return
        self.watts.append(value / TENTHS)
        if line["at"]:
            self.times.append(round(line.number("at") * 1_000_000))
            if self.times[-1] < max(self.times[-2:]):
                raise line.parse_error(
                    "its time is earlier than the time of the packet above."
                )


def read_logs(output: str) -> list[WattsUpLog]:
    logs = [WattsUpLog()]
    read_chunks(output, partial(_read_chunk, logs))
    return logs


parse = parser("No packet contains a power value.")(read_logs)


def _read_chunk(logs: list[WattsUpLog], chunk: str) -> None:
    if logs[-1].read_uniform_chunk(chunk):
        return
    for line in LINES(chunk):
        if line.kind == "logging":
            if logs[-1].watts:
                append_limited(logs, WattsUpLog(names=logs[-1].names))
            logs[-1].interval = line.integer("interval")
        elif line.kind == "header":
            names = line["names"].split(",")
            logs[-1].names = tuple(name.strip() for name in names)
        elif line.kind == "cut" or not line["end"]:
            if not line.may_be_truncated(line.kind):
                raise line.parse_error("this packet is truncated.")
            logs[-1].add_warning("cut", TRUNCATED_ROW)
        else:
            logs[-1].read_packet(line)


TOOL = Tool(
    slug="watts-up",
    title="Watts up? Pro",
    homepage="https://metacpan.org/dist/WattsUp-Daemon",
    metrics=ENERGY_METRICS,
    aliases=("Watts up?", "Watts up", "wattsup"),
    labels=("{workload}",),
    version=2,
    parse=parse,
    signatures=(
        r"(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d,[-RWrw]?,\d",
        r"#h,[-RWrw]?,\d+,W,",
        r"#L,W,3,[EI],",
    ),
    is_localized=False,
)
