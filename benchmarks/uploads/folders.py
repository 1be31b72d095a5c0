"""Archives whose folders are systems, for the upload page and the API.

`look` says which system each folder would be and why; `store` takes the same archive
with what was missing.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import IO, Any, Final
from uuid import UUID, uuid5

import orjson
from django.conf import settings

from benchmarks.errors import (
    BatchRefusedError,
    BenchmarksError,
    InvalidError,
    UnknownNameError,
)
from benchmarks.labs.quotas import admit_lab_previews
from benchmarks.models import Agent, Lab, Study, System
from benchmarks.own_tools.lookup import DeclaredTool, declared_tools
from benchmarks.own_tools.samples import read_runs
from benchmarks.parsing import reading
from benchmarks.parsing.archives import Member, members
from benchmarks.parsing.decoding import decode
from benchmarks.parsing.folders import Guess, folder_of, named, with_files
from benchmarks.parsing.starts import placed, prints_clock
from benchmarks.studies.systems import register_system
from benchmarks.uploads.intake import Submission, submit_runs
from benchmarks.uploads.results import FILE_DATE, ZONE

UPLOADS: Final = UUID("c252e1a7-7ede-4e53-a0df-450ce392b6d9")
"""Keys of files that are stored here follow from it: it is never changed."""
LARGEST_TOLD_BYTES: Final = 64 * 1024
"""Programs that say what a machine is say no more than this."""
TOP: Final = "."
"""What files outside of any folder of a system are called together."""
NEEDED: Final = ("host", "hypervisor")


@dataclass(frozen=True)
class Times:
    """What a person says of when files were written: the zone of the clocks that they
    print, and whether a file's own date stands where it prints none."""

    zone: str = ""
    takes_dates: bool = False

    def facts(self, text: str, modified: datetime | None) -> dict[str, str]:
        """Return what is stated of a file beside its text; nothing it needs not."""
        facts = {}
        if self.zone and prints_clock(text):
            facts[ZONE] = self.zone
        written = placed(modified, self.zone) if self.takes_dates else None
        if written:
            facts[FILE_DATE] = written.isoformat()
        return facts


@dataclass(frozen=True)
class Asked:
    """What the uploader states of an archive and of its folders by name.

    A system is an id or a description; ``common`` holds for every folder that does not
    state otherwise. ``run`` has scenario, session ...
    """

    study: str
    systems: Mapping[str, Any] = field(default_factory=dict)
    common: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    times: Times = Times()
    tool: str = ""
    locale: str = ""


@dataclass(frozen=True)
class FoundFile:
    """A file: a result, or why it is not one; once it was sent, what became of it."""

    index: int
    name: str
    folder: str
    results: int = 0
    readings: int = 0
    starts: int = 0
    tells_system: bool = False
    problem: BenchmarksError | None = None
    submissions: tuple[Submission, ...] = ()

    @property
    def state(self) -> str:
        """``stored`` or ``known`` once it was sent; else what a look says."""
        if self.submissions:
            repeated = all(each.repeated for each in self.submissions)
            return "known" if repeated else "stored"
        if self.tells_system:
            return "describes"
        return "refused" if self.problem or not self.readings else "read"


