"""Per-thread context for row-level security (`row_security`).

Settings of the database session name the labs, studies, systems and hosts that may be
seen. A request starts with what is public and gets its context with its person or
token; workers and commands see all. It is set before the first statement that needs it
(`config/postgresql`). See `docs/decisions/row-level-security.md`.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.core.signals import request_finished, request_started

ALL_SEEING: Final = "virtlab_all"
"""The role that no policy binds, and that owns nothing: what sees all works as it."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What a thread's statements may see; compared by identity, per request."""

    statement: str
    parameters: Mapping[str, Any]


# Without such a role, or without policies (Citus), the session stays itself.
_ALL = """
    SELECT set_config('role', rolname, false) FROM pg_roles
    WHERE rolname = %(role)s AND pg_has_role(session_user, oid, 'MEMBER')
        AND EXISTS (SELECT FROM pg_policy)
"""
_NONE = """
    SELECT set_config('role', 'none', false), set_config('virtlab.labs', '{}', false),
           set_config('virtlab.person', '', false),
           set_config('virtlab.studies', '0', false),
           set_config('virtlab.clear', '{}', false),
           set_config('virtlab.systems', '0', false),
           set_config('virtlab.hosts', '0', false)
"""
_SEE = """
    SELECT set_config('role', 'none', false),
           virtlab_see(%(labs)s::bigint[], %(person)s::bigint)
"""
BOUND: Final = "SELECT set_config('role', 'none', false)"
"""Back from `EVERYTHING` to what the session was told before."""
EVERYTHING: Final = Sight(_ALL, {"role": ALL_SEEING})
NOTHING: Final = Sight(_NONE, {})


class _Looking(threading.local):
    """The sight of a thread; None: that of its process, outside of any request."""

    sight: Sight | None = None


_looking = _Looking()
_outside = EVERYTHING


def blind_outside_requests() -> None:
    """Show what no request asked for nothing at all: for processes that answer."""
    global _outside
    _outside = NOTHING


def current() -> Sight:
    return _looking.sight or _outside


def see_labs(*lab_ids: int) -> None:
    """Show what is public, and what these labs see."""
    _looking.sight = Sight(_SEE, {"labs": list(lab_ids), "person": None})


def see_as(person_id: int) -> None:
    """Show what is public, and what the labs of a person see."""
    _looking.sight = Sight(_SEE, {"labs": [], "person": person_id})


def look_again() -> None:
    """Find out once more what may be seen: this request has added to it."""
    if (sight := _looking.sight) is not None and sight.statement is _SEE:
        _looking.sight = Sight(sight.statement, sight.parameters)


@contextmanager
def nothing() -> Iterator[None]:
    with _as(NOTHING):
        yield


@contextmanager
def everything() -> Iterator[None]:
    """Show all rows; queries inside must filter for themselves."""
    with _as(EVERYTHING):
        yield


@contextmanager
def _as(sight: Sight) -> Iterator[None]:
    before = _looking.sight
    _looking.sight = sight
    try:
        yield
    finally:
        _looking.sight = before


def _begin(**_signal: Any) -> None:
    see_labs()


def forget(**_signal: Any) -> None:
    _looking.sight = None


# Not a middleware: what an answer still reads while it is sent is the same request's.
request_started.connect(_begin, dispatch_uid="a request sees what is public")
request_finished.connect(forget, dispatch_uid="what a request saw is over")
