"""The OpenAPI document, a page to read it, and the answer for unknown addresses."""

from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
)
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.refusals import ApiError
from api.kit.schema import openapi_document
from api.kit.views import ApiView


class NoAddressError(ApiError):
    """Nothing answers at an address."""

    status_code = 404
    default_code = "not_found"


class SchemaView(ApiView):
    """The OpenAPI 3 document, as JSON or YAML."""

    authentication_classes = []
    permission_classes = [AllowAny]
    renderer_classes = [
        OpenApiJsonRenderer2,
        OpenApiJsonRenderer,
        OpenApiYamlRenderer,
    ]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        return Response(openapi_document())


class DocsView(SpectacularSwaggerSplitView):
    """The document as a page; its script is a file of ours, never inline."""

    authentication_classes = []
    permission_classes = [AllowAny]
    template_name = "api/docs.html"
    url_name = "api:schema"


class UnknownAddressView(ApiView):
    """Whatever is not here says so in the shape of every error."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        # Before all else: the same answer for every method and whoever asks.
        raise NoAddressError(
            "There is no such address. All of them end with a slash and are listed "
            "at /api/v1/docs/."
        )
