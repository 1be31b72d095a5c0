import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from benchmarks import rls


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that applies the thread's context before statements."""

    applied_context: rls.RlsContext | None = None
    """The context in effect; None if unknown."""
    stored_context: rls.RlsContext | None = None
    """The context in the session's settings, which `rls.ALL_ROWS` does not change."""
    is_connecting = False

    def connect(self) -> None:
        self.is_connecting = True
        try:
            super().connect()
        finally:
            self.is_connecting = False
        self.applied_context = self.stored_context = None

    def ensure_connection(self) -> None:
        # Django calls this before every statement and transaction. In a transaction,
        # nothing may precede the choice of its isolation level.
        super().ensure_connection()
        if not self.is_connecting and self.applied_context is not rls.current_context():
            self._apply_context(rls.current_context())

    def get_autocommit(self) -> bool:
        # Called at both ends of a request, when the connection may be lost. The context
        # is not applied here.
        super().ensure_connection()
        return bool(self.autocommit)

    def _apply_context(self, context: rls.RlsContext) -> None:
        session = self.connection
        # A failed transaction accepts no statement but its end. Outside of autocommit
        # and atomic blocks, a statement would begin a transaction.
        has_failed = session.info.transaction_status == TransactionStatus.INERROR
        if has_failed or not (session.autocommit or self.in_atomic_block):
            return
        with self.wrap_database_errors, psycopg.Cursor(session) as cursor:
            if context is self.stored_context:
                cursor.execute(rls.RESET_ROLE, prepare=True)
            else:
                cursor.execute(context.statement, context.parameters, prepare=True)
        self.applied_context = context
        if context is not rls.ALL_ROWS:
            self.stored_context = context

    # When a transaction is rolled back, PostgreSQL also reverts the settings.

    def _rollback(self) -> None:
        self.applied_context = self.stored_context = None
        super()._rollback()  # type: ignore[misc]  # no stub

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]  # no stub
        self.applied_context = self.stored_context = None
