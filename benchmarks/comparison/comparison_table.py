"""Comparison rows as a table: one row per case, one column per system."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from statistics import median
from typing import Any

from benchmarks.comparison.comparison_row import FAILED, ComparisonRow
from benchmarks.comparison.study_verdicts import primary_rows
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models.run import SCENARIOS
from benchmarks.natural_sort import natural_sort_key
from benchmarks.parsing.case_labels import case_details
from benchmarks.units import parse_quantity

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
MACHINE_MODEL = "machine_model"
ORDER_BY_RATIO = "ratio"
ROW_FACTS = ("scenario", "vms", "load", "slot")
SEPARATOR = " · "

RowKey = tuple[Hashable, ...]


@dataclass(frozen=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True)
class HeadSpan:
    value: str
    width: int
    is_edge: bool


@dataclass(frozen=True)
class HeadLevel:
    name: str
    spans: tuple[HeadSpan, ...]


@dataclass(frozen=True)
class Column:
    """The column of a system; if ``is_edge``, a new group of columns begins with it."""

    system_id: int
    label: str
    platform: str
    is_native: bool
    is_edge: bool
    facts: tuple[Fact, ...]

    def fact(self, name: str) -> str:
        if name == PLATFORM:
            return self.platform
        return next((fact.value for fact in self.facts if fact.name == name), "")


@dataclass(frozen=True)
class ColumnHead:
    """The columns with their headings and the facts that they have in common.

    ``guest_constants`` are facts that native systems do not have.
    """

    columns: tuple[Column, ...]
    first_level: HeadLevel
    levels: tuple[HeadLevel, ...]
    constants: tuple[Fact, ...]
    guest_constants: tuple[Fact, ...]


@dataclass(frozen=True)
class CaseRow:
    key: RowKey
    label: str
    unit: str
    better: str
    facts: tuple[Fact, ...]
    cells: tuple[ComparisonRow | None, ...]


@dataclass(frozen=True)
class CaseGroup:
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
    """Empty if there are several."""
    states: Mapping[str, int]
    cell_count: int
    ratio_count: int
    row_count: int
    run_count: int | None
    """The number of runs of every cell; None if it varies."""

    @property
    def cells(self) -> Iterator[ComparisonRow]:
        rows = (row for group in self.groups for row in group.rows)
        return (cell for row in rows for cell in row.cells if cell)

    @property
    def failed_count(self) -> int:
        """The number of cells whose runs all failed."""
        return self.states.get(FAILED, 0)

    @property
    def partly_failed_count(self) -> int:
        return sum(cell.result.failed_runs > 0 < cell.result.n for cell in self.cells)

    @property
    def is_single_run(self) -> bool:
        return self.run_count == 1


def rank_by_order(order: Sequence[str], name: str) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), name)


def column_head(
    rows: Iterable[ComparisonRow],
    *,
    group: str = PLATFORM,
    ratios: Mapping[int, float] | None = None,
    has_guests_first: bool = False,
) -> ColumnHead:
    """Order the systems and find the properties in which they differ.

    ``group`` is the property that the first heading shows. Within its groups, systems
    with higher ``ratios`` (by system id) come first. Native systems come first, or with
    ``has_guests_first`` last, as do groups of native systems only.
    """
    by_id = {row.system.id: row for row in rows}
    options = {name for row in by_id.values() for name in row.system.options}
    known_options = [name for name in OPTIONS if name in options]
    names = [
        MACHINE_MODEL,
        *PROPERTIES,
        *known_options,
        *sorted(options.difference(known_options)),
    ]
    stated = {
        name: {
            _property_text(row, name)
            for row in by_id.values()
            if row.system.hypervisor != NATIVE or _property_text(row, name)
        }
        for name in names
    }
    varying = [name for name in names if len(stated[name]) > 1]
    lead = group if group in varying else PLATFORM

    sort_key = partial(
        _column_order,
        lead=lead,
        names=names,
        ratios=ratios or {},
        guest_groups={
            _property_text(row, lead)
            for row in by_id.values()
            if not row.system.is_native
        }
        if has_guests_first
        else None,
    )
    systems = sorted(by_id.values(), key=sort_key)
    columns = _columns(systems, varying, lead)
    headings = [lead, *(name for name in (PLATFORM, *varying) if name != lead)]
    levels = tuple(
        HeadLevel(name, _head_spans(columns, headings[: depth + 1]))
        for depth, name in enumerate(headings)
    )
    shared = _constant_facts(systems, [name for name in names if name not in varying])
    return ColumnHead(
        columns=columns,
        first_level=levels[0],
        levels=levels[1:],
        constants=tuple(fact for fact, is_universal in shared if is_universal),
        guest_constants=tuple(
            fact for fact, is_universal in shared if not is_universal
        ),
    )


def _column_order(
    row: ComparisonRow,
    *,
    lead: str,
    names: Sequence[str],
    ratios: Mapping[int, float],
    guest_groups: Set[str] | None,
) -> tuple[Any, ...]:
    """With ``guest_groups``, guests come first."""
    has_guests_first = guest_groups is not None
    platform = (
        row.system.is_native == has_guests_first,
        natural_sort_key(row.system.hypervisor),
        natural_sort_key(row.system.hypervisor_version),
    )
    value = _property_text(row, lead)
    group: tuple[Any, ...] = platform
    if lead != PLATFORM:
        is_last = guest_groups is not None and value not in guest_groups
        group = (is_last, natural_sort_key(value))
    return (
        group,
        -ratios.get(row.system.id, 0.0),
        platform,
        [natural_sort_key(_property_text(row, name)) for name in names],
        row.system.id,
    )


def _property_text(row: ComparisonRow, name: str) -> str:
    if name == MACHINE_MODEL:
        return str(row.system.host.facts.get(MACHINE_MODEL, ""))
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
            facts=tuple(Fact(name, _property_text(row, name)) for name in varying),
        )
        is_edge = bool(columns) and columns[-1].fact(lead) != column.fact(lead)
        columns.append(replace(column, is_edge=is_edge))
    return tuple(columns)


def _head_spans(
    columns: Sequence[Column], names: Sequence[str]
) -> tuple[HeadSpan, ...]:
    spans = []
    for values, group in groupby(
        columns, key=lambda column: [column.fact(name) for name in names]
    ):
        members = list(group)
        spans.append(HeadSpan(values[-1], len(members), members[0].is_edge))
    return tuple(spans)


def _constant_facts(
    systems: Sequence[ComparisonRow], names: Sequence[str]
) -> list[tuple[Fact, bool]]:
    values_by_name = {
        name: [_property_text(row, name) for row in systems] for name in names
    }
    return [
        (Fact(name, next(filter(None, values))), all(values))
        for name, values in values_by_name.items()
        if any(values)
    ]


@dataclass(frozen=True)
class Median:
    ratio: float
    n: int


def medians(rows: Iterable[ComparisonRow]) -> dict[int, Median]:
    """Return the median ratio of each system's primary results.

    Metrics that follow from others, and tails, would count one measurement repeatedly.
    """
    ratios: dict[int, list[float]] = {}
    for row in primary_rows(rows, with_tails=False):
        if (
            row.result.is_chartable
            and (ratio := row.result.displayed_ratio) is not None
        ):
            ratios.setdefault(row.system.id, []).append(ratio)
    return {pk: Median(median(values), len(values)) for pk, values in ratios.items()}


def comparison_table(
    rows: Iterable[ComparisonRow],
    *,
    group: str = PLATFORM,
    order: str = "",
    order_rows: Iterable[ComparisonRow] | None = None,
    ranks: Mapping[RowKey, Any] | None = None,
    has_guests_first: bool = False,
) -> ComparisonTable:
    """Arrange the cells of one study in a table.

    With `ORDER_BY_RATIO`, the medians of ``order_rows`` (default: all cells) order the
    columns. With ``ranks``, all rows form one group, which is sorted by rank.
    """
    cells = list(rows)
    by_group: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in cells:
        by_group.setdefault((row.case.component, row.case.tool), []).append(row)
    median_ratios = None
    if order == ORDER_BY_RATIO:
        system_medians = medians(cells if order_rows is None else order_rows)
        is_less_better = any(row.result.measure.lower_is_better for row in cells)
        median_ratios = {
            pk: 1 / entry.ratio if is_less_better and entry.ratio else entry.ratio
            for pk, entry in system_medians.items()
        }
    head = column_head(
        cells,
        group=group,
        ratios=median_ratios,
        has_guests_first=has_guests_first,
    )

    system_ids = [column.system_id for column in head.columns]
    scenarios = {row.scenario for row in cells}
    fact_names = ROW_FACTS if len(scenarios) > 1 else ROW_FACTS[1:]
    ordered = sorted(
        by_group, key=lambda key: (rank_by_order(COMPONENTS, key[0]), key[1])
    )
    groups = tuple(_group(by_group[key], system_ids, fact_names) for key in ordered)
    if ranks is not None and groups:
        groups = (_merge_groups(groups, ranks),)
    runs = {row.result.n for row in cells if row.result.n}
    return ComparisonTable(
        head=head,
        groups=groups,
        scenario=_common_value(scenarios),
        states=dict(Counter(row.result.display_state for row in cells).most_common()),
        cell_count=sum(row.result.n > 0 for row in cells),
        ratio_count=sum(row.result.ratio is not None for row in cells),
        row_count=sum(len(group.rows) for group in groups),
        run_count=runs.pop() if len(runs) == 1 else None,
    )


def _merge_groups(
    groups: Sequence[CaseGroup], ranks: Mapping[RowKey, Any]
) -> CaseGroup:
    rows = [
        replace(
            row,
            label=SEPARATOR.join(filter(None, (group.tool, group.label, row.label))),
            unit=row.unit or group.unit,
            better=row.better or group.better,
            facts=(Fact("component", group.component), *group.facts, *row.facts),
        )
        for group in groups
        for row in group.rows
    ]
    rows.sort(key=lambda row: (row.key not in ranks, ranks.get(row.key, ())))
    return CaseGroup("", "", "", "", "", (), tuple(rows))


def drop_rows_without_ratios(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    compared = [row for row in rows if row.result.ratio is not None]
    keys = {row.key for row in compared}
    systems = {row.system.id for row in compared}
    return [row for row in rows if row.system.id in systems and row.key in keys]


def _group(
    members: Sequence[ComparisonRow],
    system_ids: Sequence[int],
    fact_names: Sequence[str],
) -> CaseGroup:
    by_key: dict[RowKey, dict[int, ComparisonRow]] = {}
    for row in members:
        by_key.setdefault(row.key, {})[row.system.id] = row
    firsts = (next(iter(cells.values())) for cells in by_key.values())
    lines = sorted(firsts, key=_row_order)
    stated = [row_facts(line, fact_names) for line in lines]
    shared = {
        name: value
        for name, value in stated[0].items()
        if value and all(facts.get(name) == value for facts in stated)
    }

    halves = {line.case.label.partition(SEPARATOR)[::2] for line in lines}
    heads = {head for head, _ in halves}
    label = heads.pop() if len(heads) == 1 and all(rest for _, rest in halves) else ""
    unit = _common_value({line.result.unit for line in lines})
    better = _common_value({line.result.better for line in lines})
    return CaseGroup(
        component=lines[0].case.component,
        tool=lines[0].tool_title,
        label=label,
        unit=unit,
        better=better,
        facts=tuple(Fact(name, value) for name, value in shared.items()),
        rows=tuple(
            CaseRow(
                key=line.key,
                label=line.case.label.removeprefix(label + SEPARATOR if label else ""),
                unit="" if unit else line.result.unit,
                better="" if better else line.result.better,
                facts=tuple(
                    Fact(name, value)
                    for name, value in facts.items()
                    if value and name not in shared
                ),
                cells=tuple(by_key[line.key].get(pk) for pk in system_ids),
            )
            for line, facts in zip(lines, stated, strict=True)
        ),
    )


def row_facts(row: ComparisonRow, circumstances: Sequence[str]) -> dict[str, str]:
    """Return the facts of a table row that the label of its case omits."""
    details = case_details(require_tool(row.case.tool), row.case.parameters)
    is_single_vm = row.scenario == "single" and row.vms in (None, 1)
    relevant = [
        name for name in circumstances if not (is_single_vm and name in ("vms", "slot"))
    ]
    stated = {name: getattr(row, name) for name in relevant}
    texts = {name: str(value) for name, value in stated.items() if value is not None}
    return {**details, **texts}


def _row_order(row: ComparisonRow) -> tuple[Any, ...]:
    names = [metric.name for metric in require_tool(row.case.tool).metrics]
    parameters = []
    for name, value in sorted(row.case.parameters.items()):
        size = parse_quantity(value)
        amount = (size.unit, size.amount) if size else ("", 0.0)
        parameters.append(
            (name, size is None, *amount, [] if size else natural_sort_key(value))
        )
    return (
        rank_by_order(names, row.case.metric),
        rank_by_order(SCENARIOS, row.scenario),
        natural_sort_key(row.case.label),
        parameters,
        row.case.id,
        row.vms or 0,
        natural_sort_key(row.load),
        (not row.slot.isdigit(), natural_sort_key(row.slot)),
    )


def _common_value(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else ""
