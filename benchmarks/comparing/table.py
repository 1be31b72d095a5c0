"""Comparison rows shaped into a table: a row a case, a column a system.

What all columns, or all rows of a group, share is stated once.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.models.run import (
    SCENARIOS,
)
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.cases import case_details
from benchmarks.platforms import NATIVE
from benchmarks.text import natural
from benchmarks.units import quantity_of

COMPONENTS = ("CPU", "memory", "disk", "network", "power", "application")
OPTIONS = ("hw_virt", "guest_tools", "storage", "swap", "scheduler", "tuned")
PROPERTIES = (
    "host",
    "virtualization",
    "guest_os",
    "guest_bits",
    "vcpus",
    "memory_bytes",
)
PLATFORM = "platform"
BY_RATIO = "ratio"
# In the order in which people read them: how many VMs, what else ran, which of them.
ROW_FACTS = ("scenario", "vms", "load", "slot")
PART = " · "

RowKey = tuple[Hashable, ...]


@dataclass(frozen=True)
class Fact:
    """A named property, as stated; an empty value is one that was not stated."""

    name: str
    value: str


@dataclass(frozen=True)
class HeadSpan:
    """A heading over ``width`` columns that lie side by side."""

    value: str
    width: int
    is_edge: bool


@dataclass(frozen=True)
class HeadLevel:
    """A line of the table's head: one property by which the columns differ."""

    name: str
    spans: tuple[HeadSpan, ...]


@dataclass(frozen=True)
class Column:
    """A system; ``is_edge``: another group of columns begins here."""

    system_id: int
    label: str
    platform: str
    is_native: bool
    is_edge: bool
    facts: tuple[Fact, ...]

    def stated(self, name: str) -> str:
        """Return a property by which the columns differ."""
        if name == PLATFORM:
            return self.platform
        return next((fact.value for fact in self.facts if fact.name == name), "")


@dataclass(frozen=True)
class ColumnHead:
    """All columns, the headings over them, and what they have in common.

    ``constants`` are of all systems, ``of_guests`` of all but native machines.
    """

    columns: tuple[Column, ...]
    lead: HeadLevel
    levels: tuple[HeadLevel, ...]
    constants: tuple[Fact, ...]
    of_guests: tuple[Fact, ...]


@dataclass(frozen=True)
class CaseRow:
    """A case in its circumstances; ``facts`` tell it from the others of its group."""

    key: RowKey
    label: str
    unit: str
    better: str
    facts: tuple[Fact, ...]
    cells: tuple[ComparisonRow | None, ...]


@dataclass(frozen=True)
class CaseGroup:
    """The rows of one tool and component, or all rows if they are sorted otherwise."""

    component: str
    tool: str
    label: str
    unit: str
    better: str
    facts: tuple[Fact, ...]
    rows: tuple[CaseRow, ...] = ()


@dataclass(frozen=True)
class ComparisonTable:
    head: ColumnHead
    groups: tuple[CaseGroup, ...]
    scenario: str
    """The scenario of all rows; empty where they are of several."""
    states: Mapping[str, int]
    cell_count: int
    ratio_count: int
    row_count: int
    runs: int | None
    """How many runs each cell stands on; None where that differs."""

    @property
    def cells(self) -> Iterator[ComparisonRow]:
        rows = (row for group in self.groups for row in group.rows)
        return (cell for row in rows for cell in row.cells if cell)

    @property
    def is_single_run(self) -> bool:
        return self.runs == 1


def rank(order: Sequence[str], name: str) -> tuple[int, str]:
    """Sort key: the known names in their order, then the others by name."""
    return (order.index(name) if name in order else len(order), name)


