"""The documents of `docs/`, a search through them, and the glossary."""

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
from dashboard.kit.viewers import query_of
from dashboard.wording import Text
from dashboard.wording.glossary import CHAPTERS

SHELVES: Final[dict[Text, dict[str, Text]]] = {
    _("Begin"): {
        "quickstart": _("Upload your first runs, in two minutes."),
        "agents": _("Measure in a guest or on a host, with one file."),
        "lab": _("See real guests measured, without special hardware."),
    },
    _("Understand the numbers"): {
        "method": _("How every number is computed, with its sources."),
        "flags": _("What is flagged as impossible or implausible, and why."),
        "calibration": _("Cells whose truth is known, judged by the same code."),
        "tools": _("Which tools, metrics and units there are."),
    },
    _("Use the data"): {
        "api": _("Every address, error and limit of the REST API."),
        "data": _("The tables, and how they belong together."),
        "versions": _("Publish a version of a study, and cite it."),
    },
    _("Run an installation"): {
        "operations": _("Settings, backup, Compose, and what to do in trouble."),
        "reliability": _("What was tried, and how it went."),
        "performance": _("Uploads a second, beside what PostgreSQL allows."),
        "accessibility": _("Use it by keyboard, zoomed, or with a screen reader."),
        "pythons": _("Old ones and new ones."),
    },
}
"""What stands together, with what it is for; what is on no shelf is a decision."""
FOLDER: Final = Path(settings.BASE_DIR) / "docs"
PICTURE: Final = ".png"
MOST_FOUND: Final = 20
DEEPEST: Final = 4
"""Headings of this level and above have an address."""
TITLE: Final = 3
"""Tokens of the first heading: its beginning, its words, its end."""
HEADING = re.compile(rf"(#{{1,{DEEPEST}}}) +(.+)")
FENCE = re.compile(r"\s*```")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
WORD = re.compile(r"\w")
MARKS = re.compile(r"[`*|]|:?-{3,}:?")

FOUND: Final = """
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
"""Parts with these words, stemmed, the closest first; headings count more."""


def show_docs(request: HttpRequest) -> HttpResponse:
    """Show all documents, or the parts of them that have some words."""
    asked = query_of(request).get("q", "").strip()
    books = manuals()
    shelves = {
        title: [(books[name], purpose) for name, purpose in shelf.items()]
        for title, shelf in SHELVES.items()
    }
    placed = {name for shelf in SHELVES.values() for name in shelf}
    shelves[_("Why it is built so")] = [
        (book, "") for name, book in books.items() if name not in placed
    ]
    context = {
        "asked": asked,
        "shelves": shelves,
        "found": found(asked) if asked else [],
    }
    return render(request, "docs/docs.html", context)


def show_manual(request: HttpRequest, name: str) -> HttpResponse:
    if name not in manuals():
        raise Http404(_("There is no such document."))
    context = {"manual": manuals()[name], "html": html_of(name)}
    return render(request, "docs/manual.html", context)


@cache_control(public=True, max_age=3600)
def send_picture(request: HttpRequest, name: str) -> HttpResponseBase:
    for file in FOLDER.rglob(f"*{PICTURE}"):
        if file.relative_to(FOLDER).with_suffix("").as_posix() == name:
            return FileResponse(file.open("rb"))
    raise Http404(_("There is no such picture."))


@dataclass(frozen=True, slots=True)
class Part:
    """The plain text below one heading."""

    anchor: str
    heading: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Manual:
    """One document. ``name`` is its path without ``.md``: ``decisions/charts``."""

    name: str
    source: str
    parts: tuple[Part, ...]

    @property
    def title(self) -> str:
        return self.parts[0].heading

    @property
    def contents(self) -> list[Part]:
        return [part for part in self.parts if part.level == 2]


@dataclass(frozen=True, slots=True)
class Found:
    """A part in which words were found; ``excerpt`` alternates: plain, found, plain."""

    manual: Manual
    part: Part
    excerpt: tuple[str, ...]


@lru_cache(maxsize=1)
def manuals() -> Mapping[str, Manual]:
    """Return all documents by their names, read once in a process."""
    sources = {
        path.relative_to(FOLDER).with_suffix("").as_posix(): path.read_text()
        for path in sorted(FOLDER.rglob("*.md"))
    }
    return {
        name: Manual(name, source, tuple(parts_of(source)))
        for name, source in sources.items()
    }


@lru_cache(maxsize=64)
def html_of(name: str) -> str:
    """Return a document's HTML, made once in a process."""
    books = manuals()
    return written(books[name].source, posixpath.dirname(name), books)


