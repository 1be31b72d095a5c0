"""Sessions stored under a hash of their key (docs/decisions/sessions.md)."""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

KEY_LENGTH = 40  # 160 bits of the hash


def row_key(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:KEY_LENGTH]


class SessionStore(db.SessionStore):
    def _get_session_from_db(self) -> AbstractBaseSession | None:
        rows = self.model.objects.filter(expire_date__gt=timezone.now())
        session = rows.filter(session_key=row_key(self.session_key or "")).first()
        if session is None:
            self._session_key = None
        return session

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = row_key(row.session_key)
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(row_key(session_key))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(row_key(key))