@dataclass(frozen=True)
class FoundFolder:
    """The system of a folder: an id or a description, and what is missing.

    ``fits`` are registered systems that match; ``said`` is the source of each part.
    """

    name: str
    files: int
    system: int | Mapping[str, Any]
    fits: tuple[int, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """What an archive holds."""

    folders: tuple[FoundFolder, ...]
    files: tuple[FoundFile, ...]


def look(lab: Lab, name: str, archive: IO[bytes], asked: Asked) -> Found:
    """Return the folders and files of an archive; store nothing.

    Raises UnknownNameError for an unknown system, InvalidError for an unknown folder or
    an unreadable archive, and TooFastError.
    """
    own = declared_tools(lab.slug)
    files, texts = [], defaultdict(list)
    for member in members(name, archive, settings.UPLOAD_LIMIT_BYTES):
        if member.refusal and member.name == name:
            raise member.refusal
        admit_lab_previews(lab.pk, files=1, size=len(member.data))
        file = _looked_at(member, name, asked, own)
        files.append(file)
        if file.tells_system:
            texts[file.folder].append(decode(member.data))
    count = Counter(file.folder for file in files if file.state == "read")
    if not count:
        raise InvalidError(
            "folders_refused",
            "No benchmark output was recognised in any of {n} files. Name the "
            "tool, or see the reason for each file on the upload page.",
            n=len(files),
        ).at("archive")
    for folder in asked.systems:
        if folder not in count:
            raise InvalidError(
                "folders_refused",
                'The archive has no folder "{name}" with results. It has: {known}.',
                name=folder,
                known=", ".join(sorted(count)),
            ).at("systems")
    folders = []
    for folder in sorted(count):
        # An archive's own name counts for its top.
        base = name if folder == TOP else folder.rpartition("/")[2]
        guess = with_files(named(base), texts[folder])
        folders.append(_folder(lab, asked, folder, count[folder], guess))
    return Found(tuple(folders), tuple(files))


def store(agent: Agent, name: str, archive: IO[bytes], asked: Asked) -> Found:
    """Store every readable file as runs of its folder's system; repeating is safe.

    Raises the errors of `look`, and InvalidError for an incomplete system; nothing is
    stored then.
    """
    lab = agent.lab
    studies = Study.objects.filter(lab=lab, deleted_at=None)
    slugs = set(studies.values_list("slug", flat=True))
    if asked.study not in slugs:
        raise UnknownNameError("study", asked.study, sorted(slugs))
    found = look(lab, name, archive, asked)
    for folder in found.folders:
        if folder.missing:
            raise InvalidError(
                "folders_refused",
                'The folder "{name}" does not say which system it is: add its '
                "{missing}.",
                name=folder.name,
                missing=" and its ".join(folder.missing),
            ).at("systems")
    systems = {
        each.name: each.system
        if isinstance(each.system, int)
        else register_system(lab=lab, description=dict(each.system))[0].pk
        for each in found.folders
    }
    files = {file.index: file for file in found.files}
    wanted = {index for index, file in files.items() if file.state == "read"}
    archive.seek(0)
    for member in members(
        name, archive, settings.UPLOAD_LIMIT_BYTES, lambda index: index in wanted
    ):
        file = files[member.index]
        target = {"study": asked.study, "system": systems[file.folder], **asked.run}
        try:
            made = submit_file(agent, member, target, asked)
            files[member.index] = replace(file, submissions=made)
        except BenchmarksError as error:
            files[member.index] = replace(file, problem=error, readings=0)
    if not any(file.submissions for file in files.values()):
        # What stands against all of them is told as what it is: an archived study.
        raise next(file.problem for file in files.values() if file.problem)
    return replace(found, files=tuple(files.values()))


def submit_file(
    agent: Agent, member: Member, target: Mapping[str, Any], asked: Asked
) -> tuple[Submission, ...]:
    """Store one file as runs of a target; raises BenchmarksError.

    The upload key is derived from the content, so repeating finds the stored run.
    """
    if member.refusal:
        raise member.refusal
    text = decode(member.data)
    facts = asked.times.facts(text, member.modified)
    stated = {"tool": asked.tool, "locale": asked.locale, "facts": facts}
    document = {
        **target,
        **{name: value for name, value in stated.items() if value},
        "output": text,
        "note": member.name,
    }
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    document = {"key": str(uuid5(UPLOADS, content.decode())), **document}
    try:
        return tuple(submit_runs(agent=agent, documents=[document]))
    # There was one document, so there is one problem.
    except BatchRefusedError as error:
        raise next(iter(error.problems.values())) from None


def read_member(
    member: Member, tool: str, locale: str, own: Mapping[str, DeclaredTool]
) -> tuple[reading.ReadRun, ...]:
    """Return the runs in a file, each with its own trouble; ``own`` are its lab's own
    tools. Raises BenchmarksError for trouble with the whole file."""
    if declared := own.get(tool):
        return read_runs(declared.tool, declared.version, member.data, locale or None)
    return reading.read(member.data, tool or None, locale or None)


def system_text(data: bytes) -> str:
    """Return the text of a file that says what its system is; else nothing."""
    if len(data) > LARGEST_TOLD_BYTES:
        return ""
    with suppress(BenchmarksError):
        text = decode(data)
        if with_files(Guess(), [text]) != Guess():
            return text
    return ""


def _looked_at(
    member: Member, archive: str, asked: Asked, own: Mapping[str, DeclaredTool]
) -> FoundFile:
    folder = _inside(folder_of(member.name), archive) or TOP
    blank = FoundFile(member.index, _inside(member.name, archive), folder)
    if member.refusal:
        return replace(blank, problem=member.refusal)
    try:
        runs = read_member(member, asked.tool, asked.locale, own)
    except BenchmarksError as error:
        is_told = bool(system_text(member.data))
        return replace(blank, problem=error, tells_system=is_told)
    return replace(
        blank,
        results=len(runs),
        readings=sum(len(run.readings) for run in runs),
        starts=sum(run.printed_start is not None for run in runs),
        problem=next((run.problem for run in runs if run.problem), None),
    )


def _inside(path: str, archive: str) -> str:
    """A path without the name of the archive that it begins with."""
    return path.removeprefix(archive).strip("/") or ("" if path == archive else path)


def _folder(lab: Lab, asked: Asked, name: str, files: int, guess: Guess) -> FoundFolder:
    own = asked.systems.get(name, {})
    if isinstance(own, int):
        if not System.objects.filter(lab=lab, pk=own).exists():
            raise UnknownNameError("system", own)
        return FoundFolder(name, files, own)
    known = {
        part: value
        for part, value in vars(guess).items()
        if part != "said" and value not in ("", None)
    }
    options = {**asked.common.get("options", {}), **own.get("options", {})}
    system = {**asked.common, **known, **own}
    if options:
        system["options"] = options
    fitting = System.objects.filter(
        lab=lab,
        **{part: system[part] for part in known if part in system},
        **({"host__slug": system["host"]} if "host" in system else {}),
    )
    fits = fitting.order_by("pk").values_list("pk", flat=True)[:10] if known else ()
    said = {part: where for part, where in guess.said.items() if part not in own}
    missing = tuple(part for part in NEEDED if not system.get(part))
    return FoundFolder(name, files, system, tuple(fits), said, missing)