def column_head(
    rows: Iterable[ComparisonRow],
    *,
    group: str = PLATFORM,
    ratios: Mapping[int, float] | None = None,
) -> ColumnHead:
    """Order the systems and find what tells them apart.

    ``group`` is the property of the first heading; ``ratios`` order a group's columns,
    best first.
    """
    by_id = {row.system.id: row for row in rows}
    options = {name for row in by_id.values() for name in row.system.options}
    known = [name for name in OPTIONS if name in options]
    names = [*PROPERTIES, *known, *sorted(options.difference(known))]
    # A native machine that is silent about a property does not differ in it.
    stated = {
        name: {
            _stated(row, name)
            for row in by_id.values()
            if row.system.hypervisor != NATIVE or _stated(row, name)
        }
        for name in names
    }
    varying = [name for name in names if len(stated[name]) > 1]
    lead = group if group in varying else PLATFORM

    def place(row: ComparisonRow) -> tuple[Any, ...]:
        platform = (
            row.system.hypervisor != NATIVE,
            natural(row.system.hypervisor),
            natural(row.system.hypervisor_version),
        )
        return (
            platform if lead == PLATFORM else natural(_stated(row, lead)),
            # Ratios are above 0: a system without one comes last in its group.
            -(ratios or {}).get(row.system.id, 0.0),
            platform,
            [natural(_stated(row, name)) for name in names],
            # Systems that state the same keep one order, however the rows came.
            row.system.id,
        )

    systems = sorted(by_id.values(), key=place)
    columns = _columns(systems, varying, lead)
    headings = [lead, *(name for name in (PLATFORM, *varying) if name != lead)]
    levels = tuple(
        HeadLevel(name, _joined(columns, headings[: depth + 1]))
        for depth, name in enumerate(headings)
    )
    shared = _shared(systems, [name for name in names if name not in varying])
    return ColumnHead(
        columns=columns,
        lead=levels[0],
        levels=levels[1:],
        constants=tuple(fact for fact, is_of_all in shared if is_of_all),
        of_guests=tuple(fact for fact, is_of_all in shared if not is_of_all),
    )


def _stated(row: ComparisonRow, name: str) -> str:
    value = (
        getattr(row.system, name)
        if name in PROPERTIES
        else row.system.options.get(name)
    )
    return "" if value is None else str(value)


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
        is_edge = bool(columns) and columns[-1].stated(lead) != column.stated(lead)
        columns.append(replace(column, is_edge=is_edge))
    return tuple(columns)


def _joined(columns: Sequence[Column], names: Sequence[str]) -> tuple[HeadSpan, ...]:
    """Join neighbours that agree in all headings down to the last of these."""
    spans = []
    for values, joined in groupby(
        columns, key=lambda column: [column.stated(name) for name in names]
    ):
        members = list(joined)
        spans.append(HeadSpan(values[-1], len(members), members[0].is_edge))
    return tuple(spans)


def _shared(
    systems: Sequence[ComparisonRow], names: Sequence[str]
) -> list[tuple[Fact, bool]]:
    """Return stated facts that do not vary, and whether all systems state them."""
    alike = {name: [_stated(row, name) for row in systems] for name in names}
    return [
        (Fact(name, next(filter(None, values))), all(values))
        for name, values in alike.items()
        if any(values)
    ]


@dataclass(frozen=True)
class Median:
    ratio: float
    n: int


def medians(rows: Iterable[ComparisonRow]) -> dict[int, Median]:
    """Return the median of the written ratios by system, comparable ones only."""
    ratios: dict[int, list[float]] = {}
    for row in rows:
        if row.shown.is_drawn and (ratio := row.shown.written_ratio) is not None:
            ratios.setdefault(row.system.id, []).append(ratio)
    return {pk: Median(median(each), len(each)) for pk, each in ratios.items()}


def comparison_table(
    rows: Iterable[ComparisonRow],
    *,
    group: str = PLATFORM,
    order: str = "",
    best: Iterable[ComparisonRow] | None = None,
    ranks: Mapping[RowKey, Any] | None = None,
) -> ComparisonTable:
    """Shape the cells of one study into a table.

    ``best`` are the cells whose medians order the columns (all, by default). With
    ``ranks`` all rows are one group, the least rank first.
    """
    cells = list(rows)
    by_group: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in cells:
        by_group.setdefault((row.case.component, row.case.tool), []).append(row)
    middle = None
    if order == BY_RATIO:
        found = medians(cells if best is None else best)
        is_less_better = any(row.shown.measure.is_less_better for row in cells)
        middle = {
            pk: 1 / it.ratio if is_less_better and it.ratio else it.ratio
            for pk, it in found.items()
        }
    head = column_head(cells, group=group, ratios=middle)

    system_ids = [column.system_id for column in head.columns]
    scenarios = {row.scenario for row in cells}
    named = ROW_FACTS if len(scenarios) > 1 else ROW_FACTS[1:]
    ordered = sorted(by_group, key=lambda key: (rank(COMPONENTS, key[0]), key[1]))
    groups = tuple(_group(by_group[key], system_ids, named) for key in ordered)
    if ranks is not None and groups:
        groups = (_in_one_order(groups, ranks),)
    runs = {row.shown.n for row in cells}
    return ComparisonTable(
        head=head,
        groups=groups,
        scenario=_one(scenarios),
        states=dict(Counter(row.shown.full_state for row in cells).most_common()),
        cell_count=len(cells),
        ratio_count=sum(row.shown.ratio is not None for row in cells),
        row_count=sum(len(group.rows) for group in groups),
        runs=runs.pop() if len(runs) == 1 else None,
    )


