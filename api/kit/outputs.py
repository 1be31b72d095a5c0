"""Answers whose fields follow from the columns or annotations of what they show.

An ``OutputSerializer`` has a field for each name in ``columns``, in this order. The
type follows from ``row_type``, a model or a class with annotations; ``tool=case.tool``
reads another path. Without ``row_type`` a column has its type: ``id:int``, or
``low:float?`` if it may be null. A field that is declared as usual wins.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from rest_framework import serializers

AnyField = serializers.BaseSerializer | serializers.Field
FIELDS: dict[type, type[AnyField]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    datetime: serializers.DateTimeField,
    UUID: serializers.UUIDField,
}
KINDS = {kind.__name__: kind for kind in FIELDS}
COLUMNS: list[tuple[Any, type]] = [
    (models.BooleanField, bool),
    (models.IntegerField, int),
    (models.FloatField, float),
    (models.DateTimeField, datetime),
    (models.UUIDField, UUID),
    (models.JSONField, dict),
    (models.Field, str),
]


class OutputSerializer(serializers.Serializer[Any]):
    # No docstring: the OpenAPI document would repeat it for each answer without one.
    row_type: type
    columns = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "columns" not in vars(cls):
            return
        declared = cls._declared_fields
        parents = [vars(base).get("_declared_fields", {}) for base in cls.__mro__[1:]]
        cls._declared_fields = {
            name: field
            for name, field in declared.items()
            if any(parent.get(name) is field for parent in parents)
        }
        for column in cls.columns.split():
            name, _, path = column.partition("=")
            name, _, stated = name.partition(":")
            if stated:
                options: dict[str, Any] = {"source": path} if path else {}
                if stated.endswith("?"):
                    options["allow_null"] = True
                field = FIELDS[KINDS[stated.rstrip("?")]](**options)
            else:
                field = declared.get(name) or _field(cls.row_type, path or name, name)
            cls._declared_fields[name] = field
        cls._declared_fields |= declared


def _field(row_type: type, path: str, name: str) -> AnyField:
    """Return the field for a value at a dotted path."""
    wanted: Any = row_type
    options: dict[str, Any] = {} if path == name else {"source": path}
    for part in path.split("."):
        wanted, is_nullable = _type_of(wanted, part)
    if is_nullable:
        options["allow_null"] = True
    origin, arguments = get_origin(wanted) or wanted, get_args(wanted)
    if issubclass(origin, Mapping):
        child = FIELDS.get(arguments[1]) if arguments else None
        if child:
            options["child"] = child()
        return serializers.DictField(**options)
    if not issubclass(origin, str) and issubclass(origin, Sequence):
        return serializers.ListField(child=FIELDS[arguments[0]](), **options)
    return next(FIELDS[kind] for kind in FIELDS if issubclass(origin, kind))(**options)


def _type_of(owner: type, name: str) -> tuple[Any, bool]:
    """Return the type of an attribute, and whether it may be None."""
    if issubclass(owner, models.Model):
        try:
            column: Any = owner._meta.get_field(
                owner._meta.pk.name if name == "pk" else name
            )
        except FieldDoesNotExist:
            pass
        else:
            if column.is_relation and name == column.name:
                return column.related_model, column.null
            target = column.target_field if column.is_relation else column
            kind = next(kind for model, kind in COLUMNS if isinstance(target, model))
            return kind, column.null
    hints = get_type_hints(owner)
    if name not in hints or issubclass(owner, models.Model):
        member = getattr(owner, name)
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        hints = {name: get_type_hints(member)["return"]}
    choices = get_args(hints[name]) if NoneType in get_args(hints[name]) else ()
    if not choices:
        return hints[name], False
    return next(choice for choice in choices if choice is not NoneType), True
