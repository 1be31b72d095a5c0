"""Middleware: request ids and counters, limits, compression, the signed-in user."""

import gzip
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject
from django.utils.http import parse_header_parameters

from benchmarks import sight
from benchmarks.monitoring.counters import REQUEST_SECONDS, REQUESTS, SERVER_ERRORS
from benchmarks.monitoring.tracing import HEADER, given_id, traced

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SERVER_ERROR: Final = 500
METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
# What browsers send forms in. Python knows codecs that are no character sets.
CHARSETS: Final = {"utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", ""}
USUAL_PORTS: Final = {"80", "443"}
# A codec of no name: Django takes none for it, and the request is refused below.
NO_CHARSET: Final = "application/octet-stream; charset=unknown"
# Level 1 is six times as fast as Django's level 6.
LEVEL: Final = 1
SHORTEST: Final = 200
TEXTS: Final = ("text/", "application/json", "image/svg+xml", "application/vnd.oai")
HAS_NAME: Final = 8
LONGEST_NAME: Final = 100
ACCEPTED = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")

logger = logging.getLogger(__name__)


def requests(get_response: GetResponse) -> GetResponse:
    """Answer under the request's id, and count the response."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        begun = time.perf_counter()
        with traced(given_id(request.headers.get(HEADER, ""))) as request_id:
            response = get_response(request)
        response[HEADER] = request_id
        # For what Django logs of the answer, which is after this.
        vars(request)["request_id"] = request_id
        status, route = response.status_code, _route(request)
        # Names that somebody invents must not become counters.
        method = request.method if request.method in METHODS else "other"
        try:
            REQUESTS.labels(route, method, status).inc()
            if status == SERVER_ERROR:
                SERVER_ERRORS.inc()
            REQUEST_SECONDS.labels(_kind(route)).observe(time.perf_counter() - begun)
        except OSError as error:  # no room for a new process's counters: a full disk
            logger.warning("A request is not counted: %s", error)
        return response

    return answer


def persons(get_response: GetResponse) -> GetResponse:
    """Set `request.user` lazily; row-level security applies to the signed-in user."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        def known() -> Any:
            user = get_user(request)
            if user.is_authenticated:
                sight.see_as(user.pk)
            return user

        request.user = SimpleLazyObject(known)  # type: ignore[assignment]
        return get_response(request)

    return answer


def _route(request: HttpRequest) -> str:
    """Return the name of the matched URL pattern, so that labels are bounded."""
    if request.resolver_match:
        return request.resolver_match.view_name or "unnamed"
    is_static = request.path.startswith(settings.STATIC_URL)
    return "static" if is_static else "unknown"


def _kind(route: str) -> str:
    if route.startswith("api:"):
        return "api"
    return "static" if route == "static" else "page"


def charsets(application: "WSGIApplication") -> "WSGIApplication":
    """Replace unknown character sets before Django decodes the address with them."""

    def answer(
        environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        try:
            _, named = parse_header_parameters(environ.get("CONTENT_TYPE", ""))
        except ValueError:
            named = {"charset": "unknown"}
        if named.get("charset", "").lower() not in CHARSETS:
            environ["CONTENT_TYPE"] = NO_CHARSET
        return application(environ, start_response)

    return answer


def bounds(get_response: GetResponse) -> GetResponse:
    """Check a request's port and character set; mark answers to users private."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        request.META["REMOTE_ADDR"] = _address(request)
        if not _knows_port(request):
            return HttpResponse(
                "This server is not known by the port that the address names. "
                "Behind a proxy with a port of its own, name it in ALLOWED_PORTS.\n",
                status=400,
                content_type="text/plain; charset=utf-8",
            )
        if (request.content_params or {}).get("charset", "").lower() not in CHARSETS:
            return HttpResponse(
                "Send forms as UTF-8: the character set that this one names is not "
                "read here.\n",
                status=415,
                content_type="text/plain; charset=utf-8",
            )
        response = get_response(request)
        # Answers to a user must not be cached by proxies.
        is_kept = "no-store" not in response.get("Cache-Control", "")
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if is_kept and (has_session or "Authorization" in request.headers):
            patch_cache_control(response, private=True)
        return response

    return answer


def _address(request: HttpRequest) -> str:
    """Return the client's address: that before the proxies that we trust."""
    address = str(request.META.get("REMOTE_ADDR", ""))
    said = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    while said and _is_trusted(address):
        address = said.pop().strip() or address
    return address


def _is_trusted(address: str) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return any(ip in network for network in settings.TRUSTED_PROXIES)


def _knows_port(request: HttpRequest) -> bool:
    """Return whether links may use the port of the request's Host."""
    try:
        port = urlsplit(f"//{request.META.get('HTTP_HOST', '')}").port
    except ValueError:
        return True  # no port at all: Django refuses such a host itself
    own = {request.META.get("SERVER_PORT", ""), *settings.ALLOWED_PORTS, *USUAL_PORTS}
    return port is None or str(port) in own


def bound_statements() -> None:
    """Limit the time of statements and lock waits in processes that answer requests."""
    connection_created.connect(_limit, dispatch_uid="bound statements")


def _limit(connection: Any, **_: Any) -> None:
    times = (settings.WEB_STATEMENT_TIMEOUT_S, settings.WEB_LOCK_TIMEOUT_S)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false)",
            [f"{seconds}s" for seconds in times],
        )


def compression(get_response: GetResponse) -> GetResponse:

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if (
            not isinstance(response, HttpResponse)
            or not response.get("Content-Type", "").startswith(TEXTS)
            or response.has_header("Content-Encoding")
            or len(response.content) < SHORTEST
        ):
            return response
        patch_vary_headers(response, ("Accept-Encoding",))
        if ACCEPTED.search(request.headers.get("Accept-Encoding", "")):
            response.content = compressed(response.content)
            response["Content-Length"] = str(len(response.content))
            response["Content-Encoding"] = "gzip"
            # Other bytes than those that were named: the same to a reader only.
            if (tag := response.get("ETag", "")).startswith('"'):
                response["ETag"] = f"W/{tag}"
        return response

    return answer


def compressed(content: bytes) -> bytes:
    """Return a gzip file whose header has a name of random length, against BREACH.

    Source: https://ieeexplore.ieee.org/document/9754554
    """
    packed = gzip.compress(content, LEVEL, mtime=0)
    name = b"a" * secrets.randbelow(LONGEST_NAME)
    return b"".join(
        (packed[:3], bytes([HAS_NAME]), packed[4:10], name, b"\0", packed[10:])
    )
