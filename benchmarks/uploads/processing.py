"""Turn stored uploads into samples, cells and efficiencies.

Jobs are claimed with SKIP LOCKED, many together, by any number of workers and sweepers,
and deleted in the transaction that stores their results.
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

from benchmarks.database import any_of
from benchmarks.models import (
    Cell,
    Job,
    Meter,
    Run,
    RunOutput,
    RunWindow,
)
from benchmarks.monitoring.counters import PROCESSED, QUARANTINED
from benchmarks.monitoring.tracing import traced
from benchmarks.own_tools.declaring import lock_tools
from benchmarks.own_tools.lookup import (
    DeclaredTool,
    declared_tools,
    is_own,
    lab_of,
)
from benchmarks.sentences import Sentence, template
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind, put_checks, put_energies
from benchmarks.uploads.efficiencies import normalise
from benchmarks.uploads.results import (
    read_upload,
    replace_samples,
    store_cases,
    store_runs,
)
from benchmarks.uploads.summaries import (
    lock_cases,
    store_run_means,
    summarise_cells,
    touched_cells,
)

logger = logging.getLogger(__name__)

# Runs at once, and texts to be read among them.
BATCH, TEXTS = 1000, 200
# A lab with so many waiting samples sends a study piece by piece: wait for more, as
# each piece recomputes the same cells.
FLOOD_SAMPLES = 20_000
NEXT_RUN, NEXT_PIECE = timedelta(seconds=0.5), timedelta(seconds=2.5)
FLOOD_AT_MOST = timedelta(seconds=10)
# Uploads that never end must not keep the sweeper from all else that it does.
BATCHES_A_CALL = 200
RETRY_DELAY = timedelta(seconds=2)
STOPPED_ITS_WORKER: Final = template("It stopped its worker every time.")
# Lease duration: the gap between claiming rows and locking them.
IN_HAND = timedelta(seconds=2)
UPLOADS = Job.objects.filter(kind=Kind.UPLOAD)
FREE_SHARES = f"""
    WITH due AS MATERIALIZED (
        SELECT DISTINCT partition AS share FROM {Job._meta.db_table}
        WHERE kind = 'upload' AND quarantined_at IS NULL
          AND due_at <= %s AND created_at <= %s AND (%s OR NOT is_bulk)
    )
    SELECT share FROM due WHERE pg_try_advisory_lock(share)
"""
LET_GO = "SELECT pg_advisory_unlock(share) FROM unnest(%s::bigint[]) AS held(share)"


def drain(limit: int = BATCH, older_than_s: float = 0, is_bulk: bool = True) -> int:
    """Process the uploads that wait by now; return how many runs were finished.

    Single uploads come before bulk ones, which are left without ``is_bulk``. Uploads
    that arrive meanwhile have a hint of their own.
    """
    finished, until = 0, timezone.now() - timedelta(seconds=older_than_s)
    for _ in range(BATCHES_A_CALL):
        with _free_shares(until, is_bulk) as shares:
            batch = _next_batch(limit, until, shares, is_bulk) if shares else []
            if not batch:
                break
            finished += queue.process(Kind.UPLOAD, batch)
    return finished


def is_left(until: datetime, is_bulk: bool) -> bool:
    """Return whether something that came until then is due and in nobody's hands."""
    due = UPLOADS.filter(batch=None, quarantined_at=None, is_bulk=is_bulk)
    return due.filter(created_at__lte=until, due_at__lte=timezone.now()).exists()


@contextmanager
def _free_shares(until: datetime, is_bulk: bool) -> Iterator[list[int]]:
    """Yield the due shares that no other worker holds, and hold them meanwhile.

    A share is what a lab measured with one tool; shares have no cells in common. The
    session holds the locks, so a dead worker releases them.
    """
    with connection.cursor() as cursor:
        cursor.execute(FREE_SHARES, [timezone.now(), until, is_bulk])
        shares = [share for (share,) in cursor.fetchall()]
    try:
        yield shares
    finally:
        # A session that is no more holds nothing.
        if shares:
            with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
                cursor.execute(LET_GO, [shares])


