"""Limits on what a request may claim, and on how long the database works for it."""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.http import parse_header_parameters

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# What browsers send forms in. Python knows codecs that are no character sets.
CHARSETS: Final = {"utf-8", "us-ascii", "ascii", "iso-8859-1", "latin-1", ""}
USUAL_PORTS: Final = {"80", "443"}
# A codec of no name: Django takes none for it, and the request is refused below.
NO_CHARSET: Final = "application/octet-stream; charset=unknown"


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
        # What a reader sees who was named is nothing for others' proxies.
        is_kept = "no-store" not in response.get("Cache-Control", "")
        if is_kept and _is_named(request):
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


def _is_named(request: HttpRequest) -> bool:
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    return has_session or "Authorization" in request.headers


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
