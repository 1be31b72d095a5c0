"""Files that a worker makes on request: reports and charts, deleted after a while."""

from collections.abc import Sequence

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.job import Job
from benchmarks.models.study import Study


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


class Report(Making):
    """A study's report for one reader; ``stamp`` is a digest of content and reader."""

    # No constraint in the database: PostgreSQL would wait for the study's row, which
    # the check of a wide study locks for a while.
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
