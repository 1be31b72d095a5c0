"""/reviews/: what many studies said together on a day, to be cited; and their files."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from api.evidence import EvidenceItemSerializer
from api.kit.fields import Choice, Text
from api.kit.queries import HypervisorParameter
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from benchmarks.evidence.reading import Question
from benchmarks.models import Review, ReviewFile
from benchmarks.publishing.reviews import (
    MOST_QUESTIONS,
    find_review,
    find_review_file,
    publish_review,
    visible_reviews,
    withdraw_review,
)
from benchmarks.tasks import send
from benchmarks.unattended.queue import Kind
from benchmarks.work_classes import WORK_CLASSES

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


class ReviewFileSerializer(serializers.Serializer[Any]):
    """A file; ``sha256`` is of exactly the bytes that ``url`` hands out."""

    name = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField(source="digest")
    url = serializers.SerializerMethodField()

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, file: ReviewFile) -> str:
        place = {"pk": file.review_id, "name": file.name}
        request = self.context.get("request")
        return reverse("api:review-file", kwargs=place, request=request)


class ReviewedVersionSerializer(serializers.Serializer[Any]):
    """The newest published version of a study on that day."""

    id = serializers.IntegerField()
    number = serializers.IntegerField()
    level = serializers.CharField()
    sha256 = serializers.CharField()


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


class ReviewSerializer(AddressedRow):
    """A review. ``page`` is the address to cite; ``sha256`` covers all its files.

    That is of the lines ``sha256  name``, in the order of the names; empty while a
    worker still writes them.
    """

    address = "api:review"

    page = serializers.SerializerMethodField()
    lab = serializers.CharField(source="lab.slug")
    title = serializers.CharField()
    authors = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    published_at = serializers.DateTimeField(source="requested_at")
    published_by = serializers.CharField()
    product_version = serializers.CharField()
    rule_set = serializers.IntegerField()
    flagged = serializers.SerializerMethodField()
    studies = ReviewedStudySerializer(source="content.studies", many=True)
    sha256 = serializers.CharField(source="digest", allow_blank=True)
    files = ReviewFileSerializer(many=True)
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    withdrawn_reason = serializers.CharField(allow_blank=True)

    @extend_schema_field(OpenApiTypes.URI)
    def get_page(self, review: Review) -> str:
        # The page's address is a promise: it is written out, not looked up.
        place = f"/reviews/{review.pk}/"
        return str(self.context["request"].build_absolute_uri(place))

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
        return visible_reviews(self.viewer)

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
                Question(it["hypervisor"], it["work_class"])
                for it in given["questions"]
            },
        )
        if is_new:
            send(Kind.REVIEW, review.pk)
        return self.created_or_known(WholeReviewSerializer, review, is_new)


class ReviewView(ApiView):
    """One review; the lab that published it may withdraw it, and nothing else."""

    summary = "Read a review"
    serializer_class = WholeReviewSerializer

    def get(self, request: Request, pk: int) -> Response:
        review = find_review(self.viewer, pk)
        return Response(self.shown(WholeReviewSerializer, review))

    @operation(
        "Withdraw a review of the token's lab, with a reason",
        WithdrawalInput,
        WITHDRAWAL,
    )
    def patch(self, given: Fields, pk: int) -> Response:
        review = find_review(self.lab_viewer, pk)
        self.require_own(review, "review", pk)
        withdraw_review(
            review=review, who=self.agent.name, reason=given["withdrawn_reason"]
        )
        withdrawn = find_review(self.lab_viewer, pk)
        return Response(self.shown(WholeReviewSerializer, withdrawn))


class ReviewFileView(ApiView):
    """A file of a review, the same bytes for ever."""

    @extend_schema(
        summary="Download a file of a review",
        operation_id="review_file",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: int, name: str) -> HttpResponse:
        file = find_review_file(self.viewer, pk, name)
        headers = {
            "Content-Disposition": f'attachment; filename="review-{pk}-{file.name}"',
            "ETag": f'"{file.digest}"',
        }
        kind = "application/octet-stream"
        return HttpResponse(bytes(file.content), content_type=kind, headers=headers)
