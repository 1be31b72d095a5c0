"""Upload of archives in which each folder holds the results of one system."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import IO, Any, Final
from uuid import UUID, uuid5

import orjson
from django.conf import settings

from benchmarks.custom_tools.lookup import DeclaredTool, declared_tools
from benchmarks.custom_tools.sample_tables import extract_sample_runs
from benchmarks.errors import (
    BatchRejectedError,
    BenchmarksError,
    InvalidError,
    UnknownNameError,
    unconfirmed_native_error,
)
from benchmarks.hypervisor_names import is_unconfirmed_native
from benchmarks.labs.quotas import admit_lab_previews
from benchmarks.models import Agent, Lab, Study, System
from benchmarks.parsing import run_extraction
from benchmarks.parsing.archives import ArchiveMember, read_members
from benchmarks.parsing.decoding import decode
from benchmarks.parsing.start_times import has_clock_time, in_time_zone
from benchmarks.parsing.system_from_folder_name import (
    SystemGuess,
    add_file_facts,
    guess_from_name,
    system_folder,
)
from benchmarks.studies.systems import register_system
from benchmarks.uploads.intake import UploadReceipt, submit_runs
from benchmarks.uploads.upload_parsing import FILE_DATE, ZONE

KEY_NAMESPACE: Final = UUID("c252e1a7-7ede-4e53-a0df-450ce392b6d9")
"""Never change it: a repeated upload must get the same key."""
MAX_DESCRIPTION_BYTES: Final = 64 * 1024
"""Larger files are not considered as descriptions of a machine."""
ROOT_FOLDER: Final = "."
"""The name of the folder for files outside any system's folder."""
REQUIRED_FIELDS: Final = ("host", "hypervisor")


@dataclass(frozen=True)
class FileTimes:
    """The zone of printed times, and whether file dates replace missing times."""

    zone: str = ""
    use_file_dates: bool = False

    def facts(self, text: str, modified: datetime | None) -> dict[str, str]:
        facts = {}
        if self.zone and has_clock_time(text):
            facts[ZONE] = self.zone
        written = in_time_zone(modified, self.zone) if self.use_file_dates else None
        if written:
            facts[FILE_DATE] = written.isoformat()
        return facts


@dataclass(frozen=True)
class ArchiveRequest:
    """The uploader's statements about an archive.

    ``systems`` maps folder names to system ids or descriptions. ``common`` is the
    default description. ``run`` has fields of the runs (scenario, session ...).
    ``platform`` is the fact of the agent that sends the archive.
    """

    study: str
    systems: Mapping[str, Any] = field(default_factory=dict)
    common: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    platform: Mapping[str, Any] = field(default_factory=dict)
    times: FileTimes = FileTimes()
    tool: str = ""
    locale: str = ""


@dataclass(frozen=True)
class ArchiveFile:
    index: int
    name: str
    folder: str
    result_count: int = 0
    sample_count: int = 0
    dated_result_count: int = 0
    describes_system: bool = False
    problem: BenchmarksError | None = None
    submissions: tuple[UploadReceipt, ...] = ()

    @property
    def state(self) -> str:
        if self.submissions:
            repeated = all(receipt.repeated for receipt in self.submissions)
            return "already_stored" if repeated else "stored"
        if self.describes_system:
            return "description"
        return "rejected" if self.problem or not self.sample_count else "read"


