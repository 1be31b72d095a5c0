"""Turn stored uploads into samples, cells and efficiencies.

The outbox says what is left to do. Its rows are taken with SKIP LOCKED, so any
number of workers and sweepers share the work, and a row disappears in the very
transaction that stores its results: killed at any point, the work is done again.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import Final, cast
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import BigIntegerField, Max, Min, QuerySet, Sum
from django.db.models.expressions import RawSQL
from django.utils import timezone

from benchmarks.database import any_of, was_away
from benchmarks.models import (
    Cell,
    DueCheck,
    DueEnergy,
    Meter,
    OutboxItem,
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

# At once: runs, and texts to be read among them. One whose samples are stored takes
# no room, and the more are processed together, the less often each cell is made.
BATCH, TEXTS = 1000, 200
# So many samples of a lab that wait are a study, sent piece by piece: with each piece
# its cells would be made anew. More of it is awaited while pieces come, for a while;
# what comes run by run comes within moments.
FLOOD_SAMPLES = 20_000
NEXT_RUN, NEXT_PIECE = timedelta(seconds=0.5), timedelta(seconds=2.5)
FLOOD_AT_MOST = timedelta(seconds=10)
# Uploads that never end must not keep the sweeper from all else that it does.
BATCHES_A_CALL = 200
QUARANTINE_AFTER = 5
RETRY_DELAY = timedelta(seconds=2)
# What one worker has in hand no other takes: for so long by the clock, which covers the
# moment until its rows are locked, then by the lock.
IN_HAND = timedelta(seconds=2)
# What a lab measured with one tool, as a number to lock.
_SHARE = "hashtextextended(concat_ws(' ', 'share', run.lab_id, run.tool), 0)"
SHARE = RawSQL(
    f"(SELECT {_SHARE} FROM {Run._meta.db_table} AS run"
    f" WHERE run.id = {OutboxItem._meta.db_table}.run_id)",
    [],
    BigIntegerField(),
)
FREE_SHARES = f"""
    WITH due AS MATERIALIZED (
        SELECT DISTINCT {_SHARE} AS share
        FROM {OutboxItem._meta.db_table} AS item
        JOIN {Run._meta.db_table} AS run ON run.id = item.run_id
        WHERE item.quarantined_at IS NULL
          AND item.due_at <= %s AND item.created_at <= %s
          AND (%s OR NOT item.is_bulk)
    )
    SELECT share FROM due WHERE pg_try_advisory_lock(share)
"""
LET_GO = "SELECT pg_advisory_unlock(share) FROM unnest(%s::bigint[]) AS held(share)"
STOPPED_ITS_WORKER: Final = template("It stopped its worker every time.")


def drain(limit: int = BATCH, older_than_s: float = 0, is_bulk: bool = True) -> int:
    """Process what waits in the outbox by now; return how many runs were finished.

    What came alone before what came in bulk, or without it, at most a batch later.

    What comes meanwhile has a hint of its own: taken at once, it would be few.
    """
    finished, until = 0, timezone.now() - timedelta(seconds=older_than_s)
    for _ in range(BATCHES_A_CALL):
        with _free_shares(until, is_bulk) as shares:
            batch = _next_batch(limit, until, shares, is_bulk) if shares else []
            if not batch:
                break
            finished += _process(batch)
    return finished


def is_left(until: datetime, is_bulk: bool) -> bool:
    """Return whether something that came until then is due and in nobody's hands."""
    due = OutboxItem.objects.filter(batch=None, quarantined_at=None, is_bulk=is_bulk)
    return due.filter(created_at__lte=until, due_at__lte=timezone.now()).exists()


