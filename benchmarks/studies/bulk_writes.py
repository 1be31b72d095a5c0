"""Bulk inserts and updates with array parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import psycopg
from django.db import connection
from django.db.models import JSONField, Model

from benchmarks.models.sentence import SentenceField


def update_columns(
    model: type[Model], names: Sequence[str], rows: Sequence[Model]
) -> None:
    """Update these fields of all rows in one statement, faster than bulk_update."""
    if not rows:
        return
    by_name = {
        name: field
        for field in model._meta.concrete_fields
        for name in (field.name, field.attname)
    }
    fields = [by_name[name] for name in names]
    columns = [connection.ops.quote_name(str(field.column)) for field in fields]
    arrays, changes = [], []
    values: list[list[Any]] = [[row.pk for row in rows]]
    for field, column in zip(fields, columns, strict=True):
        kind = field.db_type(connection)
        arrays.append(_array(kind if not isinstance(field, JSONField) else "text"))
        changes.append(f"{column} = given.{column}::{kind}")
        column_values = [getattr(row, field.attname) for row in rows]
        if isinstance(field, JSONField):
            column_values = [
                value if value is None else orjson.dumps(value).decode()
                for value in column_values
            ]
        elif isinstance(field, SentenceField):
            column_values = [field.get_prep_value(value) for value in column_values]
        values.append(column_values)
    array_columns = ", ".join(["id", *columns])
    _execute(
        # A fixed order avoids deadlocks.
        f"WITH locked AS MATERIALIZED (SELECT id FROM {model._meta.db_table}"
        " WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE)"
        f" UPDATE {model._meta.db_table} AS stored SET {', '.join(changes)}"
        f" FROM unnest(%s::bigint[], {', '.join(arrays)}) AS given ({array_columns})"
        " JOIN locked ON locked.id = given.id WHERE stored.id = locked.id",
        [values[0], *values],
    )


def insert_new(
    model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows that are not stored, with the model's defaults for other columns."""
    defaults = {
        str(field.column): field.get_db_prep_save(
            getattr(model(), field.attname), connection
        )
        for field in model._meta.concrete_fields
        if field.column not in columns and not field.primary_key
    }
    _insert(model, columns, rows, defaults, "ON CONFLICT DO NOTHING")


def insert_or_replace(
    model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows, or replace those with the same key (the first column)."""
    key, *other_columns = map(connection.ops.quote_name, columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in other_columns)
    _insert(model, columns, rows, {}, f"ON CONFLICT ({key}) DO UPDATE SET {changes}")


def _insert(
    model: type[Model],
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    defaults: Mapping[str, Any],
    on_conflict: str,
) -> None:
    if not rows:
        return
    names = map(connection.ops.quote_name, (*columns, *defaults))
    fields = model._meta.concrete_fields
    kinds = {str(field.column): field.db_type(connection) for field in fields}
    arrays = ", ".join(_array(kinds[name]) for name in columns)
    default_values = "".join(f", %s::{kinds[name]}" for name in defaults)
    _execute(
        f"INSERT INTO {model._meta.db_table} ({', '.join(names)})"
        f" SELECT given.*{default_values} FROM unnest({arrays}) AS given {on_conflict}",
        [*defaults.values(), *(list(column) for column in zip(*rows, strict=True))],
    )


def _array(kind: str | None) -> str:
    """Return the placeholder of an array; text is sent in binary, without escaping."""
    is_text = kind is not None and kind.startswith(("text", "varchar"))
    return f"%b::text[]::{kind}[]" if is_text else f"%s::{kind}[]"


def _execute(statement: str, values: Sequence[Any]) -> None:
    """Execute a statement with server-side parameters; Django would inline them."""
    connection.ensure_connection()
    with (
        connection.wrap_database_errors,
        psycopg.Cursor(connection.connection) as cursor,
    ):
        cursor.execute(statement.encode(), values)
