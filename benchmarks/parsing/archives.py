"""Readers of uploaded files, zips and tars that trust no names or sizes. PURE."""

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from gzip import GzipFile
from tarfile import TarError, TarFile, TarInfo
from typing import IO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmarks.errors import BenchmarksError, InvalidError, TooLargeError, shorten

MIB: Final = 1024 * 1024
MAX_MEMBERS: Final = 200
MAX_ENTRIES: Final = 2_000
"""Entries include folders and hidden files."""
MAX_TOTAL_BYTES: Final = 64 * MIB
# Text is usually compressed about ten to one.
MAX_RATIO: Final = 100
RATIO_COUNTS_FROM_BYTES: Final = MIB
MAX_SHOWN_NAME: Final = 200

# A zip without files begins with its end record.
_ZIP_SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_SIGNATURE: Final = b"\x1f\x8b"
_TAR_SIGNATURE: Final = b"ustar"
_TAR_SIGNATURE_OFFSET: Final = 257
_TAR_MARGIN: Final = MAX_ENTRIES * 2048 + MIB
_OFFICE_FILES: Final = frozenset({"[Content_Types].xml", "mimetype"})
_ENTRY_SIGNATURE: Final = b"PK\x01\x02"
_CHUNK: Final = 64 * 1024
_ENCRYPTED: Final = 0x1
_DAMAGE_ERRORS: Final = (
    BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    ValueError,
    struct.error,
    zlib.error,
    TarError,
    UnicodeError,
)


@dataclass(frozen=True)
class ArchiveMember:
    """An uploaded file, or the file number ``index`` of an archive.

    A rejected file has no data. ``modified`` is naive in a zip, which has no time zone.
    """

    index: int
    name: str
    data: bytes = b""
    refusal: BenchmarksError | None = None
    modified: datetime | None = None


Entry = tuple[str, datetime | None, Callable[[int], bytes]]
"""Name, modification time, and a function that unpacks up to a limit in bytes."""


def read_members(
    name: str,
    file: IO[bytes],
    limit_bytes: int,
    is_selected: Callable[[int], bool] = lambda index: True,
) -> Iterator[ArchiveMember]:
    """Yield the selected files of an archive, or the file if it is not an archive.

    Damaged, encrypted or too large files are yielded with the reason for rejection.
    """
    head = file.read(512)
    file.seek(0)
    is_tar = head[_TAR_SIGNATURE_OFFSET:].startswith(_TAR_SIGNATURE)
    try:
        if is_tar or head.startswith(_GZIP_SIGNATURE):
            entries = _tar_entries(file, is_packed=not is_tar)
        elif head.startswith(_ZIP_SIGNATURES):
            entries = _zip_entries(file)
        else:
            yield ArchiveMember(
                0, shorten(name, MAX_SHOWN_NAME), _read(file, limit_bytes)
            )
            return
    except (InvalidError, TooLargeError) as error:
        yield ArchiveMember(0, shorten(name, MAX_SHOWN_NAME), refusal=error)
        return
    for index, (inner_name, modified, unpack) in enumerate(entries):
        if is_selected(index):
            shown = shorten(f"{name}/{inner_name}", MAX_SHOWN_NAME)
            try:
                yield ArchiveMember(
                    index, shown, unpack(limit_bytes), modified=modified
                )
            except (InvalidError, TooLargeError) as error:
                yield ArchiveMember(index, shown, refusal=error)


class _Bounded:
    """A stream that raises TooLargeError beyond ``limit_bytes``."""

    def __init__(self, stream: IO[bytes] | GzipFile, limit_bytes: int) -> None:
        self.stream, self.limit_bytes = stream, limit_bytes

    def read(self, size: int = -1) -> bytes:
        # Check before reading: a header may claim the size of the whole memory.
        if size < 0 or self.stream.tell() + size > self.limit_bytes:
            raise TooLargeError(
                "too_large",
                "The archive unpacks to more than {most} MiB. Split it.",
                most=MAX_TOTAL_BYTES // MIB,
            )
        return self.stream.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()


def _tar_entries(file: IO[bytes], *, is_packed: bool) -> list[Entry]:
    packed = file.seek(0, 2)
    file.seek(0)
    limit_bytes = MAX_TOTAL_BYTES
    if is_packed:
        limit_bytes = min(limit_bytes, max(RATIO_COUNTS_FROM_BYTES, MAX_RATIO * packed))
    stream = _Bounded(
        GzipFile(fileobj=file) if is_packed else file, limit_bytes + _TAR_MARGIN
    )
    try:
        # TarFile uses only read, seek and tell.
        archive = TarFile(fileobj=stream)  # type: ignore[arg-type]
        infos = []
        for info in archive:
            infos.append(info)
            if len(infos) > MAX_ENTRIES:
                raise _too_many(len(infos))
    except _DAMAGE_ERRORS:
        raise InvalidError(
            "file_rejected",
            "This tar file cannot be opened because it is damaged or uses an "
            "unknown format. Create it again, or upload its files directly.",
        ) from None
    infos = [info for info in infos if not info.isdir() and not _is_hidden(info.name)]
    if not infos:
        raise InvalidError("file_rejected", "The archive contains no files.")
    if len(infos) > MAX_MEMBERS:
        raise _too_many(len(infos))
    entries: list[Entry] = []
    for info in infos:
        modified = None
        with suppress(OverflowError, OSError, ValueError):
            modified = datetime.fromtimestamp(info.mtime, UTC)
        unpack = partial(_unpack_tar_file, archive, info)
        entries.append((info.name.removeprefix("./"), modified, unpack))
    return entries


