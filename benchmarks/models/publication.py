"""Reports, charts, versions of a study, and reviews of several studies.

Database triggers reject changes of published versions and reviews; a wrong one is
withdrawn with a reason. Ids are part of the URL, so each kind has its own table.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, Prefetch, Q
from django.utils import timezone

from benchmarks.models.job import Job
from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, links_to_hidden_studies, visible_studies
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


class GenerationRequest(models.Model):
    """A request for a document, which a worker generates in a `Job`."""

    class Stage(models.TextChoices):
        WAITING = "waiting"
        COLLECTING = "collecting"
        TYPESETTING = "typesetting"
        DONE = "done"
        FAILED = "failed"

    claimed_jobs: Sequence[Job] = ()
    UNFINISHED = (Stage.WAITING, Stage.COLLECTING, Stage.TYPESETTING)

    site_url = models.CharField(max_length=300)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.WAITING)
    requested_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_unfinished(self) -> bool:
        return self.stage in self.UNFINISHED


class Publication(models.Model):
    """The common fields of versions and reviews.

    ``digest`` is a SHA-256 over the digests of the files.
    """

    KIND_LABEL: ClassVar[Sentence]
    FILE_LABEL: ClassVar[Sentence]
    files: Any
    objects: Any

    # A cited publication cannot be deleted with its lab.
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="%(class)ss")
    title = models.CharField(max_length=300)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    published_by = models.CharField(max_length=150)
    product_version = models.CharField(max_length=50)
    rule_set = models.PositiveSmallIntegerField()
    digest = models.CharField(max_length=64, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawal_reason = models.TextField(blank=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(withdrawal_reason=""),
                name="%(class)s_is_withdrawn_with_a_reason",
            )
        ]

    @property
    def audit_name(self) -> str:
        return self.title

    def file_name(self, name: str) -> str:
        return f"{self.KIND_LABEL}-{self.pk}-{name}"


class PublishedFile(models.Model):
    content = models.BinaryField()
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        abstract = True


class VersionQuerySet(models.QuerySet["Version"]):
    """Versions, visible to viewers who can see the study and all quoted studies."""

    def visible_to(self, viewer: Viewer) -> Self:
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(
                links_to_hidden_studies(
                    Version.quoted_studies.through, "version_id", viewer
                )
            )
        )

    def with_files(self) -> Self:
        """Prefetch signatures and files, without the files' content."""
        files = VersionFile.objects.defer("content").order_by("pk")
        signatures = Signature.objects.select_related("lab").order_by("pk")
        return self.select_related("study__lab", "lab").prefetch_related(
            Prefetch("files", files), Prefetch("signatures", signatures)
        )


class Version(Publication):
    """A published, immutable snapshot of a study.

    ``publishing_permission`` is the publisher's answer about software licenses that
    restrict publishing. ``quoted_studies`` are other studies whose values are in the
    files.
    """

    KIND_LABEL = Sentence("version")
    FILE_LABEL = Sentence("version file")

    class PublishingPermission(models.TextChoices):
        UNRESTRICTED = "unrestricted"
        GRANTED = "granted"

    study = models.ForeignKey(Study, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    published_at = models.DateTimeField(default=timezone.now)
    assessed_level = models.CharField(max_length=10)
    undisclosed = models.JSONField(default=dict)
    custom_tools = models.JSONField(default=list)
    publishing_permission = models.CharField(
        max_length=20, choices=PublishingPermission
    )
    permission_note = models.TextField(blank=True)
    quoted_studies = models.ManyToManyField(Study, related_name="+")
    doi = models.CharField(max_length=200, blank=True)
    """Entered by an admin after publication."""

    objects = VersionQuerySet.as_manager()

    class Meta(Publication.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["study", "number"], name="version_number_is_unique"
            ),
            *Publication.Meta.constraints,
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.number}"

    @property
    def level(self) -> str:
        """The evidence level; "verified" for level "lab" or higher if another lab
        signed it."""
        # Not exists(): lists have prefetched the signatures.
        may_be_signed = self.assessed_level in ("lab", "reproduced")
        is_signed = may_be_signed and bool(self.signatures.all())
        return "verified" if is_signed else self.assessed_level

    @property
    def audit_name(self) -> Sentence:
        study, number = self.study.slug, self.number
        return Sentence("{study}, version {number}", study=study, number=number)

    def file_name(self, name: str) -> str:
        return f"{self.study.slug}-{self.number}.{name}"


