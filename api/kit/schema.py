"""The OpenAPI document: what every operation shares, said once."""

from functools import cache
from typing import Any, Literal

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS

from api.kit.queries import Query

TOKEN = "token"

# Each error is described once, under its name, and referred to.
ERRORS = {
    "400": ("Invalid", "The query or the body has not the shape asked for."),
    "401": ("NoToken", "The token is wrong or expired, or one is needed and missing."),
    "403": ("NotAllowed", "The token may not upload."),
    "404": ("NotFound", "It does not exist, or it is not yours to see."),
    "406": ("NotAcceptable", "Answers are JSON only."),
    "409": ("Conflict", "It exists with other content."),
    "413": ("TooLarge", "The body is too large, also when unpacked."),
    "415": ("UnsupportedType", "Content-Type or Content-Encoding is not read here."),
    "422": ("Meaningless", "The body names what does not exist or cannot be."),
    "500": ("ServerError", "Something went wrong on our side."),
    "503": ("Unavailable", "The database is away; try again after Retry-After."),
}
ALWAYS = {"400", "401", "406", "500", "503"}
WRITES = {"403", "409", "413", "415", "422"}
DONE = {
    "200": "What was asked for, or what was there already.",
    "201": "Created. Location says where it is.",
    "202": "Stored for good; it will be processed in a moment.",
}


class ErrorSerializer(serializers.Serializer[Any]):
    """What every error answers."""

    code = serializers.CharField(help_text="For programs; stable.")
    detail = serializers.CharField(help_text="For people: what is wrong, what to do.")
    fields_ = serializers.DictField(
        help_text="Sentences by path, such as samples[3].value; for bulk uploads an "
        'error of this same shape by "line 17".'
    )

    def get_fields(self) -> dict[str, Any]:
        # ``fields`` is an attribute of every serializer, so it cannot be declared.
        declared = super().get_fields()
        declared["fields"] = declared.pop("fields_")
        return declared


class ApiSchema(AutoSchema):
    """Adds to each operation its query parameters, its errors and its security."""

    def get_override_parameters(self) -> list[Any]:
        query = self._query()
        return [query] if query().fields else []

    def get_summary(self) -> Any:
        return getattr(self.view, "summary", None) if self.method == "GET" else None

    def get_operation_id(self) -> str:
        named = getattr(self.view, "operation_id", "") if self.method == "GET" else ""
        return named or str(super().get_operation_id())

    def get_response_serializers(self) -> Any:
        view: Any = self.view
        method = getattr(view, self.method.lower())
        answers, statuses = getattr(method, "answers", (None, None))
        if statuses is None or isinstance(answers, dict):
            return answers or super().get_response_serializers()
        return dict.fromkeys(statuses, answers or view.serializer_class)

    def get_auth(self) -> list[dict[str, list[str]]]:
        super().get_auth()  # registers the scheme
        # To OpenAPI an empty requirement means that none is needed.
        if not self.view.get_authenticators():
            return [{}]
        needed: list[dict[str, list[str]]] = [{TOKEN: []}]
        is_free = self.method in SAFE_METHODS or not self.view.permission_classes
        return [*needed, {}] if is_free else needed

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            responses = operation["responses"]
            for status in responses.keys() & DONE.keys():
                responses[status]["description"] = DONE[status]
            # What a view declares stays: health answers 503 in a shape of its own.
            for status in self._errors():
                responses.setdefault(status, self._error(status))
        return operation

    def _query(self) -> Any:
        return (
            getattr(self.view, "query_class", Query)
            if self.method in SAFE_METHODS
            else Query
        )

    def _errors(self) -> list[str]:
        statuses = set(ALWAYS)
        if "{" in self.path or "study" in self._query()().fields:
            statuses.add("404")
        if self.method not in SAFE_METHODS:
            statuses |= WRITES
        if not self.view.get_authenticators():
            statuses.remove("401")
        return sorted(statuses)

    def _error(self, status: str) -> dict[str, str]:
        name, sentence = ERRORS[status]
        shape = self.resolve_serializer(ErrorSerializer, "response").ref
        content = {"application/json": {"schema": shape}}
        component = ResolvedComponent(
            name=name,
            type=ResolvedComponent.RESPONSE,
            schema={"description": sentence, "content": content},
            object=name,
        )
        if component not in self.registry:
            self.registry.register(component)
        return component.ref


class TokenScheme(OpenApiAuthenticationExtension):
    """How a token is sent."""

    target_class = "api.kit.authentication.TokenAuthentication"
    name = TOKEN

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token vl_...`, with the word Token and a blank before it.",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    """A person's session reads too; it is no way in for programs."""

    target_class = "api.kit.authentication.SessionReading"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "For reading in a browser, after signing in.",
        }


class StrictObjects(OpenApiSerializerExtension):
    """An object with an unknown key is refused, and the document says so."""

    target_class = "api.kit.shapes.StrictSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        return type(self.target).__name__.removesuffix("Input")

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> Any:
        # Past the extensions: this one would be asked again, for ever.
        schema = auto_schema._map_serializer(
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False}


class SystemOrId(OpenApiSerializerFieldExtension):
    """A run names its system by id, or describes it."""

    target_class = "api.systems.SystemField"
    match_subclasses = True

    def map_serializer_field(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> Any:
        described = auto_schema.resolve_serializer(self.target.description, direction)
        return {"oneOf": [{"type": "integer", "minimum": 1}, described.ref]}


def without_private_marks(result: Any, **kwargs: Any) -> Any:
    """Leave out what drf-spectacular notes for its own use."""
    if isinstance(result, dict):
        result.pop("x-spec-enum-id", None)
        for value in result.values():
            without_private_marks(value)
    elif isinstance(result, list):
        for value in result:
            without_private_marks(value)
    return result


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document; it cannot change while the process runs."""
    return SchemaGenerator().get_schema(request=None, public=True)
