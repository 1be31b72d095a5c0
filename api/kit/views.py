from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any

import orjson
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import (
    MethodNotAllowed,
    NotAcceptable,
    UnsupportedMediaType,
)
from rest_framework.generics import GenericAPIView
from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.serializers import BaseSerializer
from rest_framework.status import HTTP_200_OK, HTTP_201_CREATED

from api.kit.authentication import TokenAuthentication, require_scope
from api.kit.body_limits import open_body
from api.kit.composite_fields import StrictSerializer, validate_document
from api.kit.descriptions import COMMON_DESCRIPTIONS
from api.kit.errors import log_problem
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import ListQuery, Query, parse_query, study_parameter
from api.kit.schema import ApiSchema
from api.kit.scopes import required_scope
from api.kit.strict_json import read_request_body
from benchmarks import rls
from benchmarks.errors import NotFoundError
from benchmarks.models import Agent, Lab, Membership, Study, Token
from benchmarks.studies.lookup import find_study
from benchmarks.viewer import ANYONE, Viewer

AnySerializer = BaseSerializer[Any]
ValidatedData = dict[str, Any]


class ResourceSerializer(OutputSerializer):
    """Base of serializers with id and URL; ``url_name`` names the URL pattern."""

    url_name = ""

    id = serializers.IntegerField(help_text=COMMON_DESCRIPTIONS["id"])
    url = serializers.SerializerMethodField(help_text=COMMON_DESCRIPTIONS["url"])

    def url_kwargs(self, row: Any) -> dict[str, Any]:
        return {"pk": row.pk}

    def get_url(self, row: Any) -> str:
        return reverse(
            self.url_name,
            kwargs=self.url_kwargs(row),
            request=self.context.get("request"),
        )


class ApiRequest(Request):
    """A request whose body may be chunked."""

    def _load_stream(self) -> None:
        # REST framework ignores bodies without Content-Length.
        self._stream = open_body(self._request)


class ApiView(GenericAPIView[Any]):
    """Base of all views: validates query parameters, and identifies the viewer."""

    schema = ApiSchema()
    http_method_names = ["get", "post", "patch", "head"]
    query_class: type[Query] = Query
    non_filter_parameters: Sequence[str] = ()  # `filters` excludes them

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        return ApiRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # REST framework would return 401 instead of 405 to clients without a token.
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)
        is_read = request.method in SAFE_METHODS
        # The query parameters of a view are those of its reading method.
        query_class = self.query_class if is_read else Query
        self.query = parse_query(query_class, request.query_params)

    def serialize(self, output: type[AnySerializer], row: Any, **context: Any) -> Any:
        return output(row, context={"request": self.request, **context}).data

    @property
    def filters(self) -> dict[str, Any]:
        """The query parameters as arguments of ``QuerySet.filter``."""
        excluded = {"cursor", "page_size", *self.non_filter_parameters}
        filters = {
            name: value for name, value in self.query.items() if name not in excluded
        }
        return filters | ({"study": self.requested_study} if "study" in filters else {})

    def paginate(self, rows: QuerySet[Any]) -> list[Any]:
        return self.paginate_queryset(rows) or []

    def page_response(
        self, page: Any, output: type[AnySerializer], **context: Any
    ) -> Response:
        context = {**self.get_serializer_context(), **context}
        data = output(page, many=True, context=context).data
        return self.get_paginated_response(data)

    def created_response(
        self, output: type[AnySerializer], row: Any, created: bool, **context: Any
    ) -> Response:
        data = self.serialize(output, row, **context)
        status = HTTP_201_CREATED if created else HTTP_200_OK
        return Response(data, status=status, headers={"Location": data["url"]})

    @property
    def viewer(self) -> Viewer:
        return viewer_of(self.request)

    @property
    def agent(self) -> Agent:
        """The agent of the token; only for writing methods."""
        token = self.request.auth
        assert isinstance(token, Token)
        return token.agent

    @property
    def lab(self) -> Lab:
        """The lab of the token, to which everything that is written belongs."""
        return self.agent.lab

    @property
    def lab_viewer(self) -> Viewer:
        """A viewer with the rights of the lab, even if the token may not read."""
        rls.allow_labs(self.lab.pk)
        return Viewer(frozenset({self.lab.pk}))

    def require_same_lab(self, row: Any, kind: str, name: object) -> None:
        """Raise NotFoundError for a row of another lab, even if the row is public."""
        if row.lab_id != self.lab.pk:
            raise NotFoundError(kind, name)

    @property
    def requested_study(self) -> Study | None:
        """The study that the query names, if any; NotFoundError if not visible."""
        name = self.query.get("study")
        return find_study(self.viewer, name) if name else None


