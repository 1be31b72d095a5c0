"""Storage of runs with their texts, samples and jobs in one prepared statement.

Numbers are passed as array literals: psycopg would convert them one by one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.utils import timezone

from benchmarks import rls
from benchmarks.database import fetch_prepared, is_distributed
from benchmarks.models import Job, Run, RunOutput, Sample
from benchmarks.monitoring.request_ids import current_id
from benchmarks.sentences import serialize
from benchmarks.worker_wakeup import is_bulk

RUN_TABLE, TEXT_TABLE, JOB_TABLE, SAMPLE_TABLE = (
    model._meta.db_table for model in (Run, RunOutput, Job, Sample)
)
# Parameters of the statements and their PostgreSQL types.
RUN_INPUTS: Final[Mapping[str, str]] = {
    "study_id": "bigint",
    "system_id": "bigint",
    "declared_session_id": "bigint",
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
    "stated_failure": "text",
    "failure": "text",
    "failure_dismissed": "boolean",
    "errors": "bigint",
    "operations": "bigint",
    "sample_count": "integer",
    "derived_count": "integer",
    "text": "text",
    "is_preparsed": "boolean",
    "cases": "text",
    "repetitions": "text",
    "values": "text",
}
# Parameters that are stored in other tables than that of the runs.
OTHER_TABLE_INPUTS: Final = ("text", "is_preparsed", "cases", "repetitions", "values")
COLUMNS = ", ".join(
    f'"{name}"' for name in RUN_INPUTS if name not in OTHER_TABLE_INPUTS
)
NAMES = ", ".join(f'"{name}"' for name in RUN_INPUTS)
# Binary (%b): in text format, psycopg would escape every quote of JSON.
ARRAYS = ", ".join(f"%({name})b::text[]::{kind}[]" for name, kind in RUN_INPUTS.items())
VALUES = ", ".join(f"%({name})s::{kind}" for name, kind in RUN_INPUTS.items())
SAMPLE_COLUMNS = "lab_id, run_id, sequence, case_id, repetition, value"
SUMMARY_COLUMNS = "summarized_runs, standard_deviation"
PARTITION_SQL: Final = (
    "hashtextextended(concat_ws(' ', 'share', {lab}::text, {tool}), 0)"
)
STORE = f"""
    WITH given AS (
        SELECT * FROM {{given}}
    ), run AS (
        INSERT INTO {RUN_TABLE} ({COLUMNS}, lab_id, agent_id, upload_position,
                           received_at, status,
                           reason, warnings)
        SELECT {COLUMNS}, %(lab)s::bigint, %(agent)s::bigint, 1, %(now)s::timestamptz,
               'received', '', '[]'
        FROM given ORDER BY position
        RETURNING id, key
    ), work AS (
        INSERT INTO {JOB_TABLE} (kind, subject_id, partition, lab_id, study_id,
                            is_preparsed, is_bulk, sample_count, created_at, due_at,
                            request_id)
        SELECT 'upload', run.id,
               {PARTITION_SQL.format(lab="%(lab)s", tool="given.tool")},
               %(lab)s::bigint, given.study_id, given.is_preparsed,
               %(is_bulk)s::boolean, given.sample_count, %(now)s::timestamptz,
               %(now)s::timestamptz, %(request)s
        FROM run JOIN given USING (key)
    ){{more}}
    SELECT key, id FROM run
"""
TEXT_AND_SAMPLES = f""", text AS (
        INSERT INTO {TEXT_TABLE} (run_id, lab_id, text)
        SELECT run.id, %(lab)s::bigint, given.text FROM run JOIN given USING (key)
    ), sample AS (
        INSERT INTO {SAMPLE_TABLE} ({SAMPLE_COLUMNS})
        SELECT %(lab)s::bigint, run.id, row.sequence, row.case_id, row.repetition,
               row.value
        FROM run JOIN given USING (key), unnest(
            given.cases::bigint[], given.repetitions::integer[],
            given.values::float8[]
        ) WITH ORDINALITY AS row (case_id, repetition, value, sequence)
    )"""
UNNEST_INPUTS_SQL = f"unnest({ARRAYS}) WITH ORDINALITY AS given ({NAMES}, position)"
STORE_MANY = STORE.format(given=UNNEST_INPUTS_SQL, more=TEXT_AND_SAMPLES)
STORE_ONE = STORE.format(
    given=f"(VALUES ({VALUES}, 1)) AS given ({NAMES}, position)", more=TEXT_AND_SAMPLES
)
# On Citus, texts and samples are on other nodes than runs and jobs.
STORE_RUNS = STORE.format(given=UNNEST_INPUTS_SQL, more="")
STORE_TEXTS = f"""
    INSERT INTO {TEXT_TABLE} (lab_id, run_id, text)
    SELECT * FROM unnest(%(labs)s::bigint[], %(runs)s::bigint[], %(texts)b::text[])
