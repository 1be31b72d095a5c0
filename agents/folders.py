"""Send folders of outputs as one archive; folders that name platforms are systems."""

import io
import json
import os
import re
import tarfile
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Tuple

from agents.errors import UsageError

Document = Dict[str, Any]

# As much as the server takes at once.
MOST_FILES = 200
MOST_BYTES = 64 * 1024 * 1024
_TEXTS = ("host", "hypervisor", "hypervisor_version", "virtualization", "guest_os")
_NUMBERS = ("guest_bits", "vcpus", "memory_bytes")
_WHOLE = re.compile(r"[0-9]{1,18}$")


def packed(paths: Iterable[str]) -> bytes:
    """Return an archive of files and folders, each folder under its own name."""
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
    """Yield each file and its name in the archive; what is hidden stays here."""
    for given in paths:
        top = os.path.basename(os.path.abspath(given))
        if not os.path.isdir(given):
            yield given, top
            continue
        for folder, inner, names in os.walk(given):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in sorted(names):
                path = os.path.join(folder, name)
                # A pipe would be waited for, and a link may lead anywhere.
                if name.startswith(".") or os.path.islink(path):
                    continue
                if os.path.isfile(path):
                    below = os.path.relpath(path, given).replace(os.sep, "/")
                    yield path, top + "/" + below


def system_of(text: str) -> Tuple[str, Any]:
    """Read `kvm: 17` or `kvm: hypervisor_version=8.2` as a folder's system."""
    name, colon, rest = text.rpartition(":")
    if not (colon and name.strip() and rest.strip()):
        raise UsageError(
            '"%s": name a folder and its system, as "kvm: 17" or '
            '"kvm: hypervisor_version=8.2, cache=none"' % text
        )
    if _WHOLE.match(rest.strip()):
        return name.strip(), int(rest)
    system = {}  # type: Document
    for pair in rest.split(","):
        field, equals, value = (part.strip() for part in pair.partition("="))
        if not (field and equals and value):
            raise UsageError('"%s" is not name=value, as in vcpus=2' % pair.strip())
        if field in _TEXTS:
            system[field] = value
        elif field in _NUMBERS:
            if not _WHOLE.match(value):
                raise UsageError("%s needs a whole number, not %s" % (field, value))
            system[field] = int(value)
        else:
            system.setdefault("options", {})[field] = value
    return name.strip(), system


def form(about: Document, archive: bytes) -> Tuple[bytes, str]:
    """Return both as the parts of one form, and its content type."""
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
    """Say in lines what an archive holds, and what became of it."""
    lines = []
    for folder in answer["folders"]:
        known = folder["system"] or {}
        words = [
            " ".join(str(known[name]) for name in _TEXTS[1:3] if known.get(name)),
            *(str(known[name]) for name in _TEXTS[3:] if known.get(name)),
            *("%s=%s" % (name, known[name]) for name in _NUMBERS if known.get(name)),
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
