"""Tables as CSV, NDJSON or Parquet files, written completely before they are sent."""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from benchmarks.database import consistent_snapshot
from benchmarks.datasets import parquet_writer
from benchmarks.datasets.row_selection import RowSelection, row_batches
from benchmarks.datasets.tables import TABLES, Column, Table
from benchmarks.errors import StorageFullError, UnavailableError
from benchmarks.viewer import Viewer

FILE_FORMATS: Final = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
# Left free for PostgreSQL, which uses the same disk.
MIN_FREE_DISK_BYTES: Final = 2 * 1024**3
# A spreadsheet would evaluate texts with these first characters.
_FORMULAS: Final = "('=', '+', '-', '@', '|', E'\\t', E'\\r', E'\\n')"
_MOMENT: Final = '\'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\''
_CSV: Final = "FORMAT csv"
# JSON contains neither character, so nothing is quoted.
_LINES: Final = "FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02'"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DataFile:
    """A temporary file, deleted when it is closed; ``digest`` is its SHA-256."""

    file: IO[bytes]
    digest: bytes
    size: int


def write_table(
    name: str,
    file_format: str,
    viewer: Viewer,
    selection: RowSelection,
    folder: Path,
    *,
    is_cancelled: Callable[[], bool] = bool,
) -> DataFile:
    """Write the selected rows that a viewer may see to a temporary file.

    Raise UnavailableError if ``is_cancelled()`` or the time limit is exceeded, and
    StorageFullError if there is no space.
    """
    with limited_file(folder, is_cancelled) as target:
        _WRITERS[file_format](
            TABLES[name], viewer, row_batches(name, viewer, selection), target
        )
    return target.done()


class LimitedFile:
    def __init__(self, folder: Path, is_cancelled: Callable[[], bool]) -> None:
        self.folder, self.is_cancelled = folder, is_cancelled
        # No `with`: the file stays open until it has been sent.
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.digest = hashlib.sha256()
        self.end = time.monotonic() + settings.EXPORT_TIMEOUT_S

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self.file.write(content)

    def check(self) -> None:
        if self.is_cancelled():
            raise UnavailableError(
                "client_disconnected", "The client has disconnected."
            )
        if time.monotonic() > self.end:
            raise UnavailableError(
                "query_timeout",
                "The request is too large. Request one study, or a date range with "
                "since and until.",
            )
        if shutil.disk_usage(self.folder).free < MIN_FREE_DISK_BYTES:
            raise StorageFullError(
                "disk_full",
                "The server does not have enough disk space for this file. Request "
                "less data, or contact the administrator of this server.",
            )

    def done(self) -> DataFile:
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(0)
        return DataFile(self.file, self.digest.digest(), size)


@contextmanager
def limited_file(
    folder: Path, is_cancelled: Callable[[], bool]
) -> Iterator[LimitedFile]:
    """Yield a temporary file for one state of the database; close it on errors."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = LimitedFile(folder, is_cancelled)
    except OSError as error:
        logger.warning("An export failed: %s", error)
        raise StorageFullError(
            "disk_full",
            "The server cannot write files at the moment. Contact the administrator "
            "of this server.",
        ) from None
    try:
        with consistent_snapshot(is_read_only=True):
            yield target
    except BaseException:
        target.file.close()
        raise


def _write_csv(
    table: Table, viewer: Viewer, batches: Iterator[QuerySet[Any]], target: LimitedFile
) -> None:
    names = ",".join(column.name for column in table.columns)
    target.write(f"{names}\n".encode())
    columns = ", ".join(map(_as_csv, table.columns))
    for batch in batches:
        _copy(f"SELECT {columns}", _CSV, table, viewer, batch, target)
        target.check()


def _as_csv(column: Column) -> str:
    if column.type != "string":
        return _as_text(column)
    name = f't."{column.name}"'
    return (
        f"CASE WHEN left({name}, 1) IN {_FORMULAS} THEN '''' || {name} ELSE {name} END"
    )


def _write_ndjson(
    table: Table, viewer: Viewer, batches: Iterator[QuerySet[Any]], target: LimitedFile
) -> None:
    columns = ", ".join(
        f'{_as_text(column)} AS "{column.name}"' for column in table.columns
    )
    select = f"SELECT row_to_json(line) FROM (SELECT {columns}"
    for batch in batches:
        _copy(select, _LINES, table, viewer, batch, target, end=") AS line")
        target.check()


def _write_parquet(
    table: Table, viewer: Viewer, batches: Iterator[QuerySet[Any]], target: LimitedFile
) -> None:
    columns = ", ".join(map(_as_text, table.columns))
    metadata = [
        (column.name, column.type, str(column.description)) for column in table.columns
    ]
    writer = subprocess.Popen(
        [sys.executable, "-m", parquet_writer.__name__, json.dumps(metadata)],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=target.file,
    )
    assert writer.stdin
    try:
        for batch in batches:
            _copy(f"SELECT {columns}", _CSV, table, viewer, batch, writer.stdin)
            target.check()
        writer.stdin.close()
        if writer.wait(settings.EXPORT_TIMEOUT_S) != 0:
            raise subprocess.CalledProcessError(
                writer.returncode, parquet_writer.__name__
            )
    finally:
        writer.kill()
        writer.wait()
        with suppress(BrokenPipeError):
            writer.stdin.close()
    target.file.seek(0)
    while content := target.file.read(1 << 20):
        target.digest.update(content)


_WRITERS: Final = {
    "csv": _write_csv,
    "ndjson": _write_ndjson,
    "parquet": _write_parquet,
}


def _as_text(column: Column) -> str:
    name = f't."{column.name}"'
    if column.type == "datetime":
        return f"to_char({name} AT TIME ZONE 'UTC', {_MOMENT})"
    return name


def _copy(
    select: str,
    options: str,
    table: Table,
    viewer: Viewer,
    batch: QuerySet[Any],
    target: Any,
    *,
    end: str = "",
) -> None:
    rows = batch.values_list(
        *(column.expression_for(viewer) for column in table.columns)
    )
    try:
        sql, parameters = rows.query.sql_with_params()
    except EmptyResultSet:
        return
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    statement = f"COPY ({select} FROM ({sql}) AS t({names}){end}) TO STDOUT ({options})"
    with connection.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        for lines in copy:
            target.write(lines)
