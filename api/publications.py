"""/publishing/, /versions/ and /reviews/: evidence levels, and what is published."""

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
from api.kit.fields import Choice, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import HypervisorParameter, ListQuery, study_parameter
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import (
    AddressedRow,
    ApiView,
    Fields,
    ListView,
    NamedStudyView,
    ReadView,
    operation,
)
from benchmarks.analysis.publishing import (
    DISCLOSURE,
    DISPERSION,
    ENOUGH_RUNS,
    Assessment,
    Level,
    MeasuredCell,
)
from benchmarks.evidence.reading import Question
from benchmarks.evidence.replication import reproduced_by
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
from benchmarks.publishing.reviews import MOST_QUESTIONS, publish_review
from benchmarks.publishing.versions import set_doi, study_assessment
from benchmarks.tasks import send
from benchmarks.unattended.queue import Kind
from benchmarks.work_classes import WORK_CLASSES

LEVELS = get_args(Level)
UNDISCLOSED = serializers.DictField(
    child=serializers.ListField(child=serializers.CharField())
)


class ShortCellSerializer(OutputSerializer):
    """A cell that keeps the study from the next level."""

    row_type = MeasuredCell
    columns = "id case=label component n dispersion"


class AssessmentSerializer(OutputSerializer):
    """``few_runs`` have less than five; ``dispersed`` vary more than their component
    may; ``undisclosed`` is what nobody states, by host, hypervisor, guest, benchmark.
    ``reproduced_by`` are other labs that found the same, in public studies of theirs.
    """

    row_type = Assessment
    columns = "rule_set level cells few_runs dispersed undisclosed reproduced_by"

    level = serializers.ChoiceField(choices=LEVELS)
    few_runs = ShortCellSerializer(many=True)
    dispersed = ShortCellSerializer(many=True)
    undisclosed = UNDISCLOSED


class PublishingView(NamedStudyView):
    """A study judged by the rules of publishing."""

    serializer_class = AssessmentSerializer

    @extend_schema(
        summary="Judge a study by the rules of publishing",
        description=f"Rule set 1: {ENOUGH_RUNS} runs a cell; a dispersion of at most "
        + ", ".join(f"{name} {limit:.0%}" for name, limit in DISPERSION.items())
        + f"; a disclosure of {', '.join(DISCLOSURE)}.",
    )
    def get(self, request: Request, **place: Any) -> Response:
        return super().get(request)

    def get_object(self) -> Assessment:
        return study_assessment(self.study).reproduced(reproduced_by(self.study))


FORMS = ["csv", "json", "tex", "pdf", "bib"]
EXAMPLE_DOI = ("Registered at Zenodo", {"doi": "10.5281/zenodo.1234567"})
BYTES = {(200, "application/octet-stream"): OpenApiTypes.BINARY}
FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=FORMS)


class PublishedFileSerializer(OutputSerializer):
    """A file; ``sha256`` is of exactly the bytes that ``url`` hands out."""

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, file: VersionFile | ReviewFile) -> str:
        of, pk = (
            ("version", file.version_id)
            if isinstance(file, VersionFile)
            else ("review", file.review_id)
        )
        request = self.context.get("request")
        return reverse(f"api:{of}-file", args=(pk, file.name), request=request)


class PublicationSerializer(AddressedRow):
    """A version or review. ``page`` is the address to cite."""

    page = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_page(self, publication: Publication) -> str:
        # The page's address is permanent: written out, not looked up.
        place = f"/{publication.KIND}s/{publication.pk}/"
        return str(self.context["request"].build_absolute_uri(place))


class PublicationView(ReadView):
    """One version or review."""

    model: type[Publication]

    def get_object(self) -> Publication:
        return find_publication(self.model, self.viewer, self.kwargs["pk"])

    def own(self, pk: int) -> Any:
        """Return a publication of the token's lab; raise NotFoundError."""
        publication = find_publication(self.model, self.lab_viewer, pk)
        self.require_own(publication, self.model.KIND, pk)
        return publication

    def changed(self, pk: int) -> Response:
        """Answer with a publication of the token's lab after a change."""
        publication = find_publication(self.model, self.lab_viewer, pk)
        return Response(self.shown(self.get_serializer_class(), publication))


