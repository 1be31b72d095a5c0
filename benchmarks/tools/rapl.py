"""RAPL: the energy counted by a processor for itself, its memory and graphics.

The formats are ``perf stat -a -e power/energy-pkg/``, ``turbostat`` (PkgWatt), a CSV of
times and ``energy_uj`` counters, and two snapshots of ``grep .
/sys/class/powercap/*/*``. RAPL does not cover the rest of the machine. The counter
wraps at ``max_energy_range_uj``.
"""

from dataclasses import dataclass, field
from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    check_row_width,
    parser,
)
from benchmarks.parsing.sampled_logs import (
    ENERGY_METRICS,
    TRUNCATED_ROW,
    SampleSummary,
)
from benchmarks.parsing.tool import Parameter, Tool
from benchmarks.tools.power_csv import microseconds, split

# Wide columns are padded, and pasted tabs become blanks.
_TURBOSTAT: Final = (
    r"(?:(?!PkgWatt)[A-Za-z][\w%+.-]{0,24}+[ ]{0,40}+\t[ ]{0,40}+){0,99}"
    r"PkgWatt(?=\s|\Z)"
    r"|(?=(?:usec|Time_Of_Day_Seconds|Package|Die|Node|Core|CPU|Avg_MHz)[ \t])"
    r"(?:(?!PkgWatt)[A-Za-z][\w%+./-]{0,24}+[ \t]{1,40}+){0,99}PkgWatt(?=\s|\Z)"
)
_COUNTERS: Final = (
    r'(?i:"?(?:time|timestamp|seconds|epoch|date|t)[\w ()]{0,12}"?[,;\t] ?"?'
    r"[\w:. -]{0,60}energy_uj)"
)
# Times with six decimals are from a logger that prefixes lines (``ts %.s``).
_AT: Final = r"\d{1,9}\.(?!\d{6} )\d+"
_SYSFS: Final = r"/sys/(?:class|devices)/[\w/:.-]{1,200}"
LINES: Final = LineScanner(
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
class EnergyCounter:
    label: str
    limit: int = 0
    before: int | None = None
    total: int = 0

    def update(self, value: int, line: MatchedLine) -> None:
        """Add the increase; a smaller value means that the counter has wrapped once."""
        if self.before is not None:
            if value < self.before and not self.limit:
                raise line.parse_error(
                    "the counter decreased. It wraps around at "
                    "max_energy_range_uj, so the log must contain that value."
                )
            self.total += value - self.before
            self.total += self.limit if value < self.before else 0
        self.before = value


@dataclass(slots=True)
class RaplLog:
    run: Draft = field(default_factory=Draft)
    joules: dict[tuple[str, str], float] = field(default_factory=dict)
    elapsed_s: float = 0.0
    counters: dict[str, EnergyCounter] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    is_ms: bool = False
    columns: list[tuple[int, int, EnergyCounter]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    watts: dict[str, SampleSummary] = field(default_factory=dict)
    separator: str | None = None

    def __bool__(self) -> bool:
        return bool(self.joules or self.counters or self.watts)

    def read_joules(self, line: MatchedLine) -> None:
        part = PARTS.get(line["part"], line["part"])
        if line["joules"].startswith("<"):
            self.run.add_warning(
                "not_measured",
                "perf could not count {part}; it was excluded.",
                part=part,
            )
            return
        key = (part, line["socket"])
        # With -I there is a row for each interval.
        self.joules[key] = self.joules.get(key, 0.0) + line.number("joules", 2)
        if line["at"]:
            self.elapsed_s = line.number("at")

    def read_file(self, line: MatchedLine) -> None:
        zone, content = line["zone"].rpartition("/")[2], line["content"].strip()
        counter = self.counters.setdefault(zone, EnergyCounter(zone))
        if line["file"] == "name":
            counter.label = PARTS.get(content, content)
        elif line["file"] == _RANGE:
            counter.limit = line.integer("content")
        else:
            counter.update(line.integer("content"), line)

    def begin_counters(self, names: str) -> None:
        self.names = split(names)
        self.is_ms = self.names[0].casefold().endswith("ms")
        columns = list(enumerate(self.names))
        ranges = {_part(n, _RANGE): index for index, n in columns if _is(n, _RANGE)}
        for index, name in columns:
            if _is(name, _ENERGY):
                part = _part(name, _ENERGY)
                counter = EnergyCounter(PARTS.get(part, part) or "package")
                self.counters[name] = counter
                limit = ranges.get(part, ranges.get("", 0))
                self.columns.append((index, limit, counter))

    def read_row(self, line: MatchedLine) -> None:
        if self.watts:
            self._read_watts(line)
        elif self.counters and self.names:
            self._read_counts(line)

    def _read_counts(self, line: MatchedLine) -> None:
        cells = split(line["cells"])
        if line.may_be_truncated("cells"):
            # The last counter may lack digits.
            self.run.add_warning("cut", TRUNCATED_ROW)
            return
        check_row_width(line, cells, len(self.names))
        time = microseconds(line, cells[0], self.is_ms)
        if self.times and time < self.times[-1]:
            raise line.parse_error(
                "its time is earlier than the time of the row above."
            )
        self.times = [*self.times[:1], time]
        for index, limit, counter in self.columns:
            counter.limit = _whole(line, cells[limit]) if limit else 0
            counter.update(_whole(line, cells[index]), line)

    def begin_turbostat(self, columns: str) -> None:
        self.separator = "\t" if "\t" in columns.strip() else None
        self.names = self._split(columns)
        for name in self.names:
            if name.endswith("Watt") and name in PARTS:
                self.watts.setdefault(PARTS[name], SampleSummary())

    def _read_watts(self, line: MatchedLine) -> None:
        # Only the sum of all CPUs has dashes in the columns of single CPUs.
        cells = self._split(line["cells"])
        cells_by_name = dict(zip(self.names, cells, strict=False))
        if any(cells_by_name.get(name, "-") != "-" for name in _OF_ONE_CPU):
            return
        if len(cells) != len(self.names) or line.may_be_truncated("cells"):
            self.run.add_warning("cut", TRUNCATED_ROW)
            return
        for name, cell in cells_by_name.items():
            if name in PARTS:
                self.watts[PARTS[name]].append(line.parse_amount(cell))

    def _split(self, row: str) -> list[str]:
        return [cell.strip() for cell in row.rstrip().split(self.separator)]

    def finish(self) -> Draft:
        if self.times:
            self.elapsed_s = (max(self.times) - min(self.times)) / 1_000_000
        for (part, socket), joules in self.joules.items():
            self._add(joules, part=part, **({"socket": socket} if socket else {}))
        for counter in self.counters.values():
            if counter.total:
                self._add(counter.total / 1_000_000, part=counter.label)
        for part, watts in self.watts.items():
            # A missing part is 0.00 in every row.
            if any(watts.samples):
                watts.add_to(self.run, "power", "W", part=part)
        if self.run and self.elapsed_s:
            self.run.add("meter time", self.elapsed_s, "s")
        return self.run

    def _add(self, joules: float, **case: Parameter) -> None:
        self.run.add("energy", joules, "J", **case)
        if self.elapsed_s:
            self.run.add("power mean", joules / self.elapsed_s, "W", **case)


@parser("No values in joules or watts found.")
def parse(output: str) -> list[Draft]:
    logs = [RaplLog()]
    for line in LINES(output):
        if line.kind in {"stats", "counters"} and logs[-1]:
            append_limited(logs, RaplLog())
        log = logs[-1]
        if line.kind == "stats":
            log.run.facts["measured"] = line.text.strip().rstrip(":")
        elif line.kind == "joules":
            log.read_joules(line)
        elif line.kind == "elapsed":
            log.elapsed_s = line.number("elapsed")
        elif line.kind == "file":
            log.read_file(line)
        elif line.kind == "turbostat":
            log.begin_turbostat(line["columns"])
        elif line.kind == "counters":
            log.begin_counters(line["names"])
        else:
            log.read_row(line)
    return [log.finish() for log in logs]


def _is(name: str, ending: str) -> bool:
    return name.casefold().endswith(ending)


def _part(name: str, ending: str) -> str:
    return name[: -len(ending)].strip(" _.:-")


def _whole(line: MatchedLine, cell: str) -> int:
    # A float holds only 15 digits exactly.
    if cell.isascii() and cell.isdecimal() and len(cell) < 18:
        return int(cell)
    value = line.parse_number(cell)
    if value < 0 or not value.is_integer():
        raise line.parse_error(
            '"{cell}" is not a valid counter of microjoules.', cell=cell
        )
    return int(value)


TOOL = Tool(
    slug="rapl",
    title="RAPL",
    homepage="https://docs.kernel.org/power/powercap/powercap.html",
    metrics=ENERGY_METRICS,
    aliases=("turbostat", "powercap", "energy_uj"),
    labels=("{part}", "socket {socket}"),
    version=2,
    parse=parse,
    signatures=(
        rf"(?:{_AT} +)?(?:S\d+\S* +\d+ +)?(?:<not \w+>|[\d.,]+) +Joules +power/e",
        _TURBOSTAT,
        _COUNTERS,
        rf"{_SYSFS}/energy_uj:",
    ),
    programs=("turbostat",),
)
