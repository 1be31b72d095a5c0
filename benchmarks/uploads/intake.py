"""Check uploads, store them unchanged, and queue their processing.

Everything is committed on return; one bad document refuses a batch. Most uploads are
single and name only what exists: one statement looks it up, another stores the run
(`_submit_known`).
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial, reduce
from hashlib import sha256
from itertools import chain
from operator import xor
from typing import Any, Final, TypeVar
from uuid import UUID

import orjson
from django.db import IntegrityError, connection, transaction
from django.db.backends.signals import connection_created

from benchmarks import sight, tools
from benchmarks.database import despite_others, rows_of
from benchmarks.errors import (
    BatchRefusedError,
    BenchmarksError,
    ConflictError,
    InvalidError,
    UnknownNameError,
    key_reused,
    shorten,
)
from benchmarks.fingerprints import SystemDescription, system_fingerprint
from benchmarks.labs.quotas import admit_uploads
from benchmarks.labs.tokens import IS_VALID, TOKEN, note_use, still_valid
from benchmarks.models import (
    Agent,
    Case,
    CoRun,
    Host,
    Lab,
    OwnTool,
    OwnToolVersion,
    Run,
    Session,
    Study,
    System,
    Token,
)
from benchmarks.monitoring.counters import ACCEPTED, REPEATED
from benchmarks.own_tools.lookup import (
    DeclaredTool,
    declared_tools,
    is_own,
    named,
    tool_named,
)
from benchmarks.parsing.contract import Tool
from benchmarks.parsing.decoding import writes_comma
from benchmarks.platforms import shows_emulation, shows_hypervisor_beneath
from benchmarks.studies.systems import describe_system, hosts_by_slug, store_systems
from benchmarks.uploads.results import (
    ReadSamples,
    SampleCase,
    read_samples,
    store_cases,
)
from benchmarks.uploads.storing import (
    NewRun,
    StoredSamples,
    array,
    moment,
    store_uploads,
)
from benchmarks.wake import wake

CASES_CACHED: Final = 50_000
SYSTEMS_CACHED: Final = 1024

LAB, STUDY, HOST, SYSTEM, RUN, SESSION, CORUN, CASE, OWN, VERSION = (
    model._meta.db_table
    for model in (
        *(Lab, Study, Host, System, Run, Session, CoRun, Case),
        *(OwnTool, OwnToolVersion),
    )
)
LOOK_UP = f"""
    SELECT study.id, host.id, system.id, system.is_emulated,
           system.is_above_hypervisor,
           session.id, session.origin, corun.id, known.id, known.digest, known.status,
           {TOKEN}.last_used_at,
           (SELECT string_agg(concat_ws('.', own.id, own.xmin, (
                       SELECT max(version.id) FROM {VERSION} AS version
                       WHERE version.tool_id = own.id
                   )), ' ' ORDER BY own.id)
            FROM {OWN} AS own WHERE own.lab_id = lab.id),
           (SELECT bit_xor(hashtextextended(fingerprint, 0)) FROM {CASE}
            WHERE id = ANY(%(cases)s::bigint[]))
    FROM {LAB} AS lab
    LEFT JOIN {STUDY} AS study
      ON study.lab_id = lab.id AND study.slug = %(study)s
     AND study.deleted_at IS NULL AND study.archived_at IS NULL
    LEFT JOIN {HOST} AS host ON host.lab_id = lab.id AND host.slug = %(host)s
    LEFT JOIN {SYSTEM} AS system
      ON system.lab_id = lab.id AND system.fingerprint = %(system)s
    LEFT JOIN {SESSION} AS session
      ON session.study_id = study.id AND session.name = %(session)s
    LEFT JOIN {CORUN} AS corun
      ON corun.study_id = study.id AND corun.name = %(corun)s
    LEFT JOIN {RUN} AS known
      ON known.lab_id = lab.id AND known.agent_id = %(agent)s::bigint
     AND known.key = %(key)s::uuid AND known.part = 1
    LEFT JOIN {TOKEN} ON {IS_VALID}
    WHERE lab.id = %(lab)s::bigint
      AND (%(token)s::bigint IS NULL OR {TOKEN}.id IS NOT NULL)
