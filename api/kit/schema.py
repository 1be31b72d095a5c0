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

from api.kit.query_parameters import Query

TOKEN = "token"

ERROR_RESPONSES = {
    "400": ("Invalid", "The query parameters or the body are invalid."),
    "401": ("NoToken", "The token is wrong, expired or missing."),
    "403": ("NotAllowed", "The token does not permit this."),
    "404": ("NotFound", "The object does not exist, or the client may not see it."),
    "406": ("NotAcceptable", "The client does not accept JSON."),
    "409": ("Conflict", "The object already exists with different content."),
    "413": ("TooLarge", "The body is too large, before or after decompression."),
    "415": ("UnsupportedType", "Content-Type or Content-Encoding is not supported."),
    "422": (
        "Unprocessable",
        "The body refers to something that does not exist or is not allowed.",
    ),
    "500": ("ServerError", "An internal error occurred."),
    "503": (
        "Unavailable",
        "The database is unavailable. Try again after the time in Retry-After.",
    ),
}
COMMON_STATUSES = {"400", "401", "406", "500", "503"}
WRITE_STATUSES = {"403", "409", "413", "415", "422"}
SUCCESS_DESCRIPTIONS = {
    "200": "The request succeeded.",
    "201": (
        "The object was created. If it has a URL, the header Location contains it."
    ),
    "202": "The request is stored permanently and will be processed in a moment.",
    "204": "The object was deleted.",
}
PATH_PARAMETER_DESCRIPTIONS = {
    "id": "The id of the object.",
    "slug": "The slug of a study, or `lab/slug` if several labs use the slug.",
    "table": "The name of the table.",
    "file_format": "The format of the file.",
    "name": "The name of the file.",
}


class ErrorSerializer(serializers.Serializer[Any]):
    """The response of every failed request."""

    code = serializers.CharField(help_text="A code for programs, which never changes.")
    detail = serializers.CharField(
        help_text="What is wrong and what to do, for people."
    )
    fields_ = serializers.DictField(
        help_text=(
            "Messages by the path of the wrong value, such as `samples[3].value`; for "
            'bulk uploads, an error object by line, such as "line 17".'
        )
    )

    def get_fields(self) -> dict[str, Any]:
        # The field cannot be declared as ``fields``, an attribute of serializers.
        declared = super().get_fields()
        declared["fields"] = declared.pop("fields_")
        return declared


class ApiSchema(AutoSchema):
    def get_override_parameters(self) -> list[Any]:
        query = self._query_class()
        return [query] if query().fields else []

    def get_summary(self) -> Any:
        return getattr(self.view, "summary", None) if self.method == "GET" else None

    def get_operation_id(self) -> str:
        operation_id = (
            getattr(self.view, "operation_id", "") if self.method == "GET" else ""
        )
        return operation_id or str(super().get_operation_id())

    def get_response_serializers(self) -> Any:
        view: Any = self.view
        method = getattr(view, self.method.lower())
        responses, statuses = getattr(method, "documented_responses", (None, None))
        if statuses is None or isinstance(responses, dict):
            return responses or super().get_response_serializers()
        return dict.fromkeys(statuses, responses or view.serializer_class)

    def get_auth(self) -> list[dict[str, list[str]]]:
        super().get_auth()  # registers the security schemes
        # An empty requirement means that authentication is optional.
        if not self.view.get_authenticators():
            return [{}]
        requirements: list[dict[str, list[str]]] = [{TOKEN: []}]
        is_optional = self.method in SAFE_METHODS or not self.view.permission_classes
        return [*requirements, {}] if is_optional else requirements

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is not None:
            responses = operation["responses"]
            for status in responses.keys() & SUCCESS_DESCRIPTIONS.keys():
                responses[status]["description"] = SUCCESS_DESCRIPTIONS[status]
            # Declared responses remain, such as the 503 of the health check.
            for status in self._error_statuses():
                responses.setdefault(status, self._error_response(status))
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    name = parameter["name"]
                    parameter["description"] = PATH_PARAMETER_DESCRIPTIONS[name]
        return operation

    def _query_class(self) -> Any:
        return (
            getattr(self.view, "query_class", Query)
            if self.method in SAFE_METHODS
            else Query
        )

    def _error_statuses(self) -> list[str]:
        statuses = set(COMMON_STATUSES)
        if "{" in self.path or "study" in self._query_class()().fields:
            statuses.add("404")
        if self.method not in SAFE_METHODS:
            statuses |= WRITE_STATUSES
        if not self.view.get_authenticators():
            statuses.remove("401")
        return sorted(statuses)

    def _error_response(self, status: str) -> dict[str, str]:
        name, sentence = ERROR_RESPONSES[status]
        schema = self.resolve_serializer(ErrorSerializer, "response").ref
        content = {"application/json": {"schema": schema}}
        component = ResolvedComponent(
            name=name,
            type=ResolvedComponent.RESPONSE,
            schema={"description": sentence, "content": content},
            object=name,
        )
        if component not in self.registry:
            self.registry.register(component)
        return component.ref


class TokenSecurityScheme(OpenApiAuthenticationExtension):
    target_class = "api.kit.authentication.TokenAuthentication"
    name = TOKEN

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Token vl_...`: the word Token, a space, and the token.",
        }


class SessionSecurityScheme(OpenApiAuthenticationExtension):
    target_class = "api.kit.authentication.ReadOnlySessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of a signed-in person, for reading only.",
        }


class StrictSerializerExtension(OpenApiSerializerExtension):
    """Schema of a strict serializer, which allows no other keys."""

    target_class = "api.kit.composite_fields.StrictSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        return type(self.target).__name__.removesuffix("Input")

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> Any:
        # Otherwise this extension would be called again.
        schema = auto_schema._map_serializer(
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False}


class SystemFieldExtension(OpenApiSerializerFieldExtension):
    target_class = "api.systems.SystemField"
    match_subclasses = True

    def map_serializer_field(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> Any:
        described = auto_schema.resolve_serializer(self.target.description, direction)
        return {"oneOf": [{"type": "integer", "minimum": 1}, described.ref]}


def remove_internal_keys(result: Any, **kwargs: Any) -> Any:
    """Remove the internal keys of drf-spectacular from the document."""
    if isinstance(result, dict):
        result.pop("x-spec-enum-id", None)
        for value in result.values():
            remove_internal_keys(value)
    elif isinstance(result, list):
        for value in result:
            remove_internal_keys(value)
    return result


@cache
def openapi_document() -> dict[str, Any]:
    return SchemaGenerator().get_schema(request=None, public=True)
