"""Write the public pages of this installation into a folder."""

import json
import re
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.test.utils import override_settings
from django.urls import reverse

from dashboard.site_export.addresses import (
    PAGE_FILE,
    SEARCH_FILE,
    Address,
    Scope,
    local_url,
    relative_link,
    static_file,
)
from dashboard.site_export.rewriting import Links, Rewritten, rewrite_page

MANIFEST: Final = "export.json"
"""File that marks a folder as an export, which a later export may replace."""
BEING_COMPARED: Final = b"data-being-compared"
PATIENCE_S: Final = 60
OK: Final = 200
FIRST_REDIRECT, FIRST_ERROR, SERVER_ERROR = 300, 400, 500
# Too many for the list of pages; tables lead to them.
_NOT_LISTED: Final = {"cell", "run-detail", "cross-study-pair", "setting"}


class ExportError(Exception):
    """A sentence for the operator."""


@dataclass
class Progress:
    done: int = 0
    known: int = 0
    missing: list[str] = field(default_factory=list)


@contextmanager
def _complete_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder that replaces ``folder`` when all files are written."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is not a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ExportError(
            f"{folder} contains files that are not an earlier export. "
            "Choose a new folder."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True
    ) as work:
        new, old = Path(work, "new"), Path(work, "old")
        new.mkdir()
        yield new
        if folder.is_dir():
            folder.rename(old)
        new.rename(folder)


