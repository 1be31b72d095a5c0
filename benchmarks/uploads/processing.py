"""Turn stored uploads into samples, cells and efficiencies.

The outbox says what is left to do. Its rows are taken with SKIP LOCKED, so any
number of workers and sweepers share the work, and a row disappears in the very
transaction that stores its results: killed at any point, the work is done again.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from benchmarks.models import (
    Cell,
    DueCheck,
    DueEnergy,
    Meter,
    OutboxItem,
    Run,
    RunWindow,
)
from benchmarks.sentences import Sentence
from benchmarks.uploads.efficiencies import normalise
from benchmarks.uploads.results import (
    read_upload,
    replace_samples,
    store_cases,
    store_runs,
)
from benchmarks.uploads.summaries import lock_cases, summarise_cells, touched_cells

logger = logging.getLogger(__name__)

BATCH = 100
# Uploads that never end must not keep the sweeper from all else that it does.
BATCHES_A_CALL = 200
# A run whose batch has failed before is tried alone, so that it cannot drag others.
ALONE_AFTER = 2
QUARANTINE_AFTER = 5
RETRY_DELAY = timedelta(seconds=2)


def drain(limit: int = BATCH, older_than_s: float = 0) -> int:
    """Process what waits in the outbox and return how many runs were finished."""
    finished = 0
    for _ in range(BATCHES_A_CALL):
        batches = _claim(limit, older_than_s)
        if not batches:
            break
        finished += sum(_process(batch) for batch in batches)
    return finished


@transaction.atomic
def _claim(limit: int, older_than_s: float) -> list[list[int]]:
    """Count an attempt for the next runs that are due, and return them in batches.

    The count is committed before the work begins: a run that kills its worker is
    found out too.
    """
    now = timezone.now()
    due = OutboxItem.objects.filter(
        due_at__lte=now,
        # Young work is left to the worker that its hint woke.
        created_at__lte=now - timedelta(seconds=older_than_s),
        quarantined_at=None,
    )
    items = list(due.select_for_update(skip_locked=True).order_by("due_at")[:limit])
    for item in items:
        # A failed attempt sets its run aside itself; this one never came to an end.
        if item.attempts >= QUARANTINE_AFTER:
            killed = Sentence("It stopped its worker every time.")
            _quarantine(item.pk, item.error or killed)
    live = [item for item in items if item.attempts < QUARANTINE_AFTER]
    OutboxItem.objects.filter(pk__in=[item.pk for item in live]).update(
        attempts=F("attempts") + 1
    )
    together = [item.pk for item in live if item.attempts < ALONE_AFTER]
    alone = [[item.pk] for item in live if item.attempts >= ALONE_AFTER]
    return [together, *alone] if together else alone


def _process(run_ids: list[int]) -> int:
    try:
        with transaction.atomic():
            # Process these runs, unless another worker has them in hand.
            mine = list(
                OutboxItem.objects.filter(pk__in=run_ids)
                .select_for_update(skip_locked=True)
                .values_list("pk", flat=True)
            )
            runs = list(
                Run.objects.filter(pk__in=mine).select_related("output").order_by("pk")
            )
            process_runs(runs)
            OutboxItem.objects.filter(pk__in=mine).delete()
            return len(runs)
    except (OperationalError, InterfaceError):
        raise  # the database went away or chose a deadlock's victim: try again later
    except Exception as error:
        # One run must not hold up the others: each is tried by itself.
        if len(run_ids) > 1:
            return sum(_process([run_id]) for run_id in run_ids)
        [run_id] = run_ids
        logger.exception("Run %s could not be processed", run_id, exc_info=error)
        text = f"{type(error).__name__}: {error}"
        with transaction.atomic():
            item = OutboxItem.objects.select_for_update().filter(pk=run_id).first()
            if item is not None and item.attempts >= QUARANTINE_AFTER:
                _quarantine(run_id, text)
            elif item is not None:
                item.error = text
                item.due_at = timezone.now() + RETRY_DELAY * item.attempts
                item.save(update_fields=["error", "due_at"])
        return 0


@transaction.atomic
def process_runs(uploads: Sequence[Run]) -> None:
    """Read these uploads and bring runs, cells and efficiencies up to date.

    Given are the first runs of each; one of raw output may hold several.
    """
    read = {upload: read_upload(upload.output.text) for upload in uploads}
    known = [*uploads, *Run.objects.filter(source__in=uploads).order_by("pk")]
    # Asked while the old samples still stand: cells that lose a run change as well.
    before = touched_cells(known)
    samples = store_runs(read, known)
    cases = store_cases(row for rows in samples.values() for row in rows)
    # Before a sample or a cell is written, and for old and new cells together: a run
    # that is read again may leave one cell for another.
    lock_cases(
        {(key.lab_id, key.case_id) for key in before}
        | {
            (run.lab_id, cases[row.case.fingerprint].pk)
            for run, rows in samples.items()
            for row in rows
        }
    )
    # What a better reader no longer finds; its text is kept.
    vanished = {run.pk for run in known} - {run.pk for run in samples}
    Run.objects.filter(pk__in=vanished).delete()
    replace_samples(samples, cases)
    touched = summarise_cells(before | touched_cells(samples))
    normalise(touched)
    _note_due_work(touched, [run.pk for run in samples])
    # Last, for only now has every efficiency turned to another baseline.
    Cell.objects.filter(pk__in=[cell.pk for cell in touched], n=0).delete()


def _note_due_work(cells: Sequence[Cell], run_ids: Sequence[int]) -> None:
    """Note what is done a moment later: checks of studies, energy of metered runs."""
    near = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        case__in={cell.case_id for cell in cells},
    )
    # The lab's other studies that share a case too: some rules look across.
    shared = near.order_by().values_list("study_id", flat=True).distinct()
    studies = {cell.study_id for cell in cells} | set(shared)
    DueCheck.objects.bulk_create(DueCheck(study_id=pk) for pk in sorted(studies))
    # A run's window is worked out anew with its energy.
    RunWindow.objects.filter(run__in=run_ids).delete()
    meters = Meter.objects.filter(host__systems__runs__in=run_ids)
    hosts = sorted(set(meters.values_list("host", flat=True)))
    DueEnergy.objects.bulk_create(DueEnergy(host_id=host) for host in hosts)


def _quarantine(run_id: int, error: str) -> None:
    """Set a run aside for a person to look at; it keeps its upload."""
    OutboxItem.objects.filter(pk=run_id).update(
        quarantined_at=timezone.now(), error=error
    )
    Run.objects.filter(pk=run_id).update(status=Run.Status.QUARANTINED, reason=error)
