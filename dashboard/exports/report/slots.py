"""VMs that ran together, side by side: a column a VM instead of a row a VM. PURE."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.comparing.columns import Fact
from benchmarks.comparing.ordering import natural
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow, ComparisonTable

SLOT = "slot"

Cells = Mapping[str, Sequence[ComparisonRow | None]]


def slots_in_columns(table: ComparisonTable, most: int) -> ComparisonTable:
    """Return the table with a column for each slot of each system.

    As it is where there are no slots, or more columns would come of it than ``most``.
    """
    slots = _slots(table)
    if len(slots) < 2 or len(slots) * len(table.head.columns) > most:
        return table
    columns = (
        replace(column, facts=(*column.facts, Fact(SLOT, slot)))
        for column in table.head.columns
        for slot in slots
    )
    width = len(table.head.columns)
    groups = (
        replace(
            group,
            facts=_without_slot(group.facts),
            rows=tuple(_rows(group, slots, width)),
        )
        for group in table.groups
    )
    head = replace(table.head, columns=tuple(columns))
    return replace(table, head=head, groups=tuple(groups))


def _slots(table: ComparisonTable) -> list[str]:
    """Return the slots: the VMs by number, then what is said of them all."""
    told = {_slot(row) for group in table.groups for row in group.rows}
    return sorted(told, key=lambda slot: (not slot.isdigit(), natural(slot)))


def _slot(row: CaseRow) -> str:
    return str(row.key[-1])


def _without_slot(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts if fact.name != SLOT)


def _rows(group: CaseGroup, slots: Sequence[str], width: int) -> Iterator[CaseRow]:
    """Return one row for those that differ in their slot alone."""
    firsts: dict[tuple[object, ...], CaseRow] = {}
    cells: dict[tuple[object, ...], dict[str, Sequence[ComparisonRow | None]]] = {}
    for row in group.rows:
        key = row.key[:-1]
        firsts.setdefault(key, row)
        cells.setdefault(key, {})[_slot(row)] = row.cells
    for key, row in firsts.items():
        beside = tuple(_cells(cells[key], slots, width))
        yield replace(row, facts=_without_slot(row.facts), cells=beside)


def _cells(
    found: Cells, slots: Sequence[str], width: int
) -> Iterator[ComparisonRow | None]:
    for system in range(width):
        for slot in slots:
            yield found[slot][system] if slot in found else None
