"""Intake of uploads: validate, store unchanged, and queue processing.

Runs, texts and jobs are committed on return. If one document of a batch is invalid,
nothing of the batch is stored.
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

from benchmarks import rls, tools
from benchmarks.custom_tools.lookup import (
    DeclaredTool,
    declared_tools,
    is_custom,
    match_name,
    resolve_tool,
)
from benchmarks.database import fetch_prepared, retry_on_conflict
from benchmarks.errors import (
    BatchRejectedError,
    BenchmarksError,
    ConflictError,
    InvalidError,
    UnknownNameError,
    key_reused_error,
    shorten,
    unconfirmed_native_error,
)
from benchmarks.fingerprints import SystemDescription, system_fingerprint
from benchmarks.hypervisor_names import (
    is_unconfirmed_native,
    reports_emulation,
    reports_nested_virtualization,
)
from benchmarks.labs.quotas import admit_uploads
from benchmarks.labs.tokens import TOKEN_TABLE, VALID_TOKEN_SQL, record_use, revalidate
from benchmarks.models import (
    Agent,
    Case,
    CoRun,
    CustomTool,
    CustomToolVersion,
    Host,
    Lab,
    Run,
    Session,
    Study,
    System,
    Token,
)
from benchmarks.monitoring.counters import ACCEPTED, REPEATED
from benchmarks.parsing.decoding import uses_decimal_comma
from benchmarks.parsing.failed_work import find_failure
from benchmarks.parsing.tool import Tool
from benchmarks.studies.systems import describe_system, hosts_by_slug, store_systems
from benchmarks.uploads.parsed_run_storage import store_cases
from benchmarks.uploads.run_storage import (
    NewRun,
    StoredSampleColumns,
    array_literal,
    parse_timestamp,
    store_uploads,
)
from benchmarks.uploads.upload_parsing import (
    SampleCase,
    SampleColumns,
    has_summaries,
    parse_samples,
)
from benchmarks.worker_wakeup import wake_worker

CASE_ID_CACHE_SIZE: Final = 50_000
SYSTEM_CACHE_SIZE: Final = 1024

(
    LAB_TABLE,
    STUDY,
    HOST,
    SYSTEM,
    RUN,
    SESSION,
    CORUN,
    CASE,
    CUSTOM_TOOL_TABLE,
    CUSTOM_TOOL_VERSION_TABLE,
) = (
    model._meta.db_table
    for model in (
        *(Lab, Study, Host, System, Run, Session, CoRun, Case),
        *(CustomTool, CustomToolVersion),
    )
)
LOOKUP_SQL = f"""
    SELECT study.id, host.id, system.id, system.is_emulated,
           system.is_nested,
           session.id, session.origin, corun.id, known.id, known.digest, known.status,
           {TOKEN_TABLE}.last_used_at,
           (SELECT string_agg(concat_ws('.', own.id, own.xmin, (
                       SELECT max(version.id)
                       FROM {CUSTOM_TOOL_VERSION_TABLE} AS version
                       WHERE version.tool_id = own.id
                   )), ' ' ORDER BY own.id)
            FROM {CUSTOM_TOOL_TABLE} AS own WHERE own.lab_id = lab.id),
           (SELECT bit_xor(hashtextextended(fingerprint, 0)) FROM {CASE}
            WHERE id = ANY(%(cases)s::bigint[]))
    FROM {LAB_TABLE} AS lab
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
     AND known.key = %(key)s::uuid AND known.upload_position = 1
    LEFT JOIN {TOKEN_TABLE} ON {VALID_TOKEN_SQL}
    WHERE lab.id = %(lab)s::bigint
      AND (%(token)s::bigint IS NULL OR {TOKEN_TABLE}.id IS NOT NULL)
"""
CASE_IDS_SQL = f"""
    SELECT fingerprint, id, hashtextextended(fingerprint, 0) FROM {CASE}
    WHERE fingerprint = ANY(%(fingerprints)s::text[])
