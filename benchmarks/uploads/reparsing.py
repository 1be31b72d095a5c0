"""Parsing of old uploads with the current parsers, with a report of changes.

Each step is one transaction and can be repeated.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Job, Reparse, Run, Sample, Study
from benchmarks.uploads.processing import process_runs

logger = logging.getLogger(__name__)

UPLOADS_PER_STEP = 100
MAX_STORED_CHANGES = 500


class SampleKey(NamedTuple):
    upload_id: int
    part: int
    case_id: int
    repetition: int


SampleValues = Mapping[SampleKey, tuple[float, ...]]


def create_reparse(
    *,
    study: Study | None = None,
    tool: str = "",
    person: User | None = None,
) -> Reparse:
    """Create a reparse of all uploads, or those of a study or tool.

    Return the study's unfinished reparse of the tool, if one exists. Raises
    UnknownNameError.
    """
    if study and (
        unfinished := study.reparses.filter(tool=tool, finished_at=None).first()
    ):
        return unfinished
    reparse = Reparse(
        study=study, tool=require_tool(tool).slug if tool else "", person=person
    )
    reparse.total = _uploads(reparse).count()
    reparse.save()
    return reparse


def advance_reparses() -> int:
    unfinished = Reparse.objects.filter(finished_at=None).order_by("pk")
    return sum(run_step(pk) for pk in unfinished.values_list("pk", flat=True))


def run_to_end(reparse: Reparse) -> Iterator[Reparse]:
    while reparse.finished_at is None:
        run_step(reparse.pk, wait=True)
        reparse.refresh_from_db()
        yield reparse


@transaction.atomic
def run_step(reparse_id: int, *, wait: bool = False) -> bool:
    """Return False if finished or locked."""
    rows = Reparse.objects.select_for_update(skip_locked=not wait)
    reparse = rows.filter(pk=reparse_id, finished_at=None).first()
    if reparse is None:
        return False
    remaining = _uploads(reparse).filter(pk__gt=reparse.cursor)
    uploads = list(remaining.order_by("pk")[:UPLOADS_PER_STEP])
    before = _readings(uploads)
    failures = _reparse(uploads)
    _record_changes(reparse, before, _readings(uploads))
    reparse.failed += len(failures)
    reparse.failures = [*reparse.failures, *failures][:MAX_STORED_CHANGES]
    reparse.done += len(uploads)
    if uploads:
        reparse.cursor = uploads[-1].pk
    if len(uploads) < UPLOADS_PER_STEP:
        reparse.finished_at = timezone.now()
    reparse.save()
    return True


def _uploads(reparse: Reparse) -> QuerySet[Run]:
    """Return the uploads to parse; unrecognized uploads may be of any tool."""
    # The current parsers will process waiting uploads anyway.
    pending = Job.objects.filter(
        kind=Job.Kind.UPLOAD, subject_id=OuterRef("pk"), quarantined_at=None
    )
    uploads = Run.objects.filter(~Exists(pending), first_run=None)
    if reparse.study_id:
        uploads = uploads.filter(study=reparse.study_id)
    if reparse.tool:
        sibling_runs = Run.objects.filter(tool=reparse.tool).exclude(first_run=None)
        uploads = uploads.filter(
            Q(tool__in=["", reparse.tool]) | Q(pk__in=sibling_runs.values("first_run"))
        )
    return uploads


def _readings(uploads: Sequence[Run]) -> SampleValues:
    runs = Run.objects.filter(
        Q(pk__in=[item.pk for item in uploads]) | Q(first_run__in=uploads)
    )
    parts = {
        pk: (source_id or pk, part)
        for pk, source_id, part in runs.values_list(
            "pk", "first_run_id", "upload_position"
        )
    }
    labs = {upload.lab_id for upload in uploads}
    samples = Sample.objects.filter(lab__in=labs, run__in=list(parts))
    rows = samples.order_by("run_id", "sequence")
    readings: dict[SampleKey, tuple[float, ...]] = {}
    for run_id, *columns, value in rows.values_list(
        "run_id", "case_id", "repetition", "value"
    ):
        key = SampleKey(*parts[run_id], *columns)
        readings[key] = (*readings.get(key, ()), value)
    return readings


def _reparse(uploads: Sequence[Run]) -> list[dict[str, Any]]:
    try:
        # A failure does not roll back the other uploads of the step.
        with transaction.atomic():
            process_runs(uploads)
            # A quarantined upload that could be read needs no further processing.
            ids = [upload.pk for upload in uploads]
            Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id__in=ids).delete()
            return []
    except (OperationalError, InterfaceError):
        raise  # connection lost: the step will be repeated
    except Exception as error:  # must not stop the other uploads
        if len(uploads) > 1:
            return [failure for upload in uploads for failure in _reparse([upload])]
        logger.exception("Upload %s could not be read again", uploads[0].pk)
        return [{"run": uploads[0].pk, "error": f"{type(error).__name__}: {error}"}]


def _record_changes(
    reparse: Reparse, before: SampleValues, after: SampleValues
) -> None:
    keys = before.keys() | after.keys()
    changed = sorted(key for key in keys if before.get(key) != after.get(key))
    room = max(MAX_STORED_CHANGES - len(reparse.changes), 0)
    labels = Case.objects.in_bulk({sample_key.case_id for sample_key in changed[:room]})
    for number, sample_key in enumerate(changed):
        kind = "changed"
        if sample_key not in before:
            kind = "appeared"
        elif sample_key not in after:
            kind = "vanished"
        setattr(reparse, kind, getattr(reparse, kind) + 1)
        if number < room:
            reparse.changes.append(
                {
                    "kind": kind,
                    "run": sample_key.upload_id,
                    "part": sample_key.part,
                    "case": str(labels[sample_key.case_id]),
                    "repetition": sample_key.repetition,
                    "before": before.get(sample_key, ()),
                    "after": after.get(sample_key, ()),
                }
            )
