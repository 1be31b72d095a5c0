"""Files made by a worker on request: the steps that all share; reports and charts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks import sight
from benchmarks.models import Job, Making, Picture, Report, Study
from benchmarks.studies.data_versions import study_version
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind

M = TypeVar("M", bound=Making)
Stage = Making.Stage
KEPT: Final[Mapping[type[Making], int]] = {Report: 50, Picture: 200}
"""How many of each are stored."""


@sight.everything()
@transaction.atomic
def order(kind: Kind, made: Making, study: Study | None = None) -> None:
    """Queue the job of something to be made, instead of an earlier job."""
    Job.objects.filter(kind=kind, subject_id=made.pk).delete()
    lab_id = study.lab_id if study else None
    job = Job(kind=kind, subject_id=made.pk, study=study, lab_id=lab_id)
    # The caller sends a worker.
    job.hinted_at = job.created_at
    queue.put([job])


def begin(
    model: type[M], jobs: Jobs, related: Sequence[str] = ("study__lab", "person")
) -> M | None:
    """Return the row that these jobs make; None if it is done or was deleted."""
    rows = model._default_manager.filter(pk=jobs[0].subject_id)
    if not rows.exclude(stage=Stage.DONE).update(stage=Stage.COLLECTING):
        return None
    made = (rows.select_related(*related) if related else rows).get()
    made.jobs = jobs
    return made


@transaction.atomic
def note(made: Making, stage: str, **news: object) -> None:
    """Store its stage, unless another worker has taken over."""
    if queue.are_mine(made.jobs):
        rows = type(made)._default_manager.filter(pk=made.pk)
        rows.update(stage=stage, **news)


@transaction.atomic
def request_report(
    *, study: Study, person: User | None, site: str, edition: str
) -> tuple[Report, bool]:
    """Return the report for a reader, and whether a worker must make it.

    ``edition``: day, version of the product, language.
    """
    reader = (study_version(study), person.pk if person else 0, site, edition)
    stamp = hashlib.sha256(repr(reader).encode()).hexdigest()
    report, is_new = Report.objects.get_or_create(
        study=study, stamp=stamp, defaults={"person": person, "site": site}
    )
    return report, _is_to_make(report, Kind.REPORT, is_new, study)


@transaction.atomic
def request_picture(
    *, drawn: Mapping[str, Any], form: str, site: str
) -> tuple[Picture, bool]:
    """Return the chart of these numbers, and whether a worker must draw it."""
    text = json.dumps([settings.VERSION, form, drawn], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    picture, is_new = Picture.objects.get_or_create(
        stamp=stamp, defaults={"form": form, "drawn": drawn, "site": site}
    )
    return picture, _is_to_make(picture, Kind.PICTURE, is_new, None)


def _is_to_make(
    made: Report | Picture, kind: Kind, is_new: bool, study: Study | None
) -> bool:
    """Queue it if it is new or failed, and delete those requested the longest ago."""
    is_to_make = is_new or made.stage == Stage.FAILED
    made.requested_at = timezone.now()
    if is_to_make:
        made.stage = Stage.WAITING
        order(kind, made, study)
        rows = type(made)._default_manager.exclude(pk=made.pk)
        rows = rows.order_by("-requested_at", "-pk")
        old = list(rows.values_list("pk", flat=True)[KEPT[type(made)] - 1 :])
        type(made)._default_manager.filter(pk__in=old).delete()
    made.save(update_fields=["stage", "requested_at"])
    return is_to_make


def note_report_failed(jobs: Jobs, error: str, is_final: bool) -> None:
    """Show on its page that a report or chart stopped its workers."""
    if is_final:
        model = Report if jobs[0].kind == Kind.REPORT else Picture
        rows = model._default_manager.filter(pk=jobs[0].subject_id)
        rows.update(stage=Stage.FAILED)
