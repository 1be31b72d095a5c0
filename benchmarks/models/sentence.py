"""A model field for translatable messages."""

from typing import Any

from django.db import models

from benchmarks.sentences import deserialize, serialize


class SentenceField(models.TextField):  # type: ignore[type-arg]  # no generic at run time
    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return None if text is None else serialize(text)

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return None if value is None else deserialize(value)
