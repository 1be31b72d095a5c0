"""Per-thread context for row-level security (policies: `rls_policies`).

The context is sent as settings of the database session, before the first statement that
needs them (`config/postgresql`). See `docs/decisions/row-level-security.md`.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.core.signals import request_finished, request_started

BYPASS_ROLE: Final = "virtlab_all"
"""A database role that bypasses all policies, for workers and commands."""


@dataclass(frozen=True, eq=False)
class RlsContext:
    """An SQL statement that sets which rows are visible.

    Contexts are compared by identity: a new one makes the statement run again.
    """

    statement: str
    parameters: Mapping[str, Any]


# Changes nothing if the role or the policies do not exist (Citus).
_ALL_ROWS_SQL = """
    SELECT set_config('role', rolname, false) FROM pg_roles
    WHERE rolname = %(role)s AND pg_has_role(session_user, oid, 'MEMBER')
        AND EXISTS (SELECT FROM pg_policy)
"""
_NO_ROWS_SQL = """
    SELECT set_config('role', 'none', false), set_config('virtlab.labs', '{}', false),
           set_config('virtlab.person', '', false),
           set_config('virtlab.visible_studies', '0', false),
           set_config('virtlab.fully_visible_labs', '{}', false),
           set_config('virtlab.visible_systems', '0', false),
           set_config('virtlab.visible_hosts', '0', false)
"""
_SET_CONTEXT_SQL = """
    SELECT set_config('role', 'none', false),
           virtlab_set_rls_context(%(labs)s::bigint[], %(person)s::bigint)
"""
RESET_ROLE: Final = "SELECT set_config('role', 'none', false)"
ALL_ROWS: Final = RlsContext(_ALL_ROWS_SQL, {"role": BYPASS_ROLE})
NO_ROWS: Final = RlsContext(_NO_ROWS_SQL, {})


class _ThreadContext(threading.local):
    """The context of the thread; None means `_default_context`."""

    context: RlsContext | None = None


_thread = _ThreadContext()
_default_context = ALL_ROWS


def deny_by_default() -> None:
    """Show no rows to threads without a context, such as those of web processes."""
    global _default_context
    _default_context = NO_ROWS


def current_context() -> RlsContext:
    return _thread.context or _default_context


def allow_labs(*lab_ids: int) -> None:
    """Let this thread see public rows and those of these labs."""
    _thread.context = RlsContext(
        _SET_CONTEXT_SQL, {"labs": list(lab_ids), "person": None}
    )


def allow_viewer(person_id: int) -> None:
    """Let this thread see public rows and those of a person's labs."""
    _thread.context = RlsContext(_SET_CONTEXT_SQL, {"labs": [], "person": person_id})


def refresh() -> None:
    """Look up the visible rows again, after the request has created or shared some."""
    if (
        context := _thread.context
    ) is not None and context.statement is _SET_CONTEXT_SQL:
        _thread.context = RlsContext(context.statement, context.parameters)


@contextmanager
def deny_all() -> Iterator[None]:
    with _switched_to(NO_ROWS):
        yield


@contextmanager
def allow_all() -> Iterator[None]:
    with _switched_to(ALL_ROWS):
        yield


@contextmanager
def _switched_to(context: RlsContext) -> Iterator[None]:
    previous = _thread.context
    _thread.context = context
    try:
        yield
    finally:
        _thread.context = previous


def _start_request(**_signal: Any) -> None:
    allow_labs()


def clear_context(**_signal: Any) -> None:
    _thread.context = None


# Signals, because streaming responses run queries after middleware has returned.
request_started.connect(_start_request, dispatch_uid="rls: allow public rows")
request_finished.connect(clear_context, dispatch_uid="rls: clear context")
