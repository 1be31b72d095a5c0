"""Work that nobody waits for, and that has not ended well."""

from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.plan import Plan
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Host, Study
from benchmarks.models.version import PublishingJob
from benchmarks.models.webhook import Webhook


class UnfinishedWork(models.Model):
    """A unit of background work that was begun and has not ended well.

    Written before the work begins and deleted when it is done: what kills its worker
    leaves it behind. Uploads have their own (`OutboxItem`).
    """

    class Kind(models.TextChoices):
        CHECK = "check"
        ENERGY = "energy"
        PLAN = "plan"
        PUBLISHING = "publishing"
        NEWS = "news"
        WEBHOOK = "webhook"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind)
    # One of these, by the kind. No constraints in the database, as jobs: to begin must
    # not wait for the study's row, which another process may hold.
    study = models.ForeignKey(
        Study, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    host = models.ForeignKey(
        Host, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    plan = models.ForeignKey(
        Plan, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    job = models.ForeignKey(
        PublishingJob, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    webhook = models.ForeignKey(
        Webhook, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    tried_at = models.DateTimeField(default=timezone.now)
    server_started_at = models.DateTimeField(null=True)
    """When the PostgreSQL was started in which it is in hand; null: in nobody's."""
    failures = models.PositiveIntegerField(default=0)
    """How often it failed, or its worker died, one after the other."""
    error = SentenceField(blank=True)
    next_at = models.DateTimeField(default=timezone.now)
    quarantined_at = models.DateTimeField(null=True)
    version = models.CharField(max_length=50, blank=True)
    """The version of this program that failed; another one tries again."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "kind", "study", "host", "plan", "job", "webhook"],
                name="unfinished_work_is_noted_once",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject_id}"

    @property
    def subject_id(self) -> int:
        """The id of what it is about: a study, host, plan, job or webhook."""
        ids = (
            *(self.study_id, self.host_id, self.plan_id, self.job_id),
            self.webhook_id,
        )
        return next(pk for pk in ids if pk is not None)
