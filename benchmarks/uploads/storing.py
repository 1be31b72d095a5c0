"""Store runs with their texts, their samples and the work that they make, all at once.

One statement for runs, texts and outbox rows, however many; samples go with it where
they are few, and by COPY where they are many. Statements are prepared: planning them
takes longer than running them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg
from django.db import connection
from django.utils import timezone

from benchmarks.models import OutboxItem, Run, RunOutput, Sample
from benchmarks.monitoring.tracing import current_id

FEW_SAMPLES: Final = 1_000

RUN, TEXT, WORK, SAMPLE = (
    model._meta.db_table for model in (Run, RunOutput, OutboxItem, Sample)
)
# Given a run: the column, its type, and whether it is a part of the run's row.
GIVEN: Final[Mapping[str, str]] = {
    "study_id": "bigint",
    "system_id": "bigint",
    "session_id": "bigint",
    "corun_id": "bigint",
    "key": "uuid",
    "digest": "text",
    "tool": "text",
    "tool_version": "text",
    "scenario": "text",
    "vms": "smallint",
    "slot": "text",
    "load": "text",
    "clock": "text",
    "started_at": "timestamptz",
    "document": "text",
    "table": "text",
    "note": "text",
    "facts": "jsonb",
    "sample_count": "integer",
    "derived_count": "integer",
}
COLUMNS = ", ".join(f'"{name}"' for name in GIVEN)
# JSON is full of quotes, and psycopg escapes each of them in an array that is sent as
# text: that took longer than all else that is done with an upload. Binary has none.
ARRAYS = ", ".join(
    f"%({name})b::text[]::jsonb[]" if kind == "jsonb" else f"%({name})s::{kind}[]"
    for name, kind in GIVEN.items()
)
STORE = f"""
    WITH given AS (
        SELECT * FROM unnest({ARRAYS}, %(text)b::text[], %(is_read)s::boolean[])
        WITH ORDINALITY AS given ({COLUMNS}, text, is_read, place)
    ), run AS (
        INSERT INTO {RUN} ({COLUMNS}, lab_id, agent_id, part, received_at, status,
                           reason, warnings)
        SELECT {COLUMNS}, %(lab)s, %(agent)s, 1, %(now)s, 'received', '', '[]'
        FROM given ORDER BY place
        RETURNING id, key
    ), text AS (
        INSERT INTO {TEXT} (run_id, lab_id, text)
        SELECT run.id, %(lab)s, given.text FROM run JOIN given USING (key)
    ), work AS (
        INSERT INTO {WORK} (run_id, lab_id, is_read, created_at, due_at, batch_size,
                            failures, error, quarantined_by, request_id)
        SELECT run.id, %(lab)s, given.is_read, %(now)s, %(now)s, 0, 0, '', '',
               %(request)s
        FROM run JOIN given USING (key)
    ), sample AS (
        INSERT INTO {SAMPLE} (lab_id, run_id, sequence, case_id, repetition, value)
        SELECT %(lab)s, run.id, row.sequence, row.case_id, row.repetition, row.value
        FROM run JOIN unnest(
            %(of)s::uuid[], %(case)s::bigint[], %(repetition)s::integer[],
            %(value)s::float8[], %(sequence)s::integer[]
        ) AS row (key, case_id, repetition, value, sequence) USING (key)
    )
    SELECT key, id FROM run
"""
# PostgreSQL copies into no table with row-level security. So samples are copied into
# one of the session's own, without an index, and moved from there by one statement.
SAMPLE_COLUMNS = "lab_id, run_id, sequence, case_id, repetition, value"
ARRIVING = f"""
    CREATE TEMPORARY TABLE IF NOT EXISTS arriving_sample (LIKE {SAMPLE})
    ON COMMIT DELETE ROWS
"""
COPY = f"COPY pg_temp.arriving_sample ({SAMPLE_COLUMNS}) FROM STDIN"
MOVE = f"""
    INSERT INTO {SAMPLE} ({SAMPLE_COLUMNS})
    SELECT {SAMPLE_COLUMNS} FROM pg_temp.arriving_sample
"""

StoredSample = tuple[int, int, float]
"""Case, repetition and value, in the unit of the case's metric."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored; ``samples`` is None where a worker is to read its text.

    ``fields`` are those of `GIVEN` that the upload states.
    """

    key: UUID
    digest: str
    text: str
    study_id: int
    system_id: int
    session_id: int | None
    corun_id: int | None
    fields: Mapping[str, Any]
    samples: Sequence[StoredSample] | None = None
    derived_count: int = 0


def store_uploads(
    *, lab_id: int, agent_id: int, runs: Sequence[NewRun]
) -> dict[UUID, int]:
    """Store these runs and return their ids by key.

    A run of the same key that is there already is an IntegrityError, and nothing is
    stored. Many samples take a transaction around it.
    """
    counts = [len(run.samples or ()) for run in runs]
    are_few = sum(counts) <= FEW_SAMPLES
    rows = [
        (run.key, sequence, *sample)
        for run in runs
        for sequence, sample in enumerate(run.samples or (), start=1)
        if are_few
    ]
    given: dict[str, list[Any]] = {
        name: [run.fields.get(name) for run in runs] for name in GIVEN
    }
    for name in ("study_id", "system_id", "session_id", "corun_id", "key", "digest"):
        given[name] = [getattr(run, name) for run in runs]
    given |= {
        "facts": [orjson.dumps(run.fields["facts"]).decode() for run in runs],
        "sample_count": counts,
        "derived_count": [run.derived_count for run in runs],
        "text": [run.text for run in runs],
        "is_read": [run.samples is not None for run in runs],
    }
    stored = rows_of(
        STORE,
        {
            **given,
            "lab": lab_id,
            "agent": agent_id,
            "now": timezone.now(),
            "request": current_id(),
            "of": [row[0] for row in rows],
            "sequence": [row[1] for row in rows],
            "case": [row[2] for row in rows],
            "repetition": [row[3] for row in rows],
            "value": [row[4] for row in rows],
        },
    )
    ids: dict[UUID, int] = dict(stored)
    if not are_few:
        copy_samples(
            (lab_id, ids[run.key], sequence, *sample)
            for run in runs
            for sequence, sample in enumerate(run.samples or (), start=1)
        )
    return ids


def copy_samples(rows: Iterable[tuple[int, int, int, int, int, float]]) -> None:
    """Write many samples: lab, run, sequence, case, repetition and value of each.

    In a transaction, at whose end the table that they come by is empty again.
    """
    with (
        # Django does not: what the database says would be no error of Django's, and
        # PostgreSQL away the fault of these runs.
        connection.wrap_database_errors,
        connection.cursor() as cursor,
    ):
        cursor.execute(ARRIVING)
        cursor.execute("TRUNCATE pg_temp.arriving_sample")
        with cursor.copy(COPY) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(MOVE)


def rows_of(
    statement: str, parameters: Mapping[str, Any], *, sets_sight: bool = False
) -> list[tuple[Any, ...]]:
    """Return what a prepared statement answers; one may set the session's sight.

    Django binds parameters itself, so that PostgreSQL plans every statement anew.
    """
    connection.ensure_connection()
    session: Any = connection  # of config/postgresql
    if sets_sight:
        session.shown = None
    else:
        session.show()
    with (
        connection.wrap_database_errors,
        psycopg.Cursor(session.connection) as cursor,
    ):
        return cursor.execute(statement, parameters, prepare=True).fetchall()


def moment(text: str | None) -> datetime | None:
    """Return what an upload states as a moment."""
    return datetime.fromisoformat(text) if text else None
