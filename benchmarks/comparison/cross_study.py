"""Comparison of systems from all visible studies, by stored effects and cells.

Systems on one machine have direct ratios, others only ratios to native.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp
from typing import Any, Final, NamedTuple, cast

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Q

from benchmarks.analysis.assessment import TableRatio
from benchmarks.analysis.comparability import Comparability
from benchmarks.analysis.verdicts import Verdict
from benchmarks.comparison.comparison_row import ComparisonRow, build_row
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.comparison.row_queries import (
    READ_FIELDS,
    SHAPE_IF_NEEDED,
    split_columns,
)
from benchmarks.comparison.study_verdicts import STATES_WITHOUT_SPEED, CellVerdict
from benchmarks.comparison.system_comparability import (
    HostComparison,
    compare_study_hosts,
    compare_systems,
)
from benchmarks.comparison.work_class_summaries import (
    SystemEffects,
    WorkClassSummary,
    clearest_summary,
    work_class_summaries,
)
from benchmarks.errors import NotFoundError
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.models import Case, Cell, Effect, EffectSummary, Host, Study, System
from benchmarks.models.cell import ratio_of_means
from benchmarks.natural_sort import natural_sort_key
from benchmarks.parsing.tool import Better
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

MAX_COLUMNS: Final = 32
MAX_CELLS: Final = 256
MAX_ROWS: Final = 50
SINGLE_RESULTS: Final = {"scenario": "single", "load": "", "n__gt": 0}


# 18 digits always fit into a 64-bit integer.
KEY_PATTERN: Final = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


class SystemInStudyKey(NamedTuple):
    study: int
    system: int

    def __str__(self) -> str:
        return f"{self.study}-{self.system}"

    @classmethod
    def parse(cls, text: str) -> SystemInStudyKey | None:
        match = KEY_PATTERN.fullmatch(text)
        return cls(*map(int, match.groups())) if match else None


@dataclass(frozen=True)
class SystemInStudy:
    study: Study
    system: System
    result_count: int = 0
    """Results for primary metrics."""

    @property
    def key(self) -> SystemInStudyKey:
        return SystemInStudyKey(self.study.pk, self.system.pk)

    @property
    def platform(self) -> str:
        system = self.system
        return f"{system.hypervisor} {system.hypervisor_version}".strip()

    @property
    def guest_label(self) -> str:
        bits = self.system.guest_bits
        return " ".join(
            filter(None, (self.system.guest_os, f"{bits}-bit" if bits else ""))
        )

    @property
    def year(self) -> str:
        year = self.study.published[:4]
        return year if year.isdigit() else ""

    @property
    def lab(self) -> str:
        return self.study.institution or self.study.author or self.study.lab.name


@dataclass(frozen=True)
class CrossStudyFilters:
    """Filters of the comparison across studies.

    ``host`` is "lab/host", ``ALL_HOSTS`` or empty.
    """

    host: str = ""
    work_class: str = ""
    case_id: int | None = None
    hypervisors: frozenset[str] = frozenset()
    guest: str = ""
    reference: SystemInStudyKey | None = None
    page: int = 1


ALL_HOSTS: Final = "all"


@dataclass(frozen=True)
class HostFacet:
    host: Host
    name: str
    studies: int
    platforms: int
    systems: int


@dataclass(frozen=True)
class CrossStudyFacets:
    hosts: tuple[HostFacet, ...]
    work_classes: tuple[str, ...]
    hypervisors: tuple[str, ...]
    guests: tuple[str, ...]
    cases: tuple[tuple[int, str, str], ...]


@dataclass(frozen=True)
class CrossStudyCell:
    row: ComparisonRow
    verdict: CellVerdict | None
    direct_ratio: float | None = None
    refusal_reason: str = ""


@dataclass(frozen=True)
class CrossStudyRow:
    case: Case
    unit: str
    better: str
    cells: tuple[CrossStudyCell | None, ...]


@dataclass(frozen=True)
class ColumnPair:
    reference: SystemInStudy
    comparability: Comparability

    @property
    def is_incomparable(self) -> bool:
        return self.comparability.rating == "none"


@dataclass(frozen=True)
class CrossStudyTable:
    filters: CrossStudyFilters
    facets: CrossStudyFacets
    columns: tuple[SystemInStudy, ...]
    pairs: tuple[ColumnPair | None, ...]
    rows: tuple[CrossStudyRow, ...]
    column_count: int
    row_count: int
    shared_count: int
    summaries: Mapping[str, WorkClassSummary]

    @property
    def summary(self) -> WorkClassSummary | None:
        if self.filters.work_class:
            return self.summaries.get(self.filters.work_class)
        return clearest_summary(self.summaries)

    @property
    def is_one_host(self) -> bool:
        return len({column.system.host_id for column in self.columns}) <= 1

    @property
    def page_count(self) -> int:
        return -(-self.row_count // rows_per_page(len(self.columns))) or 1


def rows_per_page(column_count: int) -> int:
    return min(MAX_CELLS // max(column_count, 1), MAX_ROWS)


def find_system_in_study(viewer: Viewer, key: SystemInStudyKey | None) -> SystemInStudy:
    if key is not None:
        cells = Cell.objects.visible_to(viewer).filter(n__gt=0, study__deleted_at=None)
        cell = (
            cells.filter(study_id=key.study, system_id=key.system)
            .select_related("study__lab", "system__host__lab")
            .first()
        )
        if cell is not None:
            return SystemInStudy(cell.study, cell.system)
    raise NotFoundError(Sentence("system"), str(key or ""))


def largest_measurement(
    viewer: Viewer, system_id: int, study: Study | None
) -> SystemInStudy | None:
    """Return a system as measured by ``study`` or, without results there, by the study
    with the most results.
    """
    cells = Cell.objects.visible_to(viewer).filter(system=system_id, n__gt=0)
    counts = dict(
        cells.filter(study__deleted_at=None)
        .order_by()
        .values_list("study_id")
        .annotate(Count("pk"))
    )
    if not counts:
        return None
    own = study.pk if study else 0
    chosen = min(counts, key=lambda pk: (pk != own, -counts[pk], pk))
    return find_system_in_study(viewer, SystemInStudyKey(chosen, system_id))


def cross_study_table(viewer: Viewer, filters: CrossStudyFilters) -> CrossStudyTable:
    effects = _effects(viewer)
    by_key = _columns_by_key(effects)
    hosts = _hosts(by_key.values())
    resolved = _with_host(filters, hosts)
    on_host = {
        key: column
        for key, column in by_key.items()
        if resolved.host in (ALL_HOSTS, _host_name(column.system.host))
    }
    selected = {
        key: column for key, column in on_host.items() if _fits(column, resolved)
    }
    selected_effects = [
        effect
        for effect in effects
        if SystemInStudyKey(effect.study, effect.system) in selected
    ]
    by_work = work_class_summaries(
        selected_effects, _names(selected, resolved), MAIN_HYPERVISORS
    )
    if resolved.work_class:
        measured_keys = {
            SystemInStudyKey(case.study, case.system)
            for case in selected_effects
            if case.work_class == resolved.work_class
        }
        selected = {
            key: column for key, column in selected.items() if key in measured_keys
        }
    ordered = _ordered(selected.values())
    reference = _reference_column(resolved, by_key)
    if reference:
        ordered = [reference, *(column for column in ordered if column != reference)]
    columns = ordered[:MAX_COLUMNS]
    cases = _cases(viewer, columns, resolved)
    selected_cases = [case for case in cases if resolved.case_id in (None, case.pk)]
    height = rows_per_page(len(columns))
    last = -(-len(selected_cases) // height) or 1
    resolved = replace(resolved, page=min(max(resolved.page, 1), last))
    begin = (resolved.page - 1) * height
    on_page = [case.pk for case in selected_cases[begin : begin + height]]
    pairs = _pairs(columns, reference)
    works = {
        effect.work_class
        for effect in effects
        if SystemInStudyKey(effect.study, effect.system) in on_host
    }
    return CrossStudyTable(
        filters=resolved,
        facets=CrossStudyFacets(
            hosts=hosts,
            work_classes=tuple(sorted(works - {""})),
            hypervisors=_sorted_names(
                column.system.hypervisor for column in on_host.values()
            ),
            guests=_sorted_names(column.guest_label for column in on_host.values()),
            cases=tuple((case.pk, case.tool, case.label) for case in cases),
        ),
        columns=tuple(columns),
        pairs=tuple(pairs),
        rows=_rows(viewer, columns, pairs, on_page),
        column_count=len(ordered),
        row_count=len(selected_cases),
        shared_count=sum(case.is_shared for case in selected_cases),
        summaries=by_work,
    )


def _effects(viewer: Viewer) -> list[SystemEffects]:
    summaries = EffectSummary.objects.visible_to(viewer).filter(study__deleted_at=None)
    names = ("study_id", "system_id", "host_id", *SystemEffects._fields[3:])
    return list(map(SystemEffects._make, summaries.order_by().values_list(*names)))


def _columns_by_key(
    effects: Iterable[SystemEffects],
) -> dict[SystemInStudyKey, SystemInStudy]:
    keys = {SystemInStudyKey(effect.study, effect.system) for effect in effects}
    studies = Study.objects.select_related("lab").in_bulk({key.study for key in keys})
    systems = System.objects.in_bulk({key.system for key in keys})
    hosts = Host.objects.select_related("lab").in_bulk(
        {system.host_id for system in systems.values()}
    )
    for system in systems.values():
        system.host = hosts[system.host_id]  # one object per host
    results: Counter[SystemInStudyKey] = Counter()
    for effect in effects:
        results[SystemInStudyKey(effect.study, effect.system)] += effect.cell_count
    return {
        key: SystemInStudy(studies[key.study], systems[key.system], results[key])
        for key in sorted(results)
    }


def _host_name(host: Host) -> str:
    return f"{host.lab.slug}/{host.slug}"


def _hosts(columns: Iterable[SystemInStudy]) -> tuple[HostFacet, ...]:
    by_host: dict[Host, list[SystemInStudy]] = defaultdict(list)
    for column in columns:
        by_host[column.system.host].append(column)
    facets = (
        HostFacet(
            host,
            _host_name(host),
            studies=len({column.study.pk for column in members}),
            platforms=len({column.platform for column in members}),
            systems=len(members),
        )
        for host, members in by_host.items()
    )
    # Hosts of a single study come last, because studies have their own pages.
    return tuple(
        sorted(
            facets,
            key=lambda facet: (
                -min(facet.studies, facet.platforms),
                -facet.platforms,
                -facet.systems,
                facet.name,
            ),
        )
    )


def _with_host(
    choice: CrossStudyFilters, hosts: Sequence[HostFacet]
) -> CrossStudyFilters:
    if choice.host in ("", ALL_HOSTS):
        first = hosts[0].name if hosts else ALL_HOSTS
        return replace(choice, host=choice.host or first)
    if choice.host not in {facet.name for facet in hosts}:
        raise NotFoundError(Sentence("host"), choice.host)
    return choice


def _fits(column: SystemInStudy, choice: CrossStudyFilters) -> bool:
    is_selected = (
        not choice.hypervisors or column.system.hypervisor in choice.hypervisors
    )
    return is_selected and choice.guest in ("", column.guest_label)


def _names(
    columns: Mapping[SystemInStudyKey, SystemInStudy], choice: CrossStudyFilters
) -> dict[tuple[int, int], tuple[str, str, str]]:
    is_one_host = choice.host != ALL_HOSTS
    return {
        key: (
            column.system.hypervisor,
            column.platform if is_one_host else column.system.hypervisor,
            column.lab,
        )
        for key, column in columns.items()
    }


def _sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}, key=natural_sort_key))


def _ordered(columns: Iterable[SystemInStudy]) -> list[SystemInStudy]:
    members = list(columns)
    platforms: dict[tuple[int, str], set[str]] = defaultdict(set)
    for column in members:
        platforms[column.system.host_id, column.guest_label].add(column.platform)

    def sort_key(column: SystemInStudy) -> tuple[Any, ...]:
        host = column.system.host
        return (
            _host_name(host),
            -len(platforms[host.pk, column.guest_label]),
            natural_sort_key(column.guest_label),
            natural_sort_key(column.platform),
            column.study.published,
            -column.result_count,
            natural_sort_key(column.system.label),
            column.key,
        )

    return sorted(members, key=sort_key)


def _reference_column(
    choice: CrossStudyFilters, by_key: Mapping[SystemInStudyKey, SystemInStudy]
) -> SystemInStudy | None:
    if choice.reference is None:
        return None
    if choice.reference not in by_key:
        raise NotFoundError(Sentence("system"), str(choice.reference))
    return by_key[choice.reference]


def _pairs(
    columns: Sequence[SystemInStudy], reference: SystemInStudy | None
) -> list[ColumnPair | None]:
    """Pair each column with the reference.

    Without one, the reference is the column of the same host and guest OS with the most
    results.
    """
    if reference is not None:
        studies = {column.study.pk: column.study for column in columns}.values()
        hosts: Mapping[int, HostComparison] = {}
        if any(column.system.host_id != reference.system.host_id for column in columns):
            hosts = compare_study_hosts(
                reference.study, reference.system.host_id, *studies
            )
        return [
            None if column == reference else compare_columns(column, reference, hosts)
            for column in columns
        ]
    pairs: list[ColumnPair | None] = []
    for _, members in groupby(
        columns, key=lambda column: (column.system.host_id, column.guest_label)
    ):
        group = list(members)
        first = max(group, key=lambda column: column.result_count)
        pairs += [
            None if column is first else compare_columns(column, first)
            for column in group
        ]
    return pairs


def compare_columns(
    column: SystemInStudy,
    other: SystemInStudy,
    hosts: Mapping[int, HostComparison] | None = None,
) -> ColumnPair:
    compared = compare_systems(
        column.study,
        column.system,
        other.system,
        (hosts or {}).get(column.system.host_id),
        other_study=other.study,
    )
    return ColumnPair(other, compared)


@dataclass(frozen=True, slots=True)
class _CaseFacet:
    pk: int
    tool: str
    label: str
    component: str
    is_shared: bool


def _cells(viewer: Viewer, columns: Sequence[SystemInStudy]) -> Any:
    return Cell.objects.visible_to(viewer).filter(
        Q(vms=None) | Q(vms=1),
        **SINGLE_RESULTS,
        study_id__in={column.study.pk for column in columns},
        system_id__in={column.system.pk for column in columns},
    )


def _cases(
    viewer: Viewer, columns: Sequence[SystemInStudy], choice: CrossStudyFilters
) -> list[_CaseFacet]:
    cells = _cells(viewer, columns)
    if choice.work_class:
        effects = Effect.objects.filter(
            study_id__in={column.study.pk for column in columns},
            work_class=choice.work_class,
        )
        cells = cells.filter(case_id__in=effects.values("case_id"))
    names = {column.system.pk: column.platform for column in columns}
    ran = cells.order_by().values_list("case_id")
    is_shared = {
        case_id: any(names[pk] != names[systems[0]] for pk in systems)
        for case_id, systems in ran.annotate(by=ArrayAgg("system_id"))
    }
    shared_cases = Case.objects.filter(pk__in=is_shared)
    cases = [
        _CaseFacet(*values, is_shared=is_shared[values[0]])
        for values in shared_cases.values_list("pk", "tool", "label", "component")
    ]
    return sorted(
        cases,
        key=lambda case: (
            not case.is_shared,
            rank_by_order(COMPONENTS, case.component),
            case.tool,
            natural_sort_key(case.label),
            case.pk,
        ),
    )


EFFECT_FIELDS: Final = tuple(
    f"effect__{name}"
    for name in ("verdict", "exclusion", "doubt", "log_ratio", "log_low", "log_high")
)


def _rows(
    viewer: Viewer,
    columns: Sequence[SystemInStudy],
    pairs: Sequence[ColumnPair | None],
    case_ids: Sequence[int],
) -> tuple[CrossStudyRow, ...]:
    cells = _cells(viewer, columns).filter(case_id__in=case_ids)
    measured = cells.annotate(doubted_shape=SHAPE_IF_NEEDED).values_list(
        "study_id", *EFFECT_FIELDS, *READ_FIELDS
    )
    cases = Case.objects.in_bulk(case_ids)
    by_key = {column.key: column for column in columns}
    lines: dict[tuple[int, str], dict[SystemInStudyKey, CrossStudyCell]] = defaultdict(
        dict
    )
    for study_id, verdict, exclusion, doubt, log_ratio, low, high, *values in measured:
        fields, comparison = split_columns(values)
        key = SystemInStudyKey(study_id, fields.system_id)
        if key not in by_key:
            continue
        case = cases[fields.case_id]
        row = build_row(
            fields,
            by_key[key].study,
            case,
            by_key[key].system,
            comparison,
            table_ratio=_table_ratio(log_ratio, low, high),
        )
        cell_verdict = None
        if verdict is not None:
            is_flagged = (
                exclusion == Effect.Exclusion.IMPOSSIBLE or doubt in Effect.FLAG_DOUBTS
            )
            cell_verdict = CellVerdict(Verdict(verdict).slug, is_flagged)
        lines[case.pk, fields.slot][key] = CrossStudyCell(row, cell_verdict)
    positions = {pk: position for position, pk in enumerate(case_ids)}
    ordered = sorted(
        lines, key=lambda line: (positions[line[0]], natural_sort_key(line[1]))
    )
    return tuple(
        CrossStudyRow(
            cases[line[0]],
            cases[line[0]].unit,
            cases[line[0]].better,
            tuple(_with_ratios(lines[line], cases[line[0]], columns, pairs)),
        )
        for line in ordered
    )


def _table_ratio(
    log_ratio: float | None, low: float | None, high: float | None
) -> TableRatio | None:
    if log_ratio is None:
        return None
    ends = None if low is None or high is None else (exp(low), exp(high))
    return TableRatio(exp(log_ratio), None, ends)


def _with_ratios(
    line: Mapping[SystemInStudyKey, CrossStudyCell],
    case: Case,
    columns: Sequence[SystemInStudy],
    pairs: Sequence[ColumnPair | None],
) -> Iterable[CrossStudyCell | None]:
    for column, pair in zip(columns, pairs, strict=True):
        cell = line.get(column.key)
        if cell is None or pair is None or pair.is_incomparable:
            yield cell
            continue
        other = line.get(pair.reference.key)
        ratio, refusal = None, ""
        if other is not None and cell.row.result.state not in STATES_WITHOUT_SPEED:
            means = (cell.row.result.value, other.row.result.value)
            if None not in means:
                better = cast(Better, case.better)
                ratio, refusal = ratio_of_means(*means, better)
        yield replace(cell, direct_ratio=ratio, refusal_reason=refusal)