"""
CASES = f"""
    SELECT fingerprint, id, hashtextextended(fingerprint, 0) FROM {CASE}
    WHERE fingerprint = ANY(%(fingerprints)s::text[])
"""


COPIED = ("tool_version", "load", "clock", "document", "table", "note")

Named = TypeVar("Named", Session, CoRun)


@dataclass(frozen=True)
class Upload:
    """One document, its key, and its stored text; ``read`` are its samples if read
    already."""

    document: dict[str, Any]
    key: UUID
    text: str
    digest: str
    read: ReadSamples | None = None

    @classmethod
    def of(cls, document: dict[str, Any], read: ReadSamples | None = None) -> "Upload":
        # Sorted, so that the same content is the same digest.
        text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        digest = sha256(text).hexdigest()
        return cls(document, UUID(document["key"]), text.decode(), digest, read)

    def samples_of(self, tool: Tool) -> ReadSamples:
        """Return its samples; errors name the sample they are about."""
        if self.read is not None and not is_own(tool.slug):
            return self.read
        return ReadSamples.of(read_samples(tool, self.document["samples"]))


@dataclass(frozen=True)
class Submission:
    """What became of one document."""

    run_id: int
    key: UUID
    status: str
    repeated: bool


@dataclass(frozen=True)
class RunDraft:
    """A run that can be stored: everything it names exists or can be created.

    ``samples`` is None if a worker reads them: raw output, and a lab's own tool. The
    last ``derived`` samples were computed from the others.
    """

    upload: Upload
    study: Study
    system: System
    session: str
    corun: str
    fields: dict[str, Any]
    samples: ReadSamples | None
    derived: int


@dataclass(frozen=True)
class Resolver:
    """A lab's studies, machines and systems that a batch of documents names."""

    lab: Lab
    studies: dict[str, Study]
    hosts: dict[str, Host]
    systems: dict[int, System]
    own_tools: tuple[DeclaredTool, ...]
    described: dict[bytes, System] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)

    @classmethod
    def of(cls, lab: Lab, documents: Sequence[dict[str, Any]]) -> "Resolver":
        """Look up all names of a batch, in one query a kind."""
        slugs = {document["study"] for document in documents}
        described = [document["system"] for document in documents]
        ids = [system for system in described if isinstance(system, int)]
        hosts = {system["host"] for system in described if isinstance(system, dict)}
        studies = Study.objects.filter(lab=lab, slug__in=slugs, deleted_at=None)
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
            raise UnknownNameError("study", document["study"])
        if study.archived_at is not None:
            raise ConflictError(
                "study_archived",
                'The study "{study}" is archived: nothing is added to it. Take it out '
                "of the archive first, in its settings.",
                study=shorten(document["study"]),
            )
        # Raw output is read after it was stored; its tool may be unknown ("").
        tool = self._tool(document["tool"]) if "tool" in document else None
        samples: ReadSamples | None = None
        derived = 0
        if "output" in document:
            writes_comma(document.get("locale"))
        elif tool:
            read = upload.samples_of(tool)
            if not is_own(tool.slug):
                samples, derived = read.with_derived(tool)
        return RunDraft(
            upload=upload,
            study=study,
            system=self._system(document["system"]),
            session=document.get("session", ""),
            corun=document.get("corun", ""),
            fields=stated_fields(document, tool),
            samples=samples,
            derived=derived,
        )

    def _system(self, described: Any) -> System:
        if not isinstance(described, dict):
            if described not in self.systems:
                raise UnknownNameError("system", described)
            return self.systems[described]
        # Runs of a batch are of a few systems.
        words = orjson.dumps(described)
        if words not in self.described:
            system = describe_system(self.lab, self.hosts, described)
            self.described[words] = system
        return self.described[words]

    def _tool(self, name: str) -> Tool:
        """Return the tool that this lab calls so, if it takes uploads."""
        if name not in self.tools:
            tool, own = tool_named(self.own_tools, name)
            if own and own.is_retired:
                raise InvalidError(
                    "tool_retired",
                    'Your lab has retired the tool "{name}": its results stay, new '
                    "ones are not taken. Reactivate it on its page, or declare "
                    "another.",
                    name=name,
                )
            self.tools[name] = tool
        return self.tools[name]


