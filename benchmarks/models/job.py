"""The one queue of background work."""

from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study


class Job(models.Model):
    """A piece of background work, stored with what makes it necessary.

    All jobs of a kind and a ``subject_id`` are done together, and one worker at a time
    does those of a ``partition`` (`unattended.queue`).
    """

    class Kind(models.TextChoices):
        UPLOAD = "upload"  # of a run
        CHECK = "check"  # of a study
        ENERGY = "energy"  # of a host
        PLAN = "plan"
        PUBLISHING = "publishing"  # of a PublishingJob
        REVIEW = "review"
        REPORT = "report"
        PICTURE = "picture"
        NEWS = "news"  # of a study
        WEBHOOK = "webhook"  # a Delivery, by webhook
        LETTER = "letter"

    kind = models.CharField(max_length=20, choices=Kind)
    subject_id = models.BigIntegerField()
    partition = models.BigIntegerField()
    # No constraints: storing a job must not wait for a locked study.
    lab = models.ForeignKey(
        Lab,
        models.CASCADE,
        null=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    study = models.ForeignKey(
        Study, models.CASCADE, null=True, related_name="+", db_constraint=False
    )
    detail = models.JSONField(null=True)
    is_read = models.BooleanField(default=False, db_default=False)
    """The samples of an upload were stored with it: nobody need read its text."""
    is_bulk = models.BooleanField(default=False, db_default=False)
    """It came with many others: one that came alone does not wait behind them."""
    samples = models.PositiveIntegerField(default=0, db_default=0)
    """How many samples of an upload are stored."""
    request_id = models.CharField(max_length=64, blank=True, db_default="")
    """The request that brought an upload: a worker's log leads back to its sender's."""
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    tried_at = models.DateTimeField(null=True)
    hinted_at = models.DateTimeField(null=True)
    """When a worker was last sent to it."""
    batch = models.UUIDField(null=True)
    """Those that a worker has in hand together; left behind, its worker died."""
    batch_size = models.PositiveIntegerField(default=0, db_default=0)
    worker = models.CharField(max_length=100, blank=True, db_default="")
    """The machine and process that last had it in hand."""
    server_started_at = models.DateTimeField(null=True)
    """When the PostgreSQL was started in which it is in hand; null: in nobody's."""
    failures = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How often it failed, or its worker died, one after the other."""
    error = SentenceField(blank=True, db_default="")
    quarantined_at = models.DateTimeField(null=True)
    version = models.CharField(max_length=50, blank=True, db_default="")
    """The version of this program that failed; another one tries again."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["subject_id"],
                condition=models.Q(kind="upload"),
                name="upload_is_processed_once",
            )
        ]
        indexes = [
            models.Index(fields=["kind", "due_at"], name="jobs_that_are_due"),
            models.Index(
                fields=["kind", "subject_id"],
                condition=~models.Q(kind="upload"),
                name="job_by_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject_id}"
