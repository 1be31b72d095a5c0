"""A column of sentences."""

from typing import Any

from django.db import models

from benchmarks.sentences import restored, stored


class SentenceField(models.TextField):  # type: ignore[type-arg]  # no generic at run time
    """A text; a sentence keeps its template and parts, and comes back with them."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return None if text is None else stored(text)

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return None if value is None else restored(value)
