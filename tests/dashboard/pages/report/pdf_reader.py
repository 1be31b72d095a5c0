"""Reader of the PDF files that Typst writes: the texts on the pages."""

import re
import zlib
from collections.abc import Iterator

OBJECT = re.compile(rb"(\d+) 0 obj(.*?)endobj", re.DOTALL)
STREAM = re.compile(rb"/Length (\d+).*?stream\r?\n", re.DOTALL)
BLOCK = re.compile(rb"\bBT\b(.*?)\bET\b", re.DOTALL)
SAID = re.compile(rb"/ActualText\((?:[^\\()]|\\.)*\)", re.DOTALL)
FONT = re.compile(rb"/(f\d+) [\d.]+ Tf")
ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
PLACE = re.compile(rb"1 0 0 -1 ([\d.-]+) ([\d.-]+) cm")
# Characters that allow or forbid a line break.
BREAKS = dict.fromkeys((0x200B, 0x2060))
Glyphs = dict[int, str]


def texts(file: bytes) -> list[str]:
    """Return the texts of a file, page by page."""
    return [text for page in pages(file) for text, _left, _above in page]


def pages(file: bytes) -> list[list[tuple[str, float, float]]]:
    """Return the texts of each page with their positions: to the right, and upward."""
    objects = {int(number): body for number, body in OBJECT.findall(file)}
    found = [body for body in objects.values() if b"/Type/Page/" in body]
    assert found, "not a PDF file as Typst writes it"
    return [list(_page(objects, page)) for page in found]


def _page(objects: dict[int, bytes], page: bytes) -> Iterator[tuple[str, float, float]]:
    resources = objects[_reference(page, b"Resources")]
    fonts = {
        name: _glyphs(objects, objects[int(number)])
        for name, number in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
    }
    content = _content(objects[_reference(page, b"Contents")])
    for block in BLOCK.finditer(content):
        before = content[max(block.start() - 300, 0) : block.start()]
        right, up = (PLACE.findall(before) or [(0, 0)])[-1]
        text = "".join(_shown(block[1], fonts)).translate(BREAKS)
        yield text, float(right), float(up)


def _shown(block: bytes, fonts: dict[bytes, Glyphs]) -> Iterator[str]:
    _before, *parts = FONT.split(SAID.sub(b"", block))
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        for string in _strings(part):
            codes = ESCAPE.sub(_unescaped, string)
            pairs = zip(codes[::2], codes[1::2], strict=True)
            yield "".join(fonts[name].get(a * 256 + b, "?") for a, b in pairs)


def _strings(block: bytes) -> Iterator[bytes]:
    """Return the strings; balanced brackets inside need no escape."""
    depth = start = at = 0
    while at < len(block):
        letter = block[at : at + 1]
        if letter == b"\\":
            at += 1
        elif letter == b"(":
            start = start if depth else at + 1
            depth += 1
        elif letter == b")":
            depth -= 1
            if not depth:
                yield block[start:at]
        at += 1


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    if text.isdigit():
        return bytes([int(text, 8)])
    return LETTERS.get(text, text)


def _reference(body: bytes, name: bytes) -> int:
    found = re.search(rb"/" + name + rb" (\d+) 0 R", body)
    assert found, f"no {name.decode()}"
    return int(found[1])


def _content(body: bytes) -> bytes:
    found = STREAM.search(body)
    assert found
    content = body[found.end() : found.end() + int(found[1])]
    return zlib.decompress(content) if b"FlateDecode" in body else content


def _glyphs(objects: dict[int, bytes], font: bytes) -> Glyphs:
    table = _content(objects[_reference(font, b"ToUnicode")]).decode("ascii", "replace")
    return {
        int(code, 16): bytes.fromhex(text).decode("utf-16-be")
        for code, text in re.findall(r"<([0-9A-F]{4})> <([0-9A-F]+)>", table)
    }
