"""Two systems of any studies against each other.

On one machine, or on machines that count as alike, the runs are compared directly; else
only the ratio of both ratios to native (indirect).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from benchmarks.analysis.comparability import Comparability
from benchmarks.comparing.answers import Indirect, indirect
from benchmarks.comparing.lights import HostsCompared, hosts_beside
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.side_by_side import Side, pair_of
from benchmarks.comparing.table import CaseGroup, CaseRow, comparison_table
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Effect


@dataclass(frozen=True)
class PairRow:
    """One benchmark of both; ``direct`` compares runs, ``indirect`` two ratios."""

    case: CaseRow
    one: ComparisonRow | None
    other: ComparisonRow | None
    direct: ComparisonRow | None
    indirect: Indirect | None

    @property
    def natives(self) -> tuple[float, float] | None:
        if not self.one or not self.other:
            return None
        one, other = self.one.shown.baseline_value, self.other.shown.baseline_value
        return (one, other) if one and other else None


@dataclass(frozen=True)
class PairGroup:
    group: CaseGroup
    rows: tuple[PairRow, ...]


@dataclass(frozen=True)
class SidePair:
    """Two systems, how far they may be compared, and all that either ran."""

    one: Side
    other: Side
    compared: Comparability
    groups: tuple[PairGroup, ...]
    tested: int
    margin: float

    @property
    def is_refused(self) -> bool:
        return self.compared.light == "red"

    @property
    def rows(self) -> list[PairRow]:
        return [row for group in self.groups for row in group.rows]

    @property
    def shared(self) -> int:
        return sum(bool(row.one and row.other) for row in self.rows)

    @property
    def unlike_natives(self) -> int:
        """In how many benchmarks the two studies' native runs of the machine differ."""
        if self.is_refused or self.one.study == self.other.study:
            return 0
        pairs = (row.natives for row in self.rows)
        return sum(max(pair) / min(pair) > 1 + self.margin for pair in pairs if pair)


def side_pair(one: Side, other: Side) -> SidePair:
    """Compare two systems case by case, in a fixed number of queries."""
    hosts: Mapping[int, HostsCompared] = {}
    if one.system.host_id != other.system.host_id:
        hosts = hosts_beside(one.study, other.system.host_id, other.study)
    compared = pair_of(one, other, hosts).compared
    direct: list[ComparisonRow] = []
    tested = 0
    if compared.light != "red":
        verdicts = study_verdicts(one.study, other.system, measured_in=other.study)
        reference = Reference.of(other.study, other.system, beside=one.study)
        direct = comparison_rows(
            one.study,
            systems=[one.system],
            filters={"system": one.system},
            reference=reference,
            verdicts=verdicts,
        )
        tested = verdicts.tested
    own, others = (_by_place(side) for side in (one, other))
    against = {row.place: row for row in direct}
    known = _effects(one, other) if compared.light == "red" else {}
    lines = {**{row.place: row for row in others.values()}, **own}
    if compared.light == "red":
        lines = {place: own[place] for place in own if place in others}
    groups = tuple(
        PairGroup(
            group,
            tuple(
                PairRow(
                    row,
                    own.get(row.key),
                    others.get(row.key),
                    against.get(row.key),
                    _indirect(own.get(row.key), others.get(row.key), known),
                )
                for row in group.rows
            ),
        )
        for group in comparison_table(lines.values()).groups
    )
    margin = one.study.equivalence_margin_percent / 100
    return SidePair(one, other, compared, groups, tested, margin)


def _by_place(side: Side) -> dict[tuple[Any, ...], ComparisonRow]:
    system = side.system
    filters = {"system": system}
    rows = comparison_rows(side.study, systems=[system], filters=filters)
    return {row.place: row for row in rows}


def _effects(*sides: Side) -> dict[int, tuple[float, float | None]]:
    measured = Q()
    for side in sides:
        measured |= Q(study=side.study, system=side.system)
    rows = (
        Effect.objects.filter(measured)
        .exclude(obstacle__in=Effect.UNUSABLE)
        .values_list("cell_id", "log_ratio", "variance")
    )
    return {pk: (ratio, variance) for pk, ratio, variance in rows if ratio is not None}


def _indirect(
    one: ComparisonRow | None,
    other: ComparisonRow | None,
    known: Mapping[int, tuple[float, float | None]],
) -> Indirect | None:
    if not one or not other or one.id not in known or other.id not in known:
        return None
    return indirect(known[one.id], known[other.id])
