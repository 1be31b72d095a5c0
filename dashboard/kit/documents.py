import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from mdit_py_plugins.anchors.index import slugify, unique_slug

DOCS_FOLDER: Final = Path(settings.BASE_DIR) / "docs"
MAX_HEADING_LEVEL: Final = 4
"""Headings of this level and above have an anchor."""
HEADING = re.compile(rf"(#{{1,{MAX_HEADING_LEVEL}}}) +(.+)")
FENCE = re.compile(r"\s*```")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
MARKDOWN_MARKUP = re.compile(r"[`*|]|:?-{3,}:?")

SEARCH_SQL: Final = """
with parts as (
  select place, to_tsvector('english', heading) as heading, body,
    to_tsvector('english', body) as words
  from unnest(%(headings)s::text[], %(bodies)s::text[])
    with ordinality as part (heading, body, place)
), asked as (select websearch_to_tsquery('english', %(words)s) as words),
best as (
  select place, body, ts_rank_cd(
    setweight(parts.heading, 'A') || setweight(parts.words, 'D'), asked.words, 1
  ) as rank
  from parts, asked where (parts.heading || parts.words) @@ asked.words
  order by rank desc, place limit %(most)s
)
select place, ts_headline('english', body, asked.words,
  'StartSel=\x02, StopSel=\x03, MaxWords=32, MinWords=16')
from best, asked order by rank desc, place
"""
"""Find the sections that contain all words in any form; headings weigh more."""


@dataclass(frozen=True, slots=True)
class DocSection:
    anchor: str
    heading: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class DocPage:
    """A document; ``name`` is its path in `docs/` without ``.md``."""

    name: str
    source: str
    sections: tuple[DocSection, ...]

    @property
    def title(self) -> str:
        return self.sections[0].heading

    @property
    def contents(self) -> list[DocSection]:
        return [section for section in self.sections if section.level == 2]


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A section that matches a search.

    ``excerpt`` alternates between texts before a match and matches.
    """

    document: DocPage
    section: DocSection
    excerpt: tuple[str, ...]


@lru_cache(maxsize=1)
def doc_pages() -> Mapping[str, DocPage]:
    sources = {
        path.relative_to(DOCS_FOLDER).with_suffix("").as_posix(): path.read_text()
        for path in sorted(DOCS_FOLDER.rglob("*.md"))
    }
    return {
        name: DocPage(name, source, tuple(doc_sections(source)))
        for name, source in sources.items()
    }


def doc_sections(source: str) -> Iterator[DocSection]:
    """Yield the sections of a document; raise ValueError if it has no title."""
    if not HEADING.match(source):
        raise ValueError("A document begins with its title.")
    heading, anchor, level, lines = "", "", 0, list[str]()
    anchors = set[str]()
    is_code = False
    for line in source.splitlines():
        is_code ^= bool(FENCE.match(line))
        if is_code or not (heading_match := HEADING.fullmatch(line)):
            lines.append("" if FENCE.match(line) else line)
            continue
        if heading:
            yield DocSection(anchor, heading, level, _plain_text(lines))
        level, heading, lines = (
            len(heading_match[1]),
            _plain_text([heading_match[2]]),
            [],
        )
        anchor = unique_slug(slugify(heading), anchors)
    yield DocSection(anchor, heading, level, _plain_text(lines))


def search_documents(words: str, most: int) -> list[SearchHit]:
    sections = [
        (document, section)
        for document in doc_pages().values()
        for section in document.sections
    ]
    parameters: dict[str, Any] = {
        "headings": [
            f"{document.title} {section.heading}" for document, section in sections
        ],
        "bodies": [section.text for _, section in sections],
        "words": words.replace("\0", ""),
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(SEARCH_SQL, parameters)
        rows = cursor.fetchall()
    hits = []
    for number, excerpt in rows:
        document, section = sections[number - 1]
        hits.append(
            SearchHit(document, section, tuple(re.split("[\x02\x03]", excerpt)))
        )
    return hits


def _plain_text(lines: list[str]) -> str:
    return MARKDOWN_MARKUP.sub("", LINK.sub(r"\1", "\n".join(lines))).strip()
