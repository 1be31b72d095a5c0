"""Study files: a whole study in one file, for other installations and programs."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.status import HTTP_202_ACCEPTED

from api.datasets import file_response
from api.hosts import EXAMPLE_HOST
from api.kit.body_limits import open_body, read_packed_body
from api.kit.fields import Choice
from api.kit.query_parameters import Query, study_parameter
from api.kit.views import ApiView, UploadView
from api.studies import EXAMPLE as EXAMPLE_STUDY
from api.study_file_schema import StudyFileInput, study_file_schema
from api.uploads import EXAMPLE_RUN
from benchmarks.datasets.study_export import MEDIA_TYPE, write_study_file
from benchmarks.parsing.study_file import FORMAT, VERSION
from benchmarks.uploads.study_files import ImportedStudy, import_study_file

INCLUDE, OMIT = "include", "omit"
MEDIA_TYPES = ("application/json", MEDIA_TYPE)
EXAMPLE = OpenApiExample(
    "A study of one run",
    value={
        "format": FORMAT,
        "version": VERSION,
        "study": {
            name: value
            for name, value in EXAMPLE_STUDY[1].items()
            if name != "visibility"
        },
        "hosts": [EXAMPLE_HOST[1]],
        "runs": [{name: EXAMPLE_RUN[name] for name in EXAMPLE_RUN if name != "study"}],
    },
    request_only=True,
)


class StudyFileQuery(Query):
    study = study_parameter(required=True)
    raw_output = Choice(
        choices=[INCLUDE, OMIT],
        required=False,
        help_text=(
            "`omit` replaces the output of tools by the numbers read from it; the "
            "default is `include`."
        ),
    )
    power_logs = Choice(
        choices=[INCLUDE, OMIT],
        required=False,
        help_text=(
            "`include` adds the logs of power meters, for members of the lab only; "
            "the default is `omit`."
        ),
    )


class ImportedStudySerializer(serializers.Serializer[ImportedStudy]):
    """The result of an import. Status 202 means that everything is stored."""

    lab = serializers.CharField(
        source="study.lab.slug", help_text="The slug of the lab."
    )
    slug = serializers.CharField(
        source="study.slug", help_text="The slug of the study."
    )
    url = serializers.SerializerMethodField(help_text="The URL of the study.")
    is_new = serializers.BooleanField(help_text="Whether the study was created.")
    accepted = serializers.IntegerField(
        help_text="The number of new runs and parts of power logs."
    )
    repeated = serializers.IntegerField(
        help_text="The number of runs and parts that were stored before."
    )

    def get_url(self, imported: ImportedStudy) -> str:
        study = imported.study
        name = {"slug": f"{study.lab.slug}/{study.slug}"}
        return reverse("api:study", kwargs=name, request=self.context["request"])


class StudyFileView(UploadView):
    """Exports and imports studies."""

    query_class = StudyFileQuery

    @extend_schema(
        summary="Export a study as one file",
        description=(
            "Returns a JSON object, compressed with gzip, as described by "
            "`/study-file/schema/`."
        ),
        operation_id="study_file",
        responses={(200, MEDIA_TYPE): OpenApiTypes.BINARY},
    )
    def get(self, request: Request) -> HttpResponseBase:
        study = self.requested_study
        assert study is not None, "the parameter is required"
        return file_response(
            request,
            lambda **options: write_study_file(
                study,
                self.viewer,
                with_output=self.query.get("raw_output") != OMIT,
                with_power=self.query.get("power_logs") == INCLUDE,
                **options,
            ),
            f"{study.slug}.json.gz",
            MEDIA_TYPE,
        )

    @extend_schema(
        summary="Import a study file",
        description=(
            "Stores the study with its machines, tools and runs in the lab of the "
            "token, or nothing. It is private until you change its visibility. The "
            "body may be compressed. Importing a file again changes nothing. "
            'Errors name the entry and the field, such as "runs[17]".'
        ),
        request=StudyFileInput,
        responses={202: ImportedStudySerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        agent = self.upload_token(request).agent
        if request.content_type not in MEDIA_TYPES:
            raise UnsupportedMediaType(request.content_type or "")
        content = read_packed_body(open_body(request), request)[0]
        imported = import_study_file(agent, content)
        context = {"request": request}
        return self.json_response(
            ImportedStudySerializer(imported, context=context).data, HTTP_202_ACCEPTED
        )


class StudyFileSchemaView(ApiView):
    """Returns the JSON Schema of study files."""

    authentication_classes = []
    permission_classes = []

    @extend_schema(
        summary="Read the JSON Schema of study files",
        operation_id="study_file_schema",
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> Response:
        return Response(study_file_schema())
