"""In-process cache of values computed from one study.

An entry is valid until data that it has read changes, like a cached page
(`docs/decisions/caching.md`). A page that uses an entry counts as reading its tables.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

from cachetools import LRUCache
from django.db import connection

from benchmarks import rls
from benchmarks.database import consistent_snapshot
from benchmarks.models import Lab, Study
from benchmarks.studies.data_versions import (
    TableParts,
    add_read_tables,
    parts_version,
    parts_versions,
    track_tables,
)
from benchmarks.viewer import Viewer

MAX_STUDIES: Final = 128
# Callers have read them before tracking starts.
CALLER_TABLES: Final = frozenset(model._meta.db_table for model in (Lab, Study))
# Otherwise, the data and their version may be of different moments, or be rolled back.
_IS_SNAPSHOT_SQL: Final = """
    SELECT current_setting('transaction_isolation') = 'repeatable read'
           AND pg_current_xact_id_if_assigned() IS NULL
"""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Entry(Generic[Result]):
    result: Result
    tables: frozenset[str]
    parts: TableParts
    version: str


class StudyCache(Generic[Result]):
    """Results of ``compute`` by study and viewer.

    ``compute`` reads only the study and its baselines, as in `cached_study_page`.
    """

    def __init__(self, compute: Callable[[Study], Result]) -> None:
        self._compute = compute
        self._lock = Lock()
        self.entries: LRUCache[Hashable, Entry[Result]] = LRUCache(MAX_STUDIES)

    def results(self, viewer: Viewer, studies: Collection[Study]) -> list[Result]:
        # Flags that quote hidden studies make results depend on the viewer.
        reader = (viewer.lab_ids, rls.current_context().statement)
        with consistent_snapshot():
            if not is_snapshot():
                return [self._compute(study) for study in studies]
            current = self._current([(study.pk, *reader) for study in studies])
            return [
                self._result(study, (study.pk, *reader), current) for study in studies
            ]

    def _current(self, keys: Collection[Hashable]) -> dict[Hashable, Entry[Result]]:
        with self._lock:
            stored = {key: entry for key in keys if (entry := self.entries.get(key))}
        versions = parts_versions([entry.parts for entry in stored.values()])
        pairs = zip(stored.items(), versions, strict=True)
        return {
            key: entry for (key, entry), version in pairs if entry.version == version
        }

    def _result(
        self, study: Study, key: Hashable, current: dict[Hashable, Entry[Result]]
    ) -> Result:
        if key in current:
            add_read_tables(current[key].tables)
            return current[key].result
        with track_tables() as tracked:
            result = self._compute(study)
            tracked.tables |= CALLER_TABLES
        parts = tracked.parts(study.pk)
        version = None if parts is None else parts_version(parts)
        if parts is not None and version is not None:
            entry = Entry(result, frozenset(tracked.tables), parts, version)
            with self._lock:
                self.entries[key] = entry
        return result


def is_snapshot() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_IS_SNAPSHOT_SQL)
        return bool(cursor.fetchone()[0])
