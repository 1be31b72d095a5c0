"""Store runs with their texts, samples and jobs in one prepared statement.

Numbers travel as texts of arrays, which psycopg need not convert one by one. COPY is
not possible with row-level security.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.utils import timezone

from benchmarks import sight
from benchmarks.database import is_distributed, rows_of
from benchmarks.models import Job, Run, RunOutput, Sample
from benchmarks.monitoring.tracing import current_id
from benchmarks.wake import is_bulk

RUN, TEXT, WORK, SAMPLE = (
    model._meta.db_table for model in (Run, RunOutput, Job, Sample)
)
# Given a run: the column and its type.
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
    "text": "text",
    "is_read": "boolean",
    "cases": "text",
    "repetitions": "text",
    "values": "text",
}
# What is kept of it, whether it need be read, and its samples, by columns.
NOT_OF_ITS_ROW: Final = ("text", "is_read", "cases", "repetitions", "values")
COLUMNS = ", ".join(f'"{name}"' for name in GIVEN if name not in NOT_OF_ITS_ROW)
NAMES = ", ".join(f'"{name}"' for name in GIVEN)
# Binary: psycopg would escape every quote of JSON in a text array.
ARRAYS = ", ".join(f"%({name})b::text[]::{kind}[]" for name, kind in GIVEN.items())
VALUES = ", ".join(f"%({name})s::{kind}" for name, kind in GIVEN.items())
SAMPLE_COLUMNS = "lab_id, run_id, sequence, case_id, repetition, value"
# What a lab measured with one tool: one worker at a time processes it.
SHARE: Final = "hashtextextended(concat_ws(' ', 'share', {lab}::text, {tool}), 0)"
STORE = f"""
    WITH given AS (
        SELECT * FROM {{given}}
    ), run AS (
        INSERT INTO {RUN} ({COLUMNS}, lab_id, agent_id, part, received_at, status,
                           reason, warnings)
        SELECT {COLUMNS}, %(lab)s::bigint, %(agent)s::bigint, 1, %(now)s::timestamptz,
               'received', '', '[]'
        FROM given ORDER BY place
        RETURNING id, key
    ), work AS (
        INSERT INTO {WORK} (kind, subject_id, partition, lab_id, study_id, is_read,
                            is_bulk, samples, created_at, due_at, request_id)
        SELECT 'upload', run.id, {SHARE.format(lab="%(lab)s", tool="given.tool")},
               %(lab)s::bigint, given.study_id, given.is_read, %(is_bulk)s::boolean,
               given.sample_count, %(now)s::timestamptz, %(now)s::timestamptz,
               %(request)s
        FROM run JOIN given USING (key)
    ){{more}}
    SELECT key, id FROM run
"""
TEXT_AND_SAMPLES = f""", text AS (
        INSERT INTO {TEXT} (run_id, lab_id, text)
        SELECT run.id, %(lab)s::bigint, given.text FROM run JOIN given USING (key)
    ), sample AS (
        INSERT INTO {SAMPLE} ({SAMPLE_COLUMNS})
        SELECT %(lab)s::bigint, run.id, row.sequence, row.case_id, row.repetition,
               row.value
        FROM run JOIN given USING (key), unnest(
            given.cases::bigint[], given.repetitions::integer[],
            given.values::float8[]
        ) WITH ORDINALITY AS row (case_id, repetition, value, sequence)
    )"""
MANY = f"unnest({ARRAYS}) WITH ORDINALITY AS given ({NAMES}, place)"
STORE_MANY = STORE.format(given=MANY, more=TEXT_AND_SAMPLES)
STORE_ONE = STORE.format(
    given=f"(VALUES ({VALUES}, 1)) AS given ({NAMES}, place)", more=TEXT_AND_SAMPLES
)
# On Citus, texts and samples are on other machines than runs and jobs.
STORE_RUNS = STORE.format(given=MANY, more="")
STORE_TEXTS = f"""
    INSERT INTO {TEXT} (lab_id, run_id, text)
    SELECT * FROM unnest(%(labs)s::bigint[], %(runs)s::bigint[], %(texts)b::text[])
