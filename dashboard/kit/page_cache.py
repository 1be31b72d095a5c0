"""Cache of pages and page fragments, invalidated by data version.

See docs/decisions/caching.md. `PageContent` is rendered with an anonymous request, the
frame around it (messages, CSRF tokens) for each request.
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

from benchmarks.database import consistent_snapshot
from benchmarks.models import Lab, Membership, Study
from benchmarks.studies.data_versions import TableParts, parts_version, track_tables
from benchmarks.viewer import Viewer
from dashboard.kit import formatting
from dashboard.kit.viewers import query_params, signed_in_user, study_or_404, viewer_of

# These limits hold for each web process.
MAX_CACHED_RESULTS: Final = 32
MAX_CACHE_BYTES: Final = 32_000_000
ENTRY_OVERHEAD_BYTES: Final = 500
"""Estimated size of an entry's key and bookkeeping."""
CACHED_BLOCKS: Final = ("title", "body", "head", "content")
# Each request replaces it by a CSRF token. It is random, so no name can contain it.
CSRF_PLACEHOLDER: Final = secrets.token_hex(16)
BLOCK_SEPARATOR: Final = mark_safe(f"<!--{CSRF_PLACEHOLDER}-->")
# Middleware may have read these tables before tracking starts.
ALWAYS_READ_TABLES: Final = frozenset(
    model._meta.db_table for model in (User, Membership, Lab, Study)
)
URL_META_KEYS: Final = ("HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "QUERY_STRING")

Params = ParamSpec("Params")
Result = TypeVar("Result")


def cached_by_version(
    make: Callable[Params, Result],
) -> Callable[Concatenate[str, Params], Result]:
    """Cache results by language, arguments and data version (a new first argument)."""
    call: Callable[..., Result] = make

    @lru_cache(maxsize=MAX_CACHED_RESULTS)
    def cached_call(_version: str, _language: Hashable, *arguments: Hashable) -> Result:
        return call(*arguments)

    def call_once(
        version: str, *arguments: Params.args, **_unused: Params.kwargs
    ) -> Result:
        return cached_call(
            version, (get_language(), formatting.current_number_format()), *arguments
        )

    return call_once


@dataclass(frozen=True)
class PageContent:
    template: str
    context: Mapping[str, Any]


ViewResult: TypeAlias = PageContent | HttpResponse


@dataclass(frozen=True)
class CachedText:
    text: str
    version_parts: TableParts | None = None
    version: str | None = None


def cache_entry_bytes(entry: CachedText) -> int:
    return sys.getsizeof(entry.text) + ENTRY_OVERHEAD_BYTES


_lock = Lock()
_texts: LRUCache[bytes, CachedText] = LRUCache(
    MAX_CACHE_BYTES, getsizeof=cache_entry_bytes
)


def cached_fragment(
    request: HttpRequest,
    version: str,
    template: str,
    content: Callable[[], Mapping[str, Any]],
    *,
    is_same_for_all_urls: bool = False,
) -> SafeString:
    target = request.headers.get("HX-Target")
    url = "" if is_same_for_all_urls else request.get_full_path()
    key_parts = (version, template, url, target, get_language())
    key = sha256(repr(key_parts).encode()).digest()
    if entry := _cached_text(key):
        return mark_safe(entry.text)
    text = render_to_string(template, {**content()}, _anonymous_request(request))
    _store_text(key, CachedText(text))
    return mark_safe(text)


def _cached_text(key: bytes) -> CachedText | None:
    # The cache is not thread-safe. Render pages outside the lock.
    with _lock:
        return _texts.get(key)


def _store_text(key: bytes, entry: CachedText) -> None:
    # The cache raises ValueError for larger texts.
    if cache_entry_bytes(entry) <= MAX_CACHE_BYTES:
        with _lock:
            _texts[key] = entry


def cached_page(view: Callable[..., ViewResult]) -> Callable[..., HttpResponse]:
    """Cache a view's content per user until data that it has read changes."""
    return _cached_view(view, of_study=False)


def cached_study_page(view: Callable[..., ViewResult]) -> Callable[..., HttpResponse]:
    """Cache a page that reads only its study and the study's baselines."""
    return _cached_view(view, of_study=True)


def study_view(
    template: str, make: Callable[[Viewer, Study, Mapping[str, str]], object]
) -> Callable[..., PageContent]:
    """Return a view of a study whose template gets ``make``'s result as ``page``."""

    def show(request: HttpRequest, lab: str, slug: str) -> PageContent:
        viewer = viewer_of(request)
        study = study_or_404(viewer, lab, slug)
        page = make(viewer, study, query_params(request))
        return PageContent(template, {"study": study, "page": page})

    return show


def _cached_view(
    view: Callable[..., ViewResult], *, of_study: bool
) -> Callable[..., HttpResponse]:
    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        may_cache = not is_in_transaction()
        key = _cache_key(request)
        entry = _cached_text(key) if may_cache else None
        text = None
        if entry and parts_version(entry.version_parts) == entry.version:
            text = entry.text
        if text is None:
            # Templates may run lazy queries: render while tables are tracked.
            with consistent_snapshot(), track_tables() as tracked:
                content = view(request, *args, **kwargs)
                if isinstance(content, HttpResponse):
                    return content
                placeholders = {
                    "border": BLOCK_SEPARATOR,
                    "csrf_token": CSRF_PLACEHOLDER,
                }
                context = {**content.context, **placeholders}
                text = render_to_string(
                    content.template, context, _anonymous_request(request)
                )
                if may_cache:
                    # Read the version in the same snapshot as the data.
                    tracked.tables |= ALWAYS_READ_TABLES
                    parts = tracked.parts(_study_id(kwargs) if of_study else None)
                    version = parts_version(parts)
                    is_cacheable = version is not None and not has_written()
            if may_cache and is_cacheable:
                _store_text(key, CachedText(text, parts, version))

        blocks = text.split(BLOCK_SEPARATOR)
        # Only the last block, the content, has forms.
        if CSRF_PLACEHOLDER in blocks[-1]:
            blocks[-1] = blocks[-1].replace(CSRF_PLACEHOLDER, get_token(request))
        if len(blocks) == 1:
            return HttpResponse(blocks[0])
        frame = dict(zip(CACHED_BLOCKS, map(mark_safe, blocks), strict=True))
        return render(request, "kit/cached_page.html", frame)

    vars(show)["is_cached"] = True
    return show


def is_in_transaction() -> bool:
    return connection.in_atomic_block


def has_written() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        return bool(cursor.fetchone()[0])


def _study_id(kwargs: Mapping[str, Any]) -> int | None:
    studies = Study.objects.filter(lab__slug=kwargs["lab"], slug=kwargs["slug"])
    return studies.values_list("pk", flat=True).first()


def _cache_key(request: HttpRequest) -> bytes:
    user = signed_in_user(request)
    # Date and host are part of the key because citations contain them.
    key_parts = (
        timezone.now().date(),
        user and user.pk,
        request.build_absolute_uri(),
        request.headers.get("HX-Target"),
        get_language(),
    )
    return sha256(repr(key_parts).encode()).digest()


def _anonymous_request(request: HttpRequest) -> HttpRequest:
    anonymous = HttpRequest()
    anonymous.method = "GET"
    anonymous.path, anonymous.path_info = request.path, request.path_info
    anonymous.GET = request.GET
    anonymous.META = {
        name: request.META[name] for name in URL_META_KEYS & request.META.keys()
    }
    anonymous.resolver_match = request.resolver_match
    return anonymous
