"""/publishing/ and /versions/: what a study may be published as, and as what it was."""

from typing import Any, get_args

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from api.kit.fields import Text
from api.kit.queries import ListQuery, study_parameter
from api.kit.shapes import StrictSerializer
from api.kit.views import (
    AddressedRow,
    ApiView,
    Fields,
    ListView,
    NamedStudyView,
    operation,
)
from benchmarks.analysis.publishing import DISCLOSURE, DISPERSION, ENOUGH_RUNS, Level
from benchmarks.evidence.replication import reproduced_by
from benchmarks.models import Version, VersionFile
from benchmarks.publishing.readiness import study_assessment
from benchmarks.publishing.versions import (
    find_file,
    find_version,
    set_doi,
    visible_versions,
)
from benchmarks.sentences import Sentence

LEVELS = get_args(Level)


class ShortCellSerializer(serializers.Serializer[Any]):
    """A cell that keeps the study from the next level."""

    id = serializers.IntegerField()
    case = serializers.CharField(source="label")
    component = serializers.CharField()
    n = serializers.IntegerField()
    dispersion = serializers.FloatField(allow_null=True)


class AssessmentSerializer(serializers.Serializer[Any]):
    """``few_runs`` have less than five; ``dispersed`` vary more than their component
    may; ``undisclosed`` is what nobody states, by host, hypervisor, guest, benchmark.
    ``reproduced_by`` are other labs that found the same, in public studies of theirs.
    """

    rule_set = serializers.IntegerField()
    level = serializers.ChoiceField(choices=LEVELS)
    cells = serializers.IntegerField()
    few_runs = ShortCellSerializer(many=True)
    dispersed = ShortCellSerializer(many=True)
    undisclosed = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField())
    )
    reproduced_by = serializers.ListField(child=serializers.CharField())


class PublishingView(NamedStudyView):
    """A study judged by the rules of publishing."""

    @extend_schema(
        summary="Judge a study by the rules of publishing",
        description=f"Rule set 1: {ENOUGH_RUNS} runs a cell; a dispersion of at most "
        + ", ".join(f"{name} {limit:.0%}" for name, limit in DISPERSION.items())
        + f"; a disclosure of {', '.join(DISCLOSURE)}.",
        responses=AssessmentSerializer,
    )
    def get(self, request: Request) -> Response:
        assessment = study_assessment(self.study).reproduced(reproduced_by(self.study))
        return Response(self.shown(AssessmentSerializer, assessment))


FORMS = ["csv", "json", "tex", "pdf", "bib"]
EXAMPLE_DOI = ("Registered at Zenodo", {"doi": "10.5281/zenodo.1234567"})
FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=FORMS)


class SignatureSerializer(serializers.Serializer[Any]):
    """A reviewer of another lab, and what was looked at or repeated."""

    lab = serializers.CharField(source="lab.slug")
    who = serializers.CharField()
    note = serializers.CharField()
    at = serializers.DateTimeField()


class VersionFileSerializer(serializers.Serializer[Any]):
    """One form; ``sha256`` is of exactly the bytes that ``url`` hands out."""

    form = serializers.ChoiceField(choices=FORMS)
    size = serializers.IntegerField()
    sha256 = serializers.CharField(source="digest")
    url = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, file: VersionFile) -> str:
        place = {"pk": file.version_id, "form": file.form}
        request = self.context.get("request")
        return reverse("api:version-file", kwargs=place, request=request)


class VersionSerializer(AddressedRow):
    """A published study. ``page`` is the address to cite; ``sha256`` covers all files:
    it is of the lines ``sha256  form``, in the order of the forms' names.
    """

    address = "api:version"

    page = serializers.SerializerMethodField()
    study = serializers.CharField(source="study.slug")
    lab = serializers.CharField(source="lab.slug")
    number = serializers.IntegerField()
    title = serializers.CharField()
    published_at = serializers.DateTimeField()
    published_by = serializers.CharField()
    product_version = serializers.CharField()
    rule_set = serializers.IntegerField()
    level = serializers.ChoiceField(choices=LEVELS)
    undisclosed = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField())
    )
    declarations = serializers.ListField(
        child=serializers.DictField(),
        help_text="What labs declared of their own tools when it was judged.",
    )
    licence = serializers.ChoiceField(choices=Version.Licence.values)
    licence_note = serializers.CharField()
    sha256 = serializers.CharField(source="digest")
    doi = serializers.CharField(
        allow_blank=True, help_text="Where it was registered elsewhere, if it was."
    )
    files = VersionFileSerializer(many=True)
    signatures = SignatureSerializer(many=True)
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_reason = serializers.CharField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_page(self, version: Version) -> str:
        # The page's address is a promise: it is written out, not looked up.
        place = f"/versions/{version.pk}/"
        return str(self.context["request"].build_absolute_uri(place))


class VersionsQuery(ListQuery):
    study = study_parameter()


class VersionsView(ListView):
    """Every published version."""

    query_class = VersionsQuery
    summary = "List versions"
    serializer_class = VersionSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_versions(self.viewer, self.asked_study)


class VersionChange(StrictSerializer):
    """Under which DOI it was registered elsewhere; "" takes it away."""

    doi = Text(max_length=250, allow_blank=True, help_text="10.5281/zenodo.1234567")


class VersionView(ApiView):
    """One version; all that is ever changed of it is where it was registered."""

    summary = "Read a version"
    serializer_class = VersionSerializer

    def get(self, request: Request, pk: int) -> Response:
        version = find_version(self.viewer, pk)
        return Response(self.shown(VersionSerializer, version))

    @operation(
        "Enter the DOI of a version of the token's lab", VersionChange, EXAMPLE_DOI
    )
    def patch(self, given: Fields, pk: int) -> Response:
        version = find_version(self.lab_viewer, pk)
        self.require_own(version, Sentence("version"), pk)
        set_doi(version=version, doi=given["doi"], person=None, agent=self.agent.name)
        version = find_version(self.lab_viewer, pk)
        return Response(self.shown(VersionSerializer, version))


class VersionFileView(ApiView):
    """One form of a version, the same bytes for ever."""

    @extend_schema(
        summary="Download a form of a version",
        operation_id="version_file",
        parameters=[FORM],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: int, form: str) -> HttpResponse:
        file = find_file(self.viewer, pk, form)
        name = f"{file.version.study.slug}-{file.version.number}.{form}"
        headers = {
            "Content-Disposition": f'attachment; filename="{name}"',
            "ETag": f'"{file.digest}"',
        }
        kind = "application/octet-stream"
        return HttpResponse(bytes(file.content), content_type=kind, headers=headers)
