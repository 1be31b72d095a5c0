"""Reads who confirmed or contradicted a study, for the viewer who asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from benchmarks.evidence.reading import LAB, REACH, SEEN
from benchmarks.evidence.replication import (
    Finding,
    Replication,
    replications,
    reproducing_labs,
)
from benchmarks.models import Case, Effect, Lab, Study
from benchmarks.viewer import ANYONE, Viewer

# What a pool takes, and single runs, which decide nothing.
COUNTED: Final = ("", Effect.Obstacle.SINGLE_RUN)
FINDINGS: Final = f"""
    SELECT effect.study_id, {LAB} AS measured_by, effect.hypervisor,
           benchmark.tool, benchmark.metric,
           avg(effect.log_ratio), avg(sqrt(effect.variance)), count(*), {REACH}
    FROM {Effect._meta.db_table} AS effect
    JOIN {Study._meta.db_table} AS study ON study.id = effect.study_id
    JOIN {Lab._meta.db_table} AS lab ON lab.id = study.lab_id
    JOIN {Case._meta.db_table} AS benchmark ON benchmark.id = effect.case_id
    WHERE (effect.study_id = %(study)s OR {SEEN} AND study.lab_id <> ALL(%(kept)s))
      AND effect.log_ratio IS NOT NULL AND effect.obstacle = ANY(%(counted)s)
      AND (effect.hypervisor, benchmark.tool, benchmark.metric) IN (
        SELECT own.hypervisor, own_case.tool, own_case.metric
        FROM {Effect._meta.db_table} AS own
        JOIN {Case._meta.db_table} AS own_case ON own_case.id = own.case_id
        WHERE own.study_id = %(study)s)
    GROUP BY effect.study_id, measured_by, effect.hypervisor, benchmark.tool,
             benchmark.metric, effect.variance IS NULL
    ORDER BY effect.study_id, effect.hypervisor, benchmark.tool, benchmark.metric
"""


@dataclass(frozen=True)
class Replicated:
    """What others say to a study; ``studies`` are theirs, by their ids."""

    found: tuple[Replication, ...]
    studies: Mapping[int, Study]


def study_replications(viewer: Viewer, study: Study) -> Replicated:
    """Return what others say to a study that the viewer sees, in two queries.

    Of others only what the viewer sees, too.
    """
    found = replications(study.pk, _findings(viewer, study, ()))
    ids = {reply.finding.study for each in found for reply in each.replies}
    studies = Study.objects.select_related("lab").in_bulk(ids) if ids else {}
    return Replicated(found, studies)


def reproduced_by(study: Study) -> tuple[str, ...]:
    """Return the labs by which a study counts as reproduced, the same for everybody.

    Only public studies count, and those that another lab keeps here: the name of an
    institution is free text, which who uploads two studies could write twice.
    """
    return reproducing_labs(
        replications(study.pk, _findings(ANYONE, study, (study.lab_id,)))
    )


def _findings(viewer: Viewer, study: Study, kept: tuple[int, ...]) -> list[Finding]:
    """Return a study's findings, and others' of the same; ``kept``: by none of these
    labs."""
    named: dict[str, Any] = {
        "labs": sorted(viewer.lab_ids),
        "study": study.pk,
        "kept": list(kept),
        "counted": list(COUNTED),
    }
    with connection.cursor() as cursor:
        cursor.execute(FINDINGS, named)
        return [
            Finding(pk, lab, hypervisor, (tool, metric), *numbers)
            for pk, lab, hypervisor, tool, metric, *numbers in cursor
        ]
