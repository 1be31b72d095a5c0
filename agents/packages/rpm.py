"""A reproducible RPM package (rpm.org, "RPM V4 Package format"), without rpmbuild."""

import hashlib
import struct
from typing import Any, Dict, List, NamedTuple, Tuple

from agents import VERSION
from agents.packages import contents
from agents.packages.contents import PackedFile
from agents.packages.deb import gzip_bytes

INT16, INT32, TEXT, BINARY, TEXTS, TRANSLATED = 3, 4, 6, 7, 8, 9
_FORMATS = {INT16: ">%dH", INT32: ">%dI"}
_MAGIC = b"\x8e\xad\xe8\x01" + bytes(4)
_SIGNATURE_REGION, _HEADER_REGION = 62, 63
_RELEASE = "1"
_SHELL = "/bin/sh"
_LESS, _GREATER, _EQUAL, _RPMLIB = 2, 4, 8, 1 << 24
_CONFIGURATION_FLAGS = 1 | 1 << 4  # %config(noreplace)
_LICENCE_FLAG = 1 << 7
_SHA256 = 8  # as in OpenPGP
# Name, flags, version.
_REQUIREMENTS = (
    (_SHELL, 0, ""),
    ("/usr/sbin/useradd", 0, ""),
    ("python3", _GREATER | _EQUAL, "3.6"),
    ("rpmlib(CompressedFileNames)", _RPMLIB | _LESS | _EQUAL, "3.0.4-1"),
    ("rpmlib(FileDigests)", _RPMLIB | _LESS | _EQUAL, "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", _RPMLIB | _LESS | _EQUAL, "4.0-1"),
)
_IF_LAST = 'if [ "$1" -eq 0 ]; then\n%sfi\n'

Entry = Tuple[int, Any]  # type and value
Entries = Dict[int, Entry]


class _Path(NamedTuple):
    path: str
    mode: int
    content: bytes
    target: str

    @property
    def data(self) -> bytes:
        return self.target.encode() or self.content


def build_rpm() -> bytes:
    paths = _paths(contents.package_files())
    archive = _cpio(paths)
    payload = gzip_bytes(archive)
    header = _header(_HEADER_REGION, _entries(paths, payload))
    signature = _header(
        _SIGNATURE_REGION,
        {
            269: (TEXT, hashlib.sha1(header).hexdigest()),
            273: (TEXT, hashlib.sha256(header).hexdigest()),
            1000: (INT32, [len(header) + len(payload)]),
            1004: (BINARY, hashlib.md5(header + payload).digest()),
            1007: (INT32, [len(archive)]),
        },
    )
    signature += bytes(-len(signature) % 8)
    return _lead() + signature + header + payload


def _lead() -> bytes:
    name = ("%s-%s-%s" % (contents.NAME, VERSION, _RELEASE)).encode()
    return struct.pack(">4sBBHH66sHH16x", b"\xed\xab\xee\xdb", 3, 0, 0, 1, name, 1, 5)


def _paths(files: Dict[str, PackedFile]) -> List[_Path]:
    folders = contents.parent_folders(files)
    paths = [_Path(p, 0o040755, b"", "") for p, is_own in folders.items() if is_own]
    for path, file in files.items():
        kind = 0o120000 if file.target else 0o100000
        paths.append(_Path(path, kind | file.mode, file.content, file.target))
    return sorted(paths)


def _entries(paths: List[_Path], payload: bytes) -> Entries:
    return {
        **_package_entries(sum(len(path.content) for path in paths)),
        **_script_entries(),
        **_file_entries(paths),
        **_dependency_entries(),
        1124: (TEXT, "cpio"),
        1125: (TEXT, "gzip"),
        1126: (TEXT, "9"),
        5092: (TEXTS, [hashlib.sha256(payload).hexdigest()]),
        5093: (INT32, [_SHA256]),
    }


def _package_entries(size: int) -> Entries:
    return {
        100: (TEXTS, ["C"]),  # the language of the translated texts
        1000: (TEXT, contents.NAME),
        1001: (TEXT, VERSION),
        1002: (TEXT, _RELEASE),
        1004: (TRANSLATED, [contents.SUMMARY]),
        1005: (TRANSLATED, ["\n".join(contents.DESCRIPTION)]),
        1006: (INT32, [contents.DATE_S]),
        1009: (INT32, [size]),
        1014: (TEXT, "BSD-3-Clause"),
        1015: (TEXT, contents.MAINTAINER),
        1016: (TRANSLATED, ["Applications/Engineering"]),
        1021: (TEXT, "linux"),
        1022: (TEXT, "noarch"),
        1044: (TEXT, "virtlab-agent-%s-%s.src.rpm" % (VERSION, _RELEASE)),
        5062: (TEXT, "utf-8"),
    }


