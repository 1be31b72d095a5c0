"""From the bytes of a file to the text that a person would see in it."""

from __future__ import annotations

import codecs
import re
from typing import Final

from benchmarks.errors import ParseError
from benchmarks.parsing.scanning import fault
from benchmarks.sentences import Sentence

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# So many bytes tell how UTF-16 without a mark is ordered.
_PROBE: Final = 4096

# What a Watts up? prints before each reading; its serial line is noisy in between.
_METER_PACKET: Final = "#d,"

_ESCAPES: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]"  # colours, cursor movements
    r"|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?"  # window titles
    r"|[()*+#][0-9A-Za-z]"  # character sets
    r"|[=>78@-Z\\^_c]"
    r")"
)
_STRUCK_OUT: Final = re.compile(r"[^\n\x08]*+\x08[^\n]*+", re.ASCII)


def decode(output: bytes | str) -> str:
    """The text of a file in UTF-8, UTF-16 (with and without mark) or Latin-1.

    Line ends become ``\\n``, terminal colours and struck-out characters disappear. A
    text with NULs is no text: an error that names the line. Only the serial log of a
    power meter may hold them, as noise between its packets.
    """
    text = output if isinstance(output, str) else _decoded(output)
    text = _with_plain_line_ends(text.removeprefix("\ufeff"))
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\x08" in text:
        text = _STRUCK_OUT.sub(_without_struck_out, text)
    if _METER_PACKET in text:
        text = text.replace("\0", "")
    if (position := text.find("\0")) >= 0:
        raise fault(
            text,
            position,
            Sentence(
                "this is no text: it holds NUL characters. "
                "Upload what the tool printed."
            ),
        )
    return text


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strictly(data, encoding)
    if encoding := _unmarked_utf16(data):
        return _strictly(data, encoding)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Cut within its last character: all before it is whole.
        if len(data) - error.start < 4:
            return data[: error.start].decode(encoding)
        raise ParseError(
            Sentence(
                "The file begins as {encoding} and breaks off at byte {place}. "
                "Save it as UTF-8.",
                encoding=encoding.upper(),
                place=error.start + 1,
            )
        ) from None


def _unmarked_utf16(data: bytes) -> str:
    """``utf-16-le`` if every second byte of an English text is NUL, and so on."""
    head = data[:_PROBE]
    half = len(head) // 2
    even, odd = head[::2].count(0), head[1::2].count(0)
    if half and odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    if half and even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be"
    return ""


def _with_plain_line_ends(text: str) -> str:
    if "\r" not in text:
        return text
    # Progress lines that overwrite each other are lines of their own.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_struck_out(line: re.Match[str]) -> str:
    kept: list[str] = []
    for character in line[0]:
        if character != "\x08":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
