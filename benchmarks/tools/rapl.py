"""RAPL: the energy that a processor counts of itself, its memory and graphics.

One line of ``perf stat -a -e power/energy-pkg/``::

             12.74 Joules power/energy-pkg/

``turbostat`` (its PkgWatt column), a CSV of times and ``energy_uj`` counters, and two
snapshots of ``grep . /sys/class/powercap/*/*`` are read too. It is the processor alone:
no supply, no disk, no fan. The counter wraps at ``max_energy_range_uj``.
"""

from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.contract import Parameter, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.parsing.telemetry import (
    CUT,
    ENERGY_METRICS,
    Summary,
    refuse_other_width,
)
from benchmarks.tools.power_csv import microseconds, split

_TURBOSTAT: Final = (
    r"(?:(?!PkgWatt)[A-Za-z][\w%+.-]{0,24}+\t){0,99}PkgWatt(?=[\t\n]|\Z)"
)
_COUNTERS: Final = (
    r'(?i:"?(?:time|timestamp|seconds|epoch|date|t)[\w ()]{0,12}"?[,;\t] ?"?'
    r"[\w:. -]{0,60}energy_uj)"
)
# Of six decimals is what a logger puts before a line (``ts %.s``).
_AT: Final = r"\d{1,9}\.(?!\d{6} )\d+"
_SYSFS: Final = r"/sys/(?:class|devices)/[\w/:.-]{1,200}"
LINES: Final = Scanner(
    stats=r"Performance counter stats for [^\n]*$",
    joules=rf"(?:(?P<at>{_AT}) +)?(?:S(?P<socket>\d+)\S* +\d+ +)?"
    r"(?P<joules><not \w+>|\S+) +Joules +power/energy-(?P<part>[\w-]+)/",
    elapsed=r"(?P<elapsed>\S+) +(?:\+- +\S+ +)?seconds time elapsed",
    file=rf"(?P<zone>{_SYSFS})/(?P<file>energy_uj|max_energy_range_uj|name):"
    r"(?P<content>[^\n]*)$",
    turbostat=rf"(?P<columns>(?={_TURBOSTAT})[^\n]+)$",
    counters=rf"(?P<names>(?={_COUNTERS})[^\n]+)$",
    row=r"(?P<cells>[-\d\"][^\n]*)$",
)
PARTS: Final = {"pkg": "package", "PkgWatt": "package", "CorWatt": "cores"} | {
    "RAMWatt": "ram",
    "GFXWatt": "gpu",
    "SysWatt": "psys",
}
_ENERGY: Final = "energy_uj"
_RANGE: Final = "max_energy_range_uj"
_OF_ONE_CPU: Final = {"Core", "CPU", "Package", "Node", "Die"}


@dataclass(slots=True)
class Counter:
    """A counter of microjoules and its growth."""

    label: str
    limit: int = 0
    before: int | None = None
    total: int = 0

    def take(self, value: int, line: Found) -> None:
        """Take the next value; a smaller one has wrapped once."""
        if self.before is not None:
            if value < self.before and not self.limit:
                raise line.refused(
                    "the counter fell: it wraps at max_energy_range_uj, which must "
                    "be in the log."
                )
            self.total += value - self.before
            self.total += self.limit if value < self.before else 0
        self.before = value