class PublishedFileView(ApiView):
    """One file of a version or review, the same bytes forever."""

    model: type[Publication]

    def get(self, request: Request, pk: int, **place: str) -> HttpResponse:
        [name] = place.values()
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
    """A reviewer of another lab, and what was looked at or repeated."""

    row_type = Signature
    columns = "lab=lab.slug who note at"


class VersionFileSerializer(PublishedFileSerializer):
    """One form; ``sha256`` is of exactly the bytes that ``url`` hands out."""

    row_type = VersionFile
    columns = "form size sha256=digest url"

    form = serializers.ChoiceField(choices=FORMS, source="name")
    url = serializers.SerializerMethodField()


class VersionSerializer(PublicationSerializer):
    """A published study. ``page`` is the address to cite; ``sha256`` covers all files:
    it is of the lines ``sha256  form``, in the order of the forms' names.
    """

    address = "api:version"

    row_type = Version
    columns = """
        study=study.slug lab=lab.slug number title published_at published_by
        product_version rule_set level undisclosed declarations licence licence_note
        sha256=digest doi files signatures withdrawn_at withdrawn_reason
    """

    level = serializers.ChoiceField(choices=LEVELS)
    undisclosed = UNDISCLOSED
    declarations = serializers.ListField(
        child=serializers.DictField(),
        help_text="What labs declared of their own tools when it was judged.",
    )
    licence = serializers.ChoiceField(choices=Version.Licence.values)
    doi = serializers.CharField(
        allow_blank=True, help_text="Where it was registered elsewhere, if it was."
    )
    files = VersionFileSerializer(many=True)
    signatures = SignatureSerializer(many=True)


class VersionsQuery(ListQuery):
    study = study_parameter()


class VersionsView(ListView):
    """Every published version."""

    query_class = VersionsQuery
    no_filters = ("study",)
    summary = "List versions"
    serializer_class = VersionSerializer

    def get_queryset(self) -> QuerySet[Any]:
        versions = visible_publications(Version, self.viewer)
        study = self.asked_study
        return versions.filter(study=study) if study else versions


class VersionChange(StrictSerializer):
    """Under which DOI it was registered elsewhere; "" takes it away."""

    doi = Text(max_length=250, allow_blank=True, help_text="10.5281/zenodo.1234567")


class VersionView(PublicationView):
    """One version; all that is ever changed of it is where it was registered."""

    summary = "Read a version"
    serializer_class = VersionSerializer
    model = Version

    @operation(
        "Enter the DOI of a version of the token's lab", VersionChange, EXAMPLE_DOI
    )
    def patch(self, given: Fields, pk: int) -> Response:
        version = self.own(pk)
        set_doi(version=version, doi=given["doi"], person=None, agent=self.agent.name)
        return self.changed(pk)


@extend_schema_view(
    get=extend_schema(
        summary="Download a form of a version",
        operation_id="version_file",
        parameters=[FORM],
        responses=BYTES,
    )
)
class VersionFileView(PublishedFileView):
    """One form of a version, the same bytes for ever."""

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

WITHDRAWAL = (
    "What turned out to be wrong",
    {"withdrawn_reason": "The native runs of one study were made at 40 °C."},
)


class QuestionInput(StrictSerializer):
    """A hypervisor, in any spelling, and a class of work."""

    hypervisor = HypervisorParameter(max_length=100)
    work_class = Choice(choices=list(WORK_CLASSES))


class ReviewInput(StrictSerializer):
    """What the review is called, who wrote it, and what it asks."""

    title = Text(max_length=300)
    authors = Text(max_length=500, help_text="Parted by semicolons: Doe, Jane; Roe, R.")
    questions = ListOf(child=QuestionInput(), min_length=1, max_length=MOST_QUESTIONS)
    flagged = Choice(
        choices=("without", "with"),
        required=False,
        help_text="Whether what a flag doubts is pooled: without, unless told.",
    )
    note = Text(multiline=True, required=False, max_length=10_000)


