"""Reading of pages and exports from a standby that is recent enough.

The log position after the last write of a client is stored in Redis and in a cookie.
See docs/scaling.md, A standby for readers.
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

from benchmarks import redis_connection, replica
from benchmarks.database import is_connection_error, sqlstate
from benchmarks.errors import TIMEOUT_SQLSTATES

GetResponse = Callable[[HttpRequest], HttpResponseBase]
SAFE_METHODS: Final = ("GET", "HEAD")
# Paths of the API with large reads. Others are polled by agents and need the primary.
REPLICA_API_PATHS: Final = tuple(
    f"/api/v1/{name}/"
    for name in ("data", "comparisons", "cells", "evidence", "factor-effects")
)
PRIMARY_PATHS: Final = ("/api/", "/metrics", "/agent/", settings.STATIC_URL)
COOKIE: Final = "virtlab-written"
LSN: Final = re.compile(r"[0-9A-F]{1,8}/[0-9A-F]{1,8}")
# Longer than a standby may be behind (REPLICA_MAX_LAG_S).
LSN_LIFETIME_S: Final = 600
SERVER_ERROR: Final = 500
logger = logging.getLogger(__name__)


def read_from_replica(get_response: GetResponse) -> GetResponse:
    if not replica.is_configured():
        raise MiddlewareNotUsed

    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.method not in SAFE_METHODS or not _can_use_replica(request):
            return get_response(request)
        with replica.from_replica() as failures:
            response = get_response(request)
        if not failures and response.status_code < SERVER_ERROR:
            return response
        if any(sqlstate(error) in TIMEOUT_SQLSTATES for error in failures):
            return response  # the primary would take as long
        if lost := [error for error in failures if is_connection_error(error)]:
            replica.record_failure(lost[0])
        response.close()
        return get_response(request)

    return answer


def record_write_position(get_response: GetResponse) -> GetResponse:
    if not replica.is_configured():
        raise MiddlewareNotUsed

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.method not in SAFE_METHODS:
            _store_position(request, response)
        return response

    return answer


def _can_use_replica(request: HttpRequest) -> bool:
    path = request.path_info
    if path.startswith(PRIMARY_PATHS) and not path.startswith(REPLICA_API_PATHS):
        return False
    # This reads the user from the primary, so closed accounts are rejected at once.
    keys = _user_keys(request)
    cookie = request.COOKIES.get(COOKIE, "")
    positions = [cookie] if LSN.fullmatch(cookie) else []
    try:
        stored: list[Any] = redis_connection.connection().mget(keys) if keys else []
    except (redis.RedisError, OSError):
        return False
    positions += [position.decode() for position in stored if position]
    return replica.can_serve_reads(max(positions, key=_parse_position, default=None))


def _store_position(request: HttpRequest, response: HttpResponseBase) -> None:
    keys = _user_keys(request)
    if not keys or response.status_code >= SERVER_ERROR:
        return
    try:
        position = replica.current_lsn()
    except DatabaseError as error:  # the write itself has succeeded
        logger.warning("The log position cannot be read: %s", error)
        return
    if settings.SESSION_COOKIE_NAME in {**request.COOKIES, **response.cookies}:
        response.set_cookie(
            COOKIE,
            position,
            max_age=LSN_LIFETIME_S,
            httponly=True,
            samesite="Lax",
            secure=settings.HTTPS,
        )
    try:
        with redis_connection.connection().pipeline() as pipeline:
            for key in keys:
                pipeline.set(key, position, ex=LSN_LIFETIME_S)
            pipeline.execute()
    except (redis.RedisError, OSError) as error:
        logger.warning("The log position cannot be stored in Redis: %s", error)


def _user_keys(request: HttpRequest) -> list[str]:
    keys = []
    if authorization := request.headers.get("Authorization"):
        digest = hashlib.sha256(authorization.encode()).hexdigest()
        keys.append(f"virtlab:written:token:{digest}")
    # The fast path for uploads does not set a user.
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        keys.append(f"virtlab:written:person:{user.pk}")
    return keys


def _parse_position(position: str) -> tuple[int, int]:
    high, low = position.split("/")
    return int(high, 16), int(low, 16)