@dataclass(slots=True)
class Log:
    """One call or one log."""

    run: Draft = field(default_factory=Draft)
    joules: dict[tuple[str, str], float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    counters: dict[str, Counter] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    is_ms: bool = False
    columns: list[tuple[int, int, Counter]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    watts: dict[str, Summary] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.joules or self.counters or self.watts)

    def take_joules(self, line: Found) -> None:
        part = PARTS.get(line["part"], line["part"])
        if line["joules"].startswith("<"):
            self.run.mark(
                "not_measured", "perf could not count {part}: left out.", part=part
            )
            return
        key = (part, line["socket"])
        # With -I there is a row for each interval: they are added up.
        self.joules[key] = self.joules.get(key, 0.0) + line.number("joules", 2)
        if line["at"]:
            self.elapsed_s = line.number("at")

    def take_file(self, line: Found) -> None:
        zone, content = line["zone"].rpartition("/")[2], line["content"].strip()
        counter = self.counters.setdefault(zone, Counter(zone))
        if line["file"] == "name":
            counter.label = PARTS.get(content, content)
        elif line["file"] == _RANGE:
            counter.limit = line.whole("content")
        else:
            counter.take(line.whole("content"), line)

    def begin_counters(self, names: str) -> None:
        """Take the heading of a CSV of counters and, maybe, their ranges."""
        self.names = split(names)
        self.is_ms = self.names[0].casefold().endswith("ms")
        columns = list(enumerate(self.names))
        ranges = {_part(n, _RANGE): index for index, n in columns if _is(n, _RANGE)}
        for index, name in columns:
            if _is(name, _ENERGY):
                part = _part(name, _ENERGY)
                counter = Counter(PARTS.get(part, part) or "package")
                self.counters[name] = counter
                limit = ranges.get(part, ranges.get("", 0))
                self.columns.append((index, limit, counter))

    def take_row(self, line: Found) -> None:
        if self.watts:
            self._take_watts(line)
        elif self.counters and self.names:
            self._take_counts(line)

    def _take_counts(self, line: Found) -> None:
        cells = split(line["cells"])
        if line.is_open("cells"):
            # Nothing tells whether the last counter has all its digits.
            self.run.mark("cut", CUT)
            return
        refuse_other_width(line, cells, len(self.names))
        time = microseconds(line, cells[0], self.is_ms)
        if self.times and time < self.times[-1]:
            raise line.refused("its time is before that of the row above.")
        # The first and the last are all that is needed.
        self.times = [*self.times[:1], time]
        for index, limit, counter in self.columns:
            counter.limit = _whole(line, cells[limit]) if limit else 0
            counter.take(_whole(line, cells[index]), line)

    def begin_turbostat(self, columns: str) -> None:
        self.names = columns.rstrip().split("\t")
        for name in self.names:
            if name.endswith("Watt") and name in PARTS:
                self.watts.setdefault(PARTS[name], Summary())

    def _take_watts(self, line: Found) -> None:
        # Of all CPUs together, which has a line in the columns of one.
        cells = line["cells"].rstrip().split("\t")
        # Some rows of one CPU are shorter than the heading: none of them is read.
        named = dict(zip(self.names, cells, strict=False))
        if any(named.get(name, "-") != "-" for name in _OF_ONE_CPU):
            return
        if len(cells) != len(self.names) or line.is_open("cells"):
            self.run.mark("cut", CUT)
            return
        for name, cell in named.items():
            if name in PARTS:
                self.watts[PARTS[name]].take(line.amount_of(cell))

    def done(self) -> Draft:
        """Return the run: energy, time, and power."""
        if self.times:
            self.elapsed_s = (max(self.times) - min(self.times)) / 1_000_000
        for (part, socket), joules in self.joules.items():
            self._add(joules, part=part, **({"socket": socket} if socket else {}))
        for counter in self.counters.values():
            if counter.total:
                self._add(counter.total / 1_000_000, part=counter.label)
        for part, watts in self.watts.items():
            # A part that is not there is 0.00 in every row.
            if any(watts.samples):
                watts.add_to(self.run, "power", "W", part=part)
        if self.run and self.elapsed_s:
            self.run.add("meter time", self.elapsed_s, "s")
        return self.run

    def _add(self, joules: float, **case: Parameter) -> None:
        self.run.add("energy", joules, "J", **case)
        if self.elapsed_s:
            self.run.add("power mean", joules / self.elapsed_s, "W", **case)


@parser("There are no joules or watts.")
def parse(output: str) -> list[Draft]:
    """Return one run for each call of perf, for each CSV, for all rows of turbostat."""
    logs = [Log()]
    for line in LINES(output):
        if line.kind in {"stats", "counters"} and logs[-1]:
            keep(logs, Log())
        log = logs[-1]
        if line.kind == "stats":
            log.run.facts["measured"] = line.text.strip().rstrip(":")
        elif line.kind == "joules":
            log.take_joules(line)
        elif line.kind == "elapsed":
            log.elapsed_s = line.number("elapsed")
        elif line.kind == "file":
            log.take_file(line)
        elif line.kind == "turbostat":
            log.begin_turbostat(line["columns"])
        elif line.kind == "counters":
            log.begin_counters(line["names"])
        else:
            log.take_row(line)
    return [log.done() for log in logs]


def _is(name: str, ending: str) -> bool:
    return name.casefold().endswith(ending)


def _part(name: str, ending: str) -> str:
    """Return ``package-0`` of ``package-0 energy_uj``; "" if no part is named."""
    return name[: -len(ending)].strip(" _.:-")


def _whole(line: Found, cell: str) -> int:
    # A float holds no counter of more than 15 digits: whole numbers are read as such.
    if cell.isascii() and cell.isdecimal() and len(cell) < 18:
        return int(cell)
    value = line.number_of(cell)
    if value < 0 or not value.is_integer():
        raise line.refused('"{cell}" is not a counter of microjoules.', cell=cell)
    return int(value)


TOOL = Tool(
    slug="rapl",
    title="RAPL",
    homepage="https://docs.kernel.org/power/powercap/powercap.html",
    metrics=ENERGY_METRICS,
    aliases=("turbostat", "powercap", "energy_uj"),
    labels=("{part}", "socket {socket}"),
    version=1,
    parse=parse,
    signatures=(
        rf"(?:{_AT} +)?(?:S\d+\S* +\d+ +)?(?:<not \w+>|[\d.,]+) +Joules +power/e",
        _TURBOSTAT,
        _COUNTERS,
        rf"{_SYSFS}/energy_uj:",
    ),
    programs=("turbostat",),
)
