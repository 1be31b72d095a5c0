"""Processing of stored uploads into samples, cells and efficiencies.

A job is deleted in the transaction that stores its results.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Func, Max, Min, Sum, Value
from django.utils import timezone

from benchmarks.custom_tools.lookup import (
    DeclaredTool,
    declared_tools,
    is_custom,
    lab_slug_from_name,
)
from benchmarks.custom_tools.registration import lock_declarations
from benchmarks.database import ids_subquery
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs, enqueue_checks, enqueue_energy
from benchmarks.models import (
    Cell,
    Job,
    Meter,
    Run,
    RunOutput,
    RunWindow,
)
from benchmarks.monitoring.counters import PROCESSED, QUARANTINED
from benchmarks.monitoring.request_ids import use_request_id
from benchmarks.sentences import Sentence, template
from benchmarks.uploads.cell_summaries import (
    affected_cells,
    lock_cases,
    store_run_means,
    summarize_cells,
)
from benchmarks.uploads.efficiencies import recompute_efficiencies
from benchmarks.uploads.parsed_run_storage import (
    replace_samples,
    store_cases,
    store_runs,
)
from benchmarks.uploads.upload_parsing import parse_stored_upload

logger = logging.getLogger(__name__)

# Runs per batch, and how many of them may need parsing.
BATCH_RUNS, BATCH_TEXTS = 1000, 200
# A lab with this many waiting samples is uploading a study in pieces. Wait for a gap
# (docs/decisions/outbox.md, Bursts).
BURST_SAMPLES = 20_000
RUN_GAP, PIECE_GAP = timedelta(seconds=0.5), timedelta(seconds=2.5)
MAX_BURST_WAIT = timedelta(seconds=10)
# Return after this many batches, because the sweeper has other work.
MAX_BATCHES = 200
RETRY_DELAY = timedelta(seconds=2)
ALWAYS_KILLED_WORKER: Final = template(
    "The worker stopped each time while processing it."
)
# Covers the gap between claiming rows and locking them.
CLAIM_LEASE = timedelta(seconds=2)
UPLOADS = Job.objects.filter(kind=JobKind.UPLOAD)
LOCK_DUE_PARTITIONS_SQL = f"""
    WITH due AS MATERIALIZED (
        SELECT DISTINCT partition AS share FROM {Job._meta.db_table}
        WHERE kind = 'upload' AND quarantined_at IS NULL
          AND due_at <= %s AND created_at <= %s AND (%s OR NOT is_bulk)
    )
    SELECT share FROM due WHERE pg_try_advisory_lock(share)
"""
UNLOCK_PARTITIONS_SQL = (
    "SELECT pg_advisory_unlock(share) FROM unnest(%s::bigint[]) AS held(share)"
)


def process_due_uploads(
    limit: int = BATCH_RUNS, min_age_s: float = 0, is_bulk: bool = True
) -> int:
    """Process waiting uploads that are due and ``min_age_s`` old.

    Single uploads come before bulk uploads, which are not processed without
    ``is_bulk``. Return the number of finished runs.
    """
    finished, until = 0, timezone.now() - timedelta(seconds=min_age_s)
    for _ in range(MAX_BATCHES):
        with _locked_partitions(until, is_bulk) as partitions:
            batch = _next_batch(limit, until, partitions, is_bulk) if partitions else []
            if not batch:
                break
            finished += queue.run_claimed(JobKind.UPLOAD, batch)
    return finished


def has_due_uploads(created_before: datetime, is_bulk: bool) -> bool:
    due = UPLOADS.filter(claim_id=None, quarantined_at=None, is_bulk=is_bulk)
    return due.filter(
        created_at__lte=created_before, due_at__lte=timezone.now()
    ).exists()


@contextmanager
def _locked_partitions(created_before: datetime, is_bulk: bool) -> Iterator[list[int]]:
    """Lock the due partitions that no other worker has locked, and yield them.

    Partitions (the runs of one lab and tool) have no cells in common.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            LOCK_DUE_PARTITIONS_SQL, [timezone.now(), created_before, is_bulk]
        )
        partitions = [partition for (partition,) in cursor.fetchall()]
    try:
        yield partitions
    finally:
        # A lost connection has released its locks.
        if partitions:
            with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
                cursor.execute(UNLOCK_PARTITIONS_SQL, [partitions])