class WithdrawalInput(StrictSerializer):
    """Why a review turned out to be wrong: whoever follows its link reads it."""

    withdrawn_reason = Text(multiline=True, max_length=10_000)


class ReviewFileSerializer(PublishedFileSerializer):
    """A file; ``sha256`` is of exactly the bytes that ``url`` hands out."""

    row_type = ReviewFile
    columns = "name size sha256=digest url"

    url = serializers.SerializerMethodField()


class ReviewedVersionSerializer(OutputSerializer):
    """The newest published version of a study on that day."""

    columns = "id:int number:int level:str sha256:str"


class ReviewedStudySerializer(serializers.Serializer[Any]):
    """A study that the review rests on; ``digest`` is of what it said."""

    study = serializers.CharField()
    title = serializers.CharField()
    author = serializers.CharField(allow_blank=True)
    institution = serializers.CharField(allow_blank=True)
    published = serializers.CharField(allow_blank=True)
    data_licence = serializers.CharField(allow_blank=True)
    version = ReviewedVersionSerializer(allow_null=True)
    digest = serializers.CharField()


class ReviewSerializer(PublicationSerializer):
    """A review. ``page`` is the address to cite; ``sha256`` covers all its files.

    That is of the lines ``sha256  name``, in the order of the names; empty while a
    worker still writes them.
    """

    address = "api:review"

    row_type = Review
    columns = """
        lab=lab.slug title authors note published_at published_by product_version
        rule_set flagged studies sha256 files withdrawn_at withdrawn_reason
    """

    note = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField()
    flagged = serializers.SerializerMethodField()
    studies = ReviewedStudySerializer(source="content.studies", many=True)
    sha256 = serializers.CharField(source="digest", allow_blank=True)
    files = ReviewFileSerializer(many=True)
    withdrawn_reason = serializers.CharField(allow_blank=True)

    @extend_schema_field(serializers.ChoiceField(choices=("without", "with")))
    def get_flagged(self, review: Review) -> str:
        return "with" if review.content["with_flagged"] else "without"


class WholeReviewSerializer(ReviewSerializer):
    """A review with its numbers, as ``/evidence/`` said them on that day."""

    questions = EvidenceItemSerializer(source="content.questions", many=True)


class ReviewsView(ListView):
    """Every published review; ``POST`` publishes one."""

    summary = "List reviews"
    serializer_class = ReviewSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_publications(Review, self.viewer)

    @operation(
        "Publish a review",
        ReviewInput,
        EXAMPLE,
        answers=WholeReviewSerializer,
        statuses=(201, 200),
    )
    def post(self, given: Fields) -> Response:
        review, is_new = publish_review(
            lab=self.lab,
            viewer=self.lab_viewer,
            who=self.agent.name,
            person=None,
            site=self.request.build_absolute_uri("/").rstrip("/"),
            title=given["title"],
            authors=given["authors"],
            note=given.get("note", ""),
            with_flagged=given.get("flagged") == "with",
            questions={
                Question(question["hypervisor"], question["work_class"])
                for question in given["questions"]
            },
        )
        if is_new:
            send(Kind.REVIEW, review.pk)
        return self.created_or_known(WholeReviewSerializer, review, is_new)


class ReviewView(PublicationView):
    """One review; the lab that published it may withdraw it, and nothing else."""

    summary = "Read a review"
    serializer_class = WholeReviewSerializer
    model = Review

    @operation(
        "Withdraw a review of the token's lab, with a reason",
        WithdrawalInput,
        WITHDRAWAL,
    )
    def patch(self, given: Fields, pk: int) -> Response:
        reason = given["withdrawn_reason"]
        withdraw(self.own(pk), who=self.agent.name, reason=reason)
        return self.changed(pk)


@extend_schema_view(
    get=extend_schema(
        summary="Download a file of a review",
        operation_id="review_file",
        responses=BYTES,
    )
)
class ReviewFileView(PublishedFileView):
    """A file of a review, the same bytes for ever."""

    model = Review
