"""Cache of pages and page fragments, invalidated by data version.

In the memory of each web process, bounded; docs/decisions/caching.md explains why it is
never stale. A cached view returns its `Content`, which is rendered for an anonymous
request, so that nothing of the person or the session can be cached; the frame around it
(header, messages, guide) is rendered for each request.
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
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from benchmarks.database import one_moment
from benchmarks.models import Lab, Membership, Study
from benchmarks.studies.data_versions import Parts, reading, version_of
from benchmarks.viewer import Viewer
from dashboard.kit import figures
from dashboard.kit.viewers import person_of, query_of, study_or_404, viewer_of

# What one web process keeps at most: reports and profiles, and bytes of pages.
KEPT: Final = 32
MOST_BYTES: Final = 32_000_000
ENTRY_BYTES: Final = 500
"""What it takes to keep one text, beside the text itself: its key and two tables."""
BLOCKS: Final = ("title", "body", "head", "content")
# Nobody can write it into a name: another one in every process.
SECRET: Final = secrets.token_hex(16)
BORDER: Final = mark_safe(f"<!--{SECRET}-->")
# What may have been read of whoever asks before the page began.
ALWAYS: Final = frozenset(it._meta.db_table for it in (User, Membership, Lab, Study))
ADDRESS: Final = ("HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "QUERY_STRING")

Given = ParamSpec("Given")
Made = TypeVar("Made")


def kept(make: Callable[Given, Made]) -> Callable[Concatenate[str, Given], Made]:
    """Cache a function by data version (its first argument), language and arguments."""
    call: Callable[..., Made] = make

    @lru_cache(maxsize=KEPT)
    def made(_version: str, _language: Hashable, *given: Hashable) -> Made:
        return call(*given)

    def made_once(version: str, *given: Given.args, **_none: Given.kwargs) -> Made:
        return made(version, (get_language(), figures.locale()), *given)

    return made_once


@dataclass(frozen=True)
class Content:
    """A page's template and context, or those of a part that htmx requested."""

    template: str
    context: Mapping[str, Any]


Answer: TypeAlias = Content | HttpResponse


@dataclass(frozen=True)
class Kept:
    """A cached text, what it was read from, and the version of that."""

    text: str
    parts: Parts | None = None
    version: str | None = None


def room_of(kept: Kept) -> int:
    """Return the bytes of a cached text with its key."""
    return sys.getsizeof(kept.text) + ENTRY_BYTES


_lock = Lock()
_texts: LRUCache[bytes, Kept] = LRUCache(MOST_BYTES, getsizeof=room_of)


def kept_part(
    request: HttpRequest,
    version: str,
    template: str,
    content: Callable[[], Mapping[str, Any]],
) -> SafeString:
    """Return a page fragment, cached by version, template, address and language."""
    target = request.headers.get("HX-Target")
    made_from = (version, template, request.get_full_path(), target, get_language())
    key = sha256(repr(made_from).encode()).digest()
    if found := _found(key):
        return mark_safe(found.text)
    text = render_to_string(template, {**content()}, _stranger(request))
    _keep(key, Kept(text))
    return mark_safe(text)


def _found(key: bytes) -> Kept | None:
    # Requests are threads of one process, and cachetools' caches are not safe among
    # them. Pages are made outside the lock: nobody waits for another's page.
    with _lock:
        return _texts.get(key)


def _keep(key: bytes, made: Kept) -> None:
    # The cache raises for a text that is larger than all its room.
    if room_of(made) <= MOST_BYTES:
        with _lock:
            _texts[key] = made


def kept_page(view: Callable[..., Answer]) -> Callable[..., HttpResponse]:
    """Cache a view's content for each reader while the data it reads are unchanged."""
    return _kept(view, of_study=False)


def kept_study_page(view: Callable[..., Answer]) -> Callable[..., HttpResponse]:
    """Cache a page of a study that reads only this study and its baselines.

    An upload into another study does not invalidate it. A page that reads more is a
    `kept_page`; `tests/dashboard/test_kept_everywhere.py` proves it for each page.
    """
    return _kept(view, of_study=True)


def study_view(
    template: str, make: Callable[[Viewer, Study, Mapping[str, str]], object]
) -> Callable[..., Content]:
    """Return a view of a study that shows what ``make`` returns as ``page``."""

    def show(request: HttpRequest, lab: str, slug: str) -> Content:
        viewer = viewer_of(request)
        study = study_or_404(viewer, lab, slug)
        page = make(viewer, study, query_of(request))
        return Content(template, {"study": study, "page": page})

    return show


def _kept(
    view: Callable[..., Answer], *, of_study: bool
) -> Callable[..., HttpResponse]:
    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        may_keep = not may_be_taken_back()
        key = _key(request)
        found = _found(key) if may_keep else None
        text = None
        if found and version_of(found.parts) == found.version:
            text = found.text
        if text is None:
            # Much of what a view returns is read only where a template asks for it.
            with one_moment(), reading() as read:
                answer = view(request, *args, **kwargs)
                if isinstance(answer, HttpResponse):
                    return answer
                marks = {"border": BORDER, "csrf_token": SECRET}
                context = {**answer.context, **marks}
                text = render_to_string(answer.template, context, _stranger(request))
                if may_keep:
                    # In the same moment: what is committed meanwhile is on the next.
                    read.tables |= ALWAYS
                    parts = read.parts(_study_of(kwargs) if of_study else None)
                    version = version_of(parts)
                    is_kept = version is not None and not has_written()
            if may_keep and is_kept:
                _keep(key, Kept(text, parts, version))

        blocks = text.split(BORDER)
        # Forms stand in the content, which is the last block.
        if SECRET in blocks[-1]:
            blocks[-1] = blocks[-1].replace(SECRET, get_token(request))
        if len(blocks) == 1:  # a part of a page: it has no frame
            return HttpResponse(blocks[0])
        frame = dict(zip(BLOCKS, map(mark_safe, blocks), strict=True))
        return render(request, "kit/framed.html", frame)

    vars(show)["is_cached"] = True
    return show


def may_be_taken_back() -> bool:
    """Return whether a transaction is open, which may be rolled back."""
    return connection.in_atomic_block


def has_written() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        return bool(cursor.fetchone()[0])


def _study_of(kwargs: Mapping[str, Any]) -> int | None:
    named = Study.objects.filter(lab__slug=kwargs["lab"], slug=kwargs["slug"])
    return named.values_list("pk", flat=True).first()


def _key(request: HttpRequest) -> bytes:
    """Return a digest of the reader and the address."""
    person = person_of(request)
    # Host and day stand in a citation; a part of a page, which has a target, has the
    # address of the whole.
    made_from = (
        timezone.now().date(),
        person and person.pk,
        request.build_absolute_uri(),
        request.headers.get("HX-Target"),
        get_language(),
    )
    return sha256(repr(made_from).encode()).digest()


def _stranger(request: HttpRequest) -> HttpRequest:
    """Return an anonymous request for the same address."""
    stranger = HttpRequest()
    stranger.method = "GET"
    stranger.path, stranger.path_info = request.path, request.path_info
    stranger.GET = request.GET
    stranger.META = {name: request.META[name] for name in ADDRESS & request.META.keys()}
    stranger.resolver_match = request.resolver_match
    return stranger
