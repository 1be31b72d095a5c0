"""PDH CSV: counters of Windows (typeperf, relog; Hyper-V) and of ESXi (esxtop -b).

One row, below a header of ``"\\\\HOST\\object(instance)\\counter"``::

    "07/23/2026 06:04:44.000","10.5","3.25"

The CPU counters of hosts and virtual machines are read, in % of one CPU (ESXi adds up
the virtual CPUs: more than 100 is possible). The first sample of a rate is blank. The
group number of ESXi changes whenever a machine is started: only its name is kept.
"""

import csv
import re
from dataclasses import dataclass, field

from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, Parameter, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES = Scanner(
    header=r'"\(PDH-CSV 4\.0\)(?P<zone>[^"\n]*)"(?P<columns>[^\n]*)$',
    row=r'(?P<cells>"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4} [^\n]*)$',
)
_OBJECTS = (
    "Hyper-V Hypervisor Logical Processor|Hyper-V Hypervisor Root Virtual Processor"
    "|Hyper-V Hypervisor Virtual Processor|Processor Information|Processor"
    "|Physical Cpu|Group Cpu"
)
_COUNTERS = (
    "Total Run Time|Guest Run Time|Hypervisor Run Time|Processor Time|Util Time"
    "|Used|Ready|CoStop"
)
_PATH = re.compile(
    rf"\\\\(?P<host>[^\\]+)\\(?P<object>{_OBJECTS})\((?P<instance>.*)\)"
    rf"\\% (?P<counter>{_COUNTERS})",
    re.ASCII,
)
_GROUP = re.compile(r"\A\d+:(?=.)")
# Of the machine's own CPUs only the sum is read, of virtual machines each.
_OF_THE_HOST = ("Hyper-V Hypervisor Logical Processor", "Processor", "Physical Cpu")


@dataclass(slots=True)
class Table:
    """A header, which of its columns are read, and the run below it."""

    width: int
    columns: dict[int, dict[str, Parameter]]
    run: Draft = field(default_factory=Draft)
    rows: int = 0


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each header; each row below it is a repetition."""
    tables: list[Table] = []
    for line in LINES(output):
        if line.kind == "header":
            keep(tables, _table(_cells(line)))
        elif tables:
            _read(line, tables[-1])
    return finished(
        [table.run for table in tables],
        "There is no sample of a CPU counter with an English name: of the counters "
        "only those of processors are read.",
    )


def _cells(line: Found) -> list[str]:
    try:
        # A list ends with a comma in some versions.
        return next(csv.reader([line.text.strip().removesuffix(",")], strict=True))
    except csv.Error:
        raise line.refused("this row is cut or damaged: a quote is open.") from None


def _table(names: list[str]) -> Table:
    table = Table(width=len(names), columns={})
    for index, name in enumerate(names):
        path = _PATH.fullmatch(name)
        if path is None or _is_a_part(path):
            continue
        instance = path["instance"]
        if path["object"] == "Group Cpu":
            instance = _GROUP.sub("", instance)
        table.run.facts["host"] = path["host"]
        table.columns[index] = {
            "object": path["object"],
            "instance": instance,
            "counter": path["counter"],
        }
    return table


def _read(line: Found, table: Table) -> None:
    cells = _cells(line)
    if len(cells) != table.width:
        raise line.refused(f"it has {len(cells)} columns, not {table.width}.")
    for index, parameters in table.columns.items():
        cell = cells[index].strip()
        if cell:
            value = line.number_of(cell)
            if value < 0:
                raise line.refused(f"{cell} cannot be: it is negative.")
            table.run.add("CPU utilization", value, "%", **parameters)
        elif table.rows:
            table.run.mark("not_measured", "There are blank samples: left out.")
    table.rows += 1
    table.run.facts["samples"] = table.rows


def _is_a_part(path: re.Match[str]) -> bool:
    """Whether it is one CPU of the machine."""
    is_total = path["instance"].endswith("_Total")
    return path["object"].startswith(_OF_THE_HOST) and not is_total


TOOL = Tool(
    slug="pdh-csv",
    title="PDH CSV",
    homepage="https://learn.microsoft.com/windows-server/administration/"
    "windows-commands/typeperf",
    metrics=(
        Metric(
            name="CPU utilization",
            unit="%",
            better="lower",
            component="CPU",
            zero_allowed=True,
        ),
    ),
    aliases=("typeperf", "relog", "Hyper-V counters", "esxtop", "resxtop"),
    labels=("{object}", "{instance}", "{counter}"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(r'"\(PDH-CSV 4\.0\)',),
    ),
)