@dataclass(frozen=True)
class ArchiveFolder:
    """A folder with its system: an id, or a description and its missing fields.

    ``sources`` maps guessed fields to where the guess comes from.
    """

    name: str
    result_file_count: int
    system: int | Mapping[str, Any]
    matching_system_ids: tuple[int, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    missing_fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArchiveContent:
    folders: tuple[ArchiveFolder, ...]
    files: tuple[ArchiveFile, ...]


def preview_archive(
    lab: Lab, name: str, archive: IO[bytes], request: ArchiveRequest
) -> ArchiveContent:
    """Store nothing. Raises UnknownNameError for an unknown system, InvalidError for an
    unknown folder or an unreadable archive, and RateLimitError.
    """
    custom_tools = declared_tools(lab.slug)
    files, texts = [], defaultdict(list)
    for member in read_members(name, archive, settings.UPLOAD_LIMIT_BYTES):
        if member.refusal and member.name == name:
            raise member.refusal
        admit_lab_previews(lab.pk, files=1, size=len(member.data))
        file = _preview_file(member, name, request, custom_tools)
        files.append(file)
        if file.describes_system:
            texts[file.folder].append(decode(member.data))
    result_files = Counter(file.folder for file in files if file.state == "read")
    if not result_files:
        raise InvalidError(
            "folders_rejected",
            "No benchmark output was recognized in any of the {n} files. Specify "
            "the tool, or see the reason for each file on the upload page.",
            n=len(files),
        ).for_field("archive")
    for folder in request.systems:
        if folder not in result_files:
            raise InvalidError(
                "folders_rejected",
                'The archive has no folder "{name}" with results. Folders with '
                "results: {known}.",
                name=folder,
                known=", ".join(sorted(result_files)),
            ).for_field("systems")
    folders = []
    for folder in sorted(result_files):
        base_name = name if folder == ROOT_FOLDER else folder.rpartition("/")[2]
        guess = add_file_facts(guess_from_name(base_name), texts[folder])
        folders.append(
            _preview_folder(lab, request, folder, result_files[folder], guess)
        )
    return ArchiveContent(tuple(folders), tuple(files))


def store_archive(
    agent: Agent, name: str, archive: IO[bytes], request: ArchiveRequest
) -> ArchiveContent:
    """Repeating is safe. Raises the errors of `preview_archive`, and InvalidError for
    an incomplete system.
    """
    lab = agent.lab
    studies = Study.objects.filter(lab=lab, deleted_at=None)
    slugs = set(studies.values_list("slug", flat=True))
    if request.study not in slugs:
        raise UnknownNameError("study", request.study, sorted(slugs))
    preview = preview_archive(lab, name, archive, request)
    for folder in preview.folders:
        if folder.missing_fields:
            raise InvalidError(
                "folders_rejected",
                'The description of the system in folder "{name}" is incomplete. '
                "Missing: {missing}.",
                name=folder.name,
                missing=", ".join(folder.missing_fields),
            ).for_field("systems")
        if _is_unconfirmed_native(lab, folder, request):
            raise unconfirmed_native_error().for_field("systems")
    systems = {
        folder.name: folder.system
        if isinstance(folder.system, int)
        else register_system(lab=lab, description=dict(folder.system))[0].pk
        for folder in preview.folders
    }
    files = {file.index: file for file in preview.files}
    readable = {index for index, file in files.items() if file.state == "read"}
    archive.seek(0)
    for member in read_members(
        name, archive, settings.UPLOAD_LIMIT_BYTES, lambda index: index in readable
    ):
        file = files[member.index]
        target = {"study": request.study, "system": systems[file.folder], **request.run}
        try:
            receipts = submit_file(agent, member, target, request)
            files[member.index] = replace(file, submissions=receipts)
        except BenchmarksError as error:
            files[member.index] = replace(file, problem=error, sample_count=0)
    if not any(file.submissions for file in files.values()):
        # All files failed, probably for one reason, such as an archived study.
        raise next(file.problem for file in files.values() if file.problem)
    return replace(preview, files=tuple(files.values()))


def _is_unconfirmed_native(
    lab: Lab, folder: ArchiveFolder, request: ArchiveRequest
) -> bool:
    if isinstance(folder.system, int):
        hypervisor = System.objects.get(lab=lab, pk=folder.system).hypervisor
    else:
        hypervisor = folder.system["hypervisor"]
    return is_unconfirmed_native(hypervisor, {"platform": request.platform})


def submit_file(
    agent: Agent,
    member: ArchiveMember,
    run_document: Mapping[str, Any],
    request: ArchiveRequest,
    part: str = "",
) -> tuple[UploadReceipt, ...]:
    """Store a file, or a part of it, with the fields of ``run_document``.

    The key is derived from the content, so repeated files are skipped. Raises
    BenchmarksError.
    """
    if member.refusal:
        raise member.refusal
    text = decode(member.data)
    facts = request.times.facts(text, member.modified)
    optional_fields = {
        "tool": request.tool,
        "locale": request.locale,
        "facts": facts,
        "part": part,
    }
    document = {
        **run_document,
        **{name: value for name, value in optional_fields.items() if value},
        "output": text,
        "note": member.name,
    }
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    document = {"key": str(uuid5(KEY_NAMESPACE, content.decode())), **document}
    try:
        return tuple(submit_runs(agent=agent, documents=[document]))
    except BatchRejectedError as error:
        raise next(iter(error.problems.values())) from None


def read_member(
    member: ArchiveMember,
    tool: str,
    locale: str,
    custom_tools: Mapping[str, DeclaredTool],
) -> tuple[run_extraction.ExtractedRun, ...]:
    """Return the runs in a file, each with its own problem, if any.

    Raises BenchmarksError if the file cannot be read at all.
    """
    if declared := custom_tools.get(tool):
        return extract_sample_runs(
            declared.tool, declared.version, member.data, locale or None
        )
    return run_extraction.extract_runs(member.data, tool or None, locale or None)


def read_system_description(data: bytes) -> str:
    """Return the text of a file that describes a system, else an empty text."""
    if len(data) > MAX_DESCRIPTION_BYTES:
        return ""
    with suppress(BenchmarksError):
        text = decode(data)
        if add_file_facts(SystemGuess(), [text]) != SystemGuess():
            return text
    return ""


def _preview_file(
    member: ArchiveMember,
    archive: str,
    request: ArchiveRequest,
    custom_tools: Mapping[str, DeclaredTool],
) -> ArchiveFile:
    folder = _path_in_archive(system_folder(member.name), archive) or ROOT_FOLDER
    blank = ArchiveFile(member.index, _path_in_archive(member.name, archive), folder)
    if member.refusal:
        return replace(blank, problem=member.refusal)
    try:
        runs = read_member(member, request.tool, request.locale, custom_tools)
    except BenchmarksError as error:
        describes_system = bool(read_system_description(member.data))
        return replace(blank, problem=error, describes_system=describes_system)
    return replace(
        blank,
        result_count=len(runs),
        sample_count=sum(len(run.readings) for run in runs if not run.problem),
        dated_result_count=sum(run.printed_start is not None for run in runs),
        problem=next((run.problem for run in runs if run.problem), None),
    )


def _path_in_archive(path: str, archive: str) -> str:
    return path.removeprefix(archive).strip("/") or ("" if path == archive else path)


def _preview_folder(
    lab: Lab, request: ArchiveRequest, name: str, files: int, guess: SystemGuess
) -> ArchiveFolder:
    stated = request.systems.get(name, {})
    if isinstance(stated, int):
        if not System.objects.filter(lab=lab, pk=stated).exists():
            raise UnknownNameError("system", stated)
        return ArchiveFolder(name, files, stated)
    guessed = {
        field_name: value
        for field_name, value in vars(guess).items()
        if field_name != "sources" and value not in ("", None)
    }
    options = {**request.common.get("options", {}), **stated.get("options", {})}
    system = {**request.common, **guessed, **stated}
    if options:
        system["options"] = options
    matching = System.objects.filter(
        lab=lab,
        **{
            field_name: system[field_name]
            for field_name in guessed
            if field_name in system
        },
        **({"host__slug": system["host"]} if "host" in system else {}),
    )
    matching_ids = (
        matching.order_by("pk").values_list("pk", flat=True)[:10] if guessed else ()
    )
    sources = {
        field_name: where
        for field_name, where in guess.sources.items()
        if field_name not in stated
    }
    missing = tuple(
        field_name for field_name in REQUIRED_FIELDS if not system.get(field_name)
    )
    return ArchiveFolder(name, files, system, tuple(matching_ids), sources, missing)