def stated_fields(document: Mapping[str, Any], tool: Tool | None) -> dict[str, Any]:
    """Return what a document says of its run, as it is stored."""
    scenario = document.get("scenario", "single")
    # One VM alone is slot 1 of 1, whether the upload says so or not.
    alone = scenario == "single"
    return {
        "tool": tool.slug if tool else "",
        "scenario": scenario,
        "vms": document.get("vms", 1 if alone else None),
        "slot": document.get("slot", "1" if alone else ""),
        "started_at": moment(document.get("started_at")),
        "facts": document.get("facts", {}),
        **{name: document.get(name, "") for name in COPIED},
    }


def submit_runs(
    *, agent: Agent, documents: Sequence[dict[str, Any]]
) -> list[Submission]:
    """Store every document as a run and queue its processing; repeating is safe.

    Raises BatchRefusedError with the problem of each bad document, or TooFastError;
    nothing is stored then.
    """
    return submit_uploads(agent=agent, uploads=[Upload.of(each) for each in documents])


def submit_uploads(
    *, agent: Agent, uploads: Sequence[Upload], token: Token | None = None
) -> list[Submission]:
    """Store uploads that were read already.

    ``token`` is from `tokens.known`; raises UnauthenticatedError if it is not valid any
    more.
    """
    if len(uploads) == 1 and (known := _submit_known(agent, uploads[0], token)):
        return [known]
    if token is not None:
        agent = still_valid(token).agent
        sight.see_labs(agent.lab_id)
    size = sum(len(upload.text) for upload in uploads)
    admit_uploads(agent.lab_id, runs=len(uploads), size=size)
    return despite_others(partial(_submit, agent, uploads))


@dataclass(frozen=True, slots=True)
class _Named:
    """What an upload names, as `LOOK_UP` returns it; None: it is not there."""

    study_id: int | None
    host_id: int | None
    system_id: int | None
    is_emulated: bool | None
    is_above_hypervisor: bool | None
    session_id: int | None
    session_origin: str | None
    corun_id: int | None
    run_id: int | None
    run_digest: str | None
    run_status: str | None
    token_used_at: datetime | None
    own_tools: str | None
    cases: int | None


# Ids of our own tools' cases, which stay the same once stored, with their hash; and
# labs' own tools. `LOOK_UP` proves both: a database may have been set back.
_case_ids: dict[str, tuple[int, int]] = {}
_own_tools: dict[int, tuple[str, tuple[DeclaredTool, ...]]] = {}


def forget(**_signal: Any) -> None:
    """Empty the caches: a new connection may lead to another state of the database."""
    _case_ids.clear()
    _own_tools.clear()


connection_created.connect(forget, dispatch_uid="intake caches ids")


