"""Read the members of an uploaded file, zip or tar without trusting names or sizes.
PURE."""

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
"""Folders and what an operating system hides beside the files count here too."""
MAX_TOTAL_BYTES: Final = 64 * MIB
# Text packs ten to one; what packs far better was made to fill a memory.
MAX_RATIO: Final = 100
RATIO_COUNTS_FROM_BYTES: Final = MIB
SHOWN_NAME: Final = 200

# A zip of no files begins with its end record.
_BEGINS_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_BEGINS_GZIP: Final = b"\x1f\x8b"
_TAR_MARK: Final = b"ustar"
_TAR_MARK_AT: Final = 257
# So much the headers and the padding of its files take beside them.
_TAR_MARGIN: Final = MAX_ENTRIES * 2048 + MIB
# What Word, Excel, LibreOffice and the like begin their zips with.
_OFFICE: Final = frozenset({"[Content_Types].xml", "mimetype"})
_ENTRY: Final = b"PK\x01\x02"
_CHUNK: Final = 64 * 1024
_ENCRYPTED: Final = 0x1
# What zipfile and zlib raise for a file that somebody damaged, or made to hurt.
_DAMAGE: Final = (
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
class Member:
    """A file, or the ``index``-th of an archive; without bytes if it was refused.

    ``modified`` is naive in a zip, which has no time zone.
    """

    index: int
    name: str
    data: bytes = b""
    refusal: BenchmarksError | None = None
    modified: datetime | None = None


Entry = tuple[str, datetime | None, Callable[[int], bytes]]
"""A file of an archive: its name, its time, and a function that unpacks it.

The function takes the largest size in bytes.
"""


def members(
    name: str,
    file: IO[bytes],
    limit_bytes: int,
    wanted: Callable[[int], bool] = lambda index: True,
) -> Iterator[Member]:
    """Yield a file's members, refused ones with the reason; unpack ``wanted`` ones."""
    head = file.read(512)
    file.seek(0)
    is_tar = head[_TAR_MARK_AT:].startswith(_TAR_MARK)
    try:
        if is_tar or head.startswith(_BEGINS_GZIP):
            entries = _tar_entries(file, is_packed=not is_tar)
        elif head.startswith(_BEGINS_ZIP):
            entries = _zip_entries(file)
        else:
            yield Member(0, shorten(name, SHOWN_NAME), _read(file, limit_bytes))
            return
    except (InvalidError, TooLargeError) as error:
        yield Member(0, shorten(name, SHOWN_NAME), refusal=error)
        return
    for index, (inner, modified, unpacked) in enumerate(entries):
        if wanted(index):
            shown = shorten(f"{name}/{inner}", SHOWN_NAME)
            try:
                yield Member(index, shown, unpacked(limit_bytes), modified=modified)
            except (InvalidError, TooLargeError) as error:
                yield Member(index, shown, refusal=error)


class _Bounded:
    """A stream of which at most ``most`` bytes are read."""

    def __init__(self, stream: IO[bytes] | GzipFile, most: int) -> None:
        self.stream, self.most = stream, most

    def read(self, size: int = -1) -> bytes:
        # Asked before it is read: a header may claim to be as long as a memory.
        if size < 0 or self.stream.tell() + size > self.most:
            raise TooLargeError(
                "too_large",
                "The archive unpacks to more than {most} MiB. Split it.",
                most=MAX_TOTAL_BYTES // MIB,
            )
        return self.stream.read(size)

    def seek(self, place: int, whence: int = 0) -> int:
        return self.stream.seek(place, whence)

    def tell(self) -> int:
        return self.stream.tell()


def _tar_entries(file: IO[bytes], *, is_packed: bool) -> list[Entry]:
    packed = file.seek(0, 2)
    file.seek(0)
    most = MAX_TOTAL_BYTES
    if is_packed:
        most = min(most, max(RATIO_COUNTS_FROM_BYTES, MAX_RATIO * packed))
    stream = _Bounded(GzipFile(fileobj=file) if is_packed else file, most + _TAR_MARGIN)
    try:
        # It asks for no more of a stream than these three.
        archive = TarFile(fileobj=stream)  # type: ignore[arg-type]
        infos = []
        for info in archive:
            infos.append(info)
            if len(infos) > MAX_ENTRIES:
                raise _too_many(len(infos))
    except _DAMAGE:
        raise InvalidError(
            "file_refused",
            "This tar cannot be opened: it is damaged or packed in "
            "another way. Make it again, or upload its files as they are.",
        ) from None
    infos = [info for info in infos if not info.isdir() and not _hides(info.name)]
    if not infos:
        raise InvalidError("file_refused", "The archive holds no file.")
    if len(infos) > MAX_MEMBERS:
        raise _too_many(len(infos))
    entries: list[Entry] = []
    for info in infos:
        modified = None
        with suppress(OverflowError, OSError, ValueError):
            modified = datetime.fromtimestamp(info.mtime, UTC)
        unpacked = partial(_of_tar_file, archive, info)
        entries.append((info.name.removeprefix("./"), modified, unpacked))
    return entries


def _of_tar_file(archive: TarFile, info: TarInfo, limit_bytes: int) -> bytes:
    if not info.isreg() or info.sparse is not None:
        raise InvalidError(
            "file_refused",
            "This is a link or a device, not a file. Put the file itself there.",
        )
    try:
        file = archive.extractfile(info)
        data = _read(file, limit_bytes) if file else b""
    except _DAMAGE:
        raise InvalidError(
            "file_refused",
            "This file of the archive is damaged. Make the archive again.",
        ) from None
    if data.startswith((*_BEGINS_ZIP, _BEGINS_GZIP)):
        raise InvalidError(
            "file_refused",
            "An archive within an archive is not opened. Upload it by itself.",
        )
    return data


def _read(file: IO[bytes], limit_bytes: int) -> bytes:
    # One byte more than allowed shows that a file is too large; the rest is not read.
    data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise TooLargeError(
            "too_large",
            "A file may have {size:g} MiB. Upload only the part of "
            "it that holds the results.",
            size=limit_bytes / MIB,
        )
    return data


def _zip_entries(file: IO[bytes]) -> list[Entry]:
    """Return a zip's files; refuse a zip that holds or claims too much."""
    # The entries are counted before anything is made of them: each begins with a mark.
    count, tail = 0, b""
    while chunk := file.read(_CHUNK):
        count += (tail + chunk).count(_ENTRY)
        # A mark may lie across the end of a chunk.
        tail = chunk[-len(_ENTRY) + 1 :]
    file.seek(0)
    if count > MAX_ENTRIES:
        raise _too_many(count)
    try:
        archive = ZipFile(file)
    except _DAMAGE:
        raise InvalidError(
            "file_refused", "The zip is damaged: it cannot be opened. Make it again."
        ) from None
    infos = [
        info
        for info in archive.infolist()
        if not info.is_dir() and not _hides(info.filename)
    ]
    if not infos:
        raise InvalidError("file_refused", "The zip holds no file.")
    if any(info.filename in _OFFICE for info in infos):
        raise InvalidError(
            "file_refused",
            "This is an office document, not a text. Upload what the tool printed; "
            "save a table as CSV.",
        )
    if len(infos) > MAX_MEMBERS:
        raise _too_many(len(infos))
    # These are the sizes that the zip claims. One that claims too little fails later:
    # zipfile reads no further than the claim, and the checksum is wrong.
    total, packed = sum(info.file_size for info in infos), file.seek(0, 2)
    if total > MAX_TOTAL_BYTES:
        raise TooLargeError(
            "too_large",
            "The zip unpacks to {total:,.0f} MiB; {most} are the most. Split it.",
            total=total / MIB,
            most=MAX_TOTAL_BYTES // MIB,
        )
    if total > RATIO_COUNTS_FROM_BYTES and total > MAX_RATIO * packed:
        raise TooLargeError(
            "too_large",
            "The zip unpacks to more than {most} times its size. Send "
            "its files as they are.",
            most=MAX_RATIO,
        )
    entries: list[Entry] = []
    for info in infos:
        modified = None
        # A month of 0 is written where no time is known.
        with suppress(ValueError):
            modified = datetime(*info.date_time)  # noqa: DTZ001 (it has no zone)
        unpacked = partial(_of_zip_file, archive, info)
        entries.append((info.filename, modified, unpacked))
    return entries


def _too_many(count: int) -> TooLargeError:
    return TooLargeError(
        "too_large",
        "The archive holds {n:,} files; {most} are the most. Split it.",
        n=count,
        most=MAX_MEMBERS,
    )


def _hides(name: str) -> bool:
    """Whether an operating system put the file beside those of a person."""
    parts = name.split("/")
    hidden = parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
    return hidden or parts[0] == "__MACOSX"


def _of_zip_file(archive: ZipFile, info: ZipInfo, limit_bytes: int) -> bytes:
    if info.flag_bits & _ENCRYPTED:
        raise InvalidError(
            "file_refused", "This file is encrypted. Zip it without a password."
        )
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise InvalidError(
            "file_refused",
            "This file is packed in a way that is not read here. Make an ordinary zip.",
        )
    try:
        with archive.open(info) as file:
            data = _read(file, limit_bytes)
    except _DAMAGE:
        raise InvalidError(
            "file_refused", "This file of the zip is damaged. Make the zip again."
        ) from None
    if data.startswith((*_BEGINS_ZIP, _BEGINS_GZIP)):
        raise InvalidError(
            "file_refused", "A zip within a zip is not opened. Upload it by itself."
        )
    return data
