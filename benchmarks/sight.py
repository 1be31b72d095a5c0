"""Whose rows PostgreSQL shows this thread: what row-level security goes by.

Every query is scoped to a viewer in Python. Should one forget it, the policies of
`row_security` show it no more than its sight: settings of the database's session that
say which labs ask, and which studies, systems and hosts these see. A request begins
with what everybody sees and gets its sight where its sender becomes known (a person, a
token); what nobody asked for, as workers and commands do, sees all. It is set with the
first statement that needs it (`config/postgresql`), and again after whatever may have
undone it.
`docs/decisions/row-level-security.md` says why so.
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
    """What the statements of a thread are shown; compared by identity.

    Two requests of one person are two: what they may see may have changed in between.
    """

    statement: str
    parameters: Mapping[str, Any]


# As oneself where there is no such role, for one's own tables no policy binds, or where
# there is no policy: workers of a Citus cluster let nobody in who cannot sign in.
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
    """Return what this thread is shown now."""
    return _looking.sight or _outside


def see_labs(*lab_ids: int) -> None:
    """Show what is public, and what these labs see."""
    _looking.sight = Sight(_SEE, {"labs": list(lab_ids), "person": None})


def see_as(person_id: int) -> None:
    """Show what is public, and what the labs of a person see.

    Once more where they join or make a lab, or make a study, in their request.
    """
    _looking.sight = Sight(_SEE, {"labs": [], "person": person_id})


def look_again() -> None:
    """Find out once more what may be seen: this request has added to it."""
    if (sight := _looking.sight) is not None and sight.statement is _SEE:
        _looking.sight = Sight(sight.statement, sight.parameters)


@contextmanager
def nothing() -> Iterator[None]:
    """Show nothing at all."""
    with _as(NOTHING):
        yield


@contextmanager
def everything() -> Iterator[None]:
    """Show all, for what has to know of all labs and tells none of another's.

    Whatever is read in it has to be scoped by its own filter.
    """
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
    """End what a request saw."""
    _looking.sight = None


# Not a middleware: what an answer still reads while it is sent is the same request's.
request_started.connect(_begin, dispatch_uid="a request sees what is public")
request_finished.connect(forget, dispatch_uid="what a request saw is over")