@sight.everything()  # each of its statements names the lab
def _submit_known(
    agent: Agent, upload: Upload, token: Token | None
) -> Submission | None:
    """Store a run that names only what exists; None if `_submit` must do it."""
    document, lab_id = upload.document, agent.lab_id
    system = document["system"]
    if "samples" not in document or not isinstance(system, dict):
        return None
    try:
        tool = tools.get(document["tool"])
        read = upload.samples_of(tool)
        fingerprint = _system_fingerprint(orjson.dumps(system))
    except BenchmarksError:
        return None
    samples, derived = read.with_derived(tool)
    cases = _ids_of(samples.cases)
    if cases is None:
        return None
    rows = rows_of(
        LOOK_UP,
        {
            "lab": str(lab_id),
            "agent": str(agent.pk),
            "study": document["study"],
            "host": system["host"],
            "system": fingerprint,
            "session": document.get("session", ""),
            "corun": document.get("corun", ""),
            "key": str(upload.key),
            "token": token and str(token.pk),
            "token_digest": token and token.digest,
            "cases": array([pk for pk, _ in cases.values()]),
        },
    )
    found = _Named(*rows[0]) if rows else None
    if found is None or not _is_all_there(found, agent.lab, document, cases):
        return None
    if token is not None:
        note_use(token.pk, found.token_used_at)
    if found.run_id is not None:
        if found.run_digest != upload.digest:
            return None
        REPEATED.inc(1)
        return Submission(found.run_id, upload.key, str(found.run_status), True)
    assert found.study_id is not None
    assert found.system_id is not None
    run = NewRun(
        key=upload.key,
        digest=upload.digest,
        text=upload.text,
        study_id=found.study_id,
        system_id=found.system_id,
        session_id=found.session_id,
        corun_id=found.corun_id,
        fields=stated_fields(document, tool),
        samples=StoredSamples(
            [cases[case.fingerprint][0] for case in samples.cases],
            samples.repetitions,
            samples.values,
        ),
        derived_count=derived,
    )
    admit_uploads(lab_id, runs=1, size=len(upload.text))
    try:
        # One statement is a transaction by itself, unless one is open.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            stored = store_uploads(lab_id=lab_id, agent_id=agent.pk, runs=[run])
    except IntegrityError:
        return None  # another request stored the same, or deleted what it names
    _wake_and_count(1)
    return Submission(stored[run.key], upload.key, Run.Status.RECEIVED, False)


def _is_all_there(
    found: _Named,
    lab: Lab,
    document: Mapping[str, Any],
    cases: Mapping[str, tuple[int, int]],
) -> bool:
    """Return whether nothing is to be made, changed or refused."""
    facts = document.get("facts", {})
    # A check may be about to rename a derived session.
    is_session_there = not document.get("session") or (
        found.session_id is not None and found.session_origin != Session.Origin.DERIVED
    )
    if (
        None in (found.study_id, found.host_id, found.system_id)
        or not is_session_there
        or (document.get("corun") and found.corun_id is None)
        or (shows_emulation(facts) and not found.is_emulated)
        or (shows_hypervisor_beneath(facts) and not found.is_above_hypervisor)
    ):
        return False
    if found.own_tools:
        proof, own = _own_tools.get(lab.pk, ("", ()))
        if proof != found.own_tools:
            own = tuple(declared_tools(lab.slug).values())
            _own_tools[lab.pk] = found.own_tools, own
        if named(own, document["tool"]) is not None:
            return False
    if found.cases != reduce(xor, (mark for _, mark in cases.values()), 0):
        forget()
        return False
    return True


def _ids_of(cases: Sequence[SampleCase]) -> dict[str, tuple[int, int]] | None:
    """Return the ids of cases by fingerprint; None if one is not stored yet."""
    wanted = {case.fingerprint for case in cases}
    if missing := [key for key in wanted if key not in _case_ids]:
        if len(_case_ids) > CASES_CACHED:
            _case_ids.clear()
        for key, pk, mark in rows_of(CASES, {"fingerprints": missing}):
            _case_ids[key] = pk, mark
    ids = {key: _case_ids.get(key) for key in wanted}
    known = {key: found for key, found in ids.items() if found is not None}
    return known if len(known) == len(wanted) else None


@lru_cache(SYSTEMS_CACHED)
def _system_fingerprint(described: bytes) -> str:
    return system_fingerprint(SystemDescription(**orjson.loads(described)))


