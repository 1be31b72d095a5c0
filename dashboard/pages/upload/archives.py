"""The files in what a person sends: a file itself, or what a zip holds. PURE.

Nothing of a zip is trusted: not its names, which are only shown, and not its sizes. Its
members are read one after the other, each up to the limit, and never written.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmarks.errors import BenchmarksError, shorten
from benchmarks.sentences import Sentence

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
)


class FileRefusedError(BenchmarksError):
    """A file that cannot be taken, whatever it says."""

    code = "file_refused"


class FileTooLargeError(FileRefusedError):
    """A file, or what a zip would unpack to, is more than is taken at once."""

    code = "too_large"
    status = 413


@dataclass(frozen=True)
class Member:
    """A file, alone or the ``index``-th of a zip; without bytes if it was refused."""

    index: int
    name: str
    data: bytes = b""
    refusal: FileRefusedError | None = None


def members(
    name: str,
    file: IO[bytes],
    limit_bytes: int,
    wanted: Callable[[int], bool] = lambda index: True,
) -> Iterator[Member]:
    """Yield what a file holds, one after the other; what is refused with the reason.

    Only the files of a zip whose place is ``wanted`` are unpacked.
    """
    head = file.read(4)
    file.seek(0)
    try:
        if head not in _BEGINS_ZIP:
            yield Member(0, shorten(name, SHOWN_NAME), _read(file, limit_bytes))
            return
        archive, infos = _opened(file)
    except FileRefusedError as error:
        yield Member(0, shorten(name, SHOWN_NAME), refusal=error)
        return
    for index, info in enumerate(infos):
        if not wanted(index):
            continue
        shown = shorten(f"{name}/{info.filename}", SHOWN_NAME)
        try:
            yield Member(index, shown, _unpacked(archive, info, limit_bytes))
        except FileRefusedError as error:
            yield Member(index, shown, refusal=error)


def _read(file: IO[bytes], limit_bytes: int) -> bytes:
    # One byte more than allowed shows that a file is too large; the rest is not read.
    data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise FileTooLargeError(
            Sentence(
                "A file may have {size:g} MiB. Upload only the part of "
                "it that holds the results.",
                size=limit_bytes / MIB,
            )
        )
    return data


def _opened(file: IO[bytes]) -> tuple[ZipFile, list[ZipInfo]]:
    """Open a zip and list its files, unless it holds or claims too much."""
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
        raise FileRefusedError(
            Sentence("The zip is damaged: it cannot be opened. Make it again.")
        ) from None
    infos = [info for info in archive.infolist() if not _is_hidden(info)]
    if not infos:
        raise FileRefusedError(Sentence("The zip holds no file."))
    if len(infos) > MAX_MEMBERS:
        raise _too_many(len(infos))
    # These are the sizes that the zip claims. One that claims too little fails later:
    # zipfile reads no further than the claim, and the checksum is wrong.
    total, packed = sum(info.file_size for info in infos), file.seek(0, 2)
    if total > MAX_TOTAL_BYTES:
        raise FileTooLargeError(
            Sentence(
                "The zip unpacks to {total:,.0f} MiB; {most} are the most. Split it.",
                total=total / MIB,
                most=MAX_TOTAL_BYTES // MIB,
            )
        )
    if total > RATIO_COUNTS_FROM_BYTES and total > MAX_RATIO * packed:
        raise FileTooLargeError(
            Sentence(
                "The zip unpacks to more than {most} times its size. Send "
                "its files as they are.",
                most=MAX_RATIO,
            )
        )
    return archive, infos


def _too_many(count: int) -> FileTooLargeError:
    return FileTooLargeError(
        Sentence(
            "The zip holds {n:,} files; {most} are the most. Split it.",
            n=count,
            most=MAX_MEMBERS,
        )
    )


def _is_hidden(info: ZipInfo) -> bool:
    """Folders, and what an operating system puts beside the files of a person."""
    parts = info.filename.split("/")
    hidden = parts[-1].startswith(".") or parts[-1] == "Thumbs.db"
    return info.is_dir() or hidden or parts[0] == "__MACOSX"


def _unpacked(archive: ZipFile, info: ZipInfo, limit_bytes: int) -> bytes:
    if info.flag_bits & _ENCRYPTED:
        raise FileRefusedError(
            Sentence("This file is encrypted. Zip it without a password.")
        )
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise FileRefusedError(
            Sentence(
                "This file is packed in a way that is not read here. Make an "
                "ordinary zip."
            )
        )
    try:
        with archive.open(info) as file:
            data = _read(file, limit_bytes)
    except _DAMAGE:
        raise FileRefusedError(
            Sentence("This file of the zip is damaged. Make the zip again.")
        ) from None
    if data.startswith(_BEGINS_ZIP):
        raise FileRefusedError(
            Sentence("A zip within a zip is not opened. Upload it by itself.")
        )
    return data
