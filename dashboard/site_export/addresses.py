"""Which URLs are exported, and into which files."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit
from zlib import crc32

from django.conf import settings
from django.urls import Resolver404, resolve

from dashboard.kit.routes import routes

PAGE_FILE: Final = "index.html"
SEARCH_FILE: Final = "search/index.html"
MAX_NAME: Final = 120
# Parameters that change nothing that an export shows.
IGNORED_PARAMETERS: Final = {"tour"}
NEEDS_SERVER: Final = {
    "feed",
    "invitation",
    "login",
    "paper",
    "paper-file",
    "report-file",
    "report-pdf",
    "report-progress",
    "search",
    "sitemap",
}
_NOTHING: Final = frozenset[str]()


def _choices(*choices: str) -> frozenset[frozenset[str]]:
    return frozenset({_NOTHING, *(frozenset(choice.split()) for choice in choices)})


# Other queries lead to the server: there are too many of them.
QUERIES: Final[Mapping[str, frozenset[frozenset[str]]]] = {
    "compare": _choices("metrics", "rows", "scenario", "scenario component"),
    "cross-study": _choices("host", "host page", "host work"),
    "cross-study-pair": _choices("first second"),
    "data": _choices("study"),
    "data-file": _choices("study"),
    "density": _choices("benchmark"),
    "evidence-file": _choices("hypervisor", "machine", "work"),
    "evidence-question": _choices("hypervisor work"),
    "evidence-question-file": _choices("hypervisor work"),
    "factor-effects": _choices("component", "scenario", "component scenario"),
    "flags": _choices("rule", "status"),
    "runs": _choices("after", "before"),
    "sessions": _choices("session"),
    "study-file": _choices("study", "raw_output study"),
}
_API_FILES: Final = {"data-file", "data-schema", "study-file"}
_PARTS_OF_STUDY: Final = ("/runs/", "/versions/", "/plans/", "/glossary/", "/docs/")


@dataclass(frozen=True)
class Address:
    """A public URL of this installation, and its file in the export."""

    route: str
    path: str
    query: str
    file: str

    @property
    def url(self) -> str:
        return self.path + (f"?{self.query}" if self.query else "")


@dataclass(frozen=True)
class Scope:
    """The exported part: all public pages, or one study (``lab/slug``)."""

    study: str = ""

    @property
    def start(self) -> str:
        return f"/studies/{self.study}/" if self.study else "/"

    def address_of(self, url: str) -> Address | None:
        """Return None for URLs that are not exported. ``url`` begins with a slash."""
        parts = urlsplit(url)
        try:
            match = resolve(unquote(parts.path))
        except Resolver404:
            return None
        name = match.url_name or ""
        query = sorted(
            (key, value)
            for key, value in parse_qsl(parts.query)
            if key not in IGNORED_PARAMETERS
        )
        keys = frozenset(key for key, _ in query)
        is_known = len(keys) == len(query) and keys in QUERIES.get(name, {_NOTHING})
        if not is_known or not self._contains(parts.path, dict(query)):
            return None
        kind = _kind(match.namespace, name)
        if not kind:
            return None
        file = _file(unquote(parts.path), query, kind, match.kwargs)
        return Address(name, parts.path, urlencode(query), file)

    def _contains(self, path: str, query: Mapping[str, str]) -> bool:
        if not self.study:
            return True
        if path.startswith(("/api/v1/", "/data/")):
            return query.get("study") == self.study or path.endswith("/schema/")
        return path.startswith((self.start, *_PARTS_OF_STUDY))


def _kind(namespace: str, name: str) -> str:
    if namespace == "api":
        return "download" if name in _API_FILES else ""
    route = routes().get(name) if namespace == "dashboard" else None
    if not route or name in NEEDS_SERVER or route.path.startswith("embed/"):
        return ""
    if route.kind == "page" and route.anonymous_status != 302:
        return "page"
    if route.kind == "file":
        return "download" if route.path.endswith("/") else "file"
    return ""


def _file(
    path: str, query: list[tuple[str, str]], kind: str, arguments: Mapping[str, object]
) -> str:
    name = path.strip("/")
    chosen = _name_of(query)
    if kind == "file":
        stem, dot, suffix = name.rpartition(".")
        return f"{stem}.{chosen}{dot}{suffix}" if chosen else name
    if kind == "download":
        return posixpath.join(name, chosen, _download_name(name, arguments))
    return posixpath.join(name, chosen, PAGE_FILE)


def _name_of(query: list[tuple[str, str]]) -> str:
    exact = "--".join(f"{key}-{value}" for key, value in query)
    name = re.sub(r"[^\w.-]+", "-", exact, flags=re.ASCII)[:MAX_NAME]
    return name if name == exact else f"{name}-{crc32(exact.encode()):08x}"


def _download_name(path: str, arguments: Mapping[str, object]) -> str:
    if table := arguments.get("table"):
        return f"{table}.{arguments['file_format']}"
    last = posixpath.basename(path)
    suffixes = {"schema": "json", "study-file": "json.gz"}
    return f"{last}.{suffixes.get(last, 'txt')}"


def relative_link(source: str, target: str) -> str:
    """Return the link from one file of the export to another."""
    return quote(posixpath.relpath(target, posixpath.dirname(source) or "."))


def local_url(link: str, page_url: str, origin: str) -> str | None:
    """Return a link's path and query if it leads to this installation."""
    url = urljoin(origin + page_url, link.strip())
    rest = url.removeprefix(origin)
    if rest == url or rest[:1] not in ("", "/", "?", "#"):
        return None
    return rest if rest.startswith("/") else f"/{rest}"


def static_file(url: str) -> str | None:
    """Return the name of a static file for the storage, or None for other URLs."""
    path = urlsplit(url).path
    if not path.startswith(settings.STATIC_URL):
        return None
    return unquote(path.removeprefix(settings.STATIC_URL))
