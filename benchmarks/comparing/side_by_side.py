"""Systems of any visible studies side by side, read from stored effects and cells.

On one machine with direct ratios; on several with ratios to each one's native. The
number of queries does not depend on the number of systems.
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

from benchmarks.analysis.comparability import Comparability
from benchmarks.analysis.judgement import TableRatio
from benchmarks.analysis.verdicts import Verdict
from benchmarks.comparing.answers import Answer, Effects, answers, telling
from benchmarks.comparing.lights import HostsCompared, hosts_beside, systems_compared
from benchmarks.comparing.row import OWN, Against, ComparisonRow, row_of
from benchmarks.comparing.rows import SHAPE, STORED
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.comparing.verdicts import SPEEDLESS, VerdictMark
from benchmarks.errors import NotFoundError
from benchmarks.models import Case, Cell, Effect, EffectSummary, Host, Study, System
from benchmarks.models.cell import ratio_of_means
from benchmarks.parsing.contract import Better
from benchmarks.platforms import ASKED_FOR
from benchmarks.sentences import Sentence
from benchmarks.text import natural
from benchmarks.viewer import Viewer

MOST_SIDES: Final = 32
MOST_CELLS: Final = 256
MOST_ROWS: Final = 50
"""So many systems, results and benchmarks stand in a table: narrow it, or turn over."""
ALONE: Final = {"scenario": "single", "load": "", "n__gt": 0}


# 18 digits always fit into the 64 bits of a database's number.
KEY: Final = re.compile(r"(\d{1,18})-(\d{1,18})", re.ASCII)


class SideKey(NamedTuple):
    study: int
    system: int

    def __str__(self) -> str:
        return f"{self.study}-{self.system}"

    @classmethod
    def read(cls, text: str) -> SideKey | None:
        """Read it from an address; None of what is no key."""
        found = KEY.fullmatch(text)
        return cls(*map(int, found.groups())) if found else None


@dataclass(frozen=True)
class Side:
    study: Study
    system: System
    results: int = 0
    """How many results it has that stand for their tests."""

    @property
    def key(self) -> SideKey:
        return SideKey(self.study.pk, self.system.pk)

    @property
    def platform(self) -> str:
        system = self.system
        return f"{system.hypervisor} {system.hypervisor_version}".strip()

    @property
    def guest(self) -> str:
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
class Choice:
    """What somebody asked for; ``host`` is "lab/host", ``ALL_HOSTS`` or empty."""

    host: str = ""
    work: str = ""
    case: int | None = None
    hypervisors: frozenset[str] = frozenset()
    guest: str = ""
    against: SideKey | None = None
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
class Facets:
    hosts: tuple[HostFacet, ...]
    works: tuple[str, ...]
    hypervisors: tuple[str, ...]
    guests: tuple[str, ...]
    cases: tuple[tuple[int, str, str], ...]
    """Ids of cases with their tools and labels."""


@dataclass(frozen=True)
class SideCell:
    """A system's result in a row; ``direct`` is the ratio to the compared system."""

    row: ComparisonRow
    mark: VerdictMark | None
    direct: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class SideRow:
    case: Case
    unit: str
    better: str
    cells: tuple[SideCell | None, ...]


@dataclass(frozen=True)
class Pair:
    """A column and the one its direct ratios are compared with, with their light."""

    other: Side
    compared: Comparability

    @property
    def is_refused(self) -> bool:
        return self.compared.light == "red"


