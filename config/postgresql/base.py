"""A connection whose session says, before any statement, whose rows are shown."""

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from benchmarks import sight


class DatabaseWrapper(base.DatabaseWrapper):
    """Sets the thread's sight in the session wherever it is not what was set last."""

    shown: sight.Sight | None = None
    """What the session shows; None where that is not known."""
    told: sight.Sight | None = None
    """What its settings say, though it may work as the role that sees all."""
    is_connecting = False

    def connect(self) -> None:
        self.is_connecting = True
        try:
            super().connect()
        finally:
            self.is_connecting = False
        self.shown = self.told = None

    def ensure_connection(self) -> None:
        # Asked for by all that is about to send a statement, or to begin a transaction,
        # in which nothing may come before its isolation is chosen.
        super().ensure_connection()
        if not self.is_connecting and self.shown is not sight.current():
            self._show(sight.current())

    def get_autocommit(self) -> bool:
        # Asked for at both ends of a request, of a connection that may be lost.
        super().ensure_connection()
        return bool(self.autocommit)

    def _show(self, wanted: sight.Sight) -> None:
        session = self.connection
        # A transaction that failed takes nothing but its end, and after its end nothing
        # may begin another one.
        has_failed = session.info.transaction_status == TransactionStatus.INERROR
        if has_failed or not (session.autocommit or self.in_atomic_block):
            return
        with self.wrap_database_errors, psycopg.Cursor(session) as cursor:
            if wanted is self.told:
                cursor.execute(sight.BOUND, prepare=True)
            else:
                cursor.execute(wanted.statement, wanted.parameters, prepare=True)
        self.shown = wanted
        if wanted is not sight.EVERYTHING:
            self.told = wanted

    # PostgreSQL undoes with a transaction what was set in it.

    def _rollback(self) -> None:
        self.shown = self.told = None
        super()._rollback()  # type: ignore[misc]  # no stub

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]  # no stub
        self.shown = self.told = None