class VersionFile(PublishedFile):
    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    name = models.CharField(max_length=10)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "name"], name="version_has_each_format_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.name}"


class Signature(models.Model):
    """The confirmation of a version by a reviewer of another lab."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="signatures")
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="signatures")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    signed_by = models.CharField(max_length=150)
    note = models.TextField()
    signed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "lab"], name="lab_signs_a_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.signed_by} for {self.version}"


class PublishingJob(GenerationRequest):
    """A request to publish a version of a study.

    It fails if the study no longer has the ``data_version`` of the request.
    """

    # No constraint: a request must not wait for a study that is being checked.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="publishing_jobs"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    publishing_permission = models.CharField(
        max_length=20, choices=Version.PublishingPermission
    )
    permission_note = models.TextField(blank=True)
    data_version = models.TextField()
    problem = SentenceField(blank=True)
    version = models.OneToOneField(
        Version, models.CASCADE, null=True, blank=True, related_name="publishing"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study"],
                condition=models.Q(stage__in=["waiting", "collecting", "typesetting"]),
                name="version_is_published_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"


class ReviewQuerySet(models.QuerySet["Review"]):
    """Reviews, visible to viewers who can see every reviewed study."""

    def visible_to(self, viewer: Viewer) -> Self:
        return self.exclude(
            Exists(links_to_hidden_studies(ReviewedStudy, "review_id", viewer))
        )

    def with_files(self) -> Self:
        files = ReviewFile.objects.defer("content").order_by("name")
        return self.select_related("lab").prefetch_related(Prefetch("files", files))


class Review(Publication, GenerationRequest):
    """A published, immutable snapshot of the evidence in studies of several labs.

    A worker writes the files from ``content``; until then, ``digest`` is empty.
    Repeating a request with the same ``request_digest`` returns the same review.
    """

    KIND_LABEL = Sentence("review")
    FILE_LABEL = Sentence("review file")

    authors = models.CharField(max_length=500)
    note = models.TextField(blank=True)
    content = models.JSONField()
    request_digest = models.CharField(max_length=64)
    studies: "models.ManyToManyField[Study, ReviewedStudy]" = models.ManyToManyField(
        Study, through="ReviewedStudy", related_name="reviews"
    )

    objects = ReviewQuerySet.as_manager()

    class Meta(Publication.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "request_digest"],
                condition=Q(withdrawn_at=None),
                name="review_is_published_once",
            ),
            *Publication.Meta.constraints,
        ]

    def __str__(self) -> str:
        return f"review {self.pk}"

    @property
    def excludes_doubtful(self) -> bool:
        # Rule set 2 excluded or included flagged results.
        default = not self.content.get("with_flagged", True)
        return bool(self.content.get("without_doubtful", default))

    @property
    def published_at(self) -> Any:
        return self.requested_at


class ReviewedStudy(models.Model):
    review = models.ForeignKey(Review, models.CASCADE, related_name="reviewed_studies")
    # A cited study remains as a tombstone.
    study = models.ForeignKey(Study, models.PROTECT, related_name="+")
    version = models.ForeignKey(Version, models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["review", "study"], name="study_is_reviewed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study} in {self.review}"


class ReviewFile(PublishedFile):
    review = models.ForeignKey(Review, models.CASCADE, related_name="files")
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["review", "name"], name="review_has_each_file_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.review} {self.name}"


class Report(GenerationRequest):
    """A PDF report of a study for one reader, who may be anonymous."""

    # No constraint, as for `PublishingJob`.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="reports"
    )
    request_digest = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "request_digest"], name="report_is_generated_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"


class ChartFile(GenerationRequest):
    """A chart to download as a file.

    ``request_digest`` includes the plotted numbers, so only people who can see them can
    request the file.
    """

    request_digest = models.CharField(max_length=64)
    file_format = models.CharField(max_length=10)
    chart_data = models.JSONField()
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request_digest"], name="chart_file_is_generated_once"
            )
        ]

    def __str__(self) -> str:
        return f"chart file {self.pk}"
