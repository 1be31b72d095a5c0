"""The documents in `docs/`, their search, and the glossary."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.anchors.index import slugify, unique_slug

from dashboard.kit.routes import page
from dashboard.kit.viewers import query_params
from dashboard.wording import Text
from dashboard.wording.glossary import GLOSSARY

DOC_SECTIONS: Final[dict[Text, dict[str, Text]]] = {
    _("Get started"): {
        "quickstart": _("Upload your first runs in two minutes."),
        "agents": _("Measure in a guest or on a host with a single file."),
        "testbed": _("Run measurements in real guests without special hardware."),
    },
    _("Understand the numbers"): {
        "method": _("How every number is computed, with references."),
        "factor-effects": _("Which parameters changed the results of a study."),
        "flags": _("Which results are flagged as impossible or implausible, and why."),
        "calibration": _("Results with known true values, assessed by the same code."),
        "tools": _("Supported tools, metrics and units."),
    },
    _("Use the data"): {
        "api": _("All endpoints, errors and limits of the REST API."),
        "data": _("The tables and how they are related."),
        "versions": _("Publish and cite a version of a study."),
    },
    _("Run an installation"): {
        "operations": _("Settings, backups, Compose and troubleshooting."),
        "reliability": _("Failure tests and their results."),
        "performance": _("Uploads per second, compared with the limit of PostgreSQL."),
        "accessibility": _(
            "Use Virtlab with a keyboard, with zoom or with a screen reader."
        ),
        "pythons": _("Python versions that were tested."),
    },
}
"""Documents by section of the list. The others are design decisions and figures."""
FIGURES_FOLDER: Final = "figures/"
DOCS_FOLDER: Final = Path(settings.BASE_DIR) / "docs"
IMAGE_SUFFIX: Final = ".png"
MAX_HITS: Final = 20
MAX_HEADING_LEVEL: Final = 4
"""Headings of this level and above have an anchor."""
TITLE_TOKENS: Final = 3
HEADING = re.compile(rf"(#{{1,{MAX_HEADING_LEVEL}}}) +(.+)")
FENCE = re.compile(r"\s*```")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
WORD = re.compile(r"\w")
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


def show_docs(request: HttpRequest) -> HttpResponse:
    words = query_params(request).get("q", "").strip()
    documents = doc_pages()
    doc_sections = {
        title: [(documents[name], purpose) for name, purpose in purposes.items()]
        for title, purposes in DOC_SECTIONS.items()
    }
    listed_names = {name for purposes in DOC_SECTIONS.values() for name in purposes}
    other_documents = [
        (document, "")
        for name, document in documents.items()
        if name not in listed_names
    ]
    doc_sections[_("Design decisions")] = [
        row for row in other_documents if not row[0].name.startswith(FIGURES_FOLDER)
    ]
    doc_sections[_("Measured figures")] = [
        row for row in other_documents if row[0].name.startswith(FIGURES_FOLDER)
    ]
    context = {
        "query": words,
        "doc_sections": doc_sections,
        "found": search_docs(words) if words else [],
    }
    return render(request, "docs/docs.html", context)


def show_doc_page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in doc_pages():
        raise Http404(_("Document not found."))
    context = {"doc_page": doc_pages()[name], "html": doc_html(name)}
    return render(request, "docs/page.html", context)


@cache_control(public=True, max_age=3600)
def serve_doc_image(request: HttpRequest, name: str) -> HttpResponseBase:
    for file in DOCS_FOLDER.rglob(f"*{IMAGE_SUFFIX}"):
        if file.relative_to(DOCS_FOLDER).with_suffix("").as_posix() == name:
            return FileResponse(file.open("rb"))
    raise Http404(_("Image not found."))


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

    The texts of ``excerpt`` are, in turn, before a match and the match itself.
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


@lru_cache(maxsize=64)
def doc_html(name: str) -> str:
    documents = doc_pages()
    return render_markdown(documents[name].source, posixpath.dirname(name), documents)


def render_markdown(
    source: str, folder: str = "", doc_names: Collection[str] = ()
) -> str:
    """Return Markdown as HTML, without the title and with links to our pages."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(anchors_plugin, max_level=MAX_HEADING_LEVEL)
    parser.add_render_rule("table_open", _table_begins)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = parser.parse(source)
    for token in tokens:
        _adapt_token(token, folder, doc_names)
    _label_tables(tokens)
    return str(parser.renderer.render(tokens[TITLE_TOKENS:], parser.options, {}))


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


def search_docs(words: str) -> list[SearchHit]:
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
        "most": MAX_HITS,
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


def _adapt_token(token: Token, folder: str, doc_names: Collection[str]) -> None:
    """Change the links, images and styles of a token so that they fit our pages."""
    if token.attrs.pop("style", None) == "text-align:right":
        token.attrSet("class", "num")
    if token.type == "link_open":
        token.attrSet("href", _address(str(token.attrGet("href")), folder, doc_names))
    elif token.type == "image":
        token.attrSet("src", _address(str(token.attrGet("src")), folder, doc_names))
        token.attrSet("loading", "lazy")
    for child in token.children or ():
        _adapt_token(child, folder, doc_names)


def _label_tables(tokens: list[Token]) -> None:
    heading, is_head, is_first = "", False, False
    for index, token in enumerate(tokens):
        match token.type:
            case "heading_open" if token.attrs.get("id"):
                heading = str(token.attrGet("id"))
            case "table_open":
                token.attrSet("aria-labelledby", heading)
            case "thead_open" | "tbody_open":
                is_head = token.type == "thead_open"
            case "tr_open":
                is_first = True
            case "th_open" | "td_open":
                has_words = bool(WORD.search(tokens[index + 1].content))
                tag = "th" if has_words and (is_head or is_first) else "td"
                token.tag = tokens[index + 2].tag = tag
                if tag == "th":
                    token.attrSet("scope", "col" if is_head else "row")
                is_first = is_first and not has_words


def _address(target: str, folder: str, doc_names: Collection[str]) -> str:
    path, hash_, anchor = target.partition("#")
    if ":" in path or not path:
        return target
    path = posixpath.normpath(posixpath.join(folder, path))
    name = path.removesuffix(".md")
    if name in doc_names:
        return reverse("dashboard:docs-page", args=[name]) + hash_ + anchor
    if path.endswith(IMAGE_SUFFIX):
        return reverse("dashboard:docs-image", args=[path.removesuffix(IMAGE_SUFFIX)])
    return target


def _table_begins(
    _reader: object, tokens: Sequence[Token], index: int, *_: object
) -> str:
    # Wide tables scroll horizontally. The tab index allows scrolling by keyboard.
    name = f'aria-labelledby="{tokens[index].attrGet("aria-labelledby")}"'
    return (
        f'<div class="scroll" tabindex="0" role="group" {name}>'
        f'<table class="table" {name}>\n'
    )


def show_glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/glossary.html", {"chapters": GLOSSARY})


urlpatterns = [
    page("glossary/", show_glossary, "glossary"),
    page("docs/", show_docs, "docs", example_urls=("", "?q=runs")),
    page(
        "docs/<path:name>.png",
        serve_doc_image,
        "docs-image",
        kind="file",
        is_private=False,
    ),
    page(
        "docs/<path:name>/",
        show_doc_page,
        "docs-page",
        example_urls=("/docs/method/", "/docs/testbed/"),
        is_private=False,
    ),
]
