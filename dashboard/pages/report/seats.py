"""VMs that ran together, side by side: a column a VM instead of a row a VM. PURE."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.comparing.columns import Fact
from benchmarks.comparing.ordering import natural
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow, ComparisonTable

SEAT = "seat"

Cells = Mapping[str, Sequence[ComparisonRow | None]]


def seats_in_columns(table: ComparisonTable, most: int) -> ComparisonTable:
    """Return the table with a column for each seat of each system.

    As it is where there are no seats, or more columns would come of it than ``most``.
    """
    seats = _seats(table)
    if len(seats) < 2 or len(seats) * len(table.head.columns) > most:
        return table
    columns = (
        replace(column, facts=(*column.facts, Fact(SEAT, seat)))
        for column in table.head.columns
        for seat in seats
    )
    width = len(table.head.columns)
    groups = (
        replace(
            group,
            facts=_unseated(group.facts),
            rows=tuple(_rows(group, seats, width)),
        )
        for group in table.groups
    )
    head = replace(table.head, columns=tuple(columns))
    return replace(table, head=head, groups=tuple(groups))


def _seats(table: ComparisonTable) -> list[str]:
    """Return the seats: the VMs by number, then what is said of them all."""
    told = {_seat(row) for group in table.groups for row in group.rows}
    return sorted(told, key=lambda seat: (not seat.isdigit(), natural(seat)))


def _seat(row: CaseRow) -> str:
    return str(row.key[-1])


def _unseated(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.name != SEAT)


def _rows(group: CaseGroup, seats: Sequence[str], width: int) -> Iterator[CaseRow]:
    """Return one row for those that differ in their seat alone."""
    firsts: dict[tuple[object, ...], CaseRow] = {}
    cells: dict[tuple[object, ...], dict[str, Sequence[ComparisonRow | None]]] = {}
    for row in group.rows:
        key = row.key[:-1]
        firsts.setdefault(key, row)
        cells.setdefault(key, {})[_seat(row)] = row.cells
    for key, row in firsts.items():
        beside = tuple(_cells(cells[key], seats, width))
        yield replace(row, facts=_unseated(row.facts), cells=beside)


def _cells(
    found: Cells, seats: Sequence[str], width: int
) -> Iterator[ComparisonRow | None]:
    for system in range(width):
        for seat in seats:
            yield found[seat][system] if seat in found else None