@dataclass(frozen=True)
class SideBySide:
    """Everything that is shown for a choice; a column without a pair is a reference."""

    choice: Choice
    facets: Facets
    sides: tuple[Side, ...]
    pairs: tuple[Pair | None, ...]
    rows: tuple[SideRow, ...]
    side_count: int
    row_count: int
    shared: int
    answers: Mapping[str, Answer]

    @property
    def answer(self) -> Answer | None:
        if self.choice.work:
            return self.answers.get(self.choice.work)
        return telling(self.answers)

    @property
    def is_one_host(self) -> bool:
        return len({side.system.host_id for side in self.sides}) <= 1

    @property
    def pages(self) -> int:
        return -(-self.row_count // rows_at_once(len(self.sides))) or 1


def rows_at_once(sides: int) -> int:
    """Return how many benchmarks stand beneath so many systems: of few, many."""
    return min(MOST_CELLS // max(sides, 1), MOST_ROWS)


def find_side(viewer: Viewer, key: SideKey | None) -> Side:
    if key is not None:
        cells = Cell.objects.visible_to(viewer).filter(n__gt=0, study__deleted_at=None)
        cell = (
            cells.filter(study_id=key.study, system_id=key.system)
            .select_related("study__lab", "system__host__lab")
            .first()
        )
        if cell is not None:
            return Side(cell.study, cell.system)
    raise NotFoundError(Sentence("system"), str(key or ""))


def measured_side(viewer: Viewer, system_id: int, study: Study | None) -> Side | None:
    """Return a system as this study measured it, else as the study with most of it."""
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
    return find_side(viewer, SideKey(chosen, system_id))


def side_by_side(viewer: Viewer, choice: Choice) -> SideBySide:
    """Return what was measured of a choice, in nine queries at most."""
    found = _effects(viewer)
    sides = _sides(found)
    hosts = _hosts(sides.values())
    chosen = _with_host(choice, hosts)
    there = {
        key: side
        for key, side in sides.items()
        if chosen.host in (ALL_HOSTS, _host_name(side.system.host))
    }
    shown = {key: side for key, side in there.items() if _fits(side, chosen)}
    told = [each for each in found if SideKey(each.study, each.system) in shown]
    by_work = answers(told, _names(shown, chosen), ASKED_FOR)
    if chosen.work:
        doing = {SideKey(it.study, it.system) for it in told if it.work == chosen.work}
        shown = {key: side for key, side in shown.items() if key in doing}
    ordered = _ordered(shown.values())
    against = _against(chosen, sides)
    if against:
        ordered = [against, *(side for side in ordered if side != against)]
    columns = ordered[:MOST_SIDES]
    cases = _cases(viewer, columns, chosen)
    wanted = [it for it in cases if chosen.case in (None, it.pk)]
    height = rows_at_once(len(columns))
    last = -(-len(wanted) // height) or 1
    chosen = replace(chosen, page=min(max(chosen.page, 1), last))
    begin = (chosen.page - 1) * height
    on_page = [case.pk for case in wanted[begin : begin + height]]
    pairs = _pairs(columns, against)
    works = {each.work for each in found if SideKey(each.study, each.system) in there}
    return SideBySide(
        choice=chosen,
        facets=Facets(
            hosts=hosts,
            works=tuple(sorted(works - {""})),
            hypervisors=_names_of(side.system.hypervisor for side in there.values()),
            guests=_names_of(side.guest for side in there.values()),
            cases=tuple((it.pk, it.tool, it.label) for it in cases),
        ),
        sides=tuple(columns),
        pairs=tuple(pairs),
        rows=_rows(viewer, columns, pairs, on_page),
        side_count=len(ordered),
        row_count=len(wanted),
        shared=sum(case.is_shared for case in wanted),
        answers=by_work,
    )


def _effects(viewer: Viewer) -> list[Effects]:
    kept = EffectSummary.objects.visible_to(viewer).filter(study__deleted_at=None)
    names = (
        *("study_id", "system_id", "host_id", "work", "cells", "ratios"),
        *("low", "high", "total", "fewest", "most", "flagged", "impossible"),
    )
    return list(map(Effects._make, kept.order_by().values_list(*names)))


def _sides(found: Iterable[Effects]) -> dict[SideKey, Side]:
    keys = {SideKey(each.study, each.system) for each in found}
    studies = Study.objects.select_related("lab").in_bulk({key.study for key in keys})
    systems = System.objects.in_bulk({key.system for key in keys})
    hosts = Host.objects.select_related("lab").in_bulk(
        {system.host_id for system in systems.values()}
    )
    for system in systems.values():
        system.host = hosts[system.host_id]  # one object for all that ran there
    results: Counter[SideKey] = Counter()
    for each in found:
        results[SideKey(each.study, each.system)] += each.cells
    return {
        key: Side(studies[key.study], systems[key.system], results[key])
        for key in sorted(results)
    }


def _host_name(host: Host) -> str:
    return f"{host.lab.slug}/{host.slug}"


def _hosts(sides: Iterable[Side]) -> tuple[HostFacet, ...]:
    by_host: dict[Host, list[Side]] = defaultdict(list)
    for side in sides:
        by_host[side.system.host].append(side)
    facets = (
        HostFacet(
            host,
            _host_name(host),
            studies=len({side.study.pk for side in members}),
            platforms=len({side.platform for side in members}),
            systems=len(members),
        )
        for host, members in by_host.items()
    )
    # One study's own page shows its platforms: what several measured is nowhere else.
    return tuple(
        sorted(
            facets,
            key=lambda it: (
                -min(it.studies, it.platforms),
                -it.platforms,
                -it.systems,
                it.name,
            ),
        )
    )


def _with_host(choice: Choice, hosts: Sequence[HostFacet]) -> Choice:
    if choice.host in ("", ALL_HOSTS):
        first = hosts[0].name if hosts else ALL_HOSTS
        return replace(choice, host=choice.host or first)
    if choice.host not in {each.name for each in hosts}:
        raise NotFoundError(Sentence("host"), choice.host)
    return choice


def _fits(side: Side, choice: Choice) -> bool:
    is_wanted = not choice.hypervisors or side.system.hypervisor in choice.hypervisors
    return is_wanted and choice.guest in ("", side.guest)


def _names(
    sides: Mapping[SideKey, Side], choice: Choice
) -> dict[tuple[int, int], tuple[str, str, str]]:
    is_one = choice.host != ALL_HOSTS
    return {
        key: (
            side.system.hypervisor,
            side.platform if is_one else side.system.hypervisor,
            side.lab,
        )
        for key, side in sides.items()
    }


def _names_of(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}, key=natural))


def _ordered(sides: Iterable[Side]) -> list[Side]:
    members = list(sides)
    platforms: dict[tuple[int, str], set[str]] = defaultdict(set)
    for side in members:
        platforms[side.system.host_id, side.guest].add(side.platform)

    def place(side: Side) -> tuple[Any, ...]:
        host = side.system.host
        return (
            _host_name(host),
            -len(platforms[host.pk, side.guest]),
            natural(side.guest),
            natural(side.platform),
            side.study.published,
            -side.results,
            natural(side.system.label),
            side.key,
        )

    return sorted(members, key=place)


def _against(choice: Choice, sides: Mapping[SideKey, Side]) -> Side | None:
    if choice.against is None:
        return None
    if choice.against not in sides:
        raise NotFoundError(Sentence("system"), str(choice.against))
    return sides[choice.against]


def _pairs(columns: Sequence[Side], against: Side | None) -> list[Pair | None]:
    """Pair each column with the chosen one or the fullest of its guest and host."""
    if against is not None:
        studies = {side.study.pk: side.study for side in columns}.values()
        hosts: Mapping[int, HostsCompared] = {}
        if any(side.system.host_id != against.system.host_id for side in columns):
            hosts = hosts_beside(against.study, against.system.host_id, *studies)
        return [
            None if side == against else pair_of(side, against, hosts)
            for side in columns
        ]
    pairs: list[Pair | None] = []
    for _, members in groupby(columns, key=lambda it: (it.system.host_id, it.guest)):
        group = list(members)
        first = max(group, key=lambda it: it.results)
        pairs += [None if side is first else pair_of(side, first) for side in group]
    return pairs


def pair_of(
    side: Side, other: Side, hosts: Mapping[int, HostsCompared] | None = None
) -> Pair:
    """Return how far two columns may be compared, by what both studies vary."""
    compared = systems_compared(
        side.study,
        side.system,
        other.system,
        (hosts or {}).get(side.system.host_id),
        beside=other.study,
    )
    return Pair(other, compared)


@dataclass(frozen=True, slots=True)
class _CaseFacet:
    pk: int
    tool: str
    label: str
    component: str
    is_shared: bool
    """Whether several platforms ran it."""


def _cells(viewer: Viewer, columns: Sequence[Side]) -> Any:
    return Cell.objects.visible_to(viewer).filter(
        Q(vms=None) | Q(vms=1),
        **ALONE,
        study_id__in={side.study.pk for side in columns},
        system_id__in={side.system.pk for side in columns},
    )


def _cases(viewer: Viewer, columns: Sequence[Side], choice: Choice) -> list[_CaseFacet]:
    cells = _cells(viewer, columns)
    if choice.work:
        doing = Effect.objects.filter(
            study_id__in={side.study.pk for side in columns}, work=choice.work
        )
        cells = cells.filter(case_id__in=doing.values("case_id"))
    names = {side.system.pk: side.platform for side in columns}
    ran = cells.order_by().values_list("case_id")
    # The first other platform tells: of hundreds of systems few are looked at.
    is_shared = {
        case_id: any(names[pk] != names[systems[0]] for pk in systems)
        for case_id, systems in ran.annotate(by=ArrayAgg("system_id"))
    }
    told = Case.objects.filter(pk__in=is_shared)
    cases = [
        _CaseFacet(*values, is_shared=is_shared[values[0]])
        for values in told.values_list("pk", "tool", "label", "component")
    ]
    return sorted(
        cases,
        key=lambda it: (
            not it.is_shared,
            rank(COMPONENTS, it.component),
            it.tool,
            natural(it.label),
            it.pk,
        ),
    )


READ: Final = (*OWN, "doubted_shape", *(f"efficiency__{name}" for name in STORED))
JUDGED: Final = tuple(
    f"effect__{name}"
    for name in ("verdict", "obstacle", "log_ratio", "log_low", "log_high")
)


def _rows(
    viewer: Viewer,
    columns: Sequence[Side],
    pairs: Sequence[Pair | None],
    case_ids: Sequence[int],
) -> tuple[SideRow, ...]:
    cells = _cells(viewer, columns).filter(case_id__in=case_ids)
    measured = cells.annotate(doubted_shape=SHAPE).values_list(
        "study_id", *JUDGED, *READ
    )
    cases = Case.objects.in_bulk(case_ids)
    sides = {side.key: side for side in columns}
    lines: dict[tuple[int, str], dict[SideKey, SideCell]] = defaultdict(dict)
    for study_id, verdict, obstacle, log_ratio, low, high, *values in measured:
        own = dict(zip((*OWN, "shape"), values, strict=False))
        key = SideKey(study_id, own["system_id"])
        if key not in sides:
            continue
        *stored, doubts = values[len(OWN) + 1 :]
        against = Against(*(*stored, doubts or "")) if stored[0] else Against()
        case = cases[own["case_id"]]
        row = row_of(
            own,
            sides[key].study,
            case,
            sides[key].system,
            against,
            told=_told(log_ratio, low, high),
        )
        mark = None
        if verdict is not None:
            is_flagged = obstacle == Effect.Obstacle.FLAGGED
            mark = VerdictMark(Verdict(verdict).slug, is_flagged)
        lines[case.pk, own["slot"]][key] = SideCell(row, mark)
    places = {pk: place for place, pk in enumerate(case_ids)}
    ordered = sorted(lines, key=lambda line: (places[line[0]], natural(line[1])))
    return tuple(
        SideRow(
            cases[line[0]],
            cases[line[0]].unit,
            cases[line[0]].better,
            tuple(_with_ratios(lines[line], cases[line[0]], columns, pairs)),
        )
        for line in ordered
    )


def _told(
    log_ratio: float | None, low: float | None, high: float | None
) -> TableRatio | None:
    if log_ratio is None:
        return None
    ends = None if low is None or high is None else (exp(low), exp(high))
    return TableRatio(exp(log_ratio), None, ends)


def _with_ratios(
    line: Mapping[SideKey, SideCell],
    case: Case,
    columns: Sequence[Side],
    pairs: Sequence[Pair | None],
) -> Iterable[SideCell | None]:
    for side, pair in zip(columns, pairs, strict=True):
        cell = line.get(side.key)
        if cell is None or pair is None or pair.is_refused:
            yield cell
            continue
        other = line.get(pair.other.key)
        ratio, refusal = None, ""
        if other is not None and cell.row.shown.state not in SPEEDLESS:
            means = (cell.row.shown.value, other.row.shown.value)
            if None not in means:
                better = cast(Better, case.better)
                ratio, refusal = ratio_of_means(*means, better)
        yield replace(cell, direct=ratio, refusal=refusal)
