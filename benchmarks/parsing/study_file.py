"""Reading of study files: a study as one JSON object, optionally gzipped.

The object is read member by member and entry by entry, so that a file with many runs
needs little memory. `docs/study-files.md` describes the format.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from benchmarks.errors import InvalidError, shorten

FORMAT: Final = "virtlab-study"
VERSION: Final = 1
"""Increase it with every change of the schema; all earlier versions stay readable."""
LISTS: Final = ("tools", "hosts", "system_references", "power", "runs")
MEMBERS: Final = (
    *("format", "version", "producer", "left_out", "study", "reference_system"),
    *LISTS,
)
MAX_ENTRY_CHARACTERS: Final = 16 * 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
# Adding 16 selects the gzip format.
GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_SPACES: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of the file, or an entry of a list; ``index`` counts from 0."""

    member: str
    index: int | None
    line: int
    text: str
    value: Any

    @property
    def path(self) -> str:
        return self.member if self.index is None else f"{self.member}[{self.index}]"


def study_file_error(text: str, **values: Any) -> InvalidError:
    return InvalidError("study_file_rejected", text, **values)


def read_entries(content: bytes, max_bytes: int) -> Iterator[Entry]:
    """Yield the entries of a file in its order; raise InvalidError if it is invalid.

    ``max_bytes`` limits the size after decompression.
    """
    return _Scanner(_texts(_chunks(content, max_bytes))).entries()


def _chunks(content: bytes, max_bytes: int) -> Iterator[bytes]:
    if not content.startswith(GZIP_MAGIC):
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]
        return
    reader, rest, size = zlib.decompressobj(GZIP_WINDOW), content, 0
    while not reader.eof:
        try:
            chunk = reader.decompress(rest, CHUNK_BYTES)
        except zlib.error:
            raise _damaged() from None
        rest = reader.unconsumed_tail
        if not chunk and not rest:
            raise _damaged()
        if not size and chunk.startswith(GZIP_MAGIC):
            raise study_file_error("The file is compressed twice. Compress it once.")
        size += len(chunk)
        if size > max_bytes:
            raise study_file_error(
                "The file unpacks to more than {most} bytes. Export the study without "
                "raw output.",
                most=f"{max_bytes:,}",
            )
        yield chunk
    if reader.unused_data:
        raise _damaged()


def _damaged() -> InvalidError:
    return study_file_error("The file is truncated or damaged. Copy it again.")


def _texts(chunks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        for chunk in chunks:
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise study_file_error("The file is not UTF-8. Save it as UTF-8.") from None


def _no_constant(_name: str) -> NoReturn:
    raise ValueError


class _Scanner:
    """A reader of one JSON object from pieces of text."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.texts, self.buffer, self.position, self.line = texts, "", 0, 1
        self.decoder = json.JSONDecoder(parse_constant=_no_constant)

    def entries(self) -> Iterator[Entry]:
        self._expect("{", "Send one JSON object.")
        if self._peek() == "}":
            self._expect("}")
        else:
            yield from self._members()
        if self._peek():
            raise self._error("The file continues after the end of the object.")

    def _members(self) -> Iterator[Entry]:
        seen: set[str] = set()
        while True:
            if self._peek() != '"':
                raise self._error("A name in double quotes is missing.")
            name = self._value("", None).value
            if name not in MEMBERS:
                raise self._error(
                    'Unknown member "{name}". Known members: {known}.',
                    name=shorten(name),
                    known=", ".join(MEMBERS),
                )
            if name in seen:
                raise self._error('The member "{name}" appears twice.', name=name)
            seen.add(name)
            self._expect(":")
            if name in LISTS and self._peek() == "[":
                yield from self._list(name)
            else:
                yield self._value(name, None)
            if self._peek() != ",":
                break
            self._expect(",")
        self._expect("}")

    def _list(self, name: str) -> Iterator[Entry]:
        self._expect("[")
        index = 0
        while self._peek() != "]":
            yield self._value(name, index)
            index += 1
            if self._peek() != ",":
                break
            self._expect(",")
            if self._peek() == "]":
                raise self._error("An entry is missing after a comma.")
        self._expect("]")

    def _value(self, member: str, index: int | None) -> Entry:
        """Parse a value; read more text while it is incomplete."""
        self._peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.position)
            except RecursionError:
                raise self._error("The values are nested too deeply.") from None
            except ValueError as error:
                if not self._fill():
                    self._move(getattr(error, "pos", self.position))
                    raise self._error("This is not valid JSON.") from None
                continue
            # A number may continue in the next piece.
            if end < len(self.buffer) or not self._fill():
                break
        text, line = self.buffer[self.position : end], self.line
        self._move(end)
        return Entry(member, index, line, text, value)

    def _peek(self) -> str:
        """Skip spaces and return the next character, or "" at the end of the file."""
        while True:
            spaces = _SPACES.match(self.buffer, self.position)
            assert spaces is not None, "it matches an empty text"
            self._move(spaces.end())
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self._fill():
                return ""

    def _expect(self, character: str, advice: str = "") -> None:
        if self._peek() != character:
            raise self._error(advice or "{what} is missing.", what=f'"{character}"')
        self._move(self.position + 1)

    def _move(self, position: int) -> None:
        self.line += self.buffer.count("\n", self.position, position)
        self.position = position

    def _fill(self) -> bool:
        """Double the unread text, so that parsing a long value takes linear time."""
        self.buffer, self.position = self.buffer[self.position :], 0
        if len(self.buffer) > MAX_ENTRY_CHARACTERS:
            raise self._error("An entry is too large.")
        pieces, wanted = [self.buffer], max(len(self.buffer), 1)
        for text in self.texts:
            pieces.append(text)
            wanted -= len(text)
            if wanted <= 0:
                break
        self.buffer, length = "".join(pieces), len(self.buffer)
        return len(self.buffer) > length

    def _error(self, text: str, **values: Any) -> InvalidError:
        return study_file_error(
            "Line {line}: {problem}",
            line=str(self.line),
            problem=study_file_error(text, **values).sentence,
        )
