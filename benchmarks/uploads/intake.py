"""Take uploads in: check them, keep them unchanged, and note the work they make.

What returns without an error is committed. All or nothing: one bad document of a
batch refuses the batch, so that nothing is ever half-stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from benchmarks import tasks
from benchmarks.errors import BatchRefusedError, BenchmarksError, KeyReusedError
from benchmarks.models import (
    Agent,
    CoRun,
    Lab,
    OutboxItem,
    Run,
    RunOutput,
    Session,
    Study,
)
from benchmarks.studies.systems import store_systems
from benchmarks.uploads.drafts import Draft, Resolver

SIMULTANEOUS_TRIES = 3

Named = TypeVar("Named", Session, CoRun)


@dataclass(frozen=True)
class Submission:
    """What became of one document."""

    run_id: int
    key: UUID
    status: str
    repeated: bool


@dataclass(frozen=True)
class Upload:
    """One document, its key, and the text that is kept of it."""

    document: dict[str, Any]
    key: UUID
    text: str
    digest: str


def submit_runs(
    *, agent: Agent, documents: Sequence[dict[str, Any]]
) -> list[Submission]:
    """Keep every document as a run and queue its processing.

    The same key with the same content is the run that is already there. Raises
    BatchRefusedError with the problem of each bad document; nothing is stored then.
    """
    uploads = [_upload(document) for document in documents]
    for left in reversed(range(SIMULTANEOUS_TRIES)):
        try:
            with transaction.atomic():
                return _store(agent, uploads)
        except IntegrityError:
            # Somebody stored one of these keys at this very moment: look again.
            if not left:
                raise
    raise AssertionError("unreachable")


def _upload(document: dict[str, Any]) -> Upload:
    text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    return Upload(
        document=document,
        key=UUID(document["key"]),
        text=text.decode(),
        digest=sha256(text).hexdigest(),
    )


def _store(agent: Agent, uploads: Sequence[Upload]) -> list[Submission]:
    known = {
        run.key: run
        for run in Run.objects.filter(
            agent=agent, key__in=[u.key for u in uploads], part=1
        )
    }
    fresh, problems = _fresh_uploads(uploads, known)
    drafts, draft_problems = _drafts(agent.lab, fresh)
    if problems or draft_problems:
        raise BatchRefusedError(problems | draft_problems)
    stored = _store_drafts(agent, fresh, drafts)
    if stored:
        transaction.on_commit(tasks.wake)
    return [
        _submission(known.get(u.key) or stored[u.key], repeated=i not in fresh)
        for i, u in enumerate(uploads)
    ]


def _submission(run: Run, repeated: bool) -> Submission:
    return Submission(run.pk, run.key, run.status, repeated)


def _fresh_uploads(
    uploads: Sequence[Upload], known: dict[UUID, Run]
) -> tuple[dict[int, Upload], dict[int, BenchmarksError]]:
    """Return those not seen before, and those whose key meant something else."""
    digests = {key: run.digest for key, run in known.items()}
    fresh: dict[int, Upload] = {}
    problems: dict[int, BenchmarksError] = {}
    for index, upload in enumerate(uploads):
        if upload.key not in digests:
            digests[upload.key] = upload.digest
            fresh[index] = upload
        elif digests[upload.key] != upload.digest:
            problems[index] = KeyReusedError(str(upload.key))
    return fresh, problems


def _drafts(
    lab: Lab, fresh: dict[int, Upload]
) -> tuple[dict[int, Draft], dict[int, BenchmarksError]]:
    resolver = Resolver.of(lab, [upload.document for upload in fresh.values()])
    drafts: dict[int, Draft] = {}
    problems: dict[int, BenchmarksError] = {}
    for index, upload in fresh.items():
        try:
            drafts[index] = resolver.draft(upload.document)
        except BenchmarksError as error:
            problems[index] = error
    return drafts, problems


def _store_drafts(
    agent: Agent, fresh: dict[int, Upload], drafts: dict[int, Draft]
) -> dict[UUID, Run]:
    lab = agent.lab
    unsaved = [draft.system for draft in drafts.values() if draft.system.pk is None]
    systems = store_systems(lab, unsaved)
    sessions = _named(lab, Session, ((d.study, d.session) for d in drafts.values()))
    coruns = _named(lab, CoRun, ((d.study, d.corun) for d in drafts.values()))
    runs = [
        Run(
            lab=lab,
            agent=agent,
            key=fresh[index].key,
            digest=fresh[index].digest,
            study=draft.study,
            system=systems.get(draft.system.fingerprint, draft.system),
            session=sessions.get((draft.study.pk, draft.session)),
            corun=coruns.get((draft.study.pk, draft.corun)),
            **draft.fields,
        )
        for index, draft in drafts.items()
    ]
    Run.objects.bulk_create(runs)
    _note_work(lab, runs, {upload.key: upload.text for upload in fresh.values()})
    return {run.key: run for run in runs}


def _note_work(lab: Lab, runs: Sequence[Run], texts: dict[UUID, str]) -> None:
    RunOutput.objects.bulk_create(
        RunOutput(run=run, lab=lab, text=texts[run.key]) for run in runs
    )
    OutboxItem.objects.bulk_create(OutboxItem(run=run, lab=lab) for run in runs)


def _named(
    lab: Lab, model: type[Named], names: Iterable[tuple[Study, str]]
) -> dict[tuple[int, str], Named]:
    """Return a study's sessions or co-runs by name, new ones stored."""
    wanted = sorted({(study.pk, name) for study, name in names if name})
    if not wanted:
        return {}
    manager = model._default_manager
    manager.bulk_create(
        [model(lab=lab, study_id=pk, name=name) for pk, name in wanted],
        ignore_conflicts=True,
    )
    found = manager.filter(study_id__in={pk for pk, _ in wanted})
    return {(row.study_id, row.name): row for row in found}
