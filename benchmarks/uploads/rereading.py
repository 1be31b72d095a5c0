"""Read history again: today's parsers over what was uploaded before, with a report.

A reread is done in steps of one transaction each. A step that dies is done again, and
doing it twice changes nothing.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmarks.models import Case, Job, Reread, Run, Sample, Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.uploads.processing import process_runs

logger = logging.getLogger(__name__)

STEP = 100
EVIDENCE_KEPT = 500


class SamplePlace(NamedTuple):
    """Where a sample stands in an upload."""

    upload_id: int
    part: int
    case_id: int
    repetition: int


Readings = Mapping[SamplePlace, tuple[float, ...]]


def begin_reread(
    *,
    study: Study | None = None,
    tool: str = "",
    person: User | None = None,
) -> Reread:
    """Start reading uploads again: all, a study's, or those of a tool.

    Returns the unfinished reread of the study, if any. Raises UnknownNameError.
    `proceed` does the steps.
    """
    if study and (begun := study.rereads.filter(tool=tool, finished_at=None).first()):
        return begun
    reread = Reread(
        study=study, tool=known_tool(tool).slug if tool else "", person=person
    )
    reread.total = _uploads(reread).count()
    reread.save()
    return reread


def proceed() -> int:
    """Do one step of every unfinished reread nobody has in hand; return how many."""
    unfinished = Reread.objects.filter(finished_at=None).order_by("pk")
    return sum(step(pk) for pk in unfinished.values_list("pk", flat=True))


def steps(reread: Reread) -> Iterator[Reread]:
    """Do a reread to its end and yield it after every step."""
    while reread.finished_at is None:
        step(reread.pk, wait=True)
        reread.refresh_from_db()
        yield reread


@transaction.atomic
def step(reread_id: int, *, wait: bool = False) -> bool:
    """Read the next uploads again; False if somebody else has this reread in hand."""
    # The command waits for its turn; the sweeper has other things to do.
    locked = Reread.objects.select_for_update(skip_locked=not wait)
    reread = locked.filter(pk=reread_id, finished_at=None).first()
    if reread is None:
        return False
    waiting = _uploads(reread).filter(pk__gt=reread.cursor)
    uploads = list(waiting.order_by("pk")[:STEP])
    before = _readings(uploads)
    failures = _read_again(uploads)
    _report(reread, before, _readings(uploads))
    reread.failed += len(failures)
    reread.failures = [*reread.failures, *failures][:EVIDENCE_KEPT]
    # The next step begins behind these, whatever arrives meanwhile.
    reread.done += len(uploads)
    if uploads:
        reread.cursor = uploads[-1].pk
    if len(uploads) < STEP:
        reread.finished_at = timezone.now()
    reread.save()
    return True


def _uploads(reread: Reread) -> QuerySet[Run]:
    """Return the uploads meant: those nobody recognised may be of any tool."""
    # What still waits in the outbox will be read by today's parsers anyway.
    waits = Job.objects.filter(
        kind=Job.Kind.UPLOAD, subject_id=OuterRef("pk"), quarantined_at=None
    )
    uploads = Run.objects.filter(~Exists(waits), source=None)
    if reread.study_id:
        uploads = uploads.filter(study=reread.study_id)
    if reread.tool:
        others = Run.objects.filter(tool=reread.tool).exclude(source=None)
        uploads = uploads.filter(
            Q(tool__in=["", reread.tool]) | Q(pk__in=others.values("source"))
        )
    return uploads


def _readings(uploads: Sequence[Run]) -> Readings:
    runs = Run.objects.filter(
        Q(pk__in=[it.pk for it in uploads]) | Q(source__in=uploads)
    )
    parts = {
        pk: (source_id or pk, part)
        for pk, source_id, part in runs.values_list("pk", "source_id", "part")
    }
    labs = {upload.lab_id for upload in uploads}
    samples = Sample.objects.filter(lab__in=labs, run__in=list(parts))
    rows = samples.order_by("run_id", "sequence")
    readings: dict[SamplePlace, tuple[float, ...]] = {}
    for run_id, *same, value in rows.values_list(
        "run_id", "case_id", "repetition", "value"
    ):
        place = SamplePlace(*parts[run_id], *same)
        readings[place] = (*readings.get(place, ()), value)
    return readings


def _read_again(uploads: Sequence[Run]) -> list[dict[str, Any]]:
    """Process these uploads; one that fails is noted and does not stop the others."""
    try:
        # A savepoint: what fails is undone, the other uploads of the step are not.
        with transaction.atomic():
            process_runs(uploads)
            # A quarantined upload that can be read has no work left to be done.
            ids = [upload.pk for upload in uploads]
            Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id__in=ids).delete()
            return []
    except (OperationalError, InterfaceError):
        raise  # the database went away: the step is done again
    except Exception as error:  # whatever it is, it must not stop the rest
        if len(uploads) > 1:
            return [failure for upload in uploads for failure in _read_again([upload])]
        logger.exception("Upload %s could not be read again", uploads[0].pk)
        return [{"run": uploads[0].pk, "error": f"{type(error).__name__}: {error}"}]


def _report(reread: Reread, before: Readings, after: Readings) -> None:
    """Count the samples that changed, and keep the first of them as evidence."""
    places = before.keys() | after.keys()
    changed = sorted(p for p in places if before.get(p) != after.get(p))
    room = max(EVIDENCE_KEPT - len(reread.changes), 0)
    labels = Case.objects.in_bulk({place.case_id for place in changed[:room]})
    for number, place in enumerate(changed):
        kind = "changed"
        if place not in before:
            kind = "appeared"
        elif place not in after:
            kind = "vanished"
        setattr(reread, kind, getattr(reread, kind) + 1)
        if number < room:
            reread.changes.append(
                {
                    "kind": kind,
                    "run": place.upload_id,
                    "part": place.part,
                    "case": str(labels[place.case_id]),
                    "repetition": place.repetition,
                    "before": before.get(place, ()),
                    "after": after.get(place, ()),
                }
            )
