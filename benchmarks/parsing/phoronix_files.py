"""Result files of the Phoronix Test Suite: composite.xml and its exports. PURE.

One file has several systems and results; each result has an entry per system::

    <Entry><Identifier>vm</Identifier><Value>91.2</Value>
      <RawString>91.1:91.3</RawString></Entry>

Versions 1 and 2 have other names of elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import json_section
from benchmarks.parsing.xml_documents import xml_documents

ROOT: Final = "PhoronixTestSuite"
# The names of elements since version 3, and before.
_FILE_NAMES: Final = {
    "title": ("Generated/Title", "Suite/Title"),
    "description": ("Generated/Description", "Suite/Description"),
    "client": ("Generated/TestClient", "Suite/TestClient"),
    "modified": ("Generated/LastModified", "Suite/LastModified"),
}
_SYSTEM_NAMES: Final = {
    "identifier": ("Identifier", "AssociatedIdentifiers"),
    "hardware": ("Hardware",),
    "software": ("Software",),
    "user": ("User", "Author"),
    "timestamp": ("TimeStamp", "TestDate"),
    "client": ("TestClientVersion", "Version"),
    "notes": ("Notes", "TestNotes"),
}
_RESULT_NAMES: Final = {
    "identifier": ("Identifier", "TestName"),
    "title": ("Title", "Name"),
    "version": ("AppVersion", "Version"),
    "arguments": ("Arguments", "TestArguments"),
    "description": ("Description", "Attributes"),
    "scale": ("Scale",),
    "proportion": ("Proportion",),
    "display_format": ("DisplayFormat", "ResultFormat"),
}
_RESULT_KEYS: Final = {name: name for name in _RESULT_NAMES} | {
    "version": "app_version"
}
_SYSTEM_KEYS: Final = {name: name for name in _SYSTEM_NAMES} | {
    "client": "client_version"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoronixSystem:
    """A system of a file; ``hardware`` and ``software`` are "Name: value, ..."."""

    identifier: str
    hardware: str = ""
    software: str = ""
    user: str = ""
    timestamp: str = ""
    client: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoronixEntry:
    """Values of one system as printed; ``raw`` is empty if there was a single run."""

    system: str
    value: str
    raw: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoronixResult:
    identifier: str = ""
    title: str = ""
    version: str = ""
    arguments: str = ""
    description: str = ""
    scale: str = ""
    proportion: str = ""
    display_format: str = "BAR_GRAPH"
    entries: tuple[PhoronixEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoronixFile:
    title: str = ""
    description: str = ""
    client: str = ""
    modified: str = ""
    systems: tuple[PhoronixSystem, ...] = ()
    results: tuple[PhoronixResult, ...] = ()


def read_composites(text: str) -> Iterator[PhoronixFile]:
    """Raise LineError for broken XML."""
    return map(_file, xml_documents(text, ROOT))


def _file(root: Element) -> PhoronixFile:
    return PhoronixFile(
        **_texts(root, _FILE_NAMES),
        systems=tuple(
            PhoronixSystem(**_texts(element, _SYSTEM_NAMES))
            for element in root.iterfind("System")
        ),
        results=tuple(
            PhoronixResult(
                **_texts(element, _RESULT_NAMES),
                entries=tuple(_entries(element)),
            )
            for name in ("Result", "Benchmark")
            for element in root.iterfind(name)
        ),
    )


def _entries(result: Element) -> Iterator[PhoronixEntry]:
    for path in ("Data/Entry", "Results/Group/Entry"):
        for element in result.iterfind(path):
            raw = _text(element, "RawString")
            yield PhoronixEntry(
                system=_text(element, "Identifier"),
                value=_text(element, "Value"),
                raw=tuple(raw.split(":")) if raw else (),
            )


def _text(element: Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _texts(element: Element, names: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        field: next(filter(None, (_text(element, name) for name in tags)), "")
        for field, tags in names.items()
    }


def file_from_json(document: Mapping[str, Any]) -> PhoronixFile:
    """Return the content of an export by ``result-file-to-json``."""
    systems = json_section(document, "systems")
    return PhoronixFile(
        title=_word(document.get("title")),
        systems=tuple(
            PhoronixSystem(**_json_texts(system, _SYSTEM_KEYS) | {"identifier": name})
            for name, system in systems.items()
        ),
        results=tuple(
            PhoronixResult(
                **_json_texts(result, _RESULT_KEYS),
                entries=tuple(_json_entries(json_section(result, "results"))),
            )
            for result in json_section(document, "results").values()
        ),
    )


def _json_entries(entries: Mapping[str, Any]) -> Iterator[PhoronixEntry]:
    for system, entry in entries.items():
        raw = entry.get("raw_values") if isinstance(entry, dict) else None
        yield PhoronixEntry(
            system=system,
            value=_word(json_section(entries, system).get("value")),
            raw=tuple(map(_word, raw)) if isinstance(raw, list) else (),
        )


def _json_texts(document: Any, keys: Mapping[str, str]) -> dict[str, Any]:
    section = document if isinstance(document, dict) else {}
    return {field: _word(section.get(key)) for field, key in keys.items()}


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_word(item)}" for name, item in value.items())
    return "" if value is None or isinstance(value, list) else str(value).strip()


MAX_TITLE: Final = 126
MAX_RESULT_TITLE: Final = 50
MAX_IDENTIFIER: Final = 128
MAX_DESCRIPTION: Final = 2048
_CONTROL: Final = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_composite(file: PhoronixFile) -> str:
    """Raise ParseError if the file has no result."""
    if not file.systems or not file.results:
        raise ParseError("A Phoronix file needs at least one system and one result.")
    lines = ['<?xml version="1.0"?>', f"<!--{escape(file.client)}-->"]
    lines.append(f"<{ROOT}>")
    lines += _element(
        "Generated",
        ("Title", file.title[:MAX_TITLE] or "Virtlab"),
        ("LastModified", file.modified),
        ("TestClient", file.client),
        ("Description", file.description[:MAX_DESCRIPTION]),
    )
    for system in file.systems:
        lines += _element(
            "System",
            ("Identifier", system.identifier[:MAX_IDENTIFIER]),
            ("Hardware", system.hardware),
            ("Software", system.software),
            ("User", system.user),
            ("TimeStamp", system.timestamp),
            ("TestClientVersion", system.client),
            ("Notes", system.notes),
        )
    for result in file.results:
        *head, end = _element(
            "Result",
            ("Identifier", result.identifier),
            ("Title", result.title[:MAX_RESULT_TITLE].ljust(2, ".")),
            ("AppVersion", result.version),
            ("Arguments", result.arguments),
            ("Description", result.description),
            ("Scale", result.scale),
            ("Proportion", result.proportion),
            ("DisplayFormat", result.display_format),
        )
        lines += [
            *head,
            "    <Data>",
            *_entry_lines(result.entries),
            "    </Data>",
            end,
        ]
    return "\n".join([*lines, f"</{ROOT}>", ""])


def _entry_lines(entries: Iterable[PhoronixEntry]) -> Iterator[str]:
    for entry in entries:
        lines = _element(
            "Entry",
            ("Identifier", entry.system[:MAX_IDENTIFIER]),
            ("Value", entry.value),
            ("RawString", ":".join(entry.raw)),
        )
        yield from (f"    {line}" for line in lines)


def _element(name: str, *fields: tuple[str, str]) -> list[str]:
    return [
        f"  <{name}>",
        *(
            f"    <{field}>{escape(_CONTROL.sub(' ', text))}</{field}>"
            for field, text in fields
        ),
        f"  </{name}>",
    ]
