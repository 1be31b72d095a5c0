"""Take uploads in: check them, keep them unchanged, and note the work they make.

What returns without an error is committed. All or nothing: one bad document of a
batch refuses the batch, so that nothing is ever half-stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from benchmarks import tasks, tools
from benchmarks.errors import (
    BatchRefusedError,
    BenchmarksError,
    KeyReusedError,
    UnknownStudyError,
    UnknownSystemError,
)
from benchmarks.models import (
    Agent,
    CoRun,
    Host,
    Lab,
    OutboxItem,
    Run,
    RunOutput,
    Session,
    Study,
    System,
)
from benchmarks.parsing.reading import writes_comma
from benchmarks.studies.saving import describe_system, hosts_by_slug, store_systems
from benchmarks.uploads.results import read_samples

COPIED = ("tool_version", "load", "clock", "document", "table", "note")


@dataclass(frozen=True)
class Draft:
    """A run that could be stored: everything it names exists or can be made."""

    study: Study
    system: System
    session: str
    corun: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Resolver:
    """A lab's studies, machines and systems that a batch of documents names."""

    lab: Lab
    studies: dict[str, Study]
    hosts: dict[str, Host]
    systems: dict[int, System]

    @classmethod
    def of(cls, lab: Lab, documents: Sequence[dict[str, Any]]) -> "Resolver":
        """Look up all names of a batch, in one query a kind."""
        slugs = {document["study"] for document in documents}
        described = [document["system"] for document in documents]
        ids = [system for system in described if isinstance(system, int)]
        hosts = {system["host"] for system in described if isinstance(system, dict)}
        studies = Study.objects.filter(lab=lab, slug__in=slugs)
        return cls(
            lab=lab,
            studies={study.slug: study for study in studies},
            hosts=hosts_by_slug(lab, hosts),
            systems=System.objects.filter(lab=lab).in_bulk(ids),
        )

    def draft(self, document: dict[str, Any]) -> Draft:
        """Return what a document means, or raise the error that says what is wrong."""
        study = self.studies.get(document["study"])
        if study is None:
            raise UnknownStudyError(document["study"])
        tool = _checked_tool(document)
        return Draft(
            study=study,
            system=self._system(document["system"]),
            session=document.get("session", ""),
            corun=document.get("corun", ""),
            fields={"tool": tool, **_run_fields(document)},
        )

    def _system(self, described: int | dict[str, Any]) -> System:
        if isinstance(described, dict):
            return describe_system(self.lab, self.hosts, described)
        if described not in self.systems:
            raise UnknownSystemError(described)
        return self.systems[described]


def _checked_tool(document: dict[str, Any]) -> str:
    """Return the slug of the upload's tool, once what it brings can be understood.

    Raw output is read after it was kept, for it must not get lost: here only the names
    beside it are looked at. Its tool may still be unknown ("").
    """
    if "output" not in document:
        read_samples(document["tool"], document["samples"])
        return tools.get(document["tool"]).slug
    writes_comma(document.get("locale"))
    return tools.get(document["tool"]).slug if "tool" in document else ""


def _run_fields(document: dict[str, Any]) -> dict[str, Any]:
    scenario = document.get("scenario", "single")
    # One VM alone is slot 1 of 1, whether the upload says so or not.
    alone = scenario == "single"
    started_at = document.get("started_at")
    return {
        "scenario": scenario,
        "vms": document.get("vms", 1 if alone else None),
        "slot": document.get("slot", "1" if alone else ""),
        "started_at": started_at and datetime.fromisoformat(started_at),
        "facts": document.get("facts", {}),
        **{name: document.get(name, "") for name in COPIED},
    }


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
