"""What a study may be published as, by what it states and how often it measured."""

from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Count, Q

from benchmarks.analysis.publishing import Assessment, MeasuredCell, assess
from benchmarks.models import Cell, Run, Study, System

STATED_OF_SYSTEM = (
    "hypervisor",
    "hypervisor_version",
    "virtualization",
    "vcpus",
    "memory_bytes",
)


def study_assessment(study: Study) -> Assessment:
    """Judge a study by rule set 1, in four queries."""
    # From plain values: an object each would cost more than all else.
    cells = Cell.objects.filter(study=study, n__gt=0).exclude(case__better="neither")
    names = ("pk", "case__label", "case__component", "n", "mean", "m2")
    measured = [
        MeasuredCell(
            id=pk,
            label=label,
            component=component,
            n=n,
            mean=mean,
            variance=m2 / (n - 1) if n > 1 else None,
        )
        for pk, label, component, n, mean, m2 in cells.order_by("pk").values_list(
            *names
        )
    ]
    systems = list(
        System.objects.filter(cells__study=study).select_related("host").distinct()
    )
    guests = [system for system in systems if not system.is_native]
    hypervisors = [
        _names(guest.options)
        | {name for name in STATED_OF_SYSTEM if getattr(guest, name)}
        for guest in guests
    ]

    of_runs = _stated_by_all_runs(study)
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    silent = runs.aggregate(
        tool_version=Count("pk", filter=Q(tool_version="")),
        started_at=Count("pk", filter=Q(started_at=None)),
    )
    of_study = {
        **{name: count == 0 for name, count in silent.items()},
        "author": bool(study.author),
    }
    return assess(
        measured,
        {
            "host": _common(_names(system.host.facts) for system in systems) | of_runs,
            "hypervisor": _common(hypervisors) | of_runs,
            "guest": _common(_names(guest.options) for guest in guests) | of_runs,
            "benchmark": of_runs | {name for name, holds in of_study.items() if holds},
        },
    )


def _stated_by_all_runs(study: Study) -> frozenset[str]:
    """Return the facts that every run of the study states."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT name FROM {Run._meta.db_table}, jsonb_object_keys(facts) AS name
                WHERE study_id = %(study)s AND status = 'parsed'
                GROUP BY name HAVING count(*) = (
                    SELECT count(*) FROM {Run._meta.db_table}
                    WHERE study_id = %(study)s AND status = 'parsed')""",
            {"study": study.pk},
        )
        return frozenset(name for (name,) in cursor.fetchall())


def _names(facts: Any) -> frozenset[str]:
    # False and 0 are statements.
    return frozenset(name for name, value in facts.items() if value not in ("", None))


def _common(stated: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return what all state; nothing is common to none."""
    sets = list(stated)
    return frozenset.intersection(*sets) if sets else frozenset()
