"""Sessions in the database under a digest of their key (docs/decisions/sessions.md)."""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

ROOM = 40  # of a row for its key: 160 bits of the digest


def row_key(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:ROOM]


class SessionStore(db.SessionStore):
    """Django's sessions in the database, each under a digest of its key."""

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        rows = self.model.objects.filter(expire_date__gt=timezone.now())
        session = rows.filter(session_key=row_key(self.session_key or "")).first()
        if session is None:
            self._session_key = None
        return session

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        made = super().create_model_instance(data)
        made.session_key = row_key(made.session_key)
        return made

    def exists(self, session_key: str) -> bool:
        return super().exists(row_key(session_key))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(row_key(key))
