"""Studies that are to be frozen: each row is work left to do, like the outbox's."""

from django.conf import settings
from django.db import models

from benchmarks.models.job import Job
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study
from benchmarks.models.version import Version


class PublishingJob(Job):
    """A study somebody asked to be frozen, as it was when it was asked for.

    ``data_version`` is what the study was then: what changed since is not frozen
    unseen. ``attempts`` counts who began: a maker sees by it that another one has taken
    over. ``problem`` is why it failed.
    """

    # Without a constraint in the database, as reports: to ask must not wait for the
    # study's row, which the check of a wide study holds for a while.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="publishing_jobs"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    licence = models.CharField(max_length=10, choices=Version.Licence)
    licence_note = models.TextField(blank=True)
    data_version = models.TextField()
    attempts = models.PositiveSmallIntegerField(default=0)
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
