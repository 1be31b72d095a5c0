"""A table as a file: CSV, NDJSON or Parquet, written whole to disk before it is sent.

PostgreSQL writes the rows (COPY) in pieces. So a file has a length, a digest and one
state of the database, and fails before it is sent.
"""

import hashlib
import json
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
from django.db import connection, transaction
from django.db.models import QuerySet

from benchmarks.datasets import packing
from benchmarks.datasets.selecting import Wanted, pieces_of
from benchmarks.datasets.tables import TABLES, Column, Table
from benchmarks.errors import StorageFullError, UnavailableError
from benchmarks.viewer import Viewer

FORMS: Final = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
# What PostgreSQL itself may need while files are made beside it.
KEPT_FREE_BYTES: Final = 2 * 1024**3
# First letters of a text that a spreadsheet would compute.
_FORMULAS: Final = "('=', '+', '-', '@', '|', E'\\t', E'\\r', E'\\n')"
_MOMENT: Final = '\'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\''
_CSV: Final = "FORMAT csv"
# JSON has neither of these signs in it: so nothing is ever quoted or doubled.
_LINES: Final = "FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02'"


@dataclass(frozen=True)
class DataFile:
    """A file at its beginning, gone when it is closed; ``digest`` is its SHA-256."""

    file: IO[bytes]
    digest: bytes
    size: int


def write_table(
    name: str,
    form: str,
    viewer: Viewer,
    wanted: Wanted,
    folder: Path,
    *,
    is_unwanted: Callable[[], bool] = bool,
) -> DataFile:
    """Write the rows of a table that a viewer may see into a file without a name.

    ``is_unwanted`` is asked between two pieces. Raises UnavailableError if it returns
    True or the time is over, and StorageFullError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = _Target(folder, is_unwanted)
    try:
        with _one_state():
            _WRITERS[form](
                TABLES[name], viewer, pieces_of(name, viewer, wanted), target
            )
    except BaseException:
        target.file.close()
        raise
    return target.done()


class _Target:
    """A file that is digested while it is written, within room and time."""

    def __init__(self, folder: Path, is_unwanted: Callable[[], bool]) -> None:
        self.folder, self.is_unwanted = folder, is_unwanted
        # Open for as long as it is sent.
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.digest = hashlib.sha256()
        self.end = time.monotonic() + settings.DATA_TIMEOUT_S

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return self.file.write(content)

    def check(self) -> None:
        """Raise where the next piece may not be written any more."""
        if self.is_unwanted():
            raise UnavailableError(
                "unwanted", "The client that asked for this has disconnected."
            )
        if time.monotonic() > self.end:
            raise UnavailableError(
                "took_too_long",
                "This is more than is handed out at once. Ask for one study, or "
                "for a span of days with since and until.",
            )
        if shutil.disk_usage(self.folder).free < KEPT_FREE_BYTES:
            raise StorageFullError(
                "no_room",
                "The server's disk has no room for this file. Ask for less, or "
                "tell whoever runs this installation.",
            )

    def done(self) -> DataFile:
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(0)
        return DataFile(self.file, self.digest.digest(), size)


@contextmanager
def _one_state() -> Iterator[None]:
    """Let all that is read be of one moment: a transaction's own, if it is in one."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
        yield


def _write_csv(
    table: Table, viewer: Viewer, pieces: Iterator[QuerySet[Any]], target: _Target
) -> None:
    names = ",".join(column.name for column in table.columns)
    target.write(f"{names}\n".encode())
    columns = ", ".join(map(_as_csv, table.columns))
    for piece in pieces:
        _copy(f"SELECT {columns}", _CSV, table, viewer, piece, target)
        target.check()


def _as_csv(column: Column) -> str:
    if column.kind != "string":
        return _as_text(column)
    name = f't."{column.name}"'
    return (
        f"CASE WHEN left({name}, 1) IN {_FORMULAS} THEN '''' || {name} ELSE {name} END"
    )


def _write_ndjson(
    table: Table, viewer: Viewer, pieces: Iterator[QuerySet[Any]], target: _Target
) -> None:
    columns = ", ".join(f'{_as_text(it)} AS "{it.name}"' for it in table.columns)
    select = f"SELECT row_to_json(line) FROM (SELECT {columns}"
    for piece in pieces:
        _copy(select, _LINES, table, viewer, piece, target, end=") AS line")
        target.check()


def _write_parquet(
    table: Table, viewer: Viewer, pieces: Iterator[QuerySet[Any]], target: _Target
) -> None:
    columns = ", ".join(map(_as_text, table.columns))
    about = [(it.name, it.kind, str(it.meaning)) for it in table.columns]
    packer = subprocess.Popen(
        [sys.executable, "-m", packing.__name__, json.dumps(about)],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=target.file,
    )
    assert packer.stdin
    try:
        for piece in pieces:
            _copy(f"SELECT {columns}", _CSV, table, viewer, piece, packer.stdin)
            target.check()
        packer.stdin.close()
        if packer.wait(settings.DATA_TIMEOUT_S) != 0:
            raise subprocess.CalledProcessError(packer.returncode, packing.__name__)
    finally:
        packer.kill()
        packer.wait()
        with suppress(BrokenPipeError):
            packer.stdin.close()
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
    if column.kind == "datetime":
        return f"to_char({name} AT TIME ZONE 'UTC', {_MOMENT})"
    return name


def _copy(
    select: str,
    options: str,
    table: Table,
    viewer: Viewer,
    piece: QuerySet[Any],
    target: Any,
    *,
    end: str = "",
) -> None:
    """Let PostgreSQL write a piece of a table."""
    rows = piece.values_list(*(column.value_of(viewer) for column in table.columns))
    try:
        sql, parameters = rows.query.sql_with_params()
    except EmptyResultSet:
        return
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    statement = f"COPY ({select} FROM ({sql}) AS t({names}){end}) TO STDOUT ({options})"
    with connection.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        for lines in copy:
            target.write(lines)
