"""/publishing/, /versions/ and /reviews/: publication levels and publications."""

from typing import Any, get_args

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from api.evidence import EvidenceItemSerializer
from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Choice, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import HypervisorParameter, ListQuery, study_parameter
from api.kit.views import (
    ApiView,
    ListView,
    ReadView,
    ResourceSerializer,
    StudyQueryView,
    ValidatedData,
    operation,
)
from benchmarks.analysis.publication_requirements import (
    MAX_DISPERSION,
    MIN_PUBLISHED_RUNS,
    REQUIRED_FACTS,
    CellPrecision,
    LevelAssessment,
    PublicationLevel,
)
from benchmarks.evidence.queries import Question
from benchmarks.evidence.replication import reproduced_by
from benchmarks.jobs.queue import JobKind
from benchmarks.models import (
    Publication,
    Review,
    ReviewFile,
    Signature,
    Version,
    VersionFile,
)
from benchmarks.publishing.publications import (
    find_file,
    find_publication,
    visible_publications,
    withdraw,
)
from benchmarks.publishing.published_reviews import MAX_QUESTIONS, publish_review
from benchmarks.publishing.study_level import assess_study
from benchmarks.publishing.versions import set_doi
from benchmarks.tasks import dispatch_jobs
from benchmarks.work_classes import WORK_CLASSES

LEVELS = get_args(PublicationLevel)


class DeficientCellSerializer(OutputSerializer):
    """A result that keeps the study from the next level."""

    row_type = CellPrecision
    columns = "id case=label component n dispersion"
    descriptions = {
        "n": "The number of runs.",
        "dispersion": "The relative dispersion of the runs; null for a single run.",
    }


class LevelAssessmentSerializer(OutputSerializer):
    """The publication level of a study and what keeps it from the next one."""

    row_type = LevelAssessment
    columns = """
        rule_set level cell_count=cells cells_with_few_runs cells_with_high_dispersion
        missing_facts reproduced_by
    """
    descriptions = {
        "cell_count": "The number of results that were assessed.",
        "reproduced_by": (
            "The slugs of other labs whose public studies confirmed the results."
        ),
    }

    level = serializers.ChoiceField(
        choices=LEVELS, help_text="The publication level that the study reaches."
    )
    cells_with_few_runs = DeficientCellSerializer(
        many=True, help_text="Results with fewer than five runs."
    )
    cells_with_high_dispersion = DeficientCellSerializer(
        many=True,
        help_text="Results whose dispersion exceeds the limit of their component.",
    )
    missing_facts = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text=(
            "Facts that are not stated everywhere, by host, hypervisor, guest and "
            "benchmark."
        ),
    )


class PublishingView(StudyQueryView):
    serializer_class = LevelAssessmentSerializer

    @extend_schema(
        summary="Assess the publication level of a study",
        description=f"Rule set 1 requires {MIN_PUBLISHED_RUNS} runs per result, a "
        "relative dispersion of at most "
        + ", ".join(f"{limit:.0%} ({name})" for name, limit in MAX_DISPERSION.items())
        + f", and facts about {', '.join(REQUIRED_FACTS)}.",
    )
    def get(self, request: Request, **url_kwargs: Any) -> Response:
        return super().get(request)

    def get_object(self) -> LevelAssessment:
        return assess_study(self.study).with_reproducing_labs(reproduced_by(self.study))


FORMATS = ["csv", "json", "tex", "pdf", "bib"]
EXAMPLE_DOI = ("A DOI of Zenodo", {"doi": "10.5281/zenodo.1234567"})
BINARY_RESPONSE = {(200, "application/octet-stream"): OpenApiTypes.BINARY}
FORMAT_PARAMETER = OpenApiParameter(
    "file_format", str, OpenApiParameter.PATH, enum=FORMATS
)


class PublishedFileSerializer(OutputSerializer):
    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, file: VersionFile | ReviewFile) -> str:
        of, pk = (
            ("version", file.version_id)
            if isinstance(file, VersionFile)
            else ("review", file.review_id)
        )
        request = self.context.get("request")
        return reverse(f"api:{of}-file", args=(pk, file.name), request=request)


class PublicationSerializer(ResourceSerializer):
    page_url = serializers.SerializerMethodField(help_text="The URL to cite.")

    @extend_schema_field(OpenApiTypes.URI)
    def get_page_url(self, publication: Publication) -> str:
        # The URL of the page is permanent, so it is not looked up.
        path = f"/{publication.KIND_LABEL}s/{publication.pk}/"
        return str(self.context["request"].build_absolute_uri(path))


