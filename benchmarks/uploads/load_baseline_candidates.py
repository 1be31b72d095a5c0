"""Cells and their possible baselines, as plain objects.

Model instances are too slow for 20,000 cells.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef, Q, QuerySet

from benchmarks.analysis.baselines import CellConditions
from benchmarks.analysis.machine_comparability import Specimen, specimen_from_facts
from benchmarks.analysis.sessions import is_declared_name
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.database import ids_subquery
from benchmarks.fingerprints import canonical_parameters
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Case, Cell, CellSession, Efficiency, Run, Study, System
from benchmarks.parsing.no_ratio_reasons import RunRange

COLUMNS = (
    *("id", "lab_id", "study_id", "system_id", "case_id"),
    *("scenario", "vms", "slot", "load", "n", "mean", "minimum", "maximum"),
    *("common_facts", "first_at", "last_at", "declared_session_id"),
)

# Native cells, VMs relative to one VM alone, and cells that already use a native cell
# of their own study and OS.
NEEDS_NO_OTHER_STUDY = (
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
class CandidateCell:
    """A cell with the data that decide about baselines; ``mean`` is 0 without runs."""

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
    extremes: RunRange
    system: System
    study: Study
    case: Case
    conditions: CellConditions


def cells_of_studies(
    case_keys: Collection[tuple[int, int, int]], ids: Collection[int]
) -> list[CandidateCell]:
    """Return cells of these labs, cases and studies that have runs or are in ``ids``.

    Labs, cases and studies are filtered separately, not by key.
    """
    labs, cases, studies = ({key[column] for key in case_keys} for column in range(3))
    cells = Cell.objects.filter(
        lab__in=labs, study__in=studies, case__in=ids_subquery(cases)
    )
    return [cell for cell in load_candidates(cells) if cell.n or cell.pk in ids]


def cells_of_other_studies(
    unpaired: Collection[CandidateCell],
    natives: Collection[CandidateCell],
    studies: Collection[int],
) -> list[CandidateCell]:
    """Return possible baselines of ``unpaired``, and cells that may use ``natives``.

    All are outside ``studies``.
    """
    if not (unpaired or natives):
        return []
    cells = (*unpaired, *natives)
    other_cells = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells}, n__gt=0
    ).exclude(study__in=studies)
    dependents = other_cells.filter(
        case__in=ids_subquery({cell.case_id for cell in natives}),
        system__host__in={cell.system.host_id for cell in natives},
    ).exclude(NEEDS_NO_OTHER_STUDY)
    case_studies = set(dependents.values_list("case_id", "study_id"))
    cases = {cell.case_id for cell in unpaired} | {case for case, _ in case_studies}
    if not cases:
        return []
    candidates = Q(system__host__in={cell.system.host_id for cell in cells})
    candidates |= Q(study__in={study for _, study in case_studies})
    return load_candidates(other_cells.filter(candidates, case__in=ids_subquery(cases)))


def load_candidates(cells: QuerySet[Cell]) -> list[CandidateCell]:
    sessions = CellSession.objects.filter(cell=OuterRef("pk")).order_by("session_id")
    rows = list(
        cells.annotate(session_ids=ArraySubquery(sessions.values("session_id")))
        .order_by("pk")
        .values_list(*COLUMNS, "declared_session__name", "session_ids")
    )
    _, _, studies, systems, cases, *_ = zip(*rows, strict=True) if rows else ((),) * 5
    study_of = Study.objects.in_bulk(set(studies))
    system_of = System.objects.select_related("host").in_bulk(set(systems))
    case_of = Case.objects.in_bulk(set(cases))

    @cache
    def label_of(case_id: int) -> str:
        case = case_of[case_id]
        return f"{require_tool(case.tool).title} {case.label}"

    @cache
    def system_facts(system_id: int) -> dict[str, Any]:
        system = system_of[system_id]
        names = ("guest_os", "guest_bits", "is_native", "vcpus", "memory_bytes")
        return {
            "host": system.host.slug,
            "options": canonical_parameters(system.options),
            "specimen": _specimen(system),
            **{name: getattr(system, name) for name in names},
        }

    versions = _tool_versions(studies, system_of.values())
    candidates = []
    for pk, lab, study_id, system_id, case_id, *rest in rows:
        scenario, vms, slot, load, n, mean, low, high, *stated = rest
        common_facts, first_at, last_at, session_id, session_name, session_ids = stated
        mean = mean or 0.0
        conditions = CellConditions(
            id=pk,
            study_id=study_id,
            case_id=case_id,
            scenario=scenario,
            mean=mean,
            n=n,
            sessions=_sessions(session_id, session_name, session_ids),
            first_at=first_at,
            last_at=last_at,
            slot=slot,
            vms=vms,
            load=load,
            common_facts=common_facts,
            case_label=label_of(case_id),
            study=study_of[study_id].slug,
            tool_version=versions.get((study_id, system_id, case_of[case_id].tool), ""),
            component=case_of[case_id].component,
            parameters=case_of[case_id].parameters,
            is_higher_better=case_of[case_id].better == "higher",
            **system_facts(system_id),
        )
        # Cells of older versions have no minimum and maximum.
        ends = RunRange(*(mean if end is None else end for end in (low, high)))
        candidates.append(
            CandidateCell(
                *(pk, lab, study_id, system_id, case_id, scenario, vms, slot, load),
                *(n, mean, ends, system_of[system_id], study_of[study_id]),
                *(case_of[case_id], conditions),
            )
        )
    return candidates


def _tool_versions(
    studies: Collection[int], systems: Collection[System]
) -> dict[tuple[int, int, str], str]:
    """Return the versions of each tool by study, system and tool.

    They matter only for machines whose facts state a CPU.
    """
    ids = [system.pk for system in systems if system.host.facts.get("cpu")]
    if not ids:
        return {}
    runs = Run.objects.filter(study__in=set(studies), system__in=ids)
    versions: dict[tuple[int, int, str], list[str]] = defaultdict(list)
    rows = runs.exclude(tool_version="").order_by("tool_version").distinct()
    columns = ("study_id", "system_id", "tool", "tool_version")
    for study, system, tool, version in rows.values_list(*columns):
        versions[study, system, tool].append(version)
    return {key: ", ".join(found) for key, found in versions.items()}


def _specimen(system: System) -> Specimen | None:
    """Return the machine of a system, if its facts state a CPU.

    Machines without provider belong to their lab. A guest has the CPUs of its system.
    """
    host = system.host
    if not host.facts.get("cpu"):
        return None
    specimen = specimen_from_facts(host.slug, f"lab {host.lab_id}", host.facts)
    if system.is_native or system.vcpus is None:
        return specimen
    return replace(specimen, threads=system.vcpus)


def _sessions(
    session_id: int | None, name: str | None, session_ids: list[int | None]
) -> frozenset[Any]:
    """Return the sessions of a cell's runs; empty if the time of a run is unknown.

    Before the first study check, this is the declared session.
    """
    if not session_ids and session_id is not None and name and is_declared_name(name):
        return frozenset({session_id})
    known_ids = frozenset(pk for pk in session_ids if pk is not None)
    return known_ids if len(known_ids) == len(session_ids) else frozenset()
