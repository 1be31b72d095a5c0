"""Watts up? Pro: a power meter between the wall and the machine.

One packet, power first and in tenths of a watt::

    #d,-,18,972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020;

Meters before USB send 16 fields; ``_`` is a field that is switched off. V is in tenths
too, A in thousandths. No packet says when it was sent: there is energy only if the
interval was asked for (``#L,W,3,E,0,1;``) or seconds since 1970 stand before packets.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from functools import partial
from math import fsum

from benchmarks.parsing.contract import Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.parsing.telemetry import (
    CUT,
    ENERGY_METRICS,
    lines_of,
    summarize,
    take_chunks,
)
from benchmarks.sentences import Sentence

_AT = r"(?:(?P<at>\d{9,10}(?:\.\d{1,9})?)[ ,;:\t]+)?"
LINES = Scanner(
    packet=rf"(?P<packet>{_AT}#d,(?P<way>[^,;\n]?),(?P<fields>[^,;\n]*),(?P<cells>[^;\n]*)"
    r"(?P<end>;?))",
    cut=r"(?P<cut>(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d[^\n]*)$",
    header=r"#h,[^,;\n]?,\d+,(?P<names>[^;\n]+);",
    logging=r"#L,W,3,[EIei],[^,;\n]*,(?P<interval>\d+);",
)
FIELDS = ("W", "V", "A")
TENTHS = 10
OFF = "_"
# A whole packet whose first field is a power; blanks only in front.
_ALIKE = re.compile(
    r"^[ \t]*+(\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d,[^,;\n]?,(\d{1,2}),"
    r"([1-9]\d{0,6}),([-\d_,]*);[^\n]*\n",
    re.ASCII | re.MULTILINE,
)


@dataclass
class Log(Draft):
    watts: array[float] = field(default_factory=lambda: array("d"))
    times: array[int] = field(default_factory=lambda: array("q"))
    names: tuple[str, ...] = FIELDS
    interval: int = 0
    has_holes: bool = False

    def close(self) -> None:
        # Times that only some packets have are of no use.
        if len(self.times) == len(self.watts):
            summarize(self, self.times, self.watts, has_holes=self.has_holes)
            return
        summarize(self, (), self.watts)
        if self.interval and self.watts and not self.has_holes:
            # Each packet stands for the interval before it.
            self.facts["interval s"] = self.interval
            self.add("energy", fsum(self.watts) * self.interval, "J")
            self.add("meter time", len(self.watts) * self.interval, "s")

    def take_alike(self, chunk: str) -> bool:
        """Take a chunk at once if every line is a packet with a power."""
        packets = _ALIKE.findall(chunk)
        if self.names[0] != "W" or len(packets) != lines_of(chunk):
            return False
        # The power and what the commas of the rest part are as many as it names.
        if any(rest.count(",") + 2 != int(many) for _, many, _, rest in packets):
            return False
        if any(time for time, *_ in packets):
            return False
        self.watts.extend(int(power) / TENTHS for _, _, power, _ in packets)
        return True

    def take_packet(self, line: Found) -> None:
        cells = [cell.strip() for cell in line["cells"].split(",")]
        if len(cells) != line.whole("fields"):
            raise line.refused(
                "this packet is damaged: it names {fields} fields and has {cells}.",
                fields=line["fields"],
                cells=len(cells),
            )
        power = dict(zip(self.names, cells, strict=False)).get("W", OFF)
        value = 0.0 if power == OFF else line.number_of(power)
        if value < 0 or not value.is_integer():
            raise line.refused("W is {power}: not whole tenths.", power=power)
        if not value:
            what = Sentence("power switched off") if power == OFF else "0 W"
            self.mark(
                "not_measured", "There are packets with {what}: left out.", what=what
            )
            self.has_holes = True
            return
        self.watts.append(value / TENTHS)
        if line["at"]:
            self.times.append(round(line.number("at") * 1_000_000))
            if self.times[-1] < max(self.times[-2:]):
                raise line.refused("its time is before that of the packet above.")


def logs_of(output: str) -> list[Log]:
    """Return one run for each logging."""
    logs = [Log()]
    take_chunks(output, partial(_take, logs))
    return logs


parse = parser("No packet has watts.")(logs_of)


def _take(logs: list[Log], chunk: str) -> None:
    if logs[-1].take_alike(chunk):
        return
    for line in LINES(chunk):
        if line.kind == "logging":
            if logs[-1].watts:
                keep(logs, Log(names=logs[-1].names))
            logs[-1].interval = line.whole("interval")
        elif line.kind == "header":
            names = line["names"].split(",")
            logs[-1].names = tuple(name.strip() for name in names)
        elif line.kind == "cut" or not line["end"]:
            if not line.is_open(line.kind):
                raise line.refused("this packet is cut.")
            logs[-1].mark("cut", CUT)
        else:
            logs[-1].take_packet(line)


TOOL = Tool(
    slug="watts-up",
    title="Watts up? Pro",
    homepage="https://metacpan.org/dist/WattsUp-Daemon",
    metrics=ENERGY_METRICS,
    aliases=("Watts up?", "Watts up", "wattsup"),
    labels=("{workload}",),
    version=2,
    parse=parse,
    # Seconds since 1970 may stand before the packet.
    signatures=(
        r"(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d,[-RWrw]?,\d",
        r"#h,[-RWrw]?,\d+,W,",
        r"#L,W,3,[EI],",
    ),
    localized=False,
)