class PublicationView(ReadView):
    model: type[Publication]

    def get_object(self) -> Publication:
        return find_publication(self.model, self.viewer, self.kwargs["pk"])

    def own_publication(self, pk: int) -> Any:
        """Return a publication; raise NotFoundError unless the token's lab owns it."""
        publication = find_publication(self.model, self.lab_viewer, pk)
        self.require_same_lab(publication, self.model.KIND_LABEL, pk)
        return publication

    def change_response(self, pk: int) -> Response:
        publication = find_publication(self.model, self.lab_viewer, pk)
        return Response(self.serialize(self.get_serializer_class(), publication))


class PublishedFileView(ApiView):
    model: type[Publication]

    def get(self, request: Request, pk: int, **url_kwargs: str) -> HttpResponse:
        [name] = url_kwargs.values()
        publication, file = find_file(self.model, self.viewer, pk, name)
        saved_as = publication.file_name(file.name)
        return HttpResponse(
            bytes(file.content),
            content_type="application/octet-stream",
            headers={
                "Content-Disposition": f'attachment; filename="{saved_as}"',
                "ETag": f'"{file.digest}"',
            },
        )


class SignatureSerializer(OutputSerializer):
    """The signature of a reviewer of another lab."""

    row_type = Signature
    columns = "lab=lab.slug signed_by note signed_at"
    descriptions = {
        "lab": "The slug of the reviewer's lab.",
        "signed_by": "The name of the reviewer.",
        "note": "What was reviewed or repeated.",
        "signed_at": "When the version was signed.",
    }


class VersionFileSerializer(PublishedFileSerializer):
    """A file of a version."""

    row_type = VersionFile
    columns = "format size sha256=digest url"
    descriptions = {
        "size": "The size in bytes.",
        "sha256": "The SHA-256 of the bytes behind `url`.",
    }

    format = serializers.ChoiceField(
        choices=FORMATS, source="name", help_text="The format of the file."
    )
    url = serializers.SerializerMethodField(help_text="The URL of the file.")


class VersionSerializer(PublicationSerializer):
    """A published, frozen state of a study."""

    url_name = "api:version"

    row_type = Version
    columns = """
        study=study.slug lab=lab.slug number title published_at published_by
        product_version rule_set level custom_tools
        publishing_permission permission_note sha256=digest doi files signatures
        withdrawn_at withdrawal_reason
    """
    descriptions = {
        "number": "The number of the version in its study.",
        "title": "The title of the study.",
        "published_at": "When the version was published.",
        "published_by": "The name of the person who published it.",
        "product_version": "The version of Virtlab that computed the results.",
        "permission_note": (
            "Who permitted publishing; empty if no permission is needed."
        ),
        "sha256": (
            "The SHA-256 of a text that has a line `sha256  format` for each file, in "
            "the order of the formats."
        ),
        "withdrawn_at": "When the version was withdrawn; null if it was not.",
        "withdrawal_reason": "Why it was withdrawn; empty if it was not.",
    }

    level = serializers.ChoiceField(
        choices=LEVELS, help_text="The publication level that the version reached."
    )
    missing_facts = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        source="undisclosed",
        help_text=(
            "Facts that are not stated everywhere, by host, hypervisor, guest and "
            "benchmark."
        ),
    )
    custom_tools = serializers.ListField(
        child=serializers.DictField(),
        help_text="The declarations of custom tools at the time of publication.",
    )
    publishing_permission = serializers.ChoiceField(
        choices=Version.PublishingPermission.values,
        help_text=(
            "Why publishing is permitted: no license of a hypervisor restricts it, or "
            "the vendor has permitted it."
        ),
    )
    doi = serializers.CharField(
        allow_blank=True,
        help_text=(
            "The DOI under which the version is registered elsewhere; empty if none."
        ),
    )
    files = VersionFileSerializer(many=True, help_text="The files of the version.")
    signatures = SignatureSerializer(
        many=True, help_text="Signatures of reviewers of other labs."
    )


class VersionQuery(ListQuery):
    study = study_parameter()


