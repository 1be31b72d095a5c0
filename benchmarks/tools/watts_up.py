"""Watts up? Pro: a power meter between the wall and the machine.

One packet, power first and in tenths of a watt::

    #d,-,18,972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020;

Meters before USB send 16 fields; ``_`` is a field that is switched off. V is in tenths
too, A in thousandths. No packet says when it was sent: there is energy only if the
interval was asked for (``#L,W,3,E,0,1;``) or seconds since 1970 stand before packets.
"""

from dataclasses import dataclass, field

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, ParsedRun, Parser, finished, keep
from benchmarks.tools.power_csv import summarize
from benchmarks.tools.scan import Found, Scanner

_AT = r"(?:(?P<at>\d{9,10}(?:\.\d{1,9})?)[ ,;:\t]+)?"
LINES = Scanner(
    packet=rf"{_AT}#d,(?P<way>[^,;\n]?),(?P<fields>[^,;\n]*),(?P<cells>[^;\n]*)"
    r"(?P<end>;?)",
    cut=r"(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d[^\n]*$",
    header=r"#h,[^,;\n]?,\d+,(?P<names>[^;\n]+);",
    logging=r"#L,W,3,[EIei],[^,;\n]*,(?P<interval>\d+);",
)
FIELDS = ("W", "V", "A")
SCALES = {"W": 10, "V": 10, "A": 1000}
OFF = "_"


@dataclass(slots=True)
class Log:
    """What one logging has sent."""

    watts: list[float] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    names: tuple[str, ...] = FIELDS
    interval: int = 0
    run: Draft = field(default_factory=Draft)

    def done(self) -> Draft:
        """The run, summarized."""
        is_whole = not self.run.finished().warnings
        if is_whole and len(self.times) == len(self.watts):
            summarize(self.run, list(zip(self.times, self.watts, strict=True)))
            return self.run
        summarize(self.run, [(0, each) for each in self.watts])
        if is_whole and self.interval and self.watts:
            # Each packet stands for the interval before it.
            self.run.facts["interval s"] = self.interval
            self.run.add("energy", sum(self.watts) * self.interval, "J")
            self.run.add("meter time", len(self.watts) * self.interval, "s")
        return self.run


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each logging."""
    logs = [Log()]
    for line in LINES(output):
        if line.kind == "logging":
            if logs[-1].watts:
                keep(logs, Log(names=logs[-1].names))
            logs[-1].interval = line.whole("interval")
        elif line.kind == "header":
            names = line["names"].split(",")
            logs[-1].names = tuple(name.strip() for name in names)
        elif line.kind == "cut":
            raise line.refused("this packet is cut.")
        else:
            _read(line, logs[-1])
    return finished([log.done() for log in logs], "No packet tells watts.")


def _read(line: Found, log: Log) -> None:
    cells = [cell.strip() for cell in line["cells"].split(",")]
    if not line["end"] or len(cells) != line.whole("fields"):
        raise line.refused(
            f"this packet is cut or damaged: it names {line['fields']} fields and has "
            f"{len(cells)}{'' if line['end'] else ' and no end'}."
        )
    values = {
        name: line.number_of(cell)
        for name, cell in zip(log.names, cells, strict=False)
        if name in SCALES and cell != OFF
    }
    for name, value in values.items():
        if value < 0 or not value.is_integer():
            raise line.refused(f"{name} is {value:g}: no whole tenths or thousandths.")
    if not values.get("W"):
        what = "0 W" if "W" in values else "power switched off"
        log.run.mark("not_measured", f"There are packets with {what}: left out.")
        return
    log.watts.append(values["W"] / SCALES["W"])
    if line["at"]:
        log.times.append(round(line.number("at") * 1_000_000))
        if log.times[-1] < max(log.times[-2:]):
            raise line.refused("its time is before that of the packet above.")


TOOL = Tool(
    slug="watts-up",
    title="Watts up? Pro",
    homepage="https://metacpan.org/dist/WattsUp-Daemon",
    metrics=(
        Metric(name="energy", unit="J", better="lower", component="power"),
        # The window in which the meter ran, not the duration of the work.
        Metric(name="meter time", unit="s", better="neither", component="power"),
        Metric(name="power mean", unit="W", better="lower", component="power"),
        Metric(name="power max", unit="W", better="lower", component="power"),
    ),
    aliases=("Watts up?", "Watts up", "wattsup"),
    labels=("{workload}",),
    parser=Parser(
        version=1,
        parse=parse,
        # Seconds since 1970 may stand before the packet.
        signatures=(
            r"(?:\d{9,10}(?:\.\d{1,9})?[ ,;:\t]+)?#d,[-RWrw]?,\d",
            r"#h,[-RWrw]?,\d+,W,",
            r"#L,W,3,[EI],",
        ),
        localized=False,
    ),
)