"""
STORE_SAMPLES = f"""
    INSERT INTO {SAMPLE} ({SAMPLE_COLUMNS})
    SELECT * FROM unnest(
        %(labs)s::bigint[], %(runs)s::bigint[], %(sequences)s::integer[],
        %(cases)s::bigint[], %(repetitions)s::integer[], %(values)s::float8[])
"""


class StoredSamples(NamedTuple):
    """Samples by columns; values are in the units of their cases' metrics."""

    cases: Sequence[int] = ()
    repetitions: Sequence[int] = ()
    values: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored; ``samples`` is None if a worker reads its text.

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
    samples: StoredSamples | None = None
    derived_count: int = 0

    def given(self) -> dict[str, str | None]:
        """Return what `GIVEN` names, as texts: whatever it is, the statement is one."""
        started_at = self.fields.get("started_at")
        samples = self.samples or StoredSamples()
        values = {
            **self.fields,
            "study_id": self.study_id,
            "system_id": self.system_id,
            "session_id": self.session_id,
            "corun_id": self.corun_id,
            "key": self.key,
            "digest": self.digest,
            "started_at": started_at.isoformat() if started_at else None,
            "facts": orjson.dumps(self.fields["facts"]).decode(),
            "sample_count": len(samples.values),
            "derived_count": self.derived_count,
            "text": self.text,
            "is_read": self.samples is not None,
            **{name: array(column) for name, column in samples._asdict().items()},
        }
        return {
            name: None if (value := values.get(name)) is None else str(value)
            for name in GIVEN
        }


# PostgreSQL takes no COPY from whom policies bind.
@sight.everything()
def store_uploads(
    *, lab_id: int, agent_id: int, runs: Sequence[NewRun]
) -> dict[UUID, int]:
    """Store these runs and return their ids by key.

    Raises IntegrityError, and stores nothing, if the key of a run exists already.
    """
    fixed: dict[str, Any] = {
        "lab": str(lab_id),
        "agent": str(agent_id),
        "now": timezone.now().isoformat(),
        "request": current_id(),
        "is_bulk": is_bulk(len(runs)),
    }
    if is_distributed():
        return _store_apart(lab_id, runs, fixed)
    if len(runs) == 1:
        return dict(rows_of(STORE_ONE, runs[0].given() | fixed))
    return dict(rows_of(STORE_MANY, _arrays(runs) | fixed))


@transaction.atomic
def _store_apart(
    lab_id: int, runs: Sequence[NewRun], fixed: Mapping[str, Any]
) -> dict[UUID, int]:
    """Store the same in three statements, as a Citus cluster takes it."""
    given = _arrays(runs)
    ids: dict[UUID, int] = dict(rows_of(STORE_RUNS, {**given, **fixed}))
    texts = {
        "labs": array([lab_id] * len(runs)),
        "runs": array([ids[run.key] for run in runs]),
        "texts": given["text"],
    }
    rows_of(STORE_TEXTS, texts)
    insert_samples(
        (lab_id, ids[run.key], sequence, *sample)
        for run in runs
        for sequence, sample in enumerate(
            zip(*run.samples or StoredSamples(), strict=True), start=1
        )
    )
    return ids


def _arrays(runs: Sequence[NewRun]) -> dict[str, Any]:
    given = [run.given() for run in runs]
    return {name: [each[name] for each in given] for name in GIVEN}


def insert_samples(rows: Iterable[tuple[int, int, int, int, int, float]]) -> None:
    """Write samples: lab, run, sequence, case, repetition and value of each."""
    names = ("labs", "runs", "sequences", "cases", "repetitions", "values")
    if columns := list(zip(*rows, strict=True)):
        given = zip(names, map(array, columns), strict=True)
        rows_of(STORE_SAMPLES, dict(given))


def array(numbers: Sequence[float]) -> str:
    """Return numbers as the text of an array: exact, and quickly made."""
    return "{" + orjson.dumps(numbers).decode()[1:-1] + "}"


def moment(text: str | None) -> datetime | None:
    """Return what an upload states as a moment."""
    return datetime.fromisoformat(text) if text else None