class VersionsView(ListView):
    """Lists the published versions of visible studies."""

    query_class = VersionQuery
    non_filter_parameters = ("study",)
    summary = "List published versions"
    serializer_class = VersionSerializer

    def get_queryset(self) -> QuerySet[Any]:
        versions = visible_publications(Version, self.viewer)
        study = self.requested_study
        return versions.filter(study=study) if study else versions


class VersionChange(StrictSerializer):
    """The DOI of a version."""

    doi = Text(
        max_length=250,
        allow_blank=True,
        help_text="The DOI, such as 10.5281/zenodo.1234567; an empty text removes it.",
    )


class VersionView(PublicationView):
    """Returns a published version of a study."""

    summary = "Read a version"
    serializer_class = VersionSerializer
    model = Version

    @operation("Set the DOI of a version", VersionChange, EXAMPLE_DOI)
    def patch(self, fields: ValidatedData, pk: int) -> Response:
        """Set the DOI of a version; nothing else of a version can be changed."""
        version = self.own_publication(pk)
        set_doi(version=version, doi=fields["doi"], person=None, agent=self.agent.name)
        return self.change_response(pk)


@extend_schema_view(
    get=extend_schema(
        summary="Download a file of a version",
        operation_id="version_file",
        parameters=[FORMAT_PARAMETER],
        responses=BINARY_RESPONSE,
    )
)
class VersionFileView(PublishedFileView):
    """Returns a file of a version, whose bytes never change."""

    model = Version


EXAMPLE = (
    "What KVM costs at two kinds of work",
    {
        "title": "What KVM costs",
        "authors": "Doe, Jane; Roe, Richard",
        "questions": [
            {"hypervisor": "KVM", "work_class": "cpu-integer"},
            {"hypervisor": "KVM", "work_class": "disk-random-write"},
        ],
    },
)

EXAMPLE_WITHDRAWAL = (
    "Withdraw a review",
    {"withdrawal_reason": "The native runs of one study were made at 40 °C."},
)


class QuestionInput(StrictSerializer):
    """A hypervisor and a kind of work."""

    hypervisor = HypervisorParameter(
        max_length=100, help_text="The hypervisor, in any spelling."
    )
    work_class = Choice(
        choices=list(WORK_CLASSES), help_text="The slug of the kind of work."
    )


class ReviewInput(StrictSerializer):
    """A review to publish."""

    title = Text(max_length=300, help_text="The title of the review.")
    authors = Text(
        max_length=500,
        help_text="The authors, separated by semicolons, as in `Doe, Jane; Roe, R.`",
    )
    questions = ListOf(
        child=QuestionInput(),
        min_length=1,
        max_length=MAX_QUESTIONS,
        help_text="The hypervisors and kinds of work to review.",
    )
    doubtful = Choice(
        choices=("exclude", "include"),
        required=False,
        help_text="Whether to pool doubtful results; the default is `include`.",
    )
    note = Text(
        multiline=True,
        required=False,
        max_length=10_000,
        help_text="A remark for readers.",
    )


class WithdrawalInput(StrictSerializer):
    """The withdrawal of a review."""

    withdrawal_reason = Text(
        multiline=True,
        max_length=10_000,
        help_text="Why the review is withdrawn; readers of the review see it.",
    )


class ReviewFileSerializer(PublishedFileSerializer):
    """A file of a review."""

    row_type = ReviewFile
    columns = "name size sha256=digest url"
    descriptions = {
        "name": "The name of the file.",
        "size": "The size in bytes.",
        "sha256": "The SHA-256 of the bytes behind `url`.",
    }

    url = serializers.SerializerMethodField(help_text="The URL of the file.")


class ReviewedVersionSerializer(OutputSerializer):
    """The newest published version of a study on the day of the review."""

    columns = "id:int number:int level:str sha256:str"
    descriptions = {
        "number": "The number of the version in its study.",
        "level": "The publication level of the version.",
        "sha256": "The SHA-256 of the version.",
    }


class ReviewedStudySerializer(serializers.Serializer[Any]):
    """A study on which a review is based."""

    study = serializers.CharField(help_text="The study (`lab/slug`).")
    title = serializers.CharField(help_text="The title of the study.")
    author = serializers.CharField(
        allow_blank=True, help_text="The author of the study."
    )
    institution = serializers.CharField(
        allow_blank=True, help_text="The institution of the author."
    )
    published = serializers.CharField(
        allow_blank=True, help_text="The date of publication: a year, a month or a day."
    )
    data_licence = serializers.CharField(
        allow_blank=True, help_text="The license of the data."
    )
    version = ReviewedVersionSerializer(
        allow_null=True,
        help_text=(
            "The newest published version on the day of the review; null if there was "
            "none."
        ),
    )
    digest = serializers.CharField(
        help_text="The SHA-256 of the study's results on the day of the review."
    )


