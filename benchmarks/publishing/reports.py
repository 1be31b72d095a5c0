"""Reports that are asked for, made by a task, kept for a while."""

import hashlib
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks.models import Report, Study
from benchmarks.publishing.jobs import begin, is_lost
from benchmarks.studies.data_versions import study_version

KEPT = 50
UNTAKEN = timedelta(seconds=30)
"""How long a hint may be under way: whoever waits looks for one that got lost."""
Stage = Report.Stage


@transaction.atomic
def request_report(
    *, study: Study, person: User | None, site: str, edition: str
) -> tuple[Report, bool]:
    """Return the report for a reader, and whether somebody has to make it.

    ``edition`` is what the report depends on beside the study: day, version of the
    product, language. One that failed, or whose maker fell silent, is made anew.
    """
    reader = (study_version(study), person.pk if person else 0, site, edition)
    stamp = hashlib.sha256(repr(reader).encode()).hexdigest()
    now = timezone.now()
    report, is_new = Report.objects.get_or_create(
        study=study, stamp=stamp, defaults={"person": person, "site": site}
    )
    is_to_make = is_new or report.stage == Stage.FAILED or requeue_report(report)
    if is_to_make:
        report.stage, report.seen_at = Stage.WAITING, now
        # Forget those that nobody has asked for the longest.
        others = Report.objects.exclude(pk=report.pk).order_by("-requested_at", "-pk")
        old = others.values_list("pk", flat=True)[KEPT - 1 :]
        Report.objects.filter(pk__in=list(old)).delete()
    report.requested_at = now
    report.save(update_fields=["stage", "requested_at", "seen_at"])
    return report, is_to_make


def requeue_report(report: Report) -> bool:
    """Note that a report has lost its maker; False where it has one, or is done."""
    if not is_lost(report, UNTAKEN):
        return False
    # As it was read: of two readers who wait, one requeues it.
    as_seen = Report.objects.filter(
        pk=report.pk, stage=report.stage, seen_at=report.seen_at
    )
    return bool(as_seen.update(stage=Stage.WAITING, seen_at=timezone.now()))


def take_report(report_id: int) -> Report | None:
    """Take a waiting report in hand; None where it is taken, made or forgotten."""
    return begin(Report, report_id)


def note_stage(*, report: Report, stage: str, content: bytes = b"") -> None:
    """Note how far the making of a report is; with its last stage comes the file."""
    report.stage, report.content, report.seen_at = stage, content, timezone.now()
    report.save(update_fields=["stage", "content", "seen_at"])