@contextmanager
def _free_shares(until: datetime, is_bulk: bool) -> Iterator[list[int]]:
    """Yield the shares of the work that are due and in nobody else's hands; hold them.

    A share is what a lab measured with one tool: cells of different shares have nothing
    to do with one another. Several workers at one share would wait for each other, and
    make its cells once each. Held by the session: whoever dies lets go of them.
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
) -> list[int]:
    """Take the next runs of these shares that are due in hand, and return them.

    What is found in hand already was never brought to an end: its worker died. Then
    one of those runs may be what it died of, and half of them are tried; a run that was
    alone is blamed. Whoever was in hand while PostgreSQL stopped is blamed for nothing.
    """
    now = timezone.now()
    started_at = _server_started_at()
    due = (
        OutboxItem.objects.alias(share=SHARE)
        .filter(
            share__in=shares,
            due_at__lte=now,
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
    alone = [item for item in items if not item.is_bulk]
    items = alone or items
    texts = [place for place, item in enumerate(items) if not item.is_read]
    if len(texts) > TEXTS:
        items = items[: texts[TEXTS]]
    dropped = [item for item in items if item.server_started_at == started_at]
    if not dropped:
        return _take([item.pk for item in items], started_at)
    suspects = [item for item in dropped if item.batch == dropped[0].batch]
    [first, *others] = suspects
    if not others and first.batch_size == 1:
        first.failures += 1
        OutboxItem.objects.filter(pk=first.pk).update(failures=first.failures)
        if first.failures >= QUARANTINE_AFTER:
            _quarantine(first.pk, first.error or Sentence(STOPPED_ITS_WORKER))
            # The next call takes what else is due.
            return _take([item.pk for item in items if item not in dropped], started_at)
    return _take([item.pk for item in suspects[: (len(suspects) + 1) // 2]], started_at)


def flooded_labs(is_bulk: bool) -> list[int]:
    """Return the labs of which more of a large study is still to come."""
    now = timezone.now()
    waiting = OutboxItem.objects.filter(
        is_read=True, is_bulk=is_bulk, batch=None, quarantined_at=None
    )
    floods = waiting.values("lab").annotate(
        samples=Sum("run__sample_count"),
        first=Min("created_at"),
        last=Max("created_at"),
    )
    coming = floods.filter(
        samples__gte=FLOOD_SAMPLES,
        first__gt=now - FLOOD_AT_MOST,
        last__gt=now - (NEXT_PIECE if is_bulk else NEXT_RUN),
    )
    return list(coming.order_by().values_list("lab", flat=True))


def is_still_coming(within_s: float) -> bool:
    """Return whether something was uploaded that lately, which nobody has in hand."""
    lately = timezone.now() - timedelta(seconds=within_s)
    return OutboxItem.objects.filter(batch=None, created_at__gt=lately).exists()


def _server_started_at() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()")
        [started_at] = cursor.fetchone()
    return cast(datetime, started_at)


@transaction.atomic
def _take(run_ids: list[int], server_started_at: datetime) -> list[int]:
    """Note that these runs are in hand together, and return them.

    Committed before the work begins: it is all that a killed worker leaves behind.
    """
    OutboxItem.objects.filter(pk__in=run_ids).update(
        batch=uuid4(),
        batch_size=len(run_ids),
        server_started_at=server_started_at,
        due_at=timezone.now() + IN_HAND,
    )
    return run_ids


def _let_go(run_ids: Sequence[int]) -> None:
    """Give runs back that were not finished and are to blame for nothing."""
    OutboxItem.objects.filter(pk__in=run_ids).update(
        batch=None, batch_size=0, server_started_at=None, due_at=timezone.now()
    )


def _process(run_ids: list[int]) -> int:
    """Process runs that are in hand; return how many were finished."""
    try:
        with transaction.atomic():
            # Waits: whoever looks for work holds for a moment what it finds was just
            # taken. Skipped, that would lie as if its worker had died. What another
            # worker finished meanwhile is gone. In one order, so that nobody deadlocks.
            items = list(
                OutboxItem.objects.filter(pk__in=run_ids)
                .select_for_update()
                .order_by("pk")
                .values_list("pk", "request_id", "is_read")
            )
            mine = {pk: request_id for pk, request_id, _ in items}
            runs = list(Run.objects.filter(pk__in=mine).order_by("pk"))
            process_runs(runs, are_read={pk for pk, _, is_read in items if is_read})
            OutboxItem.objects.filter(pk__in=mine).delete()
        _note_done(mine)
        return len(mine)
    except Exception as error:
        if not was_away(error):
            return _halved(run_ids, error)
        # The database went away or chose a deadlock's victim: try again later. What
        # cannot be given back was in hand of a PostgreSQL that is no more.
        connection.close_if_unusable_or_obsolete()
        with suppress(DatabaseError):
            _let_go(run_ids)
        raise


def _halved(run_ids: list[int], error: Exception) -> int:
    """Blame a run that failed alone; process the others without it, half by half.

    It is found among a hundred in seven steps.
    """
    listed = ", ".join(map(str, run_ids))
    logger.error("Not processed: run %s", listed, exc_info=error)
    if len(run_ids) == 1:
        _note_failure(run_ids[0], error)
        return 0
    middle = len(run_ids) // 2
    halves = (run_ids[:middle], run_ids[middle:])
    started_at = _server_started_at()
    return sum(_process(_take(half, started_at)) for half in halves)


def _note_done(requests: Mapping[int, str]) -> None:
    """Count runs that are processed, and log them with the requests that brought them.

    In the name of that request, where there was only one.
    """
    if not requests:
        return
    PROCESSED.inc(len(requests))
    senders = sorted(set(requests.values()))
    with traced(senders[0]) if len(senders) == 1 else nullcontext():
        logger.info(
            "Processed %s runs, %s to %s",
            *(len(requests), min(requests), max(requests)),
            extra={"runs": list(requests), "requests": senders},
        )


def _note_failure(run_id: int, error: Exception) -> None:
    """Count a failure against a run that was alone in hand."""
    text = f"{type(error).__name__}: {error}"
    with transaction.atomic():
        item = OutboxItem.objects.select_for_update().filter(pk=run_id).first()
        if item is None:
            return
        _let_go([run_id])
        failures = item.failures + 1
        OutboxItem.objects.filter(pk=run_id).update(
            error=text,
            failures=failures,
            due_at=timezone.now() + RETRY_DELAY * failures,
        )
        with traced(item.request_id):
            logger.warning("Run %s failed alone, %s times: %s", run_id, failures, text)
        if failures >= QUARANTINE_AFTER:
            _quarantine(run_id, text)


@transaction.atomic
def process_runs(
    uploads: Sequence[Run], are_read: Collection[int] = frozenset()
) -> None:
    """Read these uploads and bring runs, cells and efficiencies up to date.

    Given are the first runs of each; one of raw output may hold several. Of those that
    ``are_read`` the samples were stored at intake.
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
    # Before a sample or a cell is written, and for old and new cells together: a run
    # that is read again may leave one cell for another.
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
    DueCheck.objects.bulk_create(
        DueCheck(study_id=pk, is_beside=pk not in changed)
        for pk in sorted(changed.union(shared))
    )
    # A run's window is worked out anew with its energy.
    RunWindow.objects.filter(run__in=run_ids).delete()
    meters = Meter.objects.filter(host__systems__runs__in=run_ids)
    hosts = sorted(set(meters.values_list("host", flat=True)))
    DueEnergy.objects.bulk_create(DueEnergy(host_id=host) for host in hosts)


def _quarantine(run_id: int, error: str) -> None:
    """Set a run aside for a person to look at; it keeps its upload."""
    OutboxItem.objects.filter(pk=run_id).update(
        quarantined_at=timezone.now(), quarantined_by=settings.VERSION, error=error
    )
    Run.objects.filter(pk=run_id).update(status=Run.Status.QUARANTINED, reason=error)
    transaction.on_commit(QUARANTINED.inc, robust=True)


@transaction.atomic
def retry(items: QuerySet[OutboxItem]) -> int:
    """Let quarantined runs be tried again as if they were new; return how many."""
    quarantined = items.exclude(quarantined_at=None).select_for_update(of=("self",))
    run_ids = list(quarantined.values_list("pk", flat=True))
    _let_go(run_ids)
    OutboxItem.objects.filter(pk__in=run_ids).update(
        failures=0, error="", quarantined_at=None, quarantined_by=""
    )
    Run.objects.filter(pk__in=run_ids).update(status=Run.Status.RECEIVED, reason="")
    return len(run_ids)


def retry_after_upgrade() -> int:
    """Let runs that another version of this program set aside be tried again."""
    return retry(OutboxItem.objects.exclude(quarantined_by=settings.VERSION))