def _in_one_order(
    groups: Sequence[CaseGroup], ranks: Mapping[RowKey, Any]
) -> CaseGroup:
    rows = [
        replace(
            row,
            label=PART.join(filter(None, (group.tool, group.label, row.label))),
            unit=row.unit or group.unit,
            better=row.better or group.better,
            facts=(Fact("component", group.component), *group.facts, *row.facts),
        )
        for group in groups
        for row in group.rows
    ]
    rows.sort(key=lambda row: (row.key not in ranks, ranks.get(row.key, ())))
    return CaseGroup("", "", "", "", "", (), tuple(rows))


def rows_with_ratios(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Leave out the lines and the columns of a table that have not one ratio."""
    compared = [row for row in rows if row.shown.ratio is not None]
    keys = {row.place for row in compared}
    systems = {row.system.id for row in compared}
    return [row for row in rows if row.system.id in systems and row.place in keys]


def _group(
    members: Sequence[ComparisonRow], system_ids: Sequence[int], named: Sequence[str]
) -> CaseGroup:
    by_key: dict[RowKey, dict[int, ComparisonRow]] = {}
    for row in members:
        by_key.setdefault(row.place, {})[row.system.id] = row
    firsts = (next(iter(cells.values())) for cells in by_key.values())
    lines = sorted(firsts, key=_row_order)
    stated = [row_facts(line, named) for line in lines]
    shared = {
        name: value
        for name, value in stated[0].items()
        if value and all(other.get(name) == value for other in stated)
    }

    # The beginning that all labels of a group have and go on after, or nothing.
    halves = {line.case.label.partition(PART)[::2] for line in lines}
    heads = {head for head, _ in halves}
    label = heads.pop() if len(heads) == 1 and all(rest for _, rest in halves) else ""
    unit = _one({line.shown.unit for line in lines})
    better = _one({line.shown.better for line in lines})
    return CaseGroup(
        component=lines[0].case.component,
        tool=lines[0].tool_title,
        label=label,
        unit=unit,
        better=better,
        facts=tuple(Fact(name, value) for name, value in shared.items()),
        rows=tuple(
            CaseRow(
                key=line.place,
                label=line.case.label.removeprefix(label + PART if label else ""),
                unit="" if unit else line.shown.unit,
                better="" if better else line.shown.better,
                facts=tuple(
                    Fact(name, value)
                    for name, value in facts.items()
                    if value and name not in shared
                ),
                cells=tuple(by_key[line.place].get(pk) for pk in system_ids),
            )
            for line, facts in zip(lines, stated, strict=True)
        ),
    )


def row_facts(row: ComparisonRow, named: Sequence[str]) -> dict[str, str]:
    """Return what a case's label leaves out: parameters, the circumstances named."""
    details = case_details(known_tool(row.case.tool), row.case.parameters)
    # One VM alone is the first of one: saying so tells nothing.
    alone = row.scenario == "single" and row.vms in (None, 1)
    telling = [name for name in named if not (alone and name in ("vms", "slot"))]
    stated = {name: getattr(row, name) for name in telling}
    texts = {name: str(value) for name, value in stated.items() if value is not None}
    return {**details, **texts}


def _row_order(row: ComparisonRow) -> tuple[Any, ...]:
    names = [metric.name for metric in known_tool(row.case.tool).metrics]
    # 64 KiB comes before 1 MiB, and names come after all sizes.
    parameters = []
    for name, value in sorted(row.case.parameters.items()):
        size = quantity_of(value)
        known = (size.unit, size.amount) if size else ("", 0.0)
        parameters.append((name, size is None, *known, [] if size else natural(value)))
    return (
        rank(names, row.case.metric),
        rank(SCENARIOS, row.scenario),
        natural(row.case.label),
        parameters,
        row.case.id,
        row.vms or 0,
        natural(row.load),
        (not row.slot.isdigit(), natural(row.slot)),
    )


def _one(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else ""
