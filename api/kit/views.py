"""What all views of the API share."""

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

from api.kit.authentication import TokenAuthentication, check_upload
from api.kit.bodies import open_body
from api.kit.errors import logged_problem
from api.kit.outputs import OutputSerializer
from api.kit.parsing import request_body
from api.kit.queries import ListQuery, Query, read_query, study_parameter
from api.kit.schema import ApiSchema
from api.kit.shapes import StrictSerializer, checked
from benchmarks import sight
from benchmarks.errors import NotFoundError
from benchmarks.models import Agent, Lab, Membership, Study, Token
from benchmarks.studies.lookup import find_study
from benchmarks.viewer import ANYONE, Viewer

AnySerializer = BaseSerializer[Any]
Fields = dict[str, Any]  # a checked body


class AddressedRow(OutputSerializer):
    """A row with the address where it can be read again."""

    address = ""

    id = serializers.IntegerField()
    url = serializers.SerializerMethodField()

    def place(self, row: Any) -> dict[str, Any]:
        """What stands for the row in its address."""
        return {"pk": row.pk}

    def get_url(self, row: Any) -> str:
        return reverse(
            self.address, kwargs=self.place(row), request=self.context.get("request")
        )


class ApiRequest(Request):
    """A request whose body may have come in chunks, and may be empty."""

    def _load_stream(self) -> None:
        # REST framework takes a body without Content-Length for none at all.
        self._stream = open_body(self._request)


class ApiView(GenericAPIView[Any]):
    """A view with checked query parameters, scoped to who is asking."""

    schema = ApiSchema()
    http_method_names = ["get", "post", "patch", "head"]
    query_class: type[Query] = Query
    no_filters: Sequence[str] = ()  # parameters that the view itself reads

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Request:
        return ApiRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # REST framework checks the token first: an unknown method would be a 401.
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        super().initial(request, *args, **kwargs)
        is_read = request.method in SAFE_METHODS
        # Writing takes no parameters, even where the same address reads with some.
        shape = self.query_class if is_read else Query
        self.query = read_query(shape, request.query_params)

    def shown(self, output: type[AnySerializer], row: Any, **context: Any) -> Any:
        """Return a row as its answer says it."""
        return output(row, context={"request": self.request, **context}).data

    @property
    def filters(self) -> dict[str, Any]:
        """Return the parameters as look-ups of Django's, each by its ``source``."""
        others = {"cursor", "page_size", *self.no_filters}
        chosen = {
            name: value for name, value in self.query.items() if name not in others
        }
        return chosen | ({"study": self.asked_study} if "study" in chosen else {})

    def cut(self, rows: QuerySet[Any]) -> list[Any]:
        """Return the rows of the page that was asked for."""
        return self.paginate_queryset(rows) or []

    def answer_page(
        self, page: Any, output: type[AnySerializer], **context: Any
    ) -> Response:
        """Answer with the rows of the page just cut."""
        context = {**self.get_serializer_context(), **context}
        shown = output(page, many=True, context=context).data
        return self.get_paginated_response(shown)

    def created_or_known(
        self, output: type[AnySerializer], row: Any, created: bool, **context: Any
    ) -> Response:
        """Answer 201 for a new row and 200 for one that was there already."""
        shown = self.shown(output, row, **context)
        status = HTTP_201_CREATED if created else HTTP_200_OK
        return Response(shown, status=status, headers={"Location": shown["url"]})

    @property
    def viewer(self) -> Viewer:
        return viewer_of(self.request)

    @property
    def agent(self) -> Agent:
        """Who uploads; the permission has made sure that there is a token."""
        token = self.request.auth
        assert isinstance(token, Token)
        return token.agent

    @property
    def lab(self) -> Lab:
        """Where uploads go: a token writes to its own lab only."""
        return self.agent.lab

    @property
    def lab_viewer(self) -> Viewer:
        """What the token's lab sees, whether or not the token may read."""
        sight.see_labs(self.lab.pk)
        return Viewer(frozenset({self.lab.pk}))

    def require_own(self, row: Any, kind: str, name: object) -> None:
        """Refuse another lab's row: even a public one is as good as missing here."""
        if row.lab_id != self.lab.pk:
            raise NotFoundError(kind, name)

    @property
    def asked_study(self) -> Study | None:
        """The study that the query names, if any; 404 for one that may not be seen."""
        name = self.query.get("study")
        return find_study(self.viewer, name) if name else None


