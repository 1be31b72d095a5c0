"""The case and the readings of one block of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence
from benchmarks.tools.iometer.blocks import Block, measured, whole

RATES: Final = {
    "MBps (Decimal)": "MB/s",
    "MiBps (Binary)": "MiB/s",
    "MBps (Binary)": "MiB/s",
    "MBps": "MiB/s",
}
PREFIXES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
# What a specification says of bursts, alignment and replies, and the usual values.
RARE: Final = {"delay": 0, "burst": 1, "align": 0, "reply": 0}
ERRORS: Final = ("Errors", "Read Errors", "Write Errors")


def run(block: Block, line: Found) -> Draft:
    """The run of a block, from the row of all targets."""
    cells = block.cells(line)
    draft = Draft(tool_version=block.version, facts=dict(block.facts))
    name = cells.get("Access Specification Name", "")
    draft.facts["access specification"] = name
    draft.parameters.update(_counts(line, cells))
    rows = block.specifications.get(name, [])
    if len(rows) == 1 and len(rows[0]["value"].split(",")) >= 4:
        draft.parameters.update(_access(rows[0]))
    else:
        draft.parameters.update(_measured_access(line, name, cells))
    if not block.loads_disks:
        # What is sent over a network has no place that could be random.
        draft.parameters.pop("access", None)
    for column in ERRORS:
        if cells.get(column) and measured(line, cells[column]) > 0:
            draft.mark(
                "errors",
                Sentence(
                    "{column} counted by Iometer: {cells}.",
                    column=column,
                    cells=cells[column],
                ),
            )
    if block.loads_disks and block.loads_network:
        draft.mark("mixed_targets", Sentence("Disks and networks were loaded at once."))
    else:
        Row(line, cells, draft).read("disk" if block.loads_disks else "network")
    return draft


def _counts(line: Found, cells: dict[str, str]) -> Iterator[tuple[str, Parameter]]:
    """How many worked at once; Iometer prints a negative number where it varied."""
    for column in ("# Managers", "# Workers", "# Disks", "Queue Depth"):
        text = cells.get(column, "")
        if text and (count := whole(line, text)) > 0:
            yield column.removeprefix("# ").casefold().replace(" ", "_"), count


def _access(row: Found) -> Iterator[tuple[str, Parameter]]:
    """What an access specification of one row asks for."""
    texts = [each.strip() for each in row["value"].split(",")]
    size, _, reads, random = (whole(row, each) for each in texts[:4])
    yield "block_size", _size(size)
    yield "operation", _operation(reads > 0, reads < 100)
    if 0 < reads < 100:
        yield "reads", f"{reads} %"
    words = {0: "sequential", 100: "random"}
    yield "access", words.get(random, f"{random} % random")
    for (name, usual), text in zip(RARE.items(), texts[4:], strict=False):
        if text and (value := whole(row, text)) > usual:
            yield name, value


def _measured_access(
    line: Found, name: str, cells: dict[str, str]
) -> Iterator[tuple[str, Parameter]]:
    """What was done, where a specification is a mix or is not in the file."""
    if name:
        yield "specification", name
    reads, writes = (
        measured(line, cells.get(f"{way} IOps") or "0") > 0 for way in ("Read", "Write")
    )
    if reads or writes:
        yield "operation", _operation(reads, writes)


def _operation(reads: bool, writes: bool) -> str:
    if reads and writes:
        return "mixed"
    return "read" if reads else "write"


def _size(size: int) -> str:
    for factor, unit in PREFIXES:
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


class Row:
    """The row of all targets, being read into a run."""

    def __init__(self, line: Found, cells: dict[str, str], draft: Draft) -> None:
        self._line, self._cells, self._draft = line, cells, draft

    def read(self, loaded: str) -> None:
        """The numbers of a test of disks or of a network."""
        self._read_throughput("", f"{loaded} throughput")
        if loaded == "disk":
            self._read_disk("")
            if self._draft.parameters.get("operation") == "mixed":
                self._read_part("read")
                self._read_part("write")
        self._add("% CPU Utilization", f"CPU utilization ({loaded})", "%")

    def _read_part(self, way: str) -> None:
        """The reads or the writes of a mix."""
        self._read_throughput(f"{way.title()} ", "disk throughput", part=way)
        self._read_disk(f"{way.title()} ", part=way)

    def _read_disk(self, way: str, **part: Parameter) -> None:
        self._add(f"{way}IOps", "IOps", "1/s", **part)
        self._add(f"Average {way}Response Time", "response time mean", "ms", **part)
        self._add(f"Maximum {way}Response Time", "response time max", "ms", **part)

    def _read_throughput(self, way: str, metric: str, **part: Parameter) -> None:
        for column, unit in RATES.items():
            if f"{way}{column}" in self._cells:
                self._add(f"{way}{column}", metric, unit, **part)
                return

    def _add(self, column: str, metric: str, unit: str, **part: Parameter) -> None:
        if text := self._cells.get(column):
            self._draft.add(metric, measured(self._line, text), unit, **part)
