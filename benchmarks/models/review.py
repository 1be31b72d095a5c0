"""Reviews: what many studies said together on a day, published to be cited."""

from django.conf import settings
from django.db import models
from django.db.models import Exists, Q

from benchmarks.models.lab import Lab
from benchmarks.models.study import Study, hidden_quotes
from benchmarks.models.version import Making, Version
from benchmarks.viewer import Viewer


class ReviewQuerySet(models.QuerySet["Review"]):
    """Reviews, scoped: seen by whoever sees every study they rest on."""

    def visible_to(self, viewer: Viewer) -> "ReviewQuerySet":
        return self.exclude(Exists(hidden_quotes(ReviewedStudy, "review_id", viewer)))


class Review(Making):
    """What studies of several labs said together: numbers and files never change.

    ``content`` holds the numbers, taken when somebody asked for it: ``questions`` and
    ``studies`` as `evidence.records` makes them, and ``with_flagged``. A worker writes
    the files from these alone; ``digest`` is a SHA-256 over the digests of the files,
    empty until then. ``stamp`` is a digest of all that was stated: asked for twice it
    is one. A trigger of the database refuses to change what is stated and the numbers.
    """

    # Protected: what is cited cannot go with its lab.
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="reviews")
    title = models.CharField(max_length=300)
    authors = models.CharField(max_length=500)
    note = models.TextField(blank=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    published_by = models.CharField(max_length=150)
    product_version = models.CharField(max_length=50)
    rule_set = models.PositiveSmallIntegerField()
    content = models.JSONField()
    stamp = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawn_reason = models.TextField(blank=True)
    studies: "models.ManyToManyField[Study, ReviewedStudy]" = models.ManyToManyField(
        Study, through="ReviewedStudy", related_name="reviews"
    )

    objects = ReviewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "stamp"],
                condition=Q(withdrawn_at=None),
                name="review_is_published_once",
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(withdrawn_reason=""),
                name="review_is_withdrawn_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"review {self.pk}"

    @property
    def has_files(self) -> bool:
        """Whether its files are written."""
        return bool(self.digest)


class ReviewedStudy(models.Model):
    """A study that a review rests on, and its version of that day, if it had one."""

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


class ReviewFile(models.Model):
    """A file of a review. A trigger of the database refuses to change it."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="files")
    name = models.CharField(max_length=200)
    content = models.BinaryField()
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["review", "name"], name="review_has_each_file_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.review} {self.name}"