class UploadView(ApiView):
    """A view whose POST is a plain Django view.

    REST framework's request, negotiation and response take longer than storing an
    upload. Errors, permissions and headers are those of all views.
    """

    media_type = "application/json"

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return super().dispatch(request, *args, **kwargs)
        try:
            if not request.accepts("application/json"):
                raise NotAcceptable
            response = self.post(request)
        except Exception as error:  # noqa: BLE001  # each becomes an answer, as in REST
            problem = logged_problem(error, request.path)
            response = self.json_response(
                problem.body(), problem.status, **problem.headers
            )
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def post(self, request: Any) -> HttpResponse:
        raise NotImplementedError

    def upload_token(self, request: HttpRequest) -> Token:
        """Return the token that may upload here, or refuse the request."""
        found = TokenAuthentication().authenticate(request)
        token = check_upload(found and found[1])
        read_query(Query, request.GET)
        return token

    def body(self, request: HttpRequest) -> bytes:
        """Return the unpacked body, or refuse it."""
        if request.content_type != self.media_type:
            raise UnsupportedMediaType(request.content_type or "")
        return request_body(open_body(request), request)

    def json_response(self, answer: Any, status: int, **headers: str) -> HttpResponse:
        """Return an answer as JSON."""
        return HttpResponse(
            orjson.dumps(answer),
            status=status,
            content_type="application/json",
            headers=headers,
        )


class ReadView(RetrieveModelMixin, ApiView):
    """One answer: `get_object`, or the row of `get_queryset` that the address names."""

    kind = ""  # what the row is called in the error if it is missing

    def get(self, request: Request, **place: Any) -> Response:
        return self.retrieve(request)

    def get_object(self) -> Any:
        pk = self.kwargs["pk"]
        row = self.get_queryset().filter(pk=pk).first()
        if row is None:
            raise NotFoundError(self.kind, pk)
        return row


class ListView(ListModelMixin, ApiView):
    """Pages of the rows of `get_queryset`, filtered by its parameters."""

    query_class: type[Query] = ListQuery
    summary = ""

    def get(self, request: Request, **place: Any) -> Response:
        page = self.cut(self.filter_queryset(self.get_queryset()))
        output = self.get_serializer_class()
        return self.answer_page(page, output, **self.page_context(page))

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        """Return what the serializer needs besides the rows of the page."""
        return {}

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**self.filters)


def operation(
    summary: str,
    takes: type[StrictSerializer],
    *examples: tuple[str, Any],
    answers: Any = None,
    statuses: Sequence[int] = (200,),
) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Document a method and hand it the checked body instead of the request.

    It answers with the view's ``serializer_class``, or with ``answers``: a serializer
    or serializers by status. An example is a title and a body.
    """
    shown = [OpenApiExample(*example, request_only=True) for example in examples]

    def decorate(method: Callable[..., Response]) -> Callable[..., Response]:
        @extend_schema(summary=summary, request=takes, examples=shown)
        @wraps(method)
        def checked_method(view: ApiView, request: Request, **place: Any) -> Response:
            return method(view, checked(takes, request.data), **place)

        vars(checked_method)["answers"] = (answers, statuses)
        return checked_method

    return decorate


class StudyQuery(Query):
    """The study; a subclass declares what else its view takes."""

    study = study_parameter(required=True)


class NamedStudyView(ReadView):
    """A view that answers about the study which its query names."""

    query_class: type[Query] = StudyQuery

    @cached_property
    def study(self) -> Study:
        """The study, if whoever asks may see it; else 404."""
        return find_study(self.viewer, self.query["study"])


def viewer_of(request: Request) -> Viewer:
    """A token that may read sees its lab; a person sees the labs they belong to.

    A token that may only upload sees what everybody sees.
    """
    token, user = request.auth, request.user
    if isinstance(token, Token):
        return Viewer(frozenset({token.lab_id})) if token.can_read else ANYONE
    if not user.is_authenticated:
        return ANYONE
    labs = Membership.objects.filter(user=user).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))
