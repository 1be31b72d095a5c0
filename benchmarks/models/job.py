"""What a task makes of a study while somebody waits for it."""

from django.db import models
from django.utils import timezone


class Job(models.Model):
    """Something long in the making: the row is the work, a message only a hint.

    ``site`` is the address under which it was asked for; ``stage`` says how far it is,
    ``seen_at`` when a maker last gave a sign of life.
    """

    class Stage(models.TextChoices):
        WAITING = "waiting"
        COLLECTING = "collecting"
        TYPESETTING = "typesetting"
        DONE = "done"
        FAILED = "failed"

    UNFINISHED = (Stage.WAITING, Stage.COLLECTING, Stage.TYPESETTING)

    site = models.CharField(max_length=300)
    stage = models.CharField(max_length=20, choices=Stage, default=Stage.WAITING)
    asked_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    @property
    def is_unfinished(self) -> bool:
        return self.stage in self.UNFINISHED
