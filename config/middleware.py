import gzip
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.http import parse_header_parameters

from api.kit.errors import Problem
from benchmarks import rls
from benchmarks.monitoring.counters import REQUEST_SECONDS, REQUESTS, SERVER_ERRORS
from benchmarks.monitoring.request_ids import (
    REQUEST_ID_HEADER,
    accept_id,
    use_request_id,
)
from config.client_addresses import client_address

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SERVER_ERROR: Final = 500
METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# Character sets of forms in browsers; some codecs of Python are not character sets.
KNOWN_CHARSETS: Final = {"utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", ""}
USUAL_PORTS: Final = {"80", "443"}
# Django ignores an unknown codec, and `request_checks` rejects the request.
UNKNOWN_CHARSET: Final = "application/octet-stream; charset=unknown"
# Pages repeat the query in many links. Saved views have up to 4,000 characters.
MAX_QUERY_BYTES: Final = 8_192
MAX_QUERY_PARAMETERS: Final = 1_000
# Six times as fast as level 6, which Django uses.
COMPRESSION_LEVEL: Final = 1
MIN_COMPRESSED_BYTES: Final = 200
COMPRESSED_TYPES: Final = (
    "text/",
    "application/json",
    "image/svg+xml",
    "application/vnd.oai",
)
GZIP_HAS_NAME: Final = 8
MAX_GZIP_NAME: Final = 100
ACCEPTS_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")

# Set by `config.http_server`.
BODY_DROPPED: Final = Problem(
    503,
    "too_many_bodies",
    "Too many large requests are being received at the same time. Repeat the request "
    "in a moment; that is safe.",
    headers={"Retry-After": "5"},
)

logger = logging.getLogger(__name__)


def request_ids(get_response: GetResponse) -> GetResponse:
    """Give each request and its response an ID, and count the response."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        with use_request_id(
            accept_id(request.headers.get(REQUEST_ID_HEADER, ""))
        ) as request_id:
            response = get_response(request)
        response[REQUEST_ID_HEADER] = request_id
        # Django logs the response after this block, with the ID from the request.
        vars(request)["request_id"] = request_id
        status, route = response.status_code, _route(request)
        # Invented methods must not become labels.
        method = request.method if request.method in METHODS else "other"
        try:
            REQUESTS.labels(route, method, status).inc()
            if status == SERVER_ERROR:
                SERVER_ERRORS.inc()
            REQUEST_SECONDS.labels(_kind(route)).observe(time.perf_counter() - started)
        except OSError as error:  # disk full: no room for a new process's counters
            logger.warning("A request was not counted: %s", error)
        return response

    return answer


class PageLanguageMiddleware(LocaleMiddleware):
    """Select the language of pages. The API is in English."""

    def process_request(self, request: HttpRequest) -> None:
        if _is_api(request):
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
            return
        if _is_embed(request):
            # Embeds are in caches shared by all readers, and other sites show them.
            request.COOKIES.pop(settings.LANGUAGE_COOKIE_NAME, None)
        super().process_request(request)

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if _is_api(request):
            response.headers.setdefault("Content-Language", settings.LANGUAGE_CODE)
            return response
        if not _is_embed(request):
            patch_vary_headers(response, ("Cookie",))
        return super().process_response(request, response)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def _is_embed(request: HttpRequest) -> bool:
    return request.path.startswith("/embed/")


def current_user(get_response: GetResponse) -> GetResponse:
    """Set a lazy `request.user`; loading it reveals the rows of the user's labs."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        def load_user() -> Any:
            user = get_user(request)
            if user.is_authenticated:
                rls.allow_viewer(user.pk)
            return user

        request.user = SimpleLazyObject(load_user)  # type: ignore[assignment]
        return get_response(request)

    return answer


def _route(request: HttpRequest) -> str:
    if request.resolver_match:
        return request.resolver_match.view_name or "unnamed"
    is_static = request.path.startswith(settings.STATIC_URL)
    return "static" if is_static else "unknown"


def _kind(route: str) -> str:
    if route.startswith("api:"):
        return "api"
    return "static" if route == "static" else "page"


