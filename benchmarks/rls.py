"""Per-thread context for row-level security (policies: `rls_policies`).

Settings of the database session list the visible labs, studies, systems and hosts.
Requests start with public data until authentication; workers and commands see all rows.
Settings are sent before the first statement that needs them (`config/postgresql`). See
`docs/decisions/row-level-security.md`.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.core.signals import request_finished, request_started

BYPASS_ROLE: Final = "virtlab_all"
"""Without tables; bypasses all policies, for workers and commands."""


@dataclass(frozen=True, eq=False)
class RlsContext:
    """A statement that makes rows visible. Compared by identity: one per request."""

    statement: str
    parameters: Mapping[str, Any]


# No change without this role or policies (Citus).
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
"""Undo `ALL_ROWS`."""
ALL_ROWS: Final = RlsContext(_ALL_ROWS_SQL, {"role": BYPASS_ROLE})
NO_ROWS: Final = RlsContext(_NO_ROWS_SQL, {})


class _ThreadContext(threading.local):
    """The thread's context; None: `_default_context`."""

    context: RlsContext | None = None


_thread = _ThreadContext()
_default_context = ALL_ROWS


def deny_by_default() -> None:
    global _default_context
    _default_context = NO_ROWS


def current_context() -> RlsContext:
    return _thread.context or _default_context


def allow_labs(*lab_ids: int) -> None:
    """Add the labs' rows to public ones."""
    _thread.context = RlsContext(
        _SET_CONTEXT_SQL, {"labs": list(lab_ids), "person": None}
    )


def allow_viewer(person_id: int) -> None:
    """Add the rows of a person's labs to public ones."""
    _thread.context = RlsContext(_SET_CONTEXT_SQL, {"labs": [], "person": person_id})


def refresh() -> None:
    """Show rows that this request has created."""
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


# Streaming responses run queries after middleware returns.
request_started.connect(_start_request, dispatch_uid="rls: allow public rows")
request_finished.connect(clear_context, dispatch_uid="rls: clear context")