def _script_entries() -> Entries:
    scripts = {
        1024: contents.CREATE_USER + contents.RESTART,  # after installation
        1025: _IF_LAST % contents.STOP,  # before removal
        1026: contents.RELOAD,  # after removal
    }
    entries: Entries = {tag: (TEXT, script) for tag, script in scripts.items()}
    entries.update(dict.fromkeys((1086, 1087, 1088), (TEXT, _SHELL)))
    return entries


def _file_entries(paths: List[_Path]) -> Entries:
    folders = sorted({path.path.rpartition("/")[0] + "/" for path in paths})
    count = len(paths)
    digests = [
        hashlib.sha256(path.content).hexdigest() if path.mode >> 12 == 0o10 else ""
        for path in paths
    ]
    return {
        1028: (INT32, [len(path.data) for path in paths]),
        1030: (INT16, [path.mode for path in paths]),
        1033: (INT16, [0] * count),
        1034: (INT32, [contents.DATE_S] * count),
        1035: (TEXTS, digests),
        1036: (TEXTS, [path.target for path in paths]),
        1037: (INT32, [_flags(path.path) for path in paths]),
        1039: (TEXTS, ["root"] * count),
        1040: (TEXTS, ["root"] * count),
        1045: (INT32, [0xFFFFFFFF] * count),
        1095: (INT32, [1] * count),
        1096: (INT32, list(range(1, count + 1))),
        1097: (TEXTS, [""] * count),
        1116: (INT32, [folders.index(p.path.rpartition("/")[0] + "/") for p in paths]),
        1117: (TEXTS, [path.path.rpartition("/")[2] for path in paths]),
        1118: (TEXTS, folders),
        5011: (INT32, [_SHA256]),
    }


def _flags(path: str) -> int:
    if path == contents.CONFIGURATION:
        return _CONFIGURATION_FLAGS
    return _LICENCE_FLAG if path.endswith("/copyright") else 0


def _dependency_entries() -> Entries:
    names, flags, versions = zip(*_REQUIREMENTS)
    return {
        1047: (TEXTS, [contents.NAME]),
        1048: (INT32, list(flags)),
        1049: (TEXTS, list(names)),
        1050: (TEXTS, list(versions)),
        1112: (INT32, [_EQUAL]),
        1113: (TEXTS, ["%s-%s" % (VERSION, _RELEASE)]),
    }


def _header(region: int, entries: Entries) -> bytes:
    """Return a header section: index entries, then their data."""
    index, data = b"", b""
    for tag in sorted(entries):
        kind, value = entries[tag]
        encoded, count = _encoded(kind, value)
        alignment = {INT16: 2, INT32: 4}.get(kind, 1)
        data += bytes(-len(data) % alignment)
        index += struct.pack(">IIII", tag, kind, len(data), count)
        data += encoded
    # The region covers all entries; its data repeat the entry, with a negative offset.
    size = len(index) + 16
    start = struct.pack(">IIII", region, BINARY, len(data), 16)
    data += struct.pack(">IIiI", region, BINARY, -size, 16)
    return _MAGIC + struct.pack(">II", size // 16, len(data)) + start + index + data


def _encoded(kind: int, value: Any) -> Tuple[bytes, int]:
    if kind in _FORMATS:
        return struct.pack(_FORMATS[kind] % len(value), *value), len(value)
    if kind == BINARY:
        return value, len(value)
    texts = [value] if kind == TEXT else value
    return b"".join(text.encode() + b"\0" for text in texts), len(texts)


def _cpio(paths: List[_Path]) -> bytes:
    """Return an archive in the format "newc"."""
    archive = b""
    for number, path in enumerate(paths, start=1):
        archive += _cpio_member("." + path.path, number, path.mode, path.data)
    return archive + _cpio_member("TRAILER!!!", 0, 0, b"")


def _cpio_member(name: str, number: int, mode: int, data: bytes) -> bytes:
    stored = name.encode() + b"\0"
    date_s = contents.DATE_S if number else 0
    fields = (number, mode, 0, 0, 1, date_s, len(data), 0, 0, 0, 0, len(stored), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + stored
    head += bytes(-len(head) % 4)
    return head + data + bytes(-len(data) % 4)
