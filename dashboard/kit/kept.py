"""What was made of a study, and whole pages, kept as long as the data are the same.

Both in the memory of each web process, bounded. `docs/decisions/caching.md` says why
nothing stale can come out of it, and nothing of another viewer.

A view that is kept returns its `Content`: a template and what it is given. The content
is rendered for a stranger who asks for the same address, so nothing of the person, the
session or a form's secret can get into what is kept; the frame around it (header,
messages, guided path) is made for each request.
"""

import secrets
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from hashlib import sha256
from threading import Lock
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from cachetools import LRUCache
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from benchmarks.database import one_moment
from benchmarks.studies.data_versions import database_version
from dashboard.kit import figures
from dashboard.kit.viewers import person_of

# What one web process keeps at most: reports and profiles, and bytes of pages.
KEPT: Final = 32
MOST_BYTES: Final = 32_000_000
ENTRY_BYTES: Final = 500
"""What it takes to keep one text, beside the text itself: its key and two tables."""
BLOCKS: Final = ("title", "body", "head", "content")
# Nobody can write it into a name: another one in every process.
SECRET: Final = secrets.token_hex(16)
BORDER: Final = mark_safe(f"<!--{SECRET}-->")
ADDRESS: Final = ("HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "QUERY_STRING")

Given = ParamSpec("Given")
Made = TypeVar("Made")


def kept(make: Callable[Given, Made]) -> Callable[Concatenate[str, Given], Made]:
    """Make a thing once for every version that is asked for, which comes first.

    Kept under that version, the language, whether it is for a file, and whatever else
    it is made from: the viewer among it.
    """
    call: Callable[..., Made] = make

    @lru_cache(maxsize=KEPT)
    def made(_version: str, _language: Hashable, *given: Hashable) -> Made:
        return call(*given)

    def made_once(version: str, *given: Given.args, **_none: Given.kwargs) -> Made:
        return made(version, (get_language(), figures.locale()), *given)

    return made_once


@dataclass(frozen=True)
class Content:
    """What a page shows, or a part of it that htmx asked for."""

    template: str
    context: Mapping[str, Any]


Answer: TypeAlias = Content | HttpResponse


def size_of(text: str) -> int:
    """Return the bytes that a kept text takes; some characters take four."""
    return sys.getsizeof(text) + ENTRY_BYTES


_lock = Lock()
_texts: LRUCache[bytes, str] = LRUCache(MOST_BYTES, getsizeof=size_of)


def kept_part(
    request: HttpRequest,
    version: str,
    template: str,
    content: Callable[[], Mapping[str, Any]],
) -> SafeString:
    """Return a part of a page, made once for every version of the study it is made of.

    It shows what that version, the address and the language say, and nothing else: not
    even another study. So it is found again after somebody else's upload. ``content``
    is what its template is given, asked for only where it is made.
    """
    target = request.headers.get("HX-Target")
    made_from = (version, template, request.get_full_path(), target, get_language())
    key = sha256(repr(made_from).encode()).digest()
    text = _found(key)
    if text is None:
        text = render_to_string(template, {**content()}, _stranger(request))
        _keep(key, text)
    return mark_safe(text)


def _found(key: bytes | None) -> str | None:
    # Requests are threads of one process, and cachetools' caches are not safe among
    # them. Pages are made outside the lock: nobody waits for another's page.
    with _lock:
        return _texts.get(key) if key else None


def _keep(key: bytes | None, text: str) -> None:
    # The cache raises for a text that is larger than all its room.
    if key and size_of(text) <= MOST_BYTES:
        with _lock:
            _texts[key] = text


def kept_page(view: Callable[..., Answer]) -> Callable[..., HttpResponse]:
    """Make a view's content once for what the database holds, and for each reader.

    Answers that are no content (a redirect) and errors are not kept.
    """

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Before anything is read: what is committed meanwhile is on the next page.
        key = _key(request)
        text = _found(key)
        if text is None:
            # Much of what a view returns is read only where a template asks for it.
            with one_moment():
                answer = view(request, *args, **kwargs)
                if isinstance(answer, HttpResponse):
                    return answer
                marks = {"border": BORDER, "csrf_token": SECRET}
                context = {**answer.context, **marks}
                text = render_to_string(answer.template, context, _stranger(request))
            _keep(key, text)

        blocks = text.split(BORDER)
        # Forms stand in the content, which is the last block.
        if SECRET in blocks[-1]:
            blocks[-1] = blocks[-1].replace(SECRET, get_token(request))
        if len(blocks) == 1:  # a part of a page: it has no frame
            return HttpResponse(blocks[0])
        frame = dict(zip(BLOCKS, map(mark_safe, blocks), strict=True))
        return render(request, "kit/framed.html", frame)

    return show


def _key(request: HttpRequest) -> bytes | None:
    """Return a digest of what a page is made from; None where nothing can be kept.

    An address of thousands of letters would take more room than many a text.
    """
    version = database_version()
    if version is None:
        return None
    person = person_of(request)
    # Host and day stand in a citation; a part of a page, which has a target, has the
    # address of the whole.
    made_from = (
        version,
        timezone.now().date(),
        person and person.pk,
        request.build_absolute_uri(),
        request.headers.get("HX-Target"),
        get_language(),
    )
    return sha256(repr(made_from).encode()).digest()


def _stranger(request: HttpRequest) -> HttpRequest:
    """Return a request for the same address that says nothing about who asks."""
    stranger = HttpRequest()
    stranger.method = "GET"
    stranger.path, stranger.path_info = request.path, request.path_info
    stranger.GET = request.GET
    stranger.META = {name: request.META[name] for name in ADDRESS & request.META.keys()}
    stranger.resolver_match = request.resolver_match
    return stranger
