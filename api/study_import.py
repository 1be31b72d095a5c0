"""Import of study files, whose entries are validated and stored like API requests."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import orjson
from django.conf import settings
from django.db import transaction
from rest_framework import serializers

from api.kit.composite_fields import validate_document
from api.kit.errors import (
    MAX_LISTED,
    Problem,
    problem_from_exception,
    truncate_fields,
    validation_problem,
)
from api.kit.strict_json import check_value_count, json_type_name, parse_json_object
from api.power import PowerChunkInput
from api.study_file_schema import StudyFileInput
from api.uploads import read_upload
from benchmarks.custom_tools.registration import declare_tool, read_declaration
from benchmarks.errors import (
    BatchRejectedError,
    BenchmarksError,
    RateLimitError,
    already_exists_error,
    shorten,
)
from benchmarks.jobs.advisory_locks import advisory_lock
from benchmarks.models import Agent, PowerChunk, Run, Study
from benchmarks.parsing.study_file import (
    VERSION,
    Entry,
    read_entries,
    study_file_error,
)
from benchmarks.power.meter_logs import store_power_chunk
from benchmarks.sentences import Sentence
from benchmarks.studies.saving import save_study, update_study
from benchmarks.studies.systems import register_host, register_system
from benchmarks.uploads.intake import submit_uploads
from benchmarks.uploads.study_files import ImportedStudy

MAX_UNPACKED_RATIO: Final = 64
"""Size limit after decompression, as a multiple of `UPLOAD_LIMIT_BYTES`."""
BUSY_RETRY_S: Final = 30
BATCH: Final = 500
STORED_LAST: Final = ("runs", "power")
REQUIRED: Final = ("format", "version", "study")


@dataclass
class _Problems:
    """Wrong entries of a file by path; reading stops when the list is full."""

    by_path: dict[str, Problem] = field(default_factory=dict)
    first: str = ""

    def add(self, entry: Entry, error: Exception) -> None:
        problem = (
            validation_problem(error.detail, "The entry")
            if isinstance(error, serializers.ValidationError)
            else problem_from_exception(error)
        )
        if not self.by_path:
            self.first = f"{entry.path} (line {entry.line}): {problem.detail}"
        self.by_path[entry.path] = problem
        if len(self.by_path) >= MAX_LISTED:
            self.raise_if_any()

    @contextmanager
    def collected(self, entry: Entry) -> Iterator[None]:
        try:
            yield
        except (BenchmarksError, serializers.ValidationError) as error:
            self.add(entry, error)

    def raise_if_any(self) -> None:
        if not self.by_path:
            return
        error = study_file_error(
            "Nothing was stored: {n} entries of the file are wrong, the first is "
            "{first}",
            n=len(self.by_path),
            first=self.first,
        )
        error.fields = truncate_fields(
            {path: problem.body() for path, problem in self.by_path.items()}
        )
        error.status = min(problem.status for problem in self.by_path.values())
        raise error


def store_study_file(agent: Agent, content: bytes) -> ImportedStudy:
    """Store a study file in the agent's lab, or nothing of it."""
    with advisory_lock(f"study import {agent.lab_id}") as is_held:
        if not is_held:
            sentence = Sentence("The lab is importing another study.")
            raise RateLimitError(sentence, BUSY_RETRY_S)
        return _store(agent, content)


def _store(agent: Agent, content: bytes) -> ImportedStudy:
    limit = settings.UPLOAD_LIMIT_BYTES * MAX_UNPACKED_RATIO
    problems = _Problems()
    head = _read_head(read_entries(content, limit), problems)
    problems.raise_if_any()
    with transaction.atomic():
        study, is_new = _store_head(agent, head, problems)
        problems.raise_if_any()
        rest = (
            entry
            for entry in read_entries(content, limit)
            if entry.member in STORED_LAST
        )
        accepted = repeated = 0
        while entries := list(islice(rest, BATCH)):
            new, old = _store_batch(agent, study, entries, problems)
            accepted, repeated = accepted + new, repeated + old
        problems.raise_if_any()
    return ImportedStudy(study, is_new, accepted, repeated)


Head = dict[str, list[tuple[Entry, Any]]]


def _read_head(entries: Iterable[Entry], problems: _Problems) -> Head:
    head: Head = {}
    fields = StudyFileInput().fields
    for entry in entries:
        if entry.member == "version" and _is_newer(entry.value):
            raise study_file_error(
                "The file has version {found} of its format, but this server reads "
                "versions up to {known}. Update the server, or export the study from "
                "an older one.",
                found=shorten(str(entry.value)),
                known=str(VERSION),
            )
        member_field: Any = fields[entry.member]
        if entry.index is not None and entry.index >= member_field.max_length:
            raise study_file_error(
                'The list "{name}" has more than {most:,} entries. Split the study.',
                name=entry.member,
                most=member_field.max_length,
            )
        if entry.member in STORED_LAST and entry.index is not None:
            continue
        with problems.collected(entry):
            validator = member_field if entry.index is None else member_field.child
            value = validator.run_validation(_strictly_parsed(entry))
            head.setdefault(entry.member, []).append((entry, value))
    for name in REQUIRED:
        if name not in head and name not in problems.by_path:
            raise study_file_error(
                'The file has no member "{name}", so it is not a study file.',
                name=name,
            )
    return head


