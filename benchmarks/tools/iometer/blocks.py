"""What a file of Iometer says before and within one block of results."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.parsing.drafts import Parameter
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence

NETWORK = frozenset({"NETWORK", "VI", "TCP"})


@dataclass(slots=True)
class Block:
    """The test that a file tells of, and its block of results that is open."""

    version: str = ""
    facts: dict[str, Parameter] = field(default_factory=dict)
    specifications: dict[str, list[Found]] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    total: Found | None = None
    kinds: set[str] = field(default_factory=set)
    _named: str = ""

    def close(self) -> None:
        self.total = None
        self.kinds = set()

    def read_row(self, line: Found) -> None:
        kind = line["value"].partition(",")[0].strip()
        self.kinds.add(kind)
        if kind == "ALL":
            self.total = line

    def name_specification(self, text: str) -> None:
        """A name and whom it is assigned to by default."""
        self._named = text.rpartition(",")[0]
        self.specifications[self._named] = []

    def read_specification(self, line: Found) -> None:
        if self._named in self.specifications:
            self.specifications[self._named].append(line)

    @property
    def loads_network(self) -> bool:
        return not self.kinds.isdisjoint(NETWORK)

    @property
    def loads_disks(self) -> bool:
        """Also if no targets are recorded: then nothing tells of a network."""
        return "DISK" in self.kinds or not self.loads_network

    def cells(self, line: Found) -> dict[str, str]:
        """The cells of a row by the names of their columns.

        Names are printed without quotes: one with a comma is known by the list above.
        """
        text = line["value"].strip()
        head, _, rest = text.partition(",All,")
        longest = sorted(self.specifications, key=len, reverse=True)
        known = (each for each in longest if rest.startswith(f"{each},"))
        name = next(known, rest.partition(",")[0])
        cells = [head, "All", name, *rest[len(name) + 1 :].split(",")]
        return self._by_column(line, cells)

    def _by_column(self, line: Found, cells: list[str]) -> dict[str, str]:
        columns = [each.strip() for each in self.columns]
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        # The columns of latencies are left out where Iometer does not count them.
        bins = sum(each[:1].isdigit() or each.startswith(">") for each in columns)
        if len(cells) not in {len(columns), len(columns) - bins}:
            raise line.refused(
                Sentence(
                    "it has {cells} cells, the line above has {columns} columns.",
                    cells=len(cells),
                    columns=len(columns),
                )
            )
        return dict(zip(columns, map(str.strip, cells), strict=False))


def measured(line: Found, text: str) -> float:
    """The number of a cell, which cannot be negative."""
    if (number := line.number_of(text)) < 0:
        raise line.refused(Sentence("{text} cannot be: it is negative.", text=text))
    return number


def whole(line: Found, text: str) -> int:
    """The whole number of a cell."""
    number = line.number_of(text)
    if abs(number) > 10**15 or number != int(number):
        raise line.refused(Sentence("{text} is no whole number.", text=text))
    return int(number)
