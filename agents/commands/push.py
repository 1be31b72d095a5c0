"""Keep what tools printed, and send it; `-` reads standard input.

Each file is one upload; one that holds the results of several commands becomes several
runs. It is kept in the spool first, so a server that is away loses nothing: `watch` or
the next `push` sends it. A text that no tool printed is said (exit code 4); the server
keeps it, too, as something that nobody could read.

The system is described from what was detected here; say it yourself where that is not
certain or where the output comes from elsewhere:

  sysbench cpu run | virtlab-agent.pyz push --study my-study --host athlon -
  virtlab-agent.pyz push --study my-study --host athlon --hypervisor Xen \\
      --hypervisor-version 4.17 --option hw_virt=on results/*.txt
  virtlab-agent.pyz push --study my-study --system 17 old.txt

A folder is sent as a whole: each folder in it that names a platform (native, kvm-8.2)
becomes a system. First it is only looked at; --yes stores it. Twice is once.

  virtlab-agent.pyz push --study my-study --host ws1 --file-dates results/
  virtlab-agent.pyz push --study my-study --host ws1 --file-dates results/ \\
      --folder "results/kvm: hypervisor_version=8.2, cache=none" --yes
"""

import argparse
import json
import os
import re
import sys
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from agents import errors
from agents.console import Console, utc_text
from agents.documents import (
    SYSTEM_NUMBERS,
    SYSTEM_TEXTS,
    add_describing_arguments,
    described_run,
    described_system,
    stated_system,
    study_of,
)
from agents.errors import ServerAwayError, UsageError

Document = Dict[str, Any]

# Limits of the server.
MOST_FILES = 200
MOST_BYTES = 64 * 1024 * 1024
_TEXTS = ("host", *SYSTEM_TEXTS)
_WHOLE = re.compile(r"[0-9]{1,18}$")
_OWN = ("tool", "locale", "clock", "started_at")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] FILE_OR_FOLDER [...]"
    parser.add_argument(
        "files", nargs="+", metavar="FILE_OR_FOLDER", help="- is standard input"
    )
    parser.add_argument("--later", action="store_true", help="send nothing now")
    parser.add_argument("--tool", help="where the text does not say whose it is")
    parser.add_argument("--locale", help="de_DE: decimal commas are read")
    parser.add_argument("--started-at", help="2010-07-29T12:00:00+02:00")
    parser.add_argument("--clock", help="whose clock timed it: guest, external, ...")
    folders = parser.add_argument_group("folders")
    folders.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="NAME: SYSTEM",
        help="a system's id, or name=value of what the folder does not say",
    )
    folders.add_argument(
        "--file-dates",
        action="store_true",
        help="where an output does not say when it began, its file's date does",
    )
    folders.add_argument("--time-zone", help="of clocks that outputs print")
    folders.add_argument("--yes", action="store_true", help="store what was read")
    add_describing_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.detection.facts import gather_platform
    from agents.documents import upload
    from agents.home import load_enrolment, open_spool
    from agents.sending import deliver_and_say, say_what_was_read

    enrolment = load_enrolment()
    study = study_of(options, enrolment.study)
    if any(os.path.isdir(name) for name in options.files):
        return _push_folders(options, enrolment, study)
    facts = gather_platform()
    system = described_system(options, facts, enrolment.host)
    own = {name: getattr(options, name) for name in _OWN}
    given = dict(described_run(options), **own)
    # Read all files before saving one: a wrong name must not leave half of them.
    texts = [(name, _read(name)) for name in options.files]
    spool, console = open_spool(), Console()
    pushed = {}
    for name, text in texts:
        file_facts = {"name": "standard input"}
        if name != "-":
            changed_at = utc_text(os.stat(name).st_mtime)
            file_facts = {"name": os.path.basename(name), "changed at": changed_at}
        stated = dict(facts, file=file_facts)
        pushed[name] = upload(text, study, system, stated, given)
        key = spool.save(pushed[name])
        console.progress("kept %s as %s" % (name, key))
    if options.later:
        return errors.DONE
    return deliver_and_say(enrolment, spool, console) or say_what_was_read(
        enrolment, pushed, console
    )


def _push_folders(options: argparse.Namespace, enrolment: Any, study: str) -> int:
    from agents.client import Client, UnreachableError

    if "-" in options.files or options.later or options.started_at or options.clock:
        raise UsageError("Folders go without -, --later, --started-at and --clock.")
    if options.system or options.slot or options.corun or options.note:
        raise UsageError(
            "Folders go without --slot, --corun and --note; name a system by "
            '--folder "NAME: ID".'
        )
    for name in options.files:
        if not os.path.exists(name):
            raise UsageError("%s: there is no such file." % name)
    said = described_run(options)
    common = dict(stated_system(options), host=options.host or enrolment.host)
    about = dict(
        {name: said[name] for name in ("scenario", "vms", "load", "session")},
        study=study,
        store=options.yes,
        tool=options.tool,
        locale=options.locale,
        time_zone=options.time_zone,
        take_file_dates=options.file_dates,
        systems=dict(map(folder_system, options.folder)),
        system={name: value for name, value in common.items() if value},
    )
    about = {name: value for name, value in about.items() if value not in (None, {})}
    body, content_type = form(about, packed(options.files))
    client = Client(enrolment.server, enrolment.token, patience_s=30)
    try:
        answer = client.send_form("archives/", body, content_type)
    except UnreachableError as away:
        raise ServerAwayError(
            "%s Folders are read by the server, so nothing was kept: push them again."
            % away
        ) from None
    console = Console()
    for line in told(answer):
        console.result(line)
    console.say(_ending(answer))
    return errors.DONE