def replace_unknown_charsets(application: "WSGIApplication") -> "WSGIApplication":
    """Replace unknown character sets, with which Django would decode the URL."""

    def answer(
        environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        try:
            _, parameters = parse_header_parameters(environ.get("CONTENT_TYPE", ""))
        except ValueError:
            parameters = {"charset": "unknown"}
        if parameters.get("charset", "").lower() not in KNOWN_CHARSETS:
            environ["CONTENT_TYPE"] = UNKNOWN_CHARSET
        return application(environ, start_response)

    return answer


def request_checks(get_response: GetResponse) -> GetResponse:
    """Check port and character set; mark responses to signed-in clients private."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        request.META["REMOTE_ADDR"] = client_address(
            str(request.META.get("REMOTE_ADDR", "")),
            request.META.get("HTTP_X_FORWARDED_FOR", ""),
        )
        if not _is_known_port(request):
            return HttpResponse(
                "This server does not serve the port in the URL. If a proxy uses "
                "another port, add it to ALLOWED_PORTS.\n",
                status=400,
                content_type="text/plain; charset=utf-8",
            )
        if (request.content_params or {}).get(
            "charset", ""
        ).lower() not in KNOWN_CHARSETS:
            return HttpResponse(
                "Send forms as UTF-8. The character set of this request is not "
                "supported.\n",
                status=415,
                content_type="text/plain; charset=utf-8",
            )
        if "HTTP_X_BODY_DROPPED" in request.META:
            return _problem_response(request, BODY_DROPPED)
        if problem := _query_problem(request.META.get("QUERY_STRING", "")):
            return _problem_response(request, Problem(400, "invalid", problem))
        response = get_response(request)
        is_cacheable = "no-store" not in response.get("Cache-Control", "")
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if is_cacheable and (has_session or "Authorization" in request.headers):
            patch_cache_control(response, private=True)
        return response

    return answer


def _query_problem(query: str) -> str:
    """Return what is wrong with a query string; Django would raise when it is read."""
    if len(query) > MAX_QUERY_BYTES:
        return f"The query of a URL may have at most {MAX_QUERY_BYTES:,} bytes."
    if query.count("&") >= MAX_QUERY_PARAMETERS:
        return f"A URL may have at most {MAX_QUERY_PARAMETERS:,} query parameters."
    return ""


def _problem_response(request: HttpRequest, problem: Problem) -> HttpResponse:
    if request.path.startswith("/api/"):
        response: HttpResponse = JsonResponse(problem.body(), status=problem.status)
    else:
        content_type = "text/plain; charset=utf-8"
        response = HttpResponse(
            f"{problem.detail}\n", status=problem.status, content_type=content_type
        )
    for name, value in problem.headers.items():
        response[name] = value
    return response


def _is_known_port(request: HttpRequest) -> bool:
    """Return whether links may use the port of the Host header."""
    try:
        port = urlsplit(f"//{request.META.get('HTTP_HOST', '')}").port
    except ValueError:
        return True  # not a port: Django rejects such a host
    known = {request.META.get("SERVER_PORT", ""), *settings.ALLOWED_PORTS, *USUAL_PORTS}
    return port is None or str(port) in known


def limit_statement_time() -> None:
    """Limit the time of statements, in processes that answer requests."""
    connection_created.connect(_set_timeouts, dispatch_uid="limit statement time")


def _set_timeouts(connection: Any, **_: Any) -> None:
    timeouts = (settings.WEB_STATEMENT_TIMEOUT_S, settings.WEB_LOCK_TIMEOUT_S)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false)",
            [f"{seconds}s" for seconds in timeouts],
        )


def compression(get_response: GetResponse) -> GetResponse:
    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if (
            not isinstance(response, HttpResponse)
            or not response.get("Content-Type", "").startswith(COMPRESSED_TYPES)
            or response.has_header("Content-Encoding")
            or len(response.content) < MIN_COMPRESSED_BYTES
        ):
            return response
        patch_vary_headers(response, ("Accept-Encoding",))
        if ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", "")):
            response.content = compressed(response.content)
            response["Content-Length"] = str(len(response.content))
            response["Content-Encoding"] = "gzip"
            # The bytes have changed, so the tag is only weakly valid.
            if (tag := response.get("ETag", "")).startswith('"'):
                response["ETag"] = f"W/{tag}"
        return response

    return answer


def compressed(content: bytes) -> bytes:
    """Return a gzip file that contains a name of random length, against BREACH.

    Source: https://ieeexplore.ieee.org/document/9754554
    """
    packed = gzip.compress(content, COMPRESSION_LEVEL, mtime=0)
    name = b"a" * secrets.randbelow(MAX_GZIP_NAME)
    return b"".join(
        (packed[:3], bytes([GZIP_HAS_NAME]), packed[4:10], name, b"\0", packed[10:])
    )