@transaction.atomic
def _next_batch(
    limit: int, until: datetime, shares: list[int], is_bulk: bool
) -> list[Job]:
    """Take the next uploads of these shares that are due in hand, and return them."""
    due = (
        UPLOADS.filter(
            partition__in=shares,
            due_at__lte=timezone.now(),
            # Young work is left to the worker that its hint woke.
            created_at__lte=until,
            quarantined_at=None,
        )
        .exclude(is_bulk=False, lab__in=flooded_labs(is_bulk=False))
        .exclude(is_bulk=True, lab__in=flooded_labs(is_bulk=True))
    )
    if not is_bulk:
        due = due.filter(is_bulk=False)
    free = due.select_for_update(skip_locked=True, of=("self",))
    items = list(free.order_by("is_bulk", "due_at")[:limit])
    items = [item for item in items if not item.is_bulk] or items
    texts = [place for place, item in enumerate(items) if not item.is_read]
    if len(texts) > TEXTS:
        items = items[: texts[TEXTS]]
    return queue.claim_some(Kind.UPLOAD, items, for_at_least=IN_HAND)


def flooded_labs(is_bulk: bool) -> list[int]:
    """Return the labs of which more of a large study is still to come."""
    now = timezone.now()
    waiting = UPLOADS.filter(
        is_read=True, is_bulk=is_bulk, batch=None, quarantined_at=None
    )
    floods = waiting.values("lab").annotate(
        size=Sum("samples"),
        first=Min("created_at"),
        last=Max("created_at"),
    )
    coming = floods.filter(
        size__gte=FLOOD_SAMPLES,
        first__gt=now - FLOOD_AT_MOST,
        last__gt=now - (NEXT_PIECE if is_bulk else NEXT_RUN),
    )
    return list(coming.order_by().values_list("lab", flat=True))


def is_still_coming(within_s: float) -> bool:
    """Return whether something was uploaded that lately, which nobody has in hand."""
    lately = timezone.now() - timedelta(seconds=within_s)
    return UPLOADS.filter(batch=None, created_at__gt=lately).exists()


def _note_failure(jobs: Jobs, error: str, is_final: bool) -> None:
    """Say of a run that was set aside why; it keeps its upload."""
    [job] = jobs
    if error == queue.STOPPED_ITS_WORKER:
        error = Sentence(STOPPED_ITS_WORKER)
    with traced(job.request_id):
        logger.warning("Run %s failed alone: %s", job.subject_id, error)
    if is_final:
        Run.objects.filter(pk=job.subject_id).update(
            status=Run.Status.QUARANTINED, reason=error
        )
        transaction.on_commit(QUARANTINED.inc, robust=True)


def _note_retry(run_ids: Collection[int]) -> None:
    """Say of runs that were set aside that they are tried again."""
    aside = Run.objects.filter(pk__in=run_ids, status=Run.Status.QUARANTINED)
    aside.update(status=Run.Status.RECEIVED, reason="")


@queue.job(
    Kind.UPLOAD,
    is_divisible=True,
    first_delay=RETRY_DELAY,
    failed=_note_failure,
    retried=_note_retry,
)
def _process(jobs: Jobs) -> None:
    """Process uploads that are in hand."""
    with transaction.atomic():
        # Blocks instead of skipping locked rows: another worker may hold them briefly.
        # In one order, so that nobody deadlocks.
        mine = queue.lock(jobs)
        runs = list(Run.objects.filter(pk__in=[job.subject_id for job in mine]))
        runs.sort(key=attrgetter("pk"))
        process_runs(runs, are_read={job.subject_id for job in mine if job.is_read})
        queue.finish(jobs)
    if not mine:
        return
    PROCESSED.inc(len(mine))
    requests = {job.subject_id: job.request_id for job in mine}
    senders = sorted(set(requests.values()))
    # In the name of the request that brought them, where there was only one.
    with traced(senders[0]) if len(senders) == 1 else nullcontext():
        logger.info(
            "Processed %s runs, %s to %s",
            *(len(requests), min(requests), max(requests)),
            extra={"runs": list(requests), "requests": senders},
        )