"""


COPIED_FIELDS = ("tool_version", "load", "clock", "document", "table", "note")

Named = TypeVar("Named", Session, CoRun)


@dataclass(frozen=True)
class Upload:
    """An uploaded document, its key, and the text that is stored for it."""

    document: dict[str, Any]
    key: UUID
    text: str
    digest: str
    parsed_samples: SampleColumns | None = None

    @classmethod
    def from_document(
        cls, document: dict[str, Any], parsed_samples: SampleColumns | None = None
    ) -> "Upload":
        # With sorted keys, equal documents have equal digests.
        text = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
        digest = sha256(text).hexdigest()
        return cls(
            document, UUID(document["key"]), text.decode(), digest, parsed_samples
        )

    def read_samples(self, tool: Tool) -> SampleColumns:
        if self.parsed_samples is not None and not is_custom(tool.slug):
            return self.parsed_samples
        return SampleColumns.from_samples(parse_samples(tool, self.document["samples"]))


@dataclass(frozen=True)
class UploadReceipt:
    """The stored run of one document; ``repeated`` if an earlier request stored it."""

    run_id: int
    key: UUID
    status: str
    repeated: bool


@dataclass(frozen=True)
class PreparedRun:
    """A valid run: every object it refers to exists or can be created.

    ``samples`` is None if a worker will read them from the text. The last
    ``derived_count`` samples were computed from the others.
    """

    upload: Upload
    study: Study
    system: System
    declared_session: str
    corun: str
    fields: dict[str, Any]
    samples: SampleColumns | None
    derived_count: int


@dataclass(frozen=True)
class Resolver:
    """The objects of a lab that the documents of a batch refer to."""

    lab: Lab
    studies: dict[str, Study]
    hosts: dict[str, Host]
    systems: dict[int, System]
    custom_tools: tuple[DeclaredTool, ...]
    described_systems: dict[bytes, System] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)

    @classmethod
    def for_documents(cls, lab: Lab, documents: Sequence[dict[str, Any]]) -> "Resolver":
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
            custom_tools=tuple(declared_tools(lab.slug).values()),
        )

    def prepare(self, upload: Upload) -> PreparedRun:
        """Raise BenchmarksError if the upload cannot be stored."""
        document = upload.document
        study = self.studies.get(document["study"])
        if study is None:
            raise UnknownNameError("study", document["study"])
        if study.archived_at is not None:
            raise ConflictError(
                "study_archived",
                'The study "{study}" is archived, so nothing can be added to it. '
                "Unarchive it in its settings first.",
                study=shorten(document["study"]),
            )
        # The tool of raw output may be unknown ("") until a worker reads it.
        tool = self._tool(document["tool"]) if "tool" in document else None
        samples: SampleColumns | None = None
        derived = 0
        if "output" in document:
            # Raises ParseError if the locale is unknown.
            uses_decimal_comma(document.get("locale"))
        elif tool:
            uploaded = upload.read_samples(tool)
            if not is_custom(tool.slug) and not has_summaries(document["samples"]):
                samples, derived = uploaded.with_derived(tool)
        system = self._system(document["system"])
        if is_unconfirmed_native(system.hypervisor, document.get("facts", {})):
            raise unconfirmed_native_error().for_field("system")
        return PreparedRun(
            upload=upload,
            study=study,
            system=system,
            declared_session=document.get("session", ""),
            corun=document.get("corun", ""),
            fields=run_fields(document, tool, samples),
            samples=samples,
            derived_count=derived,
        )

    def _system(self, description: Any) -> System:
        if not isinstance(description, dict):
            if description not in self.systems:
                raise UnknownNameError("system", description)
            return self.systems[description]
        # Runs of a batch share few systems.
        key = orjson.dumps(description)
        if key not in self.described_systems:
            system = describe_system(self.lab, self.hosts, description)
            self.described_systems[key] = system
        return self.described_systems[key]

    def _tool(self, name: str) -> Tool:
        if name not in self.tools:
            tool, declared = resolve_tool(self.custom_tools, name)
            if declared and declared.is_retired:
                raise InvalidError(
                    "tool_retired",
                    'Your lab has retired the tool "{name}". Its results are '
                    "kept, but new ones are not accepted. Reactivate the tool on "
                    "its page, or declare another one.",
                    name=name,
                )
            self.tools[name] = tool
        return self.tools[name]


def run_fields(
    document: Mapping[str, Any], tool: Tool | None, samples: SampleColumns | None
) -> dict[str, Any]:
    stated_failure = document.get("failed", "")
    failure = find_failure(
        document,
        stated=stated_failure,
        tool=tool,
        values=samples.metric_values if samples else (),
    )
    scenario = document.get("scenario", "single")
    # One VM alone is slot 1 of 1, even if not stated.
    is_single = scenario == "single"
    return {
        "tool": tool.slug if tool else "",
        "scenario": scenario,
        "vms": document.get("vms", 1 if is_single else None),
        "slot": document.get("slot", "1" if is_single else ""),
        "started_at": parse_timestamp(document.get("started_at")),
        "facts": document.get("facts", {}),
        "stated_failure": stated_failure,
        "failure": failure.reason,
        "errors": failure.work.errors if failure.work else None,
        "operations": failure.work.operations if failure.work else None,
        **{name: document.get(name, "") for name in COPIED_FIELDS},
    }


def submit_runs(
    *, agent: Agent, documents: Sequence[dict[str, Any]]
) -> list[UploadReceipt]:
    """Store every document as a run and queue its processing.

    Repeated documents are skipped. On BatchRejectedError (with each invalid document's
    problem) or RateLimitError, nothing is stored.
    """
    return submit_uploads(
        agent=agent, uploads=[Upload.from_document(document) for document in documents]
    )


def submit_uploads(
    *, agent: Agent, uploads: Sequence[Upload], token: Token | None = None
) -> list[UploadReceipt]:
    """Store parsed uploads like `submit_runs`.

    Raises UnauthenticatedError if ``token`` is no longer valid.
    """
    if len(uploads) == 1 and (receipt := _submit_fast(agent, uploads[0], token)):
        return [receipt]
    if token is not None:
        agent = revalidate(token).agent
        rls.allow_labs(agent.lab_id)
    size = sum(len(upload.text) for upload in uploads)
    admit_uploads(agent.lab_id, runs=len(uploads), size=size)
    return retry_on_conflict(partial(_submit, agent, uploads))


@dataclass(frozen=True, slots=True)
class _NamedObjects:
    """A row of `LOOKUP_SQL`: the objects that an upload names, None if missing.

    ``custom_tools`` changes with every declaration of the lab. ``cases`` is the XOR of
    the hashes of the cases' fingerprints.
    """

    study_id: int | None
    host_id: int | None
    system_id: int | None
    is_emulated: bool | None
    is_nested: bool | None
    declared_session_id: int | None
    session_origin: str | None
    corun_id: int | None
    run_id: int | None
    run_digest: str | None
    run_status: str | None
    token_used_at: datetime | None
    custom_tools: str | None
    cases: int | None


# Ids and hashes of cases by fingerprint, and custom tools by lab. `LOOKUP_SQL` verifies
# both, because the database may have been restored from a backup.
_case_ids: dict[str, tuple[int, int]] = {}
_own_tools: dict[int, tuple[str, tuple[DeclaredTool, ...]]] = {}


def clear_caches(**_signal: Any) -> None:
    """Clear the caches: a new connection may see another state of the database."""
    _case_ids.clear()
    _own_tools.clear()


connection_created.connect(clear_caches, dispatch_uid="intake caches ids")


@rls.allow_all()  # each statement filters by lab
def _submit_fast(
    agent: Agent, upload: Upload, token: Token | None
) -> UploadReceipt | None:
    """Store a run of samples in two statements; return None if `_submit` must do it.

    `_submit` handles invalid uploads and those that need other new objects.
    """
    document, lab_id = upload.document, agent.lab_id
    system = document["system"]
    if "samples" not in document or not isinstance(system, dict):
        return None
    if has_summaries(document["samples"]):
        return None
    try:
        tool = tools.get(document["tool"])
        uploaded = upload.read_samples(tool)
        fingerprint = _system_fingerprint(orjson.dumps(system))
    except BenchmarksError:
        return None
    samples, derived = uploaded.with_derived(tool)
    cases = _find_case_ids(samples.cases)
    if cases is None:
        return None
    rows = fetch_prepared(
        LOOKUP_SQL,
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
            "cases": array_literal([pk for pk, _ in cases.values()]),
        },
    )
    objects = _NamedObjects(*rows[0]) if rows else None
    if objects is None or not _can_store_directly(objects, agent.lab, document, cases):
        return None
    if token is not None:
        record_use(token.pk, objects.token_used_at)
    if objects.run_id is not None:
        if objects.run_digest != upload.digest:
            return None
        REPEATED.inc(1)
        return UploadReceipt(objects.run_id, upload.key, str(objects.run_status), True)
    assert objects.study_id is not None
    assert objects.system_id is not None
    run = NewRun(
        key=upload.key,
        digest=upload.digest,
        text=upload.text,
        study_id=objects.study_id,
        system_id=objects.system_id,
        declared_session_id=objects.declared_session_id,
        corun_id=objects.corun_id,
        fields=run_fields(document, tool, samples),
        samples=StoredSampleColumns(
            [cases[case.fingerprint][0] for case in samples.cases],
            samples.repetitions,
            samples.values,
        ),
        derived_count=derived,
    )
    admit_uploads(lab_id, runs=1, size=len(upload.text))
    try:
        # A single statement needs a savepoint only inside an open transaction.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            stored = store_uploads(lab_id=lab_id, agent_id=agent.pk, runs=[run])
    except IntegrityError:
        return None  # a concurrent request stored the same or deleted an object
    _wake_and_count(1)
    return UploadReceipt(stored[run.key], upload.key, Run.Status.RECEIVED, False)


def _can_store_directly(
    objects: _NamedObjects,
    lab: Lab,
    document: Mapping[str, Any],
    cases: Mapping[str, tuple[int, int]],
) -> bool:
    """Return whether an upload needs no other object to be created or changed."""
    facts = document.get("facts", {})
    # A study check may be about to rename a derived session.
    is_session_there = not document.get("session") or (
        objects.declared_session_id is not None
        and objects.session_origin != Session.Origin.DERIVED
    )
    if (
        None in (objects.study_id, objects.host_id, objects.system_id)
        or not is_session_there
        or (document.get("corun") and objects.corun_id is None)
        or is_unconfirmed_native(document["system"]["hypervisor"], facts)
        or (reports_emulation(facts) and not objects.is_emulated)
        or (reports_nested_virtualization(facts) and not objects.is_nested)
    ):
        return False
    if objects.custom_tools:
        signature, lab_tools = _own_tools.get(lab.pk, ("", ()))
        if signature != objects.custom_tools:
            lab_tools = tuple(declared_tools(lab.slug).values())
            _own_tools[lab.pk] = objects.custom_tools, lab_tools
        if match_name(lab_tools, document["tool"]) is not None:
            return False
    if objects.cases != reduce(xor, (digest for _, digest in cases.values()), 0):
        clear_caches()
        return False
    return True


def _find_case_ids(cases: Sequence[SampleCase]) -> dict[str, tuple[int, int]] | None:
    fingerprints = {case.fingerprint for case in cases}
    if missing := [key for key in fingerprints if key not in _case_ids]:
        if len(_case_ids) > CASE_ID_CACHE_SIZE:
            _case_ids.clear()
        for key, pk, digest in fetch_prepared(CASE_IDS_SQL, {"fingerprints": missing}):
            _case_ids[key] = pk, digest
    ids = {key: _case_ids.get(key) for key in fingerprints}
    known_ids = {key: case_id for key, case_id in ids.items() if case_id is not None}
    return known_ids if len(known_ids) == len(fingerprints) else None


@lru_cache(SYSTEM_CACHE_SIZE)
def _system_fingerprint(description: bytes) -> str:
    return system_fingerprint(SystemDescription(**orjson.loads(description)))


def _submit(agent: Agent, uploads: Sequence[Upload]) -> list[UploadReceipt]:
    keys = [upload.key for upload in uploads]
    # Runs at later positions were found in the text of the first one.
    uploaded = Run.objects.filter(agent=agent, key__in=keys, upload_position=1)
    runs = {run.key: (run.pk, run.status) for run in uploaded}
    digests = {run.key: run.digest for run in uploaded}
    new_uploads: dict[int, Upload] = {}
    problems: dict[int, BenchmarksError] = {}
    for index, upload in enumerate(uploads):
        # A batch may contain the same key twice.
        if upload.key not in digests:
            digests[upload.key] = upload.digest
            new_uploads[index] = upload
        elif digests[upload.key] != upload.digest:
            problems[index] = key_reused_error(upload.key)
    resolver = Resolver.for_documents(
        agent.lab, [upload.document for upload in new_uploads.values()]
    )
    prepared: list[PreparedRun] = []
    for index, upload in new_uploads.items():
        try:
            prepared.append(resolver.prepare(upload))
        except BenchmarksError as error:
            problems[index] = error
    if problems:
        raise BatchRejectedError(problems)
    if prepared:
        for key, run_id in _store(agent, prepared).items():
            runs[key] = run_id, Run.Status.RECEIVED
        _wake_and_count(len(prepared))
    if repeated := len(uploads) - len(new_uploads):
        REPEATED.inc(repeated)
    return [
        UploadReceipt(
            runs[key][0], key, runs[key][1], repeated=index not in new_uploads
        )
        for index, key in enumerate(keys)
    ]


def _wake_and_count(runs: int) -> None:
    """After the commit, wake a worker and count runs; errors do not fail the upload."""

    # Not partials: Django logs a failing callback by its name.
    def wake() -> None:
        wake_worker(runs)

    def count() -> None:
        ACCEPTED.inc(runs)

    # A worker woken before the commit would find no jobs.
    transaction.on_commit(wake, robust=True)
    transaction.on_commit(count, robust=True)


def _store(agent: Agent, prepared: Sequence[PreparedRun]) -> dict[UUID, int]:
    lab = agent.lab
    unsaved = [
        prepared_run.system
        for prepared_run in prepared
        if prepared_run.system.pk is None
    ]
    systems = store_systems(lab, unsaved)
    sessions = _store_by_name(
        lab, Session, ((d.study, d.declared_session) for d in prepared)
    )
    coruns = _store_by_name(lab, CoRun, ((d.study, d.corun) for d in prepared))
    measured = (
        prepared_run.samples.cases for prepared_run in prepared if prepared_run.samples
    )
    cases = store_cases(chain.from_iterable(measured))
    runs = []
    for prepared_run in prepared:
        session = sessions.get((prepared_run.study.pk, prepared_run.declared_session))
        corun = coruns.get((prepared_run.study.pk, prepared_run.corun))
        samples = prepared_run.samples and StoredSampleColumns(
            [cases[case.fingerprint] for case in prepared_run.samples.cases],
            prepared_run.samples.repetitions,
            prepared_run.samples.values,
        )
        runs.append(
            NewRun(
                key=prepared_run.upload.key,
                digest=prepared_run.upload.digest,
                text=prepared_run.upload.text,
                study_id=prepared_run.study.pk,
                system_id=systems.get(
                    prepared_run.system.fingerprint, prepared_run.system
                ).pk,
                declared_session_id=session.pk if session else None,
                corun_id=corun.pk if corun else None,
                fields=prepared_run.fields,
                samples=samples,
                derived_count=prepared_run.derived_count,
            )
        )
    stored = store_uploads(lab_id=lab.pk, agent_id=agent.pk, runs=runs)
    # Detection by agents overrides the description of the system.
    emulated = {run.system_id for run in runs if reports_emulation(run.fields["facts"])}
    if emulated:
        System.objects.filter(pk__in=emulated).update(is_emulated=True)
    nested = {
        run.system_id
        for run in runs
        if reports_nested_virtualization(run.fields["facts"])
    }
    if nested:
        System.objects.filter(pk__in=nested).update(is_nested=True)
    return stored


def _store_by_name(
    lab: Lab, model: type[Named], names: Iterable[tuple[Study, str]]
) -> dict[tuple[int, str], Named]:
    """Return sessions or co-runs by study and name; create missing ones."""
    # Sorted, so that concurrent uploads of the same new names cannot deadlock.
    keys = sorted({(study.pk, name) for study, name in names if name})
    if not keys:
        return {}
    manager = model._default_manager
    manager.bulk_create(
        [model(lab=lab, study_id=pk, name=name) for pk, name in keys],
        ignore_conflicts=True,
    )
    # bulk_create does not return the ids of conflicting rows.
    rows = manager.filter(study_id__in={pk for pk, _ in keys})
    return {(row.study_id, row.name): row for row in rows}