"""
STORE_SAMPLES = f"""
    INSERT INTO {SAMPLE_TABLE} ({SAMPLE_COLUMNS}, {SUMMARY_COLUMNS})
    SELECT * FROM unnest(
        %(labs)s::bigint[], %(runs)s::bigint[], %(sequences)s::integer[],
        %(cases)s::bigint[], %(repetitions)s::integer[], %(values)s::float8[],
        %(summarized_runs)s::integer[], %(standard_deviations)s::float8[])
"""


class StoredSampleColumns(NamedTuple):
    """Samples of a run by column: case ids, repetitions, values in the case's unit."""

    cases: Sequence[int] = ()
    repetitions: Sequence[int] = ()
    values: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored; ``samples`` is None if a worker must read its text."""

    key: UUID
    digest: str
    text: str
    study_id: int
    system_id: int
    declared_session_id: int | None
    corun_id: int | None
    fields: Mapping[str, Any]
    samples: StoredSampleColumns | None = None
    derived_count: int = 0

    def inputs(self) -> dict[str, str | None]:
        started_at = self.fields.get("started_at")
        samples = self.samples or StoredSampleColumns()
        values = {
            **self.fields,
            "study_id": self.study_id,
            "system_id": self.system_id,
            "declared_session_id": self.declared_session_id,
            "corun_id": self.corun_id,
            "key": self.key,
            "digest": self.digest,
            "started_at": started_at.isoformat() if started_at else None,
            "facts": orjson.dumps(self.fields["facts"]).decode(),
            "failure": serialize(self.fields["failure"]),
            "failure_dismissed": False,
            "sample_count": len(samples.values),
            "derived_count": self.derived_count,
            "text": self.text,
            "is_preparsed": self.samples is not None,
            **{
                name: array_literal(column)
                for name, column in samples._asdict().items()
            },
        }
        return {
            name: None if (value := values.get(name)) is None else str(value)
            for name in RUN_INPUTS
        }


@rls.allow_all()
def store_uploads(
    *, lab_id: int, agent_id: int, runs: Sequence[NewRun]
) -> dict[UUID, int]:
    """Return ids by key.

    Raise IntegrityError, and store nothing, if the key of a run exists already.
    """
    fixed: dict[str, Any] = {
        "lab": str(lab_id),
        "agent": str(agent_id),
        "now": timezone.now().isoformat(),
        "request": current_id(),
        "is_bulk": is_bulk(len(runs)),
    }
    if is_distributed():
        return _store_on_citus(lab_id, runs, fixed)
    if len(runs) == 1:
        return dict(fetch_prepared(STORE_ONE, runs[0].inputs() | fixed))
    return dict(fetch_prepared(STORE_MANY, _arrays(runs) | fixed))


@transaction.atomic
def _store_on_citus(
    lab_id: int, runs: Sequence[NewRun], fixed: Mapping[str, Any]
) -> dict[UUID, int]:
    arrays = _arrays(runs)
    ids: dict[UUID, int] = dict(fetch_prepared(STORE_RUNS, {**arrays, **fixed}))
    texts = {
        "labs": array_literal([lab_id] * len(runs)),
        "runs": array_literal([ids[run.key] for run in runs]),
        "texts": arrays["text"],
    }
    fetch_prepared(STORE_TEXTS, texts)
    insert_samples(
        (lab_id, ids[run.key], sequence, *sample, None, None)
        for run in runs
        for sequence, sample in enumerate(
            zip(*run.samples or StoredSampleColumns(), strict=True), start=1
        )
    )
    return ids


def _arrays(runs: Sequence[NewRun]) -> dict[str, Any]:
    rows = [run.inputs() for run in runs]
    return {name: [row[name] for row in rows] for name in RUN_INPUTS}


SampleRow = tuple[int, int, int, int, int, float, int | None, float | None]


def insert_samples(rows: Iterable[SampleRow]) -> None:
    """Insert rows of lab, run, sequence, case, repetition, value, and the number and
    deviation of summarized runs.
    """
    names = (
        *("labs", "runs", "sequences", "cases", "repetitions", "values"),
        *("summarized_runs", "standard_deviations"),
    )
    if columns := list(zip(*rows, strict=True)):
        arrays = zip(names, map(array_literal, columns), strict=True)
        fetch_prepared(STORE_SAMPLES, dict(arrays))


def array_literal(numbers: Sequence[float | None]) -> str:
    return "{" + orjson.dumps(numbers).decode()[1:-1] + "}"


def parse_timestamp(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