@transaction.atomic
def process_runs(
    uploads: Sequence[Run], are_read: Collection[int] = frozenset()
) -> None:
    """Read these uploads and update runs, cells and efficiencies.

    Given are the first runs of each; samples of those in ``are_read`` were stored at
    intake.
    """
    stored = [upload for upload in uploads if upload.pk in are_read]
    uploads = [upload for upload in uploads if upload.pk not in are_read]
    Run.objects.filter(pk__in=are_read).update(status=Run.Status.PARSED)
    own = _own_tools(uploads)
    labs = {upload.lab_id for upload in uploads}
    outputs = RunOutput.objects.filter(lab__in=labs, run__in=uploads)
    texts = dict(outputs.values_list("run_id", "text"))
    read = {
        upload: read_upload(texts[upload.pk], own.get(upload.tool))
        for upload in uploads
    }
    known = [*uploads, *Run.objects.filter(source__in=uploads).order_by("pk")]
    # Asked while the old means still stand: cells that lose a run change as well.
    before = touched_cells(known)
    store_run_means(stored)
    before |= touched_cells(stored)
    samples = store_runs(read, known)
    cases = store_cases(row.case for rows in samples.values() for row in rows)
    # Before any write, for old and new cells: a reread may move a run.
    lock_cases(
        {(key.lab_id, key.case_id) for key in before}
        | {
            (run.lab_id, cases[row.case.fingerprint])
            for run, rows in samples.items()
            for row in rows
        }
    )
    # What a better reader no longer finds; its text is kept.
    vanished = {run.pk for run in known} - {run.pk for run in samples}
    Run.objects.filter(pk__in=vanished).delete()
    replace_samples(samples, cases)
    store_run_means(list(samples))
    touched = summarise_cells(before | touched_cells(samples))
    normalise(touched)
    note_due_work(touched, [run.pk for run in (*stored, *samples)])
    # Last, for only now has every efficiency turned to another baseline.
    Cell.objects.filter(pk__in=[cell.pk for cell in touched if not cell.n]).delete()


def _own_tools(uploads: Sequence[Run]) -> dict[str, DeclaredTool]:
    """Return what labs declare of their tools; it stays so until all is stored."""
    names = {run.tool for run in uploads if is_own(run.tool)}
    if not names:
        return {}
    lock_tools(names)
    labs = {lab_of(name) for name in names}
    return {name: it for lab in labs for name, it in declared_tools(lab).items()}


def note_due_work(cells: Sequence[Cell], run_ids: Sequence[int]) -> None:
    """Note what is done a moment later: checks of studies, energy of metered runs."""
    near = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        case__in=any_of({cell.case_id for cell in cells}),
    )
    # The lab's other studies that share a case too: some rules look across.
    shared = near.order_by().values_list("study_id", flat=True).distinct()
    changed = {cell.study_id for cell in cells}
    put_checks(changed)
    put_checks(set(shared) - changed, is_beside=True)
    # A run's window is worked out anew with its energy.
    RunWindow.objects.filter(run__in=run_ids).delete()
    meters = Meter.objects.filter(host__systems__runs__in=run_ids)
    hosts = sorted(set(meters.values_list("host", flat=True)))
    put_energies((host, None, None) for host in hosts)


def jobs_of(runs: Iterable[Run]) -> list[Job]:
    """Return jobs that process these uploads once more, to be stored."""
    return [
        Job(
            kind=Kind.UPLOAD,
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
