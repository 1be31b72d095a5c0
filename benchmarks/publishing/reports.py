"""Reports and charts as files: asked for, made by a worker, kept for a while."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks.models import Making, Picture, Report, Study
from benchmarks.publishing.jobs import Stage, order
from benchmarks.studies.data_versions import study_version
from benchmarks.unattended.queue import Jobs, Kind

KEPT: Final[Mapping[type[Making], int]] = {Report: 50, Picture: 200}
"""How many of each are kept."""


@transaction.atomic
def request_report(
    *, study: Study, person: User | None, site: str, edition: str
) -> tuple[Report, bool]:
    """Return the report for a reader, and whether somebody has to make it.

    ``edition`` is what the report depends on beside the study: day, version of the
    product, language. One that failed is made anew.
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
    """Return the picture of these numbers, and whether somebody has to draw it.

    One that failed is drawn anew.
    """
    text = json.dumps([settings.VERSION, form, drawn], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    picture, is_new = Picture.objects.get_or_create(
        stamp=stamp, defaults={"form": form, "drawn": drawn, "site": site}
    )
    return picture, _is_to_make(picture, Kind.PICTURE, is_new, None)


def _is_to_make(
    made: Report | Picture, kind: Kind, is_new: bool, study: Study | None
) -> bool:
    """Have it made if it is new or failed; keep it the longer for having been asked."""
    is_to_make = is_new or made.stage == Stage.FAILED
    made.requested_at = timezone.now()
    if is_to_make:
        made.stage = Stage.WAITING
        order(kind, made, study)
        # Forget those that nobody has asked for the longest.
        rows = type(made)._default_manager.exclude(pk=made.pk)
        rows = rows.order_by("-requested_at", "-pk")
        old = list(rows.values_list("pk", flat=True)[KEPT[type(made)] - 1 :])
        type(made)._default_manager.filter(pk__in=old).delete()
    made.save(update_fields=["stage", "requested_at"])
    return is_to_make


def note_report_failed(jobs: Jobs, error: str, is_final: bool) -> None:
    """Say on its page that a report or picture stopped its workers."""
    if is_final:
        model = Report if jobs[0].kind == Kind.REPORT else Picture
        rows = model._default_manager.filter(pk=jobs[0].subject_id)
        rows.update(stage=Stage.FAILED)
