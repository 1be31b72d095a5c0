"""Pages kept as long as the database says the same, in the memory of a web process.

A view that is kept returns its `Content`: a template and what it is given. The content
is rendered for a stranger who asks for the same address, so nothing of the person, the
session or a form's secret can get into what is kept; the frame around it (header,
messages, guided path) is made for each request. `docs/decisions/caching.md` says why
nothing stale can come out of it.
"""

import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from threading import Lock
from typing import Any, Final, TypeAlias

from cachetools import LRUCache
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from benchmarks.studies.data_versions import database_version
from dashboard.kit.viewers import person_of

MOST_BYTES: Final = 32_000_000
ENTRY_BYTES: Final = 500
"""What it takes to keep one text, beside the text itself: its key and two tables."""
BLOCKS: Final = ("title", "body", "head", "content")
# Nobody can write it into a name: another one in every process.
SECRET: Final = secrets.token_hex(16)
BORDER: Final = mark_safe(f"<!--{SECRET}-->")
ADDRESS: Final = ("HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "QUERY_STRING")


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


def kept_page(view: Callable[..., Answer]) -> Callable[..., HttpResponse]:
    """Make a view's content once for what the database holds, and for each reader.

    Answers that are no content (a redirect) and errors are not kept.
    """

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        key = _key(request)
        with _lock:
            text = _texts.get(key) if key else None
        if text is None:
            answer = view(request, *args, **kwargs)
            if isinstance(answer, HttpResponse):
                return answer
            text = _rendered(answer, request)
            if key and size_of(text) <= MOST_BYTES:
                with _lock:
                    _texts[key] = text
        return _framed(request, text)

    return show


def _key(request: HttpRequest) -> bytes | None:
    """Return a digest of what a page is made from; None where nothing can be kept.

    An address of thousands of letters would take more room than many a text.
    """
    version = database_version()
    if version is None:
        return None
    person = person_of(request)
    made_from = (
        version,
        timezone.now().date(),
        person and person.pk,
        request.build_absolute_uri(),
        request.headers.get("HX-Target"),
        get_language(),
    )
    return sha256(repr(made_from).encode()).digest()


def _rendered(content: Content, request: HttpRequest) -> str:
    marks = {"border": BORDER, "csrf_token": SECRET}
    stranger = _stranger(request)
    return render_to_string(content.template, {**content.context, **marks}, stranger)


def _stranger(request: HttpRequest) -> HttpRequest:
    """Return a request for the same address that says nothing of who asks."""
    stranger = HttpRequest()
    stranger.method = "GET"
    stranger.path, stranger.path_info = request.path, request.path_info
    stranger.GET = request.GET
    stranger.META = {name: request.META[name] for name in ADDRESS & request.META.keys()}
    stranger.resolver_match = request.resolver_match
    return stranger


def _framed(request: HttpRequest, text: str) -> HttpResponse:
    """Return a content with its frame; a part of a page has none."""
    if SECRET in (blocks := text.split(BORDER))[-1]:
        blocks[-1] = blocks[-1].replace(SECRET, get_token(request))
    if len(blocks) == 1:
        return HttpResponse(blocks[0])
    said = map(mark_safe, blocks)
    context = dict(zip(BLOCKS, said, strict=True))
    return render(request, "kit/framed.html", context)
