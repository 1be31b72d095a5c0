"""Write some columns of many rows in one statement."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import psycopg
from django.db import connection
from django.db.models import JSONField, Model


def write_columns(
    model: type[Model], names: Sequence[str], rows: Sequence[Model]
) -> None:
    """Write these fields of stored rows in one statement, faster than bulk_update."""
    if not rows:
        return
    by_name = {
        name: field
        for field in model._meta.concrete_fields
        for name in (field.name, field.attname)
    }
    fields = [by_name[name] for name in names]
    columns = [connection.ops.quote_name(str(field.column)) for field in fields]
    given, changes = [], []
    values: list[list[Any]] = [[row.pk for row in rows]]
    for field, column in zip(fields, columns, strict=True):
        kind = field.db_type(connection)
        given.append(_array(kind if not isinstance(field, JSONField) else "text"))
        changes.append(f"{column} = given.{column}::{kind}")
        kept = [getattr(row, field.attname) for row in rows]
        if isinstance(field, JSONField):
            kept = [
                each if each is None else orjson.dumps(each).decode() for each in kept
            ]
        values.append(kept)
    names_given = ", ".join(["id", *columns])
    _execute(
        # In one order, so that two who write the same rows do not deadlock.
        f"WITH mine AS MATERIALIZED (SELECT id FROM {model._meta.db_table}"
        " WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE)"
        f" UPDATE {model._meta.db_table} AS stored SET {', '.join(changes)}"
        f" FROM unnest(%s::bigint[], {', '.join(given)}) AS given ({names_given})"
        " JOIN mine ON mine.id = given.id WHERE stored.id = mine.id",
        [values[0], *values],
    )


def insert_new(
    model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows with these columns and defaults for others; keep existing rows."""
    others = {
        str(field.column): field.get_db_prep_save(
            getattr(model(), field.attname), connection
        )
        for field in model._meta.concrete_fields
        if field.column not in columns and not field.primary_key
    }
    _insert(model, columns, rows, others, "ON CONFLICT DO NOTHING")


def insert_or_replace(
    model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert or replace rows by their key, the first column."""
    key, *others = map(connection.ops.quote_name, columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in others)
    _insert(model, columns, rows, {}, f"ON CONFLICT ({key}) DO UPDATE SET {changes}")


def _insert(
    model: type[Model],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    others: Mapping[str, Any],
    on_conflict: str,
) -> None:
    """Insert rows as array parameters, with the same ``others`` for each."""
    if not rows:
        return
    names = map(connection.ops.quote_name, (*columns, *others))
    fields = model._meta.concrete_fields
    kinds = {str(field.column): field.db_type(connection) for field in fields}
    arrays = ", ".join(_array(kinds[name]) for name in columns)
    given = "".join(f", %s::{kinds[name]}" for name in others)
    _execute(
        f"INSERT INTO {model._meta.db_table} ({', '.join(names)})"
        f" SELECT stated.*{given} FROM unnest({arrays}) AS stated {on_conflict}",
        [*others.values(), *(list(column) for column in zip(*rows, strict=True))],
    )


def _array(kind: str | None) -> str:
    """Return the placeholder of a column: text arrays travel as binary, unescaped."""
    is_text = kind is not None and kind.startswith(("text", "varchar"))
    return f"%b::text[]::{kind}[]" if is_text else f"%s::{kind}[]"


def _execute(statement: str, values: Sequence[Any]) -> None:
    """Execute a statement with arrays; Django would write them out in its text."""
    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        psycopg.Cursor(connection.connection) as cursor,
    ):
        cursor.execute(statement.encode(), values)