class _Exporter:
    def __init__(self, folder: Path, scope: Scope, origin: str) -> None:
        self.folder, self.scope, self.origin = folder, scope, origin
        self.now = datetime.now(UTC)
        parts = urlsplit(origin)
        is_secure = parts.scheme == "https"
        self.environment: dict[str, Any] = {
            "SERVER_NAME": parts.hostname,
            "SERVER_PORT": str(parts.port or (443 if is_secure else 80)),
            "HTTP_HOST": parts.netloc,
            "wsgi.url_scheme": parts.scheme,
        }
        self.client = Client(raise_request_exception=False, **self.environment)
        self.waiting: deque[Address] = deque()
        # Files by their URL; URLs may differ only in parameters that are ignored.
        self.known: set[str] = set()
        self.static: set[str] = set()
        # URLs by title. Pages with choices often have the title of another page.
        self.listed: dict[str, str] = {}
        self.variants: dict[str, list[tuple[str, str]]] = {}
        self.progress = Progress()

    def run(self, report: Callable[[Progress], None]) -> None:
        start = self.scope.address_of(self.scope.start)
        if start is None or self.client.get(start.url).status_code != OK:
            raise ExportError(f"There is no public page {self.scope.start}.")
        self._want(start)
        if self.scope.study:
            data = f"{reverse('dashboard:data')}?study={self.scope.study}"
            self._resolve(data, start)
        while self.waiting:
            self._export(self.waiting.popleft())
            self.progress.done += 1
            self.progress.known = len(self.known)
            report(self.progress)
        if self.scope.study:
            self._write(
                PAGE_FILE, _forward(relative_link(PAGE_FILE, start.file), False)
            )
        self._write_lists()
        self._copy_static()
        self._write_manifest()

    def _want(self, address: Address) -> None:
        if address.file not in self.known:
            self.known.add(address.file)
            self.waiting.append(address)

    def _export(self, address: Address) -> None:
        response = self._get(address)
        status = response.status_code
        if status >= SERVER_ERROR:
            raise ExportError(
                f"{address.url} could not be rendered (status {status}). "
                "The log has the reason."
            )
        if status >= FIRST_ERROR:
            self.progress.missing.append(address.url)
            self._write(address.file, _forward(self.origin + address.url, True))
        elif status >= FIRST_REDIRECT:
            target = self._resolve(response["Location"], address)
            self._write(address.file, _forward(*target))
        elif response.get("Content-Type", "").startswith("text/html"):
            self._write_page(address, response.content.decode())
        else:
            self._stream(address.file, response)

    def _get(self, address: Address) -> Any:
        end = time.monotonic() + PATIENCE_S
        while True:
            response = self.client.get(address.url)
            is_unfinished = not response.streaming and (
                BEING_COMPARED in response.content
            )
            if not is_unfinished or time.monotonic() > end:
                return response
            time.sleep(1)

    def _write_page(self, address: Address, page: str) -> None:
        rewritten = self._rewritten(address, page)
        self._write(address.file, rewritten.text)
        title = rewritten.title.removesuffix("· Virtlab").strip()
        if address.route not in _NOT_LISTED:
            self.listed.setdefault(title, address.url)
        if address.query:
            self.variants.setdefault(address.path, []).append((title, address.url))

    def _rewritten(self, address: Address, page: str) -> Rewritten:
        context = {
            "url": self.origin + address.url,
            "origin": self.origin,
            "now": self.now,
            "version": settings.VERSION,
        }
        links = Links(
            link=partial(self._resolve, source=address),
            form=partial(self._form, source=address),
            chart=partial(self._chart, source=address),
            style=partial(self._style, source=address),
        )
        return rewrite_page(
            page,
            links,
            head=render_to_string("site_export/head.html", context),
            note=render_to_string("site_export/note.html", context),
        )

    def _resolve(self, link: str, source: Address) -> tuple[str, bool]:
        if link.startswith("#"):
            return link, False
        url = local_url(link, source.url, self.origin)
        if url is None:
            return link, False
        if name := static_file(url):
            self.static.add(name)
            return relative_link(source.file, f"static/{name}"), False
        if url == "/" and self.scope.study:
            return relative_link(source.file, PAGE_FILE), False
        if url == reverse("dashboard:search"):
            return relative_link(source.file, SEARCH_FILE), False
        url, _, fragment = url.partition("#")
        address = self.scope.address_of(url)
        if address is None:
            return self.origin + url + (f"#{fragment}" if fragment else ""), True
        self._want(address)
        target = relative_link(source.file, address.file)
        is_shown = fragment and fragment != "tour"
        return target + (f"#{fragment}" if is_shown else ""), False

    def _form(self, action: str, source: Address) -> tuple[str, bool]:
        url = local_url(action, source.url, self.origin) or action
        if url == reverse("dashboard:search"):
            return relative_link(source.file, SEARCH_FILE), False
        return self.origin + urlsplit(url).path, True

    def _chart(self, link: str, source: Address) -> str:
        url = local_url(link, source.url, self.origin) or link
        response = self.client.get(url)
        if response.status_code != OK:
            raise ExportError(f"{url} could not be read ({response.status_code}).")
        return response.content.decode()

    def _style(self, link: str, source: Address) -> str:
        url = local_url(link, source.url, self.origin) or link
        with _static(static_file(url) or "") as file:
            return str(file.read().decode())

    def _write_lists(self) -> None:
        """Write the list of pages, and lists instead of pages that need a choice."""
        self._write_list(
            SEARCH_FILE, reverse("dashboard:search"), [*self.listed.items()]
        )
        for path, pages in self.variants.items():
            file = f"{path.strip('/')}/{PAGE_FILE}"
            if file not in self.known:
                self._write_list(file, path, pages)

    def _write_list(self, file: str, path: str, pages: list[tuple[str, str]]) -> None:
        request = RequestFactory(**self.environment).get(path)
        context = {"pages": sorted(pages)}
        page = render_to_string("site_export/pages.html", context, request)
        self._write(file, self._rewritten(Address("", path, "", file), page).text)

    def _copy_static(self) -> None:
        for name in sorted(self.static):
            with (
                _static(name) as file,
                self._path(f"static/{name}").open("wb") as copy,
            ):
                shutil.copyfileobj(file, copy)

    def _write_manifest(self) -> None:
        content = {
            "exported_from": self.origin + self.scope.start,
            "exported_at": self.now.isoformat(timespec="seconds"),
            "virtlab_version": settings.VERSION,
            "pages_and_files": self.progress.done,
            "not_exported": self.progress.missing,
        }
        self._write(MANIFEST, json.dumps(content, indent=2) + "\n")

    def _path(self, file: str) -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _write(self, file: str, text: str) -> None:
        self._path(file).write_text(text, encoding="utf-8")

    def _stream(self, file: str, response: Any) -> None:
        with self._path(file).open("wb") as target:
            for chunk in response:
                target.write(chunk)


def _static(name: str) -> Any:
    if staticfiles_storage.exists(name):
        return staticfiles_storage.open(name)
    if found := finders.find(name):
        return Path(str(found)).open("rb")
    raise ExportError(f"The static file {name} is missing.")


def _forward(link: str, leads_to_server: bool) -> str:
    context = {"link": link, "leads_to_server": leads_to_server}
    return render_to_string("site_export/forward.html", context)


def export_site(
    folder: Path, study: str, origin: str, report: Callable[[Progress], None]
) -> Progress:
    """Export all public pages, or those of a study (``lab/slug``), as a static site.

    Raises ExportError. The folder appears when it is complete.
    """
    origin = origin.rstrip("/")
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path:
        raise ExportError(f"{origin} is not a URL such as https://virtlab.example.org.")
    if study and not re.fullmatch(r"[\w-]+/[\w-]+", study, re.ASCII):
        raise ExportError(f"{study} is not a study. Write it as lab/study.")
    port = str(parts.port or "")
    with (
        override_settings(
            ALLOWED_HOSTS=[parts.hostname],
            ALLOWED_PORTS={*settings.ALLOWED_PORTS, port},
            SECURE_SSL_REDIRECT=False,
        ),
        _complete_folder(folder) as new,
    ):
        exporter = _Exporter(new, Scope(study), origin)
        exporter.run(report)
    return exporter.progress