class ReviewSerializer(PublicationSerializer):
    """A published, frozen review of the evidence."""

    url_name = "api:review"

    row_type = Review
    columns = """
        lab=lab.slug title authors note published_at published_by product_version
        rule_set doubtful studies sha256 files withdrawn_at withdrawal_reason
    """
    descriptions = {
        "title": "The title of the review.",
        "authors": "The authors, separated by semicolons.",
        "published_by": "The name of the person or agent that published it.",
        "product_version": "The version of Virtlab that computed the results.",
        "withdrawn_at": "When the review was withdrawn; null if it was not.",
    }

    note = serializers.CharField(allow_blank=True, help_text="A remark for people.")
    published_at = serializers.DateTimeField(help_text="When the review was published.")
    doubtful = serializers.SerializerMethodField(
        help_text="Whether doubtful results were excluded or included."
    )
    studies = ReviewedStudySerializer(
        source="content.studies",
        many=True,
        help_text="The studies on which the review is based.",
    )
    sha256 = serializers.CharField(
        source="digest",
        allow_blank=True,
        help_text=(
            "The SHA-256 of a text that has a line `sha256  name` for each file, in "
            "the order of the names; empty until the files are written."
        ),
    )
    files = ReviewFileSerializer(many=True, help_text="The files of the review.")
    withdrawal_reason = serializers.CharField(
        allow_blank=True, help_text="Why it was withdrawn; empty if it was not."
    )

    @extend_schema_field(serializers.ChoiceField(choices=("exclude", "include")))
    def get_doubtful(self, review: Review) -> str:
        return "exclude" if review.excludes_doubtful else "include"


class ReviewDetailSerializer(ReviewSerializer):
    """A review with the evidence for each question on the day of the review."""

    questions = EvidenceItemSerializer(
        source="content.questions",
        many=True,
        help_text=(
            "The evidence for each question, as `/evidence/` returned it on the day "
            "of the review."
        ),
    )


class ReviewsView(ListView):
    """Lists the published reviews."""

    summary = "List reviews"
    serializer_class = ReviewSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_publications(Review, self.viewer)

    @operation(
        "Publish a review",
        ReviewInput,
        EXAMPLE,
        response_serializers=ReviewDetailSerializer,
        statuses=(201, 200),
    )
    def post(self, fields: ValidatedData) -> Response:
        """Publish a review of public studies and of visible, signed studies.

        A study is signed if it has not changed since another lab signed a version.

        If the lab has published an identical review, it is returned with status 200.
        """
        review, is_new = publish_review(
            lab=self.lab,
            viewer=self.lab_viewer,
            actor=self.agent.name,
            person=None,
            site_url=self.request.build_absolute_uri("/").rstrip("/"),
            title=fields["title"],
            authors=fields["authors"],
            note=fields.get("note", ""),
            without_doubtful=fields.get("doubtful") == "exclude",
            questions={
                Question(question["hypervisor"], question["work_class"])
                for question in fields["questions"]
            },
        )
        if is_new:
            dispatch_jobs(JobKind.REVIEW, review.pk)
        return self.created_response(ReviewDetailSerializer, review, is_new)


class ReviewView(PublicationView):
    """Returns a published review with the evidence for each question.

    The evidence is that of the day on which the review was published.
    """

    summary = "Read a review"
    serializer_class = ReviewDetailSerializer
    model = Review

    @operation(
        "Withdraw a review",
        WithdrawalInput,
        EXAMPLE_WITHDRAWAL,
    )
    def patch(self, fields: ValidatedData, pk: int) -> Response:
        """Withdraw a review of the token's lab; nothing else can be changed."""
        reason = fields["withdrawal_reason"]
        withdraw(self.own_publication(pk), actor=self.agent.name, reason=reason)
        return self.change_response(pk)


@extend_schema_view(
    get=extend_schema(
        summary="Download a file of a review",
        operation_id="review_file",
        responses=BINARY_RESPONSE,
    )
)
class ReviewFileView(PublishedFileView):
    """Returns a file of a review, whose bytes never change."""

    model = Review
