"""A connection whose session says, before any statement, whose rows are shown."""

from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from benchmarks import sight


class DatabaseWrapper(base.DatabaseWrapper):
    """Sets the thread's sight in the session wherever it is not what was set last."""

    shown: sight.Sight | None = None
    """What the session shows; None where that is not known."""

    def show(self) -> None:
        """Set the thread's sight, unless it is set already."""
        wanted = sight.current()
        if self.shown is wanted:
            return
        session = self.connection
        # A transaction that failed takes nothing but its end.
        if session.info.transaction_status == TransactionStatus.INERROR:
            return
        with self.wrap_database_errors, psycopg.Cursor(session) as cursor:
            cursor.execute(wanted.statement, wanted.parameters, prepare=True)
        self.shown = wanted

    def init_connection_state(self) -> None:
        self.shown = None
        super().init_connection_state()

    def create_cursor(self, name: str | None = None) -> Any:
        self.show()
        return super().create_cursor(name)

    def _set_autocommit(self, autocommit: bool) -> None:
        # Before a transaction begins: nothing may come in it before its isolation is
        # chosen.
        if not autocommit:
            self.show()
        super()._set_autocommit(autocommit)  # type: ignore[misc]  # no stub

    # PostgreSQL undoes with a transaction what was set in it.

    def _rollback(self) -> None:
        self.shown = None
        super()._rollback()  # type: ignore[misc]  # no stub

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]  # no stub
        self.shown = None
