"""Serializers whose fields are derived from models and type annotations.

An ``OutputSerializer`` has one field for each name in ``columns``. The type of a field
is derived from the attribute of that name in ``row_type``, a model or an annotated
class. ``tool=case.tool`` is a field ``tool`` that reads the attribute ``case.tool``.
Without ``row_type``, columns state their type, as in ``id:int``, or ``low:float?`` for
a nullable float. A field that is declared explicitly replaces the derived one. Help
texts are taken from ``descriptions`` and ``COMMON_DESCRIPTIONS``.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import NoneType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from rest_framework import serializers

from api.kit.descriptions import COMMON_DESCRIPTIONS

AnyField = serializers.BaseSerializer | serializers.Field
FIELD_CLASSES: dict[type, type[AnyField]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    datetime: serializers.DateTimeField,
    UUID: serializers.UUIDField,
}
TYPES_BY_NAME = {kind.__name__: kind for kind in FIELD_CLASSES}
MODEL_FIELD_TYPES: list[tuple[Any, type]] = [
    (models.BooleanField, bool),
    (models.IntegerField, int),
    (models.FloatField, float),
    (models.DateTimeField, datetime),
    (models.UUIDField, UUID),
    (models.JSONField, dict),
    (models.Field, str),
]


class OutputSerializer(serializers.Serializer[Any]):
    # No docstring: the OpenAPI document would show it for subclasses without one.
    row_type: type
    columns = ""
    descriptions: ClassVar[Mapping[str, str]] = {}

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
        descriptions = {**COMMON_DESCRIPTIONS, **cls.descriptions}
        for column in cls.columns.split():
            name, _, path = column.partition("=")
            name, _, type_name = name.partition(":")
            options: dict[str, Any] = {}
            if name in descriptions:
                options["help_text"] = descriptions[name]
            if type_name:
                if path:
                    options["source"] = path
                if type_name.endswith("?"):
                    options["allow_null"] = True
                field = FIELD_CLASSES[TYPES_BY_NAME[type_name.rstrip("?")]](**options)
            else:
                field = declared.get(name) or _build_field(
                    cls.row_type, path or name, name, options
                )
            cls._declared_fields[name] = field
        cls._declared_fields |= declared


def _build_field(
    row_type: type, path: str, name: str, options: dict[str, Any]
) -> AnyField:
    value_type: Any = row_type
    if path != name:
        options["source"] = path
    for part in path.split("."):
        value_type, is_nullable = _attribute_type(value_type, part)
    if is_nullable:
        options["allow_null"] = True
    origin, arguments = get_origin(value_type) or value_type, get_args(value_type)
    if issubclass(origin, Mapping):
        child = FIELD_CLASSES.get(arguments[1]) if arguments else None
        if child:
            options["child"] = child()
        return serializers.DictField(**options)
    if not issubclass(origin, str) and issubclass(origin, Sequence):
        return serializers.ListField(child=FIELD_CLASSES[arguments[0]](), **options)
    return next(
        FIELD_CLASSES[kind] for kind in FIELD_CLASSES if issubclass(origin, kind)
    )(**options)


def _attribute_type(owner: type, name: str) -> tuple[Any, bool]:
    """Return the type of an attribute without None, and whether it may be None."""
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
            kind = next(
                kind for model, kind in MODEL_FIELD_TYPES if isinstance(target, model)
            )
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