def written(source: str, folder: str = "", known: Collection[str] = ()) -> str:
    """Return the HTML of a Markdown text without its title; links lead to our pages."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.use(anchors_plugin, max_level=DEEPEST)
    reader.add_render_rule("table_open", _table_begins)
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = reader.parse(source)
    for token in tokens:
        _as_here(token, folder, known)
    _tell_of_tables(tokens)
    return str(reader.renderer.render(tokens[TITLE:], reader.options, {}))


def parts_of(source: str) -> Iterator[Part]:
    """Yield each heading with its text; raise ValueError without a title."""
    if not HEADING.match(source):
        raise ValueError("A document begins with its title.")
    heading, anchor, level, lines = "", "", 0, list[str]()
    anchors = set[str]()
    is_code = False
    for line in source.splitlines():
        is_code ^= bool(FENCE.match(line))
        if is_code or not (begins := HEADING.fullmatch(line)):
            lines.append("" if FENCE.match(line) else line)
            continue
        if heading:
            yield Part(anchor, heading, level, _plain(lines))
        level, heading, lines = len(begins[1]), _plain([begins[2]]), []
        anchor = unique_slug(slugify(heading), anchors)
    yield Part(anchor, heading, level, _plain(lines))


def found(words: str) -> list[Found]:
    """Return the parts of all documents that have these words, the closest first."""
    places = [(each, part) for each in manuals().values() for part in each.parts]
    asked: dict[str, Any] = {
        "headings": [f"{each.title} {part.heading}" for each, part in places],
        "bodies": [part.text for _, part in places],
        "words": words.replace("\0", ""),
        "most": MOST_FOUND,
    }
    with connection.cursor() as cursor:
        cursor.execute(FOUND, asked)
        rows = cursor.fetchall()
    hits = []
    for place, excerpt in rows:
        each, part = places[place - 1]
        hits.append(Found(each, part, tuple(re.split("[\x02\x03]", excerpt))))
    return hits


def _plain(lines: list[str]) -> str:
    return MARKS.sub("", LINK.sub(r"\1", "\n".join(lines))).strip()


def _as_here(token: Token, folder: str, known: Collection[str]) -> None:
    """Adapt links, pictures and styles to our pages."""
    if token.attrs.pop("style", None) == "text-align:right":
        token.attrSet("class", "num")
    if token.type == "link_open":
        token.attrSet("href", _address(str(token.attrGet("href")), folder, known))
    elif token.type == "image":
        token.attrSet("src", _address(str(token.attrGet("src")), folder, known))
        token.attrSet("loading", "lazy")
    for child in token.children or ():
        _as_here(child, folder, known)


def _tell_of_tables(tokens: list[Token]) -> None:
    """Label each table by its heading and each row by its first cell."""
    heading, is_head, is_first = "", False, False
    for place, token in enumerate(tokens):
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
                has_words = bool(WORD.search(tokens[place + 1].content))
                tag = "th" if has_words and (is_head or is_first) else "td"
                # Its beginning, its words, its end.
                token.tag = tokens[place + 2].tag = tag
                if tag == "th":
                    token.attrSet("scope", "col" if is_head else "row")
                is_first = is_first and not has_words


def _address(target: str, folder: str, known: Collection[str]) -> str:
    """Return where a link of a document leads on these pages."""
    path, hash_, anchor = target.partition("#")
    if ":" in path or not path:
        return target
    path = posixpath.normpath(posixpath.join(folder, path))
    name = path.removesuffix(".md")
    if name in known:
        return reverse("dashboard:manual", args=[name]) + hash_ + anchor
    if path.endswith(PICTURE):
        return reverse("dashboard:manual_picture", args=[path.removesuffix(PICTURE)])
    return target


def _table_begins(
    _reader: object, tokens: Sequence[Token], place: int, *_: object
) -> str:
    # A wide table scrolls by itself, by keyboard, too.
    name = f'aria-labelledby="{tokens[place].attrGet("aria-labelledby")}"'
    return (
        f'<div class="scroll" tabindex="0" role="group" {name}>'
        f'<table class="table" {name}>\n'
    )


def show_glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/glossary.html", {"chapters": CHAPTERS})


urlpatterns = [
    page("glossary/", show_glossary, "glossary"),
    page("docs/", show_docs, "docs", walked=("", "?q=runs")),
    page(
        "docs/<path:name>.png",
        send_picture,
        "manual_picture",
        kind="file",
        is_private=False,
    ),
    page(
        "docs/<path:name>/",
        show_manual,
        "manual",
        walked=("/docs/method/", "/docs/lab/"),
        is_private=False,
    ),
]
