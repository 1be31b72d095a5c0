"""Comparison rows shaped into a table: a row a case, a column a system.

What all columns have in common is said once (``constants``), and so is what all rows
of a group share: header and row labels show only what differs.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks import tools
from benchmarks.analysis.sweeps import level_of
from benchmarks.comparing.columns import (
    BY_RATIO,
    PLATFORM,
    ColumnHead,
    Fact,
    column_head,
)
from benchmarks.comparing.ordering import COMPONENTS, SCENARIOS, natural, rank
from benchmarks.comparing.row import ComparisonRow
from benchmarks.parsing.labels import case_details

CIRCUMSTANCES = ("scenario", "vms", "load", "slot")
PART = " · "

RowKey = tuple[Hashable, ...]


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
    """The rows of one tool and component, and what they have in common."""

    component: str
    tool: str
    label: str
    unit: str
    better: str
    facts: tuple[Fact, ...]
    rows: tuple[CaseRow, ...] = ()


@dataclass(frozen=True)
class ComparisonTable:
    """Everything the compare page shows, in order."""

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
    def is_single_run(self) -> bool:
        """Not one value of the table is the mean of several runs."""
        return self.runs == 1


def comparison_table(
    rows: Iterable[ComparisonRow], *, group: str = PLATFORM, order: str = ""
) -> ComparisonTable:
    """Shape the cells of one study, in any order, into a table."""
    found = list(rows)
    runs = {row.shown.n for row in found}
    ratios = _median_ratios(found) if order == BY_RATIO else None
    head = column_head(found, group=group, ratios=ratios)
    scenarios = {row.scenario for row in found}
    named = CIRCUMSTANCES if len(scenarios) > 1 else CIRCUMSTANCES[1:]
    groups = _groups(found, [column.system_id for column in head.columns], named)
    return ComparisonTable(
        head=head,
        groups=groups,
        scenario=_one(scenarios),
        states=dict(Counter(row.shown.full_state for row in found).most_common()),
        cell_count=len(found),
        ratio_count=sum(row.shown.ratio is not None for row in found),
        row_count=sum(len(group.rows) for group in groups),
        runs=runs.pop() if len(runs) == 1 else None,
    )


def rows_with_ratios(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Leave out the lines and the columns of a table that have not one ratio."""
    told = [row for row in rows if row.shown.ratio is not None]
    keys, systems = {row.place for row in told}, {row.system.id for row in told}
    return [row for row in rows if row.system.id in systems and row.place in keys]


def _median_ratios(rows: Iterable[ComparisonRow]) -> dict[int, float]:
    ratios: dict[int, list[float]] = {}
    for row in rows:
        if row.shown.ratio is not None:
            ratios.setdefault(row.system.id, []).append(row.shown.ratio)
    return {system_id: median(found) for system_id, found in ratios.items()}


def _groups(
    found: Sequence[ComparisonRow], system_ids: Sequence[int], named: Sequence[str]
) -> tuple[CaseGroup, ...]:
    by_group: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in found:
        by_group.setdefault((row.case.component, row.case.tool), []).append(row)
    ordered = sorted(by_group, key=lambda key: (rank(COMPONENTS, key[0]), key[1]))
    return tuple(_group(by_group[key], system_ids, named) for key in ordered)


def _group(
    members: Sequence[ComparisonRow], system_ids: Sequence[int], named: Sequence[str]
) -> CaseGroup:
    by_key: dict[RowKey, dict[int, ComparisonRow]] = {}
    for row in members:
        by_key.setdefault(row.place, {})[row.system.id] = row
    lines = sorted((next(iter(it.values())) for it in by_key.values()), key=_row_order)
    said = [row_facts(line, named) for line in lines]
    first, shared = lines[0], _shared(said)
    group = CaseGroup(
        component=first.case.component,
        tool=first.case.tool_title,
        label=_shared_label(lines),
        unit=_one({line.shown.unit for line in lines}),
        better=_one({line.shown.better for line in lines}),
        facts=tuple(Fact(name, value) for name, value in shared.items() if value),
    )
    rows = (
        _case_row(line, group, facts, [by_key[line.place].get(x) for x in system_ids])
        for line, facts in zip(lines, said, strict=True)
    )
    return replace(group, rows=tuple(rows))


def _case_row(
    line: ComparisonRow,
    group: CaseGroup,
    facts: Mapping[str, str],
    cells: Sequence[ComparisonRow | None],
) -> CaseRow:
    shared = {fact.name for fact in group.facts}
    own = [Fact(*item) for item in facts.items() if item[1] and item[0] not in shared]
    return CaseRow(
        key=line.place,
        label=line.case.label.removeprefix(group.label + PART if group.label else ""),
        unit="" if group.unit else line.shown.unit,
        better="" if group.better else line.shown.better,
        facts=tuple(own),
        cells=tuple(cells),
    )


def row_facts(row: ComparisonRow, named: Sequence[str]) -> dict[str, str]:
    """Return what a case's label leaves out: parameters, the circumstances named."""
    details = case_details(tools.get(row.case.tool), row.case.parameters)
    # One VM alone is the first of one: saying so tells nothing.
    alone = row.scenario == "single" and row.vms in (None, 1)
    told = [name for name in named if not (alone and name in ("vms", "slot"))]
    stated = {name: getattr(row, name) for name in told}
    texts = {name: str(value) for name, value in stated.items() if value is not None}
    return {**details, **texts}


def _shared(said: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first = said[0]
    return {
        name: value
        for name, value in first.items()
        if all(other.get(name) == value for other in said)
    }


def _shared_label(lines: Sequence[ComparisonRow]) -> str:
    """The beginning that all labels of a group have and go on after, or nothing."""
    firsts = {line.case.label.partition(PART)[::2] for line in lines}
    heads = {head for head, _ in firsts}
    goes_on = all(rest for _, rest in firsts)
    return heads.pop() if len(heads) == 1 and goes_on else ""


def _row_order(row: ComparisonRow) -> tuple[Any, ...]:
    names = [metric.name for metric in tools.get(row.case.tool).metrics]
    return (
        rank(names, row.case.metric),
        rank(SCENARIOS, row.scenario),
        natural(row.case.label),
        [(name, *_size(value)) for name, value in sorted(row.case.parameters.items())],
        row.case.id,
        row.vms or 0,
        natural(row.load),
        (not row.slot.isdigit(), natural(row.slot)),
    )


def _size(parameter: str) -> tuple[bool, str, float, list[Any]]:
    """Sort key in which 64 KiB comes before 1 MiB, and names after all sizes."""
    level = level_of(parameter)
    if level is None:
        return (True, "", 0.0, natural(parameter))
    return (False, level.unit, level.amount, [])


def _one(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else ""