def _ending(answer: Dict[str, Any]) -> str:
    if not answer["stored"]:
        if any(folder["missing"] for folder in answer["folders"]):
            return 'Nothing is stored. Say what is missing: --folder "NAME: ..."'
        return "Nothing is stored yet. The same with --yes stores it."
    states = [file["state"] for file in answer["files"]]
    return "%d stored, %d stored before." % (
        states.count("stored"),
        states.count("known"),
    )


def _read(name: str) -> str:
    from agents.documents import decoded

    try:
        if name == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                content = file.read()
    except OSError as error:
        raise UsageError("%s: %s" % (name, error.strerror)) from None
    if not content.strip():
        raise UsageError("%s is empty." % name)
    return decoded(content)


def packed(paths: Iterable[str]) -> bytes:
    """Return an archive of files and folders, each folder under its own name."""
    # Imported late: only folders need them.
    import io
    import tarfile

    buffer = io.BytesIO()
    count = size = 0
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as archive:
        for path, name in _files(paths):
            count += 1
            size += os.path.getsize(path)
            if count > MOST_FILES or size > MOST_BYTES:
                raise UsageError(
                    "These are more than %d files or %d MiB. Push one folder at a time."
                    % (MOST_FILES, MOST_BYTES // 1024 // 1024)
                )
            archive.add(path, name, recursive=False)
    if not count:
        raise UsageError("There is no file in %s." % ", ".join(paths))
    return buffer.getvalue()


def _files(paths: Iterable[str]) -> Iterator[Tuple[str, str]]:
    """Yield each file and its name in the archive, without hidden files."""
    for given in paths:
        top = os.path.basename(os.path.abspath(given))
        if not os.path.isdir(given):
            yield given, top
            continue
        for folder, inner, names in os.walk(given):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in sorted(names):
                path = os.path.join(folder, name)
                # A link may lead anywhere; reading a pipe would block.
                if name.startswith(".") or os.path.islink(path):
                    continue
                if os.path.isfile(path):
                    below = os.path.relpath(path, given).replace(os.sep, "/")
                    yield path, top + "/" + below


def folder_system(text: str) -> Tuple[str, Any]:
    """Parse `kvm: 17` or `kvm: hypervisor_version=8.2`: a folder and its system."""
    name, colon, rest = text.rpartition(":")
    if not (colon and name.strip() and rest.strip()):
        raise UsageError(
            '"%s": name a folder and its system, as "kvm: 17" or '
            '"kvm: hypervisor_version=8.2, cache=none"' % text
        )
    if _WHOLE.match(rest.strip()):
        return name.strip(), int(rest)
    system: Document = {}
    for pair in rest.split(","):
        field, equals, value = (part.strip() for part in pair.partition("="))
        if not (field and equals and value):
            raise UsageError('"%s" is not name=value, as in vcpus=2' % pair.strip())
        if field in _TEXTS:
            system[field] = value
        elif field in SYSTEM_NUMBERS:
            if not _WHOLE.match(value):
                raise UsageError("%s needs a whole number, not %s" % (field, value))
            system[field] = int(value)
        else:
            system.setdefault("options", {})[field] = value
    return name.strip(), system


def form(about: Document, archive: bytes) -> Tuple[bytes, str]:
    """Return a form with both parts, and its content type."""
    mark = uuid.uuid4().hex
    part = "--%s\r\nContent-Disposition: form-data; name=%s\r\n\r\n"
    body = [
        (part % (mark, '"about"')).encode(),
        json.dumps(about).encode(),
        b"\r\n",
        (part % (mark, '"archive"; filename="push.tar.gz"')).encode(),
        archive,
        ("\r\n--%s--\r\n" % mark).encode(),
    ]
    return b"".join(body), "multipart/form-data; boundary=" + mark


def told(answer: Document) -> List[str]:
    """Return lines about the content of an archive and its problems."""
    lines = []
    for folder in answer["folders"]:
        known = folder["system"] or {}
        words = [
            " ".join(str(known[name]) for name in _TEXTS[1:3] if known.get(name)),
            *(str(known[name]) for name in _TEXTS[3:] if known.get(name)),
            *(
                "%s=%s" % (name, known[name])
                for name in SYSTEM_NUMBERS
                if known.get(name)
            ),
            *("%s=%s" % pair for pair in sorted(known.get("options", {}).items())),
        ]
        if known.get("host"):
            words.append("on " + str(known["host"]))
        if folder["system_id"]:
            words = ["system %d" % folder["system_id"]]
        line = "%s: %d read; %s" % (
            folder["folder"],
            folder["files"],
            ", ".join(word for word in words if word) or "an unknown system",
        )
        if folder["missing"]:
            line += "; missing: " + ", ".join(folder["missing"])
        lines.append(line)
    for file in answer["files"]:
        if file["problem"] and file["state"] != "describes":
            lines.append("%s: %s" % (file["name"], file["problem"]))
    return lines
