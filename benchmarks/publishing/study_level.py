"""The publication level of a stored study."""

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Count, Q

from benchmarks.analysis.publication_requirements import (
    CellPrecision,
    LevelAssessment,
    assess_publication_level,
)
from benchmarks.models import Cell, Run, Study, System
from benchmarks.models.run import COUNTED_RUN_SQL

RUN_TABLE = Run._meta.db_table
REPORTED_SYSTEM_FIELDS = (
    "hypervisor",
    "hypervisor_version",
    "virtualization",
    "vcpus",
    "memory_bytes",
)


def assess_study(study: Study) -> LevelAssessment:
    # Creating model instances would take most of the time.
    cells = Cell.objects.filter(study=study, n__gt=0).exclude(case__better="neither")
    names = ("pk", "case__label", "case__component", "n", "mean", "m2")
    measured = [
        CellPrecision(
            id=pk,
            label=label,
            component=component,
            n=n,
            mean=mean,
            variance=m2 / (n - 1) if n > 1 and m2 is not None else None,
        )
        for pk, label, component, n, mean, m2 in cells.order_by("pk").values_list(
            *names
        )
    ]
    systems = list(
        System.objects.filter(cells__study=study, cells__n__gt=0)
        .select_related("host")
        .distinct()
    )
    guests = [system for system in systems if not system.is_native]
    hypervisors = [
        _names(guest.options)
        | {name for name in REPORTED_SYSTEM_FIELDS if getattr(guest, name)}
        for guest in guests
    ]

    of_runs = _stated_by_all_runs(study)
    runs = Run.objects.counted().filter(study=study)
    silent = runs.aggregate(
        tool_version=Count("pk", filter=Q(tool_version="")),
        started_at=Count("pk", filter=Q(started_at=None)),
    )
    of_study = {
        **{name: count == 0 for name, count in silent.items()},
        "author": bool(study.author),
    }
    return assess_publication_level(
        measured,
        {
            "host": _intersection(_names(system.host.facts) for system in systems)
            | of_runs,
            "hypervisor": _intersection(hypervisors) | of_runs,
            "guest": _intersection(_names(guest.options) for guest in guests) | of_runs,
            "benchmark": of_runs | {name for name, holds in of_study.items() if holds},
        },
    )


def _stated_by_all_runs(study: Study) -> frozenset[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT name FROM {RUN_TABLE} AS run, jsonb_object_keys(facts) AS name
                WHERE study_id = %(study)s AND {COUNTED_RUN_SQL}
                GROUP BY name HAVING count(*) = (
                    SELECT count(*) FROM {RUN_TABLE} AS run
                    WHERE study_id = %(study)s AND {COUNTED_RUN_SQL})""",
            {"study": study.pk},
        )
        return frozenset(name for (name,) in cursor.fetchall())


def _names(facts: Any) -> frozenset[str]:
    # False and 0 are reported values.
    return frozenset(name for name, value in facts.items() if value not in ("", None))


def _intersection(fact_sets: Iterable[frozenset[str]]) -> frozenset[str]:
    sets = list(fact_sets)
    return frozenset.intersection(*sets) if sets else frozenset()