@transaction.atomic
def _next_batch(
    limit: int, created_before: datetime, partitions: list[int], is_bulk: bool
) -> list[Job]:
    due = (
        UPLOADS.filter(
            partition__in=partitions,
            due_at__lte=timezone.now(),
            # Newer jobs are left to the worker that they woke.
            created_at__lte=created_before,
            quarantined_at=None,
        )
        .exclude(is_bulk=False, lab__in=labs_in_burst(is_bulk=False))
        .exclude(is_bulk=True, lab__in=labs_in_burst(is_bulk=True))
    )
    if not is_bulk:
        due = due.filter(is_bulk=False)
    unlocked = due.select_for_update(skip_locked=True, of=("self",))
    jobs = list(unlocked.order_by("is_bulk", "due_at")[:limit])
    jobs = [job for job in jobs if not job.is_bulk] or jobs
    texts = [index for index, job in enumerate(jobs) if not job.is_preparsed]
    if len(texts) > BATCH_TEXTS:
        jobs = jobs[: texts[BATCH_TEXTS]]
    return queue.claim_jobs(JobKind.UPLOAD, jobs, lease=CLAIM_LEASE)


def labs_in_burst(is_bulk: bool) -> list[int]:
    now = timezone.now()
    waiting = UPLOADS.filter(
        is_preparsed=True, is_bulk=is_bulk, claim_id=None, quarantined_at=None
    )
    backlogs = waiting.values("lab").annotate(
        size=Sum("sample_count"),
        first=Min("created_at"),
        last=Max("created_at"),
    )
    bursts = backlogs.filter(
        size__gte=BURST_SAMPLES,
        first__gt=now - MAX_BURST_WAIT,
        last__gt=now - (PIECE_GAP if is_bulk else RUN_GAP),
    )
    return list(bursts.order_by().values_list("lab", flat=True))


def has_recent_uploads(within_s: float) -> bool:
    cutoff = timezone.now() - timedelta(seconds=within_s)
    return UPLOADS.filter(claim_id=None, created_at__gt=cutoff).exists()


def _record_failure(jobs: Jobs, error: str, is_final: bool) -> None:
    [job] = jobs
    if error == queue.KILLED_WORKER:
        error = Sentence(ALWAYS_KILLED_WORKER)
    with use_request_id(job.request_id):
        logger.warning("Run %s failed alone: %s", job.subject_id, error)
    if is_final:
        Run.objects.filter(pk=job.subject_id).update(
            status=Run.Status.QUARANTINED, reason=error
        )
        transaction.on_commit(QUARANTINED.inc, robust=True)


@queue.job_handler(
    JobKind.UPLOAD,
    is_divisible=True,
    first_delay=RETRY_DELAY,
    on_failure=_record_failure,
)
def _process(jobs: Jobs) -> None:
    with transaction.atomic():
        # Block instead of skipping locked rows: another worker may lock them briefly.
        # Rows are locked in a fixed order to avoid deadlocks.
        locked = queue.lock_claimed(jobs)
        runs = list(Run.objects.filter(pk__in=[job.subject_id for job in locked]))
        runs.sort(key=attrgetter("pk"))
        process_runs(
            runs, are_preparsed={job.subject_id for job in locked if job.is_preparsed}
        )
        queue.finish(jobs)
    if not locked:
        return
    PROCESSED.inc(len(locked))
    requests = {job.subject_id: job.request_id for job in locked}
    request_ids = sorted(set(requests.values()))
    with use_request_id(request_ids[0]) if len(request_ids) == 1 else nullcontext():
        logger.info(
            "Processed %s runs, %s to %s",
            *(len(requests), min(requests), max(requests)),
            extra={"runs": list(requests), "requests": request_ids},
        )