def _is_newer(version: Any) -> bool:
    return type(version) is int and version > VERSION


def _strictly_parsed(entry: Entry) -> Any:
    if not isinstance(entry.value, dict):
        return entry.value
    raw = entry.text.encode()
    check_value_count(raw)
    return parse_json_object(raw, raw_text_fields=("output",))


def _store_head(agent: Agent, head: Head, problems: _Problems) -> tuple[Study, bool]:
    lab = agent.lab
    [(study_entry, fields)] = head["study"]
    is_new, study = False, None
    with problems.collected(study_entry):
        study, is_new = save_study(lab=lab, **fields)
    for entry, declared in head.get("tools", ()):
        with problems.collected(entry):
            declare_tool(
                lab=lab,
                slug=declared["slug"],
                declaration=read_declaration(declared),
                actor=agent,
            )
    for entry, host in head.get("hosts", ()):
        with problems.collected(entry):
            register_host(lab=lab, **host)
    problems.raise_if_any()
    assert study is not None, "its problem was raised"
    references: dict[str, Any] = {"reference_system": None, "system_references": {}}

    def id_of(description: Mapping[str, Any]) -> int:
        return register_system(lab=lab, description=dict(description))[0].pk

    for entry, description in head.get("reference_system", ()):
        with problems.collected(entry):
            references["reference_system"] = id_of(description)
    for entry, pair in head.get("system_references", ()):
        with problems.collected(entry):
            key = str(id_of(pair["system"]))
            references["system_references"][key] = id_of(pair["reference"])
    problems.raise_if_any()
    with problems.collected(study_entry):
        _set_references(study, is_new, references, agent)
    return study, is_new


def _set_references(
    study: Study, is_new: bool, references: Mapping[str, Any], agent: Agent
) -> None:
    """Set the references of a new study; raise ConflictError if an old one differs."""
    stored = {
        "reference_system": study.reference_system_id,
        "system_references": study.system_references,
    }
    differing = [name for name in stored if stored[name] != references[name]]
    if differing and not is_new:
        raise already_exists_error(
            "study_exists",
            Sentence("study"),
            study.slug,
            differing,
            Sentence("Change the slug in the file."),
        )
    if differing:
        update_study(study=study, actor=agent.name, **references)


def _store_batch(
    agent: Agent, study: Study, entries: Iterable[Entry], problems: _Problems
) -> tuple[int, int]:
    """Store runs and parts of power logs; return how many are new and repeated.

    Batches after a wrong entry are only validated.
    """
    uploads, chunks = [], []
    for entry in entries:
        with problems.collected(entry):
            if entry.member == "runs":
                uploads.append((entry, read_upload(_upload_of(entry, study.slug))))
            else:
                document = _strictly_parsed(entry)
                validate_document(PowerChunkInput, document)
                chunks.append((entry, document))
    if problems.by_path:
        return 0, 0
    keys = [upload.key for _, upload in uploads]
    stored = set(
        Run.objects.filter(study=study, key__in=keys).values_list("key", flat=True)
    )
    new = [(entry, upload) for entry, upload in uploads if upload.key not in stored]
    receipts = []
    if new:
        try:
            receipts = submit_uploads(
                agent=agent, uploads=[upload for _, upload in new]
            )
        except BatchRejectedError as rejected:
            for index, error in rejected.problems.items():
                problems.add(new[index][0], error)
    repeated = len(uploads) - len(new) + sum(receipt.repeated for receipt in receipts)
    for entry, document in chunks:
        with problems.collected(entry):
            if PowerChunk.objects.filter(lab=agent.lab, key=document["key"]).exists():
                repeated += 1
            else:
                store_power_chunk(agent=agent, document=document)
    return len(uploads) + len(chunks) - repeated, repeated


def _upload_of(entry: Entry, slug: str) -> bytes:
    document = entry.value
    if not isinstance(document, dict):
        sentence = f"Send an object, not {json_type_name(document)}."
        raise serializers.ValidationError(sentence)
    raw = entry.text.encode()
    check_value_count(raw)
    if "study" in document:
        sentence = "This is not a known field: all runs are of the study of the file."
        raise serializers.ValidationError({"study": [sentence]})
    if type(document.get("system")) is int:
        sentence = "Send the system as an object; ids are of one installation."
        raise serializers.ValidationError({"system": [sentence]})
    separator = b"," if document else b""
    return b'{"study":' + orjson.dumps(slug) + separator + raw[1:]
