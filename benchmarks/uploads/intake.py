"""Take uploads in: check them, keep them unchanged, and note the work they make.

What returns without an error is committed. All or nothing: one bad document of a
batch refuses the batch, so that nothing is ever half-stored.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

import orjson
from django.db import transaction

from benchmarks import tasks
from benchmarks.errors import (
    BatchRefusedError,
    BenchmarksError,
    KeyReusedError,
    RetiredToolError,
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
from benchmarks.own_tools.lookup import DeclaredTool, declared_tools, tool_named
from benchmarks.parsing.contract import Tool
from benchmarks.parsing.decoding import writes_comma
from benchmarks.platforms import shows_emulation
from benchmarks.simultaneous import despite_others
from benchmarks.studies.saving import describe_system, hosts_by_slug, store_systems
from benchmarks.uploads.results import read_samples

COPIED = ("tool_version", "load", "clock", "document", "table", "note")

Named = TypeVar("Named", Session, CoRun)


@dataclass(frozen=True)
class Upload:
    """One document, its key, and the text that is kept of it."""

    document: dict[str, Any]
    key: UUID
    text: str
    digest: str


@dataclass(frozen=True)
class Submission:
    """What became of one document."""

    run_id: int
    key: UUID
    status: str
    repeated: bool


@dataclass(frozen=True)
class RunDraft:
    """A run that could be stored: everything it names exists or can be made."""

    upload: Upload
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
    own_tools: tuple[DeclaredTool, ...]

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
            own_tools=tuple(declared_tools(lab.slug).values()),
        )

    def draft(self, upload: Upload) -> RunDraft:
        """Return what a document means, or raise the error that says what is wrong."""
        document = upload.document
        study = self.studies.get(document["study"])
        if study is None:
            raise UnknownStudyError(document["study"])
        # Raw output is read after it was kept, for it must not get lost: here only the
        # names beside it are looked at, and its tool may still be unknown ("").
        tool = self._tool(document["tool"]) if "tool" in document else None
        if "output" in document:
            writes_comma(document.get("locale"))
        elif tool:
            # For its errors alone: what is stored is read from the kept text, later.
            read_samples(tool, document["samples"])
        described = document["system"]
        if isinstance(described, dict):
            system = describe_system(self.lab, self.hosts, described)
        elif described in self.systems:
            system = self.systems[described]
        else:
            raise UnknownSystemError(described)
        scenario = document.get("scenario", "single")
        # One VM alone is slot 1 of 1, whether the upload says so or not.
        alone = scenario == "single"
        started_at = document.get("started_at")
        return RunDraft(
            upload=upload,
            study=study,
            system=system,
            session=document.get("session", ""),
            corun=document.get("corun", ""),
            fields={
                "tool": tool.slug if tool else "",
                "scenario": scenario,
                "vms": document.get("vms", 1 if alone else None),
                "slot": document.get("slot", "1" if alone else ""),
                "started_at": started_at and datetime.fromisoformat(started_at),
                "facts": document.get("facts", {}),
                **{name: document.get(name, "") for name in COPIED},
            },
        )

    def _tool(self, name: str) -> Tool:
        """Return the tool that this lab calls so, if it takes uploads."""
        tool, own = tool_named(self.own_tools, name)
        if own and own.is_retired:
            raise RetiredToolError(name)
        return tool


def submit_runs(
    *, agent: Agent, documents: Sequence[dict[str, Any]]
) -> list[Submission]:
    """Keep every document as a run and queue its processing.

    The same key with the same content is the run that is already there. Raises
    BatchRefusedError with the problem of each bad document; nothing is stored then.
    """
    uploads = []
    for document in documents:
        # Sorted, so that the same content is the same digest.
        text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        digest = sha256(text).hexdigest()
        uploads.append(Upload(document, UUID(document["key"]), text.decode(), digest))
    return despite_others(partial(_submit, agent, uploads))


def _submit(agent: Agent, uploads: Sequence[Upload]) -> list[Submission]:
    keys = [upload.key for upload in uploads]
    # Further results of an output repeat its key: part 1 is the upload itself.
    same = Run.objects.filter(agent=agent, key__in=keys, part=1)
    known = {run.key: run for run in same}
    digests = {key: run.digest for key, run in known.items()}
    fresh: dict[int, Upload] = {}
    problems: dict[int, BenchmarksError] = {}
    for index, upload in enumerate(uploads):
        # Keys of this batch count too: one document may stand in it twice.
        if upload.key not in digests:
            digests[upload.key] = upload.digest
            fresh[index] = upload
        elif digests[upload.key] != upload.digest:
            problems[index] = KeyReusedError(str(upload.key))
    resolver = Resolver.of(agent.lab, [upload.document for upload in fresh.values()])
    drafts: list[RunDraft] = []
    for index, upload in fresh.items():
        try:
            drafts.append(resolver.draft(upload))
        except BenchmarksError as error:
            problems[index] = error
    if problems:
        raise BatchRefusedError(problems)
    known |= _store(agent, drafts)
    if drafts:
        # A hint that overtakes its commit would find an empty outbox.
        transaction.on_commit(tasks.wake)
    return [
        Submission(run.pk, run.key, run.status, repeated=index not in fresh)
        for index, run in enumerate(known[key] for key in keys)
    ]


def _store(agent: Agent, drafts: Sequence[RunDraft]) -> dict[UUID, Run]:
    """Store runs, their texts, and the work that they make."""
    lab = agent.lab
    unsaved = [draft.system for draft in drafts if draft.system.pk is None]
    systems = store_systems(lab, unsaved)
    sessions = _named(lab, Session, ((d.study, d.session) for d in drafts))
    coruns = _named(lab, CoRun, ((d.study, d.corun) for d in drafts))
    runs = Run.objects.bulk_create(
        Run(
            lab=lab,
            agent=agent,
            key=draft.upload.key,
            digest=draft.upload.digest,
            study=draft.study,
            system=systems.get(draft.system.fingerprint, draft.system),
            session=sessions.get((draft.study.pk, draft.session)),
            corun=coruns.get((draft.study.pk, draft.corun)),
            **draft.fields,
        )
        for draft in drafts
    )
    RunOutput.objects.bulk_create(
        RunOutput(run=run, lab=lab, text=draft.upload.text)
        for run, draft in zip(runs, drafts, strict=True)
    )
    OutboxItem.objects.bulk_create(OutboxItem(run=run, lab=lab) for run in runs)
    # Whatever a person calls the system: its agent saw what imitates the processor.
    if emulated := {r.system_id for r in runs if shows_emulation(r.facts)}:
        System.objects.filter(pk__in=emulated).update(is_emulated=True)
    return {run.key: run for run in runs}


def _named(
    lab: Lab, model: type[Named], names: Iterable[tuple[Study, str]]
) -> dict[tuple[int, str], Named]:
    """Return a study's sessions or co-runs by name, new ones stored."""
    # Sorted: two uploads of the same new names then wait for each other in one order.
    wanted = sorted({(study.pk, name) for study, name in names if name})
    if not wanted:
        return {}
    manager = model._default_manager
    manager.bulk_create(
        [model(lab=lab, study_id=pk, name=name) for pk, name in wanted],
        ignore_conflicts=True,
    )
    # Rows that met a conflict come back without ids, so all are read.
    rows = manager.filter(study_id__in={pk for pk, _ in wanted})
    return {(row.study_id, row.name): row for row in rows}