def _unpack_tar_file(archive: TarFile, info: TarInfo, limit_bytes: int) -> bytes:
    if not info.isreg() or info.sparse is not None:
        raise InvalidError(
            "file_rejected",
            "This is a link or a device, not a file. Add the file itself to the "
            "archive.",
        )
    try:
        file = archive.extractfile(info)
        data = _read(file, limit_bytes) if file else b""
    except _DAMAGE_ERRORS:
        raise InvalidError(
            "file_rejected",
            "This file in the archive is damaged. Create the archive again.",
        ) from None
    if data.startswith((*_ZIP_SIGNATURES, _GZIP_SIGNATURE)):
        raise InvalidError(
            "file_rejected",
            "An archive inside an archive is not opened. Upload it separately.",
        )
    return data


def _read(file: IO[bytes], limit_bytes: int) -> bytes:
    data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise TooLargeError(
            "too_large",
            "A file can have at most {size:g} MiB. Upload only the part that "
            "contains the results.",
            size=limit_bytes / MIB,
        )
    return data


def _zip_entries(file: IO[bytes]) -> list[Entry]:
    count, tail = 0, b""
    while chunk := file.read(_CHUNK):
        count += (tail + chunk).count(_ENTRY_SIGNATURE)
        tail = chunk[-len(_ENTRY_SIGNATURE) + 1 :]
    file.seek(0)
    if count > MAX_ENTRIES:
        raise _too_many(count)
    try:
        archive = ZipFile(file)
    except _DAMAGE_ERRORS:
        raise InvalidError(
            "file_rejected",
            "The zip file is damaged and cannot be opened. Create it again.",
        ) from None
    infos = [
        info
        for info in archive.infolist()
        if not info.is_dir() and not _is_hidden(info.filename)
    ]
    if not infos:
        raise InvalidError("file_rejected", "The zip file contains no files.")
    if any(info.filename in _OFFICE_FILES for info in infos):
        raise InvalidError(
            "file_rejected",
            "This is an office document, not a text file. Upload what the tool "
            "printed, or save tables as CSV.",
        )
    if len(infos) > MAX_MEMBERS:
        raise _too_many(len(infos))
    # The zip claims these sizes. If a claim is too small, zipfile stops reading there
    # and the checksum is wrong.
    total, packed = sum(info.file_size for info in infos), file.seek(0, 2)
    if total > MAX_TOTAL_BYTES:
        raise TooLargeError(
            "too_large",
            "The zip file unpacks to {total:,.0f} MiB; the maximum is {most} MiB. "
            "Split it.",
            total=total / MIB,
            most=MAX_TOTAL_BYTES // MIB,
        )
    if total > RATIO_COUNTS_FROM_BYTES and total > MAX_RATIO * packed:
        raise TooLargeError(
            "too_large",
            "The zip file unpacks to more than {most} times its size. Upload its "
            "files directly.",
            most=MAX_RATIO,
        )
    entries: list[Entry] = []
    for info in infos:
        modified = None
        # A month of 0 means an unknown time.
        with suppress(ValueError):
            modified = datetime(*info.date_time)  # noqa: DTZ001 (it has no zone)
        unpack = partial(_unpack_zip_file, archive, info)
        entries.append((info.filename, modified, unpack))
    return entries


def _too_many(count: int) -> TooLargeError:
    return TooLargeError(
        "too_large",
        "The archive contains {n:,} files; the maximum is {most}. Split it.",
        n=count,
        most=MAX_MEMBERS,
    )


def _is_hidden(name: str) -> bool:
    parts = name.split("/")
    hidden = parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
    return hidden or parts[0] == "__MACOSX"


def _unpack_zip_file(archive: ZipFile, info: ZipInfo, limit_bytes: int) -> bytes:
    if info.flag_bits & _ENCRYPTED:
        raise InvalidError(
            "file_rejected",
            "This file is encrypted. Create the zip file without a password.",
        )
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InvalidError(
            "file_rejected",
            "This file uses an unsupported compression method. Create a standard "
            "zip file.",
        )
    try:
        with archive.open(info) as file:
            data = _read(file, limit_bytes)
    except _DAMAGE_ERRORS:
        raise InvalidError(
            "file_rejected",
            "This file in the zip file is damaged. Create the zip file again.",
        ) from None
    if data.startswith((*_ZIP_SIGNATURES, _GZIP_SIGNATURE)):
        raise InvalidError(
            "file_rejected",
            "A zip file inside a zip file is not opened. Upload it separately.",
        )
    return data
