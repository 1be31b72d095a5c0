import posixpath
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

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

from dashboard.kit.documents import (
    DOCS_FOLDER,
    MAX_HEADING_LEVEL,
    doc_pages,
    search_documents,
)
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
        "study-files": _("A whole study as one file, for import and other programs."),
        "versions": _("Publish and cite a version of a study."),
    },
    _("Run an installation"): {
        "operations": _("Install, back up, upgrade, monitor, delete, repair."),
        "settings": _("Variables, processes, database roles and folders."),
        "accounts": _("Members, sign-in, second factors and mail."),
        "containers": _("Docker Compose and Kubernetes."),
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
IMAGE_SUFFIX: Final = ".png"
MAX_HITS: Final = 20
TITLE_TOKENS: Final = 3
WORD = re.compile(r"\w")


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
        "found": search_documents(words, MAX_HITS) if words else [],
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


@lru_cache(maxsize=64)
def doc_html(name: str) -> str:
    documents = doc_pages()
    return render_markdown(documents[name].source, posixpath.dirname(name), documents)


def render_markdown(
    source: str, folder: str = "", doc_names: Collection[str] = ()
) -> str:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.use(anchors_plugin, max_level=MAX_HEADING_LEVEL)
    parser.add_render_rule("table_open", _table_begins)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = parser.parse(source)
    for token in tokens:
        _adapt_token(token, folder, doc_names)
    _label_tables(tokens)
    return str(parser.renderer.render(tokens[TITLE_TOKENS:], parser.options, {}))


def _adapt_token(token: Token, folder: str, doc_names: Collection[str]) -> None:
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
    terms = [term for chapter in GLOSSARY for term in chapter.terms]
    terms.sort(key=lambda term: str(term.term).casefold())
    context = {"chapters": GLOSSARY, "terms": terms}
    return render(request, "docs/glossary.html", context)


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