class UploadView(ApiView):
    """Base of views whose POST method does not use REST framework.

    REST framework's requests, content negotiation and responses would take longer than
    storing an upload. Errors, permissions and headers are those of other views.
    """

    media_type = "application/json"

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return super().dispatch(request, *args, **kwargs)
        try:
            if not request.accepts("application/json"):
                raise NotAcceptable
            response = self.post(request)
        except Exception as error:  # noqa: BLE001  # converted as in REST framework
            problem = log_problem(error, request.path)
            response = self.json_response(
                problem.body(), problem.status, **problem.headers
            )
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError

    def upload_token(self, request: HttpRequest) -> Token:
        authenticated = TokenAuthentication().authenticate(request)
        token = require_scope(
            authenticated and authenticated[1], required_scope(request)
        )
        parse_query(Query, request.GET)
        return token

    def body(self, request: HttpRequest) -> bytes:
        if request.content_type != self.media_type:
            raise UnsupportedMediaType(request.content_type or "")
        return read_request_body(open_body(request), request)

    def json_response(self, content: Any, status: int, **headers: str) -> HttpResponse:
        return HttpResponse(
            orjson.dumps(content),
            status=status,
            content_type="application/json",
            headers=headers,
        )


class ReadView(RetrieveModelMixin, ApiView):
    """Base of views of one object: by default, the row whose id is in the URL."""

    kind = ""  # for error messages

    def get(self, request: Request, **kwargs: Any) -> Response:
        return self.retrieve(request)

    def get_object(self) -> Any:
        pk = self.kwargs["pk"]
        row = self.get_queryset().filter(pk=pk).first()
        if row is None:
            raise NotFoundError(self.kind, pk)
        return row


class ListView(ListModelMixin, ApiView):
    """Base of paginated lists of `get_queryset`, filtered by the query parameters."""

    query_class: type[Query] = ListQuery
    summary = ""

    def get(self, request: Request, **kwargs: Any) -> Response:
        page = self.paginate(self.filter_queryset(self.get_queryset()))
        output = self.get_serializer_class()
        return self.page_response(page, output, **self.page_context(page))

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        """Return additional serializer context for the rows of a page."""
        return {}

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**self.filters)


def operation(
    summary: str,
    request_serializer: type[StrictSerializer],
    *examples: tuple[str, Any],
    response_serializers: Any = None,
    statuses: Sequence[int] = (200,),
) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Document a method and pass it the validated body instead of the request.

    ``response_serializers`` replaces the view's ``serializer_class``: one serializer,
    or serializers by status. An example is a title and a body.
    """
    documented_examples = [
        OpenApiExample(*example, request_only=True) for example in examples
    ]

    def decorate(method: Callable[..., Response]) -> Callable[..., Response]:
        @extend_schema(
            summary=summary, request=request_serializer, examples=documented_examples
        )
        @wraps(method)
        def checked_method(view: ApiView, request: Request, **kwargs: Any) -> Response:
            return method(
                view, validate_document(request_serializer, request.data), **kwargs
            )

        vars(checked_method)["documented_responses"] = (response_serializers, statuses)
        return checked_method

    return decorate


class StudyQuery(Query):
    study = study_parameter(required=True)


class StudyQueryView(ReadView):
    """Base of views about the study that the query names."""

    query_class: type[Query] = StudyQuery

    @cached_property
    def study(self) -> Study:
        return find_study(self.viewer, self.query["study"])


def viewer_of(request: Request) -> Viewer:
    """Return the viewer of a request.

    A user sees the data of their labs, and a token that may read sees those of its lab.
    All others see only public data.
    """
    token, user = request.auth, request.user
    if isinstance(token, Token):
        return Viewer(frozenset({token.lab_id})) if token.can_read else ANYONE
    if not user.is_authenticated:
        return ANYONE
    labs = Membership.objects.filter(user=user).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))
