"""Published works from which the numbers of a study come.

A study has a list of sources as JSON objects; empty fields are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final
from urllib.parse import quote

KINDS: Final = ("report", "thesis", "paper", "article", "web page", "talk", "dataset")
TRANSCRIBED, COPIED, DESCRIBED = "transcribed", "copied", "described"
RELATIONS: Final = (TRANSCRIBED, COPIED, DESCRIBED)
"""How the numbers relate to a source: typed from its text, copied from its files, or
measured by others and only described there."""
PLACE: Final = "{place}"
DOI_PATTERN: Final = r"10\.\d{4,9}/[^\s\"<>]+"
URL_PATTERN: Final = r"https?://[^\s\"<>{}\\^`|]+"
FILE_URL_PATTERN: Final = rf"{URL_PATTERN}\{{place\}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A published work.

    ``document`` is the name by which runs refer to it; empty for all runs. ``file_url``
    is the address of a file, in which ``{place}`` is the place that a run names.
    """

    title: str
    kind: str = "report"
    relation: str = TRANSCRIBED
    authors: str = ""
    published: str = ""
    published_in: str = ""
    institution: str = ""
    language: str = ""
    doi: str = ""
    url: str = ""
    document: str = ""
    file_url: str = ""

    @property
    def address(self) -> str:
        """The address of the work, by its DOI if it has one."""
        return (
            f"https://doi.org/{quote(self.doi, safe='/:;().')}"
            if self.doi
            else self.url
        )

    def place_url(self, place: str) -> str:
        """Return the address of the file that a run names as its table, or ""."""
        if not (self.file_url and place):
            return ""
        return self.file_url.replace(PLACE, quote(place, safe="/"))

    @property
    def year(self) -> str:
        found = re.search(r"\d{4}", self.published)
        return found[0] if found else ""


_NAMES: Final = frozenset(field.name for field in fields(Source))


def sources_from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Source, ...]:
    """Ignore fields of later versions."""
    return tuple(
        Source(**{name: str(value) for name, value in item.items() if name in _NAMES})
        for item in stored
        if item.get("title")
    )


def sources_of_run(sources: Sequence[Source], document: str) -> tuple[Source, ...]:
    """Return the sources of a run that names this document."""
    named = tuple(source for source in sources if source.document == document)
    if document and named:
        return named + tuple(source for source in sources if not source.document)
    return tuple(source for source in sources if not source.document) or tuple(sources)
