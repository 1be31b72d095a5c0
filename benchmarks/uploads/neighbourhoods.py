"""Cells with what the choice of a baseline needs, as plain objects.

Each row is read once and shares its system, study and case with other rows: Django's
models are too slow for twenty thousand cells.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet

from benchmarks.analysis.baselines import CellConditions
from benchmarks.analysis.sessions import is_named
from benchmarks.database import any_of
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Case, Cell, CellSession, Efficiency, Study, System
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.cases import Extremes
from benchmarks.platforms import NATIVE

COLUMNS = (
    *("id", "lab_id", "study_id", "system_id", "case_id"),
    *("scenario", "vms", "slot", "load", "n", "mean", "minimum", "maximum"),
    *("setting", "first_at", "last_at", "session_id"),
)

# Native cells, slots, and cells with a native run of their own study, OS and bits.
LEANS_ON_NO_OTHER = (
    Q(system__hypervisor=NATIVE)
    | Q(efficiency__state=Efficiency.State.SLOWDOWN)
    | Q(
        efficiency__baseline__study=F("study"),
        efficiency__baseline__system__hypervisor=NATIVE,
        efficiency__baseline__system__guest_os=F("system__guest_os"),
        efficiency__baseline__system__guest_bits=F("system__guest_bits"),
    )
)


@dataclass(slots=True, eq=False)
class PlacedCell:
    """A cell with its study, system and case; ``mean`` is 0 if it has lost its runs."""

    pk: int
    lab_id: int
    study_id: int
    system_id: int
    case_id: int
    scenario: str
    vms: int | None
    slot: str
    load: str
    n: int
    mean: float
    extremes: Extremes
    system: System
    study: Study
    case: Case
    conditions: CellConditions


def cells_of_studies(
    places: Collection[tuple[int, int, int]], ids: Collection[int]
) -> list[PlacedCell]:
    """Return the cells of these (lab, case, study) with runs, or in ``ids``."""
    labs, cases, studies = ({place[column] for place in places} for column in range(3))
    around = Cell.objects.filter(
        lab__in=labs, study__in=studies, case__in=any_of(cases)
    )
    return [cell for cell in placed(around) if cell.n or cell.pk in ids]


def cells_of_others(
    lacking: Collection[PlacedCell],
    natives: Collection[PlacedCell],
    studies: Collection[int],
) -> list[PlacedCell]:
    """Return cells of other studies: those of the cases of ``lacking`` cells, and those
    that lack a native cell and may use one of ``natives``."""
    if not (lacking or natives):
        return []
    both = (*lacking, *natives)
    others = Cell.objects.filter(
        lab__in={cell.lab_id for cell in both}, n__gt=0
    ).exclude(study__in=studies)
    leaning = others.filter(
        case__in=any_of({cell.case_id for cell in natives}),
        system__host__in={cell.system.host_id for cell in natives},
    ).exclude(LEANS_ON_NO_OTHER)
    found = set(leaning.values_list("case_id", "study_id"))
    cases = {cell.case_id for cell in lacking} | {case for case, _ in found}
    if not cases:
        return []
    near = Q(system__host__in={cell.system.host_id for cell in both})
    near |= Q(study__in={study for _, study in found})
    return placed(others.filter(near, case__in=any_of(cases)))


def placed(cells: QuerySet[Cell]) -> list[PlacedCell]:
    """Return cells in the order of their ids, in a fixed number of queries."""
    sittings = CellSession.objects.filter(cell=OuterRef("pk")).order_by("session_id")
    rows = list(
        cells.annotate(sittings=ArraySubquery(sittings.values("session_id")))
        .order_by("pk")
        .values_list(*COLUMNS, "session__name", "sittings")
    )
    _, _, studies, systems, cases, *_ = zip(*rows, strict=True) if rows else ((),) * 5
    study_of = Study.objects.in_bulk(set(studies))
    system_of = System.objects.select_related("host").in_bulk(set(systems))
    case_of = Case.objects.in_bulk(set(cases))

    @cache
    def label_of(case_id: int) -> str:
        case = case_of[case_id]
        return f"{known_tool(case.tool).title} {case.label}"

    @cache
    def of_system(system_id: int) -> dict[str, Any]:
        system = system_of[system_id]
        names = ("guest_os", "guest_bits", "is_native", "vcpus", "memory_bytes")
        return {
            "host": system.host.slug,
            "options": canonical_parameters(system.options),
            **{name: getattr(system, name) for name in names},
        }

    found = []
    for pk, lab, study_id, system_id, case_id, *rest in rows:
        scenario, vms, slot, load, n, mean, low, high, *stated = rest
        setting, first_at, last_at, session_id, session_name, sat = stated
        mean = mean or 0.0
        conditions = CellConditions(
            id=pk,
            study_id=study_id,
            case_id=case_id,
            scenario=scenario,
            mean=mean,
            n=n,
            sessions=_sessions(session_id, session_name, sat),
            first_at=first_at,
            last_at=last_at,
            slot=slot,
            vms=vms,
            load=load,
            setting=setting,
            case_label=label_of(case_id),
            study=study_of[study_id].slug,
            **of_system(system_id),
        )
        # Older cells had no ends.
        ends = Extremes(*(mean if end is None else end for end in (low, high)))
        found.append(
            PlacedCell(
                *(pk, lab, study_id, system_id, case_id, scenario, vms, slot, load),
                *(n, mean, ends, system_of[system_id], study_of[study_id]),
                *(case_of[case_id], conditions),
            )
        )
    return found


def _sessions(
    session_id: int | None, name: str | None, sittings: list[int | None]
) -> frozenset[Any]:
    """Return the sessions of a cell's runs; none if the time of some is unknown.

    Before the first check: the uploaded session, if all runs name the same one.
    """
    if not sittings and session_id is not None and name and is_named(name):
        return frozenset({session_id})
    known = frozenset(pk for pk in sittings if pk is not None)
    return known if len(known) == len(sittings) else frozenset()
