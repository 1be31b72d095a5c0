from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study


class Job(models.Model):
    """A background job, stored in the same transaction as the change that requires it.

    A worker runs all jobs with the same ``kind`` and ``subject_id`` at once. Only one
    worker at a time runs jobs of a ``partition``.
    """

    class Kind(models.TextChoices):
        UPLOAD = "upload"  # of a run
        CHECK = "check"  # of a study
        ENERGY = "energy"  # of a host
        PLAN = "plan"
        PUBLISHING = "publishing"  # of a PublishingJob
        REVIEW = "review"
        REPORT = "report"
        CHART = "chart"
        EVENTS = "events"  # of a study
        WEBHOOK = "webhook"  # a Delivery, by webhook
        EMAIL = "email"

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
    is_preparsed = models.BooleanField(default=False, db_default=False)
    """Whether the upload's request has already stored the samples."""
    is_bulk = models.BooleanField(default=False, db_default=False)
    """Whether the run came in a bulk upload; single uploads run first."""
    sample_count = models.PositiveIntegerField(default=0, db_default=0)
    request_id = models.CharField(max_length=64, blank=True, db_default="")
    """The id of the upload's HTTP request, to correlate logs."""
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    attempted_at = models.DateTimeField(null=True)
    dispatched_at = models.DateTimeField(null=True)
    claim_id = models.UUIDField(null=True)
    """Shared by the jobs that a worker claimed together. It remains if the worker
    dies.
    """
    claim_size = models.PositiveIntegerField(default=0, db_default=0)
    worker = models.CharField(max_length=100, blank=True, db_default="")
    """The host and process that last claimed the job."""
    claimed_server_started_at = models.DateTimeField(null=True)
    """The start time of the PostgreSQL server at the claim."""
    failures = models.PositiveSmallIntegerField(default=0, db_default=0)
    """Consecutive failures, including those that killed the worker."""
    error = SentenceField(blank=True, db_default="")
    quarantined_at = models.DateTimeField(null=True)
    failed_version = models.CharField(max_length=50, blank=True, db_default="")
    """The version of the product in which the job failed; other versions try it
    again.
    """

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["subject_id"],
                condition=models.Q(kind="upload"),
                name="upload_is_processed_once",
            )
        ]
        indexes = [
            models.Index(fields=["kind", "due_at"], name="job_by_due_time"),
            models.Index(
                fields=["kind", "subject_id"],
                condition=~models.Q(kind="upload"),
                name="job_by_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject_id}"
