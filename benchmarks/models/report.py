"""Reports that people asked for: made once, kept as long as they would say the same."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.study import Campaign


class Report(models.Model):
    """A campaign's report as a file, for one reader.

    ``stamp`` is a digest of all that it says and of whom it says it to: a campaign that
    changed has another one. ``stage`` says how far the making is; ``seen_at`` when the
    maker last gave a sign of life.
    """

    class Stage(models.TextChoices):
        WAITING = "waiting"
        COLLECTING = "collecting"
        TYPESETTING = "typesetting"
        DONE = "done"
        FAILED = "failed"

    UNFINISHED = (Stage.WAITING, Stage.COLLECTING, Stage.TYPESETTING)

    # Without a constraint in the database: to note one, PostgreSQL would wait for the
    # campaign's row, which the check of a wide campaign holds for a while.
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, db_constraint=False, related_name="reports"
    )
    stamp = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    site = models.CharField(max_length=300)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.WAITING)
    content = models.BinaryField(default=b"")
    asked_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "stamp"], name="report_is_made_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"

    @property
    def is_unfinished(self) -> bool:
        return self.stage in self.UNFINISHED
