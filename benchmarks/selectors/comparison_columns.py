"""The columns of a comparison: systems, their order and the headings over them. PURE.

What all columns have in common is told apart from what differs between them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from benchmarks.models.study import NATIVE
from benchmarks.selectors.comparisons import ComparisonRow
from benchmarks.selectors.ordering import OPTIONS, natural

PROPERTIES = (
    "host",
    "virtualization",
    "guest_os",
    "guest_bits",
    "vcpus",
    "memory_bytes",
)


@dataclass(frozen=True)
class Fact:
    """A named property, as stated; an empty value is one that was not stated."""

    name: str
    value: str


@dataclass(frozen=True)
class Span:
    """A heading over ``width`` columns that lie side by side."""

    value: str
    width: int
    is_edge: bool


@dataclass(frozen=True)
class Level:
    """A line of the table's head: one property by which the columns differ."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Column:
    """A system; ``is_edge``: another platform begins here."""

    system_id: int
    label: str
    platform: str
    is_native: bool
    is_edge: bool
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ColumnHead:
    """All columns in order, the headings over them, and what they have in common."""

    columns: tuple[Column, ...]
    platforms: tuple[Span, ...]
    levels: tuple[Level, ...]
    constants: tuple[Fact, ...]


def column_head(rows: Iterable[ComparisonRow]) -> ColumnHead:
    """Order the systems of these rows and say what tells them apart."""
    by_id = {row.system_id: row for row in rows}
    names = _properties(by_id.values())
    systems = sorted(by_id.values(), key=partial(_order, names=names))
    varying = [name for name in names if _tells_apart(systems, name)]
    columns = _columns(systems, varying)
    return ColumnHead(
        columns=columns,
        platforms=_spans(columns, lambda column: (column.platform,)),
        levels=_levels(columns, varying),
        constants=_constants(systems, [name for name in names if name not in varying]),
    )


def _order(row: ComparisonRow, names: Iterable[str]) -> tuple[Any, ...]:
    return (
        row.hypervisor != NATIVE,
        natural(row.hypervisor),
        natural(row.hypervisor_version),
        [natural(_stated(row, name)) for name in names],
        row.system_id,
    )


def _stated(row: ComparisonRow, name: str) -> str:
    value = getattr(row, name) if name in PROPERTIES else row.options.get(name)
    return "" if value is None else str(value)


def _properties(systems: Iterable[ComparisonRow]) -> list[str]:
    options = {name for row in systems for name in row.options}
    known = [name for name in OPTIONS if name in options]
    return [*PROPERTIES, *known, *sorted(options.difference(known))]


def _tells_apart(systems: Sequence[ComparisonRow], name: str) -> bool:
    """Whether a property differs; a native machine that is silent about it does not."""
    values = {
        _stated(row, name)
        for row in systems
        if row.hypervisor != NATIVE or _stated(row, name)
    }
    return len(values) > 1


def _constants(
    systems: Sequence[ComparisonRow], names: Iterable[str]
) -> tuple[Fact, ...]:
    said = {name: [_stated(row, name) for row in systems] for name in names}
    shared = {name: next(filter(None, values), "") for name, values in said.items()}
    return tuple(Fact(name, value) for name, value in shared.items() if value)


def _columns(
    systems: Sequence[ComparisonRow], varying: Sequence[str]
) -> tuple[Column, ...]:
    columns: list[Column] = []
    for row in systems:
        platform = f"{row.hypervisor} {row.hypervisor_version}".strip()
        columns.append(
            Column(
                system_id=row.system_id,
                label=row.system,
                platform=platform,
                is_native=row.hypervisor == NATIVE,
                is_edge=bool(columns) and columns[-1].platform != platform,
                facts=tuple(Fact(name, _stated(row, name)) for name in varying),
            )
        )
    return tuple(columns)


def _levels(columns: Sequence[Column], varying: Sequence[str]) -> tuple[Level, ...]:
    return tuple(
        Level(name, _spans(columns, partial(_path, depth=depth + 1)))
        for depth, name in enumerate(varying)
    )


def _path(column: Column, depth: int) -> tuple[str, ...]:
    return (column.platform, *(fact.value for fact in column.facts[:depth]))


def _spans(
    columns: Sequence[Column], path: Callable[[Column], tuple[str, ...]]
) -> tuple[Span, ...]:
    """Join neighbours that agree in all headings down to this one."""
    spans = []
    for heading, joined in groupby(columns, key=path):
        members = list(joined)
        spans.append(Span(heading[-1], len(members), members[0].is_edge))
    return tuple(spans)
