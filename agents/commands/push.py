"""Save the output of tools and send it; `-` reads standard input.

Each file is one upload. A file with the results of several commands becomes several
runs. Files are first saved in the spool, so nothing is lost while the server is
unavailable: `watch` or the next `push` sends them. Output that Virtlab cannot parse is
reported (exit code 4); the server keeps it too, as a rejected run.

The system is described from facts detected here. Describe it with options if detection
is uncertain or if the output comes from another machine:

  sysbench cpu run | virtlab-agent.pyz push --study my-study --host athlon -
  virtlab-agent.pyz push --study my-study --host athlon --hypervisor Xen \\
      --hypervisor-version 4.17 --option hw_virt=on results/*.txt
  virtlab-agent.pyz push --study my-study --system 17 old.txt

A folder is sent as one archive. Each folder in it whose name is a platform (native,
kvm-8.2) becomes a system. Without --yes, nothing is stored and the systems are only
shown. Pushing a folder twice stores its runs once.

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
from agents.argument_parsing import read_given_file
from agents.console import Console, printable_name, utc_text
from agents.errors import ServerUnavailableError, UsageError
from agents.run_and_system_options import (
    SYSTEM_NUMBERS,
    SYSTEM_TEXTS,
    add_run_arguments,
    confirm_native,
    required_study,
    run_options,
    stated_system_options,
    system_from_options,
)

Document = Dict[str, Any]

MAX_FILES = 200
MAX_BYTES = 64 * 1024 * 1024
_TEXTS = ("host", *SYSTEM_TEXTS)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}$")
_PLATFORM = ("layers", "conflict", "confirmed")
_UPLOAD_OPTIONS = ("tool", "locale", "part", "clock", "started_at")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] FILE_OR_FOLDER [...]"
    parser.add_argument(
        "files", nargs="+", metavar="FILE_OR_FOLDER", help="- for standard input"
    )
    parser.add_argument("--later", action="store_true", help="do not send now")
    parser.add_argument("--tool", help="tool that printed it, if not recognizable")
    parser.add_argument("--locale", help="de_DE: read decimal commas")
    parser.add_argument("--part", help="system of a file with several, see `check`")
    parser.add_argument("--started-at", help="2010-07-29T12:00:00+02:00")
    parser.add_argument("--clock", help="clock that timed it: guest, external, ...")
    folders = parser.add_argument_group("folders")
    folders.add_argument(
        "--folder",
        action="append",
        default=[],
        metavar="NAME: SYSTEM",
        help="ID of its system, or NAME=VALUE of what the folder name lacks",
    )
    folders.add_argument(
        "--file-dates",
        action="store_true",
        help="use the file's date where the output has no start time",
    )
    folders.add_argument("--time-zone", help="time zone of clocks in the outputs")
    folders.add_argument("--yes", action="store_true", help="store the runs")
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.detection.facts import gather_platform
    from agents.local_state import load_enrolment, open_spool
    from agents.spool_delivery import send_and_report
    from agents.upload_documents import upload_document
    from agents.upload_results import Uploads

    enrolment = load_enrolment()
    study = required_study(options, enrolment.study)
    if any(os.path.isdir(name) for name in options.files):
        return _push_folders(options, enrolment, study)
    facts = gather_platform()
    system = system_from_options(options, facts, enrolment.host)
    upload_options = {name: getattr(options, name) for name in _UPLOAD_OPTIONS}
    given = dict(run_options(options), **upload_options)
    # Read all files first: a wrong name must not leave only some of them saved.
    texts = [(name, _read(name)) for name in options.files]
    spool, console = open_spool(), Console()
    uploads = Uploads()
    for name, text in texts:
        file_facts = {"name": "standard input"}
        if name != "-":
            changed_at = utc_text(os.stat(name).st_mtime)
            shown = printable_name(os.path.basename(name))
            file_facts = {"name": shown, "changed at": changed_at}
        stated = dict(facts, file=file_facts)
        document = upload_document(text, study, system, stated, given)
        key = spool.save(document)
        uploads.add(name, document)
        console.progress("saved %s as %s" % (name, key))
    if options.later:
        return errors.DONE
    sent = send_and_report(enrolment, spool, console)
    return sent or uploads.report(enrolment, console)


def _push_folders(options: argparse.Namespace, enrolment: Any, study: str) -> int:
    from agents.client import Client, UnreachableError
    from agents.detection.facts import gather_platform

    if "-" in options.files or options.later or options.started_at or options.clock:
        raise UsageError(
            "--later, --started-at, --clock and - cannot be used with folders."
        )
    if options.system or options.slot or options.corun or options.note:
        raise UsageError(
            "--slot, --corun and --note cannot be used with folders. Name a system "
            'with --folder "NAME: ID".'
        )
    for name in options.files:
        if not os.path.exists(name):
            raise UsageError("%s does not exist." % name)
    run_fields = run_options(options)
    facts = gather_platform()
    confirm_native(options, facts)
    common = dict(stated_system_options(options), host=options.host or enrolment.host)
    platform = facts["platform"]
    metadata = dict(
        {name: run_fields[name] for name in ("scenario", "vms", "load", "session")},
        study=study,
        store=options.yes,
        tool=options.tool,
        locale=options.locale,
        time_zone=options.time_zone,
        use_file_dates=options.file_dates,
        systems=dict(map(parse_folder_system, options.folder)),
        system={name: value for name, value in common.items() if value},
        platform={name: platform.get(name) for name in _PLATFORM},
    )
    metadata = {
        name: value for name, value in metadata.items() if value not in (None, {})
    }
    body, content_type = encode_form(metadata, pack_archive(options.files))
    client = Client(enrolment.server, enrolment.token, retry_for_s=30)
    try:
        answer = client.send_form("archives/", body, content_type)
    except UnreachableError as error:
        raise ServerUnavailableError(
            "%s The server reads folders, so nothing was saved. Push them again later."
            % error
        ) from None
    console = Console()
    for line in archive_summary(answer):
        console.print_result(line)
    console.message(import_summary(answer))
    states = [file["state"] for file in answer["files"]]
    console.record("files", {state: states.count(state) for state in states})
    return errors.DONE


def import_summary(answer: Dict[str, Any]) -> str:
    if not answer["stored"]:
        if any(folder["missing_fields"] for folder in answer["folders"]):
            return 'Nothing is stored. Add the missing fields: --folder "NAME: ..."'
        return "Nothing is stored yet. Add --yes to store the runs."
    states = [file["state"] for file in answer["files"]]
    return "%d stored, %d already stored." % (
        states.count("stored"),
        states.count("already_stored"),
    )


def _read(name: str) -> str:
    from agents.upload_documents import decode_text

    if name == "-":
        content = sys.stdin.buffer.read()
    else:
        content = read_given_file(name, "Pipe its output to push -")
    if not content.strip():
        raise UsageError("%s is empty." % name)
    return decode_text(content)


def pack_archive(paths: Iterable[str]) -> bytes:
    import io
    import tarfile

    buffer = io.BytesIO()
    count = size = 0
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as archive:
        for path, name in _files(paths):
            count += 1
            size += os.path.getsize(path)
            if count > MAX_FILES or size > MAX_BYTES:
                raise UsageError(
                    "There are more than %d files or %d MiB. Push one folder at a time."
                    % (MAX_FILES, MAX_BYTES // 1024 // 1024)
                )
            archive.add(path, printable_name(name), recursive=False)
    if not count:
        raise UsageError("There are no files in %s." % ", ".join(paths))
    return buffer.getvalue()


def _files(paths: Iterable[str]) -> Iterator[Tuple[str, str]]:
    """Yield visible files and their names in the archive."""
    for top_path in paths:
        top = os.path.basename(os.path.abspath(top_path))
        if not os.path.isdir(top_path):
            yield top_path, top
            continue
        for folder, inner, names in os.walk(top_path):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in sorted(names):
                path = os.path.join(folder, name)
                # Links may lead anywhere; reading a pipe would block.
                if name.startswith(".") or os.path.islink(path):
                    continue
                if os.path.isfile(path):
                    relative = os.path.relpath(path, top_path).replace(os.sep, "/")
                    yield path, top + "/" + relative


def parse_folder_system(text: str) -> Tuple[str, Any]:
    """Return folder and system from `kvm: 17` or `kvm: hypervisor_version=8.2`."""
    name, colon, rest = text.rpartition(":")
    if not (colon and name.strip() and rest.strip()):
        raise UsageError(
            '"%s": expected a folder and its system, as in "kvm: 17" or '
            '"kvm: hypervisor_version=8.2, cache=none"' % text
        )
    if _WHOLE_NUMBER.match(rest.strip()):
        return name.strip(), int(rest)
    system: Document = {}
    for pair in rest.split(","):
        field, equals, value = (part.strip() for part in pair.partition("="))
        if not (field and equals and value):
            raise UsageError('"%s" is not NAME=VALUE, as in vcpus=2' % pair.strip())
        if field in _TEXTS:
            system[field] = value
        elif field in SYSTEM_NUMBERS:
            if not _WHOLE_NUMBER.match(value):
                raise UsageError("%s must be a whole number, not %s" % (field, value))
            system[field] = int(value)
        else:
            system.setdefault("options", {})[field] = value
    return name.strip(), system


def encode_form(metadata: Document, archive: bytes) -> Tuple[bytes, str]:
    boundary = uuid.uuid4().hex
    part = "--%s\r\nContent-Disposition: form-data; name=%s\r\n\r\n"
    body = [
        (part % (boundary, '"metadata"')).encode(),
        json.dumps(metadata).encode(),
        b"\r\n",
        (part % (boundary, '"archive"; filename="push.tar.gz"')).encode(),
        archive,
        ("\r\n--%s--\r\n" % boundary).encode(),
    ]
    return b"".join(body), "multipart/form-data; boundary=" + boundary


def archive_summary(answer: Document) -> List[str]:
    lines = []
    for folder in answer["folders"]:
        system = folder["system"] or {}
        words = [
            " ".join(str(system[name]) for name in _TEXTS[1:3] if system.get(name)),
            *(str(system[name]) for name in _TEXTS[3:] if system.get(name)),
            *(
                "%s=%s" % (name, system[name])
                for name in SYSTEM_NUMBERS
                if system.get(name)
            ),
            *("%s=%s" % pair for pair in sorted(system.get("options", {}).items())),
        ]
        if system.get("host"):
            words.append("on " + str(system["host"]))
        if folder["system_id"]:
            words = ["system %d" % folder["system_id"]]
        line = "%s: %d read; %s" % (
            folder["folder"],
            folder["result_file_count"],
            ", ".join(word for word in words if word) or "an unknown system",
        )
        if folder["missing_fields"]:
            line += "; missing: " + ", ".join(folder["missing_fields"])
        lines.append(line)
    for file in answer["files"]:
        if file["problem"] and file["state"] != "description":
            lines.append("%s: %s" % (file["name"], file["problem"]))
    return lines