def _submit(agent: Agent, uploads: Sequence[Upload]) -> list[Submission]:
    keys = [upload.key for upload in uploads]
    # Further results of an output repeat its key: part 1 is the upload itself.
    same = Run.objects.filter(agent=agent, key__in=keys, part=1)
    known = {run.key: (run.pk, run.status) for run in same}
    digests = {run.key: run.digest for run in same}
    fresh: dict[int, Upload] = {}
    problems: dict[int, BenchmarksError] = {}
    for index, upload in enumerate(uploads):
        # Keys of this batch count too: one document may stand in it twice.
        if upload.key not in digests:
            digests[upload.key] = upload.digest
            fresh[index] = upload
        elif digests[upload.key] != upload.digest:
            problems[index] = key_reused(upload.key)
    resolver = Resolver.of(agent.lab, [upload.document for upload in fresh.values()])
    drafts: list[RunDraft] = []
    for index, upload in fresh.items():
        try:
            drafts.append(resolver.draft(upload))
        except BenchmarksError as error:
            problems[index] = error
    if problems:
        raise BatchRefusedError(problems)
    if drafts:
        for key, run_id in _store(agent, drafts).items():
            known[key] = run_id, Run.Status.RECEIVED
        _wake_and_count(len(drafts))
    if repeated := len(uploads) - len(fresh):
        REPEATED.inc(repeated)
    return [
        Submission(known[key][0], key, known[key][1], repeated=index not in fresh)
        for index, key in enumerate(keys)
    ]


def _wake_and_count(runs: int) -> None:
    """Wake a worker and count runs after the commit; errors do not fail the upload."""

    # Not partials: Django logs a failing callback by its name.
    def hint() -> None:
        wake(runs)

    def count() -> None:
        ACCEPTED.inc(runs)

    # A hint that overtakes its commit would find an empty outbox.
    transaction.on_commit(hint, robust=True)
    transaction.on_commit(count, robust=True)


def _store(agent: Agent, drafts: Sequence[RunDraft]) -> dict[UUID, int]:
    """Store runs, their texts, samples, and the work that they make; return the ids."""
    lab = agent.lab
    unsaved = [draft.system for draft in drafts if draft.system.pk is None]
    systems = store_systems(lab, unsaved)
    sessions = _named(lab, Session, ((d.study, d.session) for d in drafts))
    coruns = _named(lab, CoRun, ((d.study, d.corun) for d in drafts))
    measured = (draft.samples.cases for draft in drafts if draft.samples)
    cases = store_cases(chain.from_iterable(measured))
    runs = []
    for draft in drafts:
        session = sessions.get((draft.study.pk, draft.session))
        corun = coruns.get((draft.study.pk, draft.corun))
        samples = draft.samples and StoredSamples(
            [cases[case.fingerprint] for case in draft.samples.cases],
            draft.samples.repetitions,
            draft.samples.values,
        )
        runs.append(
            NewRun(
                key=draft.upload.key,
                digest=draft.upload.digest,
                text=draft.upload.text,
                study_id=draft.study.pk,
                system_id=systems.get(draft.system.fingerprint, draft.system).pk,
                session_id=session.pk if session else None,
                corun_id=corun.pk if corun else None,
                fields=draft.fields,
                samples=samples,
                derived_count=draft.derived,
            )
        )
    stored = store_uploads(lab_id=lab.pk, agent_id=agent.pk, runs=runs)
    # Whatever a person calls the system: its agent saw what emulates the processor.
    emulated = {run.system_id for run in runs if shows_emulation(run.fields["facts"])}
    if emulated:
        System.objects.filter(pk__in=emulated).update(is_emulated=True)
    above = {
        run.system_id for run in runs if shows_hypervisor_beneath(run.fields["facts"])
    }
    if above:
        System.objects.filter(pk__in=above).update(is_above_hypervisor=True)
    return stored


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