@transaction.atomic
def process_runs(
    uploads: Sequence[Run], are_preparsed: Collection[int] = frozenset()
) -> None:
    """Read uploads and update their runs, cells and efficiencies.

    The samples of uploads whose ids are in ``are_preparsed`` were stored at intake.
    """
    stored = [upload for upload in uploads if upload.pk in are_preparsed]
    uploads = [upload for upload in uploads if upload.pk not in are_preparsed]
    Run.objects.filter(pk__in=are_preparsed).update(status=Run.Status.PARSED)
    custom_tools = _declared_tools(uploads)
    labs = {upload.lab_id for upload in uploads}
    outputs = RunOutput.objects.filter(lab__in=labs, run__in=uploads)
    texts = dict(outputs.values_list("run_id", "text"))
    results = {
        upload: parse_stored_upload(
            texts[upload.pk], custom_tools.get(upload.tool), upload.stated_failure
        )
        for upload in uploads
    }
    existing = [*uploads, *Run.objects.filter(first_run__in=uploads).order_by("pk")]
    # Read before the means change, because cells that lose a run are affected, too.
    cells = affected_cells(existing)
    store_run_means(stored)
    cells |= affected_cells(stored)
    samples = store_runs(results, existing)
    cases = store_cases(row.case for rows in samples.values() for row in rows)
    # Lock old and new cells before any write: parsing again may move a run.
    lock_cases(
        {(key.lab_id, key.case_id) for key in cells}
        | {
            (run.lab_id, cases[row.case.fingerprint])
            for run, rows in samples.items()
            for row in rows
        }
    )
    # The current parser no longer finds these runs.
    vanished = {run.pk for run in existing} - {run.pk for run in samples}
    Run.objects.filter(pk__in=vanished).delete()
    replace_samples(samples, cases)
    store_run_means(list(samples))
    changed = summarize_cells(cells | affected_cells(samples))
    recompute_efficiencies(changed)
    queue_follow_ups(changed, [run.pk for run in (*stored, *samples)])
    # Deleted last, because until here efficiencies may use these cells as baselines.
    Cell.objects.filter(pk__in=[c.pk for c in changed if c.is_empty]).delete()


def _declared_tools(uploads: Sequence[Run]) -> dict[str, DeclaredTool]:
    """Return the custom tools of the uploads' labs.

    The tools of the uploads are locked until the transaction ends.
    """
    names = {run.tool for run in uploads if is_custom(run.tool)}
    if not names:
        return {}
    lock_declarations(names)
    labs = {lab_slug_from_name(name) for name in names}
    return {name: tool for lab in labs for name, tool in declared_tools(lab).items()}


def queue_follow_ups(cells: Sequence[Cell], run_ids: Sequence[int]) -> None:
    cells_of_cases = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        case__in=ids_subquery({cell.case_id for cell in cells}),
    )
    # Some rules compare studies of the same lab and case.
    shared = cells_of_cases.order_by().values_list("study_id", flat=True).distinct()
    changed = {cell.study_id for cell in cells}
    enqueue_checks(changed)
    enqueue_checks(set(shared) - changed, others_changed=True)
    # The energy job computes the windows again.
    RunWindow.objects.filter(run__in=run_ids).delete()
    meters = Meter.objects.filter(host__systems__runs__in=run_ids)
    hosts = sorted(set(meters.values_list("host", flat=True)))
    enqueue_energy((host, None, None) for host in hosts)


def reprocessing_jobs(runs: Iterable[Run]) -> list[Job]:
    return [
        Job(
            kind=JobKind.UPLOAD,
            subject_id=run.pk,
            partition=Func(
                Value(f"share {run.lab_id} {run.tool}"),
                Value(0),
                function="hashtextextended",
            ),
            lab_id=run.lab_id,
            study_id=run.study_id,
        )
        for run in runs
    ]
