"""The columns of a comparison: systems, their order and the headings over them. PURE.

What all columns have in common is told apart from what differs between them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from benchmarks.comparing.ordering import OPTIONS, natural
from benchmarks.comparing.row import ComparisonRow
from benchmarks.models.study import NATIVE

PLATFORM = "platform"
BY_RATIO = "ratio"
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
    """A system; ``is_edge``: another group of columns begins here."""

    system_id: int
    label: str
    platform: str
    is_native: bool
    is_edge: bool
    facts: tuple[Fact, ...]

    def said(self, name: str) -> str:
        """Return a property by which the columns differ."""
        if name == PLATFORM:
            return self.platform
        return next((fact.value for fact in self.facts if fact.name == name), "")


@dataclass(frozen=True)
class ColumnHead:
    """All columns in order, the headings over them, and what they have in common.

    ``lead`` is the heading over all others: the property that groups the columns.
    ``constants`` are of all systems, ``of_guests`` of all but a native machine.
    """

    columns: tuple[Column, ...]
    lead: Level
    levels: tuple[Level, ...]
    constants: tuple[Fact, ...]
    of_guests: tuple[Fact, ...]


def column_head(
    rows: Iterable[ComparisonRow],
    *,
    group: str = PLATFORM,
    ratios: Mapping[int, float] | None = None,
) -> ColumnHead:
    """Order the systems of these rows and say what tells them apart.

    ``group`` is the property of the uppermost heading. Within a group the columns
    follow their properties, or where ``ratios`` are given those, best first.
    """
    by_id = {row.system.id: row for row in rows}
    names = _properties(by_id.values())
    varying = [name for name in names if _tells_apart(by_id.values(), name)]
    lead = group if group in varying else PLATFORM
    order = partial(_order, lead=lead, names=names, ratios=ratios)
    systems = sorted(by_id.values(), key=order)
    columns = _columns(systems, varying, lead)
    headings = [lead, *(name for name in (PLATFORM, *varying) if name != lead)]
    levels = _levels(columns, headings)
    shared = [name for name in names if name not in varying]
    return ColumnHead(
        columns=columns,
        lead=levels[0],
        levels=levels[1:],
        constants=_shared(systems, shared, by_all=True),
        of_guests=_shared(systems, shared, by_all=False),
    )


def _order(
    row: ComparisonRow,
    lead: str,
    names: Iterable[str],
    ratios: Mapping[int, float] | None,
) -> tuple[Any, ...]:
    platform = (
        row.system.hypervisor != NATIVE,
        natural(row.system.hypervisor),
        natural(row.system.hypervisor_version),
    )
    return (
        platform if lead == PLATFORM else natural(_stated(row, lead)),
        -(ratios or {}).get(row.system.id, 0.0),
        platform,
        [natural(_stated(row, name)) for name in names],
        row.system.id,
    )


def _stated(row: ComparisonRow, name: str) -> str:
    value = (
        getattr(row.system, name)
        if name in PROPERTIES
        else row.system.options.get(name)
    )
    return "" if value is None else str(value)


def _properties(systems: Iterable[ComparisonRow]) -> list[str]:
    options = {name for row in systems for name in row.system.options}
    known = [name for name in OPTIONS if name in options]
    return [*PROPERTIES, *known, *sorted(options.difference(known))]


def _tells_apart(systems: Collection[ComparisonRow], name: str) -> bool:
    """Whether a property differs; a native machine that is silent about it does not."""
    values = {
        _stated(row, name)
        for row in systems
        if row.system.hypervisor != NATIVE or _stated(row, name)
    }
    return len(values) > 1


def _shared(
    systems: Sequence[ComparisonRow], names: Iterable[str], *, by_all: bool
) -> tuple[Fact, ...]:
    """Return what all systems state alike, or all but a native machine."""
    said = {name: [_stated(row, name) for row in systems] for name in names}
    return tuple(
        Fact(name, next(filter(None, values)))
        for name, values in said.items()
        if any(values) and all(values) == by_all
    )


def _columns(
    systems: Sequence[ComparisonRow], varying: Sequence[str], lead: str
) -> tuple[Column, ...]:
    columns: list[Column] = []
    for row in systems:
        platform = f"{row.system.hypervisor} {row.system.hypervisor_version}".strip()
        column = Column(
            system_id=row.system.id,
            label=row.system.label,
            platform=platform,
            is_native=row.system.hypervisor == NATIVE,
            is_edge=False,
            facts=tuple(Fact(name, _stated(row, name)) for name in varying),
        )
        is_edge = bool(columns) and columns[-1].said(lead) != column.said(lead)
        columns.append(replace(column, is_edge=is_edge))
    return tuple(columns)


def _levels(columns: Sequence[Column], headings: Sequence[str]) -> tuple[Level, ...]:
    return tuple(
        Level(name, _spans(columns, partial(_path, names=headings[: depth + 1])))
        for depth, name in enumerate(headings)
    )


def _path(column: Column, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(column.said(name) for name in names)


def _spans(
    columns: Sequence[Column], path: Callable[[Column], tuple[str, ...]]
) -> tuple[Span, ...]:
    """Join neighbours that agree in all headings down to this one."""
    spans = []
    for heading, joined in groupby(columns, key=path):
        members = list(joined)
        spans.append(Span(heading[-1], len(members), members[0].is_edge))
    return tuple(spans)
