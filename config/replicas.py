"""Read pages and exports from a standby that is recent enough.

The log position after a user's last write is stored in Redis and in a cookie; a standby
behind it is not read for that user. Users are authenticated on the primary, which also
answers what the standby cannot.
"""

import hashlib
import logging
import re
from collections.abc import Callable
from typing import Any, Final

import redis
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from benchmarks import broker, replica
from benchmarks.database import sqlstate, was_away
from benchmarks.errors import TOOK_TOO_LONG

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SAFE: Final = ("GET", "HEAD")
# Of the API what people and programs read much of. Agents follow plans there by GET.
READ: Final = tuple(
    f"/api/v1/{name}/"
    for name in ("data", "comparisons", "cells", "evidence", "factor-effects")
)
ELSEWHERE: Final = ("/api/", "/metrics", "/agent/", settings.STATIC_URL)
COOKIE: Final = "virtlab-written"
PLACE: Final = re.compile(r"[0-9A-F]{1,8}/[0-9A-F]{1,8}")
# A standby that is so long behind is not read from at all.
REMEMBERED_S: Final = 600
SERVER_ERROR: Final = 500
logger = logging.getLogger(__name__)


def reading(get_response: GetResponse) -> GetResponse:
    """Route safe requests to the standby; not installed without one."""
    if not replica.is_configured():
        raise MiddlewareNotUsed

    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.method not in SAFE or not _may_be_read(request):
            return get_response(request)
        with replica.from_replica() as failures:
            response = get_response(request)
        if not failures and response.status_code < SERVER_ERROR:
            return response
        if any(sqlstate(error) in TOOK_TOO_LONG for error in failures):
            return response  # the primary has as much to do with it
        if away := [error for error in failures if was_away(error)]:
            replica.note_failure(away[0])
        response.close()
        return get_response(request)

    return answer


def noting(get_response: GetResponse) -> GetResponse:
    """Store the log position after requests that may have written."""
    if not replica.is_configured():
        raise MiddlewareNotUsed

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.method not in SAFE:
            _note_place(request, response)
        return response

    return answer


def _may_be_read(request: HttpRequest) -> bool:
    """Return whether the standby may answer: it has the last write of the user."""
    path = request.path_info
    if path.startswith(ELSEWHERE) and not path.startswith(READ):
        return False
    # Asked on the primary: an account that is closed is closed at once.
    names = _names_of(request)
    cookie = request.COOKIES.get(COOKIE, "")
    places = [cookie] if PLACE.fullmatch(cookie) else []
    try:
        known: list[Any] = broker.connection().mget(names) if names else []
    except (redis.RedisError, OSError):
        return False
    places += [place.decode() for place in known if place]
    return replica.may_be_read(max(places, key=_order, default=None))


def _note_place(request: HttpRequest, response: HttpResponseBase) -> None:
    """Store the current log position for the user of this request."""
    names = _names_of(request)
    if not names or response.status_code >= SERVER_ERROR:
        return
    try:
        place = replica.place_written()
    except DatabaseError as error:  # it is written: that stays so
        logger.warning("Nobody knows how far the log has come: %s", error)
        return
    if settings.SESSION_COOKIE_NAME in {**request.COOKIES, **response.cookies}:
        response.set_cookie(
            COOKIE,
            place,
            max_age=REMEMBERED_S,
            httponly=True,
            samesite="Lax",
            secure=settings.HTTPS,
        )
    try:
        with broker.connection().pipeline() as pipeline:
            for name in names:
                pipeline.set(name, place, ex=REMEMBERED_S)
            pipeline.execute()
    except (redis.RedisError, OSError) as error:
        logger.warning("Redis does not remember who wrote (%s).", error)


def _names_of(request: HttpRequest) -> list[str]:
    """Return the Redis keys of the request's user or token."""
    names = []
    if shown := request.headers.get("Authorization"):
        digest = hashlib.sha256(shown.encode()).hexdigest()
        names.append(f"virtlab:written:token:{digest}")
    # Nobody was asked for where an upload was taken the short way.
    person = getattr(request, "user", None)
    if person is not None and person.is_authenticated:
        names.append(f"virtlab:written:person:{person.pk}")
    return names


def _order(place: str) -> tuple[int, int]:
    """Return a log position as two numbers, for sorting."""
    high, low = place.split("/")
    return int(high, 16), int(low, 16)
