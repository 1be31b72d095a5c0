"""Reports, charts, versions of a study, and reviews of several studies.

Versions and reviews are cited: triggers of the database refuse changes, and a wrong one
is withdrawn with a reason. Each has a table of its own, because the id is part of its
address.
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
from benchmarks.models.study import Study, hidden_quotes, visible_studies
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


class Making(models.Model):
    """Something that a worker makes, by a `Job` of its own.

    ``site`` is the address of the server under which it was requested.
    """

    class Stage(models.TextChoices):
        WAITING = "waiting"
        COLLECTING = "collecting"
        TYPESETTING = "typesetting"
        DONE = "done"
        FAILED = "failed"

    jobs: Sequence[Job] = ()
    """The jobs with which a worker claimed it."""
    UNFINISHED = (Stage.WAITING, Stage.COLLECTING, Stage.TYPESETTING)

    site = models.CharField(max_length=300)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.WAITING)
    requested_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_unfinished(self) -> bool:
        return self.stage in self.UNFINISHED


class Publication(models.Model):
    """The common part of versions and reviews.

    ``digest`` is a SHA-256 over the digests of the files.
    """

    KIND: ClassVar[Sentence]
    FILE: ClassVar[Sentence]
    """The name of one of its files in error messages."""
    files: Any
    objects: Any

    # Protected: a cited publication cannot be deleted with its lab.
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
    withdrawn_reason = models.TextField(blank=True)

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(withdrawn_reason=""),
                name="%(class)s_is_withdrawn_with_a_reason",
            )
        ]

    @property
    def audit_name(self) -> str:
        """The name of the publication in the audit log."""
        return self.title

    def file_name(self, name: str) -> str:
        """Return the name under which one of its files is downloaded."""
        return f"{self.KIND}-{self.pk}-{name}"


class PublishedFile(models.Model):
    """A file of a publication."""

    content = models.BinaryField()
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        abstract = True


class VersionQuerySet(models.QuerySet["Version"]):
    """Versions, visible to whoever sees their study and the studies they quote."""

    def visible_to(self, viewer: Viewer) -> Self:
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(hidden_quotes(Version.quotes.through, "version_id", viewer))
        )

    def with_files(self) -> Self:
        """Read signatures and files too, without the files' content."""
        files = VersionFile.objects.defer("content").order_by("pk")
        signatures = Signature.objects.select_related("lab").order_by("pk")
        return self.select_related("study__lab", "lab").prefetch_related(
            Prefetch("files", files), Prefetch("signatures", signatures)
        )


class Version(Publication):
    """A study as it was on one day.

    ``judged`` is the evidence level by ``rule_set``, ``licence`` the answer about
    licences that restrict publishing, ``quotes`` are other studies whose values the
    files contain, ``declarations`` are of labs' own tools.
    """

    KIND = Sentence("version")
    FILE = Sentence("form of the version")

    class Licence(models.TextChoices):
        FREE = "free"
        PERMITTED = "permitted"

    study = models.ForeignKey(Study, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    published_at = models.DateTimeField(default=timezone.now)
    judged = models.CharField(max_length=10)
    undisclosed = models.JSONField(default=dict)
    declarations = models.JSONField(default=list)
    licence = models.CharField(max_length=10, choices=Licence)
    licence_note = models.TextField(blank=True)
    quotes = models.ManyToManyField(Study, related_name="+")
    doi = models.CharField(max_length=200, blank=True)
    """Entered later by an admin, who registered the version elsewhere."""

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
        """The evidence level: "verified" if another lab signed a version of a lab."""
        # Not exists(): lists have fetched the signatures already.
        may_be_signed = self.judged in ("lab", "reproduced")
        is_signed = may_be_signed and bool(self.signatures.all())
        return "verified" if is_signed else self.judged

    @property
    def audit_name(self) -> Sentence:
        study, number = self.study.slug, self.number
        return Sentence("{study}, version {number}", study=study, number=number)

    def file_name(self, name: str) -> str:
        return f"{self.study.slug}-{self.number}.{name}"


class VersionFile(PublishedFile):
    """One format of a version."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    name = models.CharField(max_length=10, db_column="form")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "name"], name="version_has_each_form_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.name}"


class Signature(models.Model):
    """A reviewer of another lab confirms a version; ``note`` says what was reviewed."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="signatures")
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="signatures")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    note = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "lab"], name="lab_signs_a_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.who} for {self.version}"


class PublishingJob(Making):
    """A requested version; the study must still have its ``data_version``."""

    # No constraint: a request must not wait for a study that is being checked.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="publishing_jobs"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    licence = models.CharField(max_length=10, choices=Version.Licence)
    licence_note = models.TextField(blank=True)
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
    """Reviews, visible to whoever sees every study that they cover."""

    def visible_to(self, viewer: Viewer) -> Self:
        return self.exclude(Exists(hidden_quotes(ReviewedStudy, "review_id", viewer)))

    def with_files(self) -> Self:
        """Read the files too, without their content."""
        files = ReviewFile.objects.defer("content").order_by("name")
        return self.select_related("lab").prefetch_related(Prefetch("files", files))


class Review(Publication, Making):
    """The evidence of several labs' studies on one day.

    ``content`` holds the numbers at the request (`evidence.records`) and
    ``with_flagged``; a worker writes the files from it. ``digest`` is empty until then.
    ``stamp`` is a digest of the statements and numbers: the same request twice is one
    review.
    """

    KIND = Sentence("review")
    FILE = Sentence("file of the review")

    authors = models.CharField(max_length=500)
    note = models.TextField(blank=True)
    content = models.JSONField()
    stamp = models.CharField(max_length=64)
    studies: "models.ManyToManyField[Study, ReviewedStudy]" = models.ManyToManyField(
        Study, through="ReviewedStudy", related_name="reviews"
    )

    objects = ReviewQuerySet.as_manager()

    class Meta(Publication.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "stamp"],
                condition=Q(withdrawn_at=None),
                name="review_is_published_once",
            ),
            *Publication.Meta.constraints,
        ]

    def __str__(self) -> str:
        return f"review {self.pk}"

    @property
    def published_at(self) -> Any:
        return self.requested_at


class ReviewedStudy(models.Model):
    """A study that a review covers, and its newest version of that day, if any."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="reviewed")
    # Protected: a study that is cited stays behind as a tombstone.
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
    """A file of a review."""

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


class Report(Making):
    """A study's report for one reader; ``stamp`` is a digest of content and reader."""

    # No constraint: a request must not wait for a study that is being checked.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="reports"
    )
    stamp = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "stamp"], name="report_is_made_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"


class Picture(Making):
    """A chart as a file. ``stamp`` is a digest of the drawn numbers and the format.

    Only somebody who may see these numbers can request it again.
    """

    stamp = models.CharField(max_length=64)
    form = models.CharField(max_length=10)
    drawn = models.JSONField()
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["stamp"], name="picture_is_drawn_once")
        ]

    def __str__(self) -> str:
        return f"picture {self.pk}"
