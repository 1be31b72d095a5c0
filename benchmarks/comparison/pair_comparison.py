"""Comparison of two systems from any studies.

If their machines can be compared, their runs are compared directly, otherwise only
their ratios to native.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from benchmarks.analysis.comparability import Comparability
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import CaseGroup, CaseRow, comparison_table
from benchmarks.comparison.cross_study import SystemInStudy, compare_columns
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.comparison.system_comparability import (
    HostComparison,
    compare_study_hosts,
)
from benchmarks.comparison.work_class_summaries import IndirectRatio, indirect_ratio
from benchmarks.models import Effect


@dataclass(frozen=True)
class PairRow:
    case: CaseRow
    first: ComparisonRow | None
    second: ComparisonRow | None
    direct: ComparisonRow | None
    indirect: IndirectRatio | None

    @property
    def native_means(self) -> tuple[float, float] | None:
        if not self.first or not self.second:
            return None
        one, other = self.first.result.baseline_value, self.second.result.baseline_value
        return (one, other) if one and other else None


@dataclass(frozen=True)
class PairGroup:
    group: CaseGroup
    rows: tuple[PairRow, ...]


@dataclass(frozen=True)
class SystemPair:
    first: SystemInStudy
    second: SystemInStudy
    comparability: Comparability
    groups: tuple[PairGroup, ...]
    tested_count: int
    margin: float

    @property
    def is_incomparable(self) -> bool:
        return self.comparability.rating == "none"

    @property
    def rows(self) -> list[PairRow]:
        return [row for group in self.groups for row in group.rows]

    @property
    def shared_count(self) -> int:
        return sum(bool(row.first and row.second) for row in self.rows)

    @property
    def differing_native_count(self) -> int:
        if self.is_incomparable or self.first.study == self.second.study:
            return 0
        pairs = (row.native_means for row in self.rows)
        return sum(max(pair) / min(pair) > 1 + self.margin for pair in pairs if pair)


def compare_pair(one: SystemInStudy, other: SystemInStudy) -> SystemPair:
    hosts: Mapping[int, HostComparison] = {}
    if one.system.host_id != other.system.host_id:
        hosts = compare_study_hosts(one.study, other.system.host_id, other.study)
    compared = compare_columns(one, other, hosts).comparability
    direct: list[ComparisonRow] = []
    tested = 0
    if compared.rating != "none":
        verdicts = study_verdicts(one.study, other.system, reference_study=other.study)
        reference = ReferenceCells.load(
            other.study, other.system, other_study=one.study
        )
        direct = comparison_rows(
            one.study,
            systems=[one.system],
            filters={"system": one.system},
            reference=reference,
            verdicts=verdicts,
        )
        tested = verdicts.tested_count
    one_rows, other_rows = (_rows_by_key(column) for column in (one, other))
    direct_rows = {row.key: row for row in direct}
    effects = _effects(one, other) if compared.rating == "none" else {}
    lines = {**{row.key: row for row in other_rows.values()}, **one_rows}
    if compared.rating == "none":
        lines = {key: one_rows[key] for key in one_rows if key in other_rows}
    groups = tuple(
        PairGroup(
            group,
            tuple(
                PairRow(
                    row,
                    one_rows.get(row.key),
                    other_rows.get(row.key),
                    direct_rows.get(row.key),
                    _indirect(one_rows.get(row.key), other_rows.get(row.key), effects),
                )
                for row in group.rows
            ),
        )
        for group in comparison_table(lines.values()).groups
    )
    margin = one.study.equivalence_margin_percent / 100
    return SystemPair(one, other, compared, groups, tested, margin)


def _rows_by_key(column: SystemInStudy) -> dict[tuple[Any, ...], ComparisonRow]:
    system = column.system
    filters = {"system": system}
    rows = comparison_rows(column.study, systems=[system], filters=filters)
    return {row.key: row for row in rows}


def _effects(*columns: SystemInStudy) -> dict[int, tuple[float, float | None]]:
    measured = Q()
    for column in columns:
        measured |= Q(study=column.study, system=column.system)
    rows = (
        Effect.objects.filter(measured)
        .exclude(exclusion__in=Effect.UNUSABLE_EXCLUSIONS)
        .values_list("cell_id", "log_ratio", "variance")
    )
    return {pk: (ratio, variance) for pk, ratio, variance in rows if ratio is not None}


def _indirect(
    one: ComparisonRow | None,
    other: ComparisonRow | None,
    effects: Mapping[int, tuple[float, float | None]],
) -> IndirectRatio | None:
    if not one or not other or one.id not in effects or other.id not in effects:
        return None
    return indirect_ratio(effects[one.id], effects[other.id])
