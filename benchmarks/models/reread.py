"""History read again by newer parsers, and what came of it."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.study import Study


class Reread(models.Model):
    """One reading of old uploads by today's parsers, done in steps that can be resumed.

    Uploads are taken in the order of their ids; ``cursor`` is the last one done. The
    three counts are of samples, ``failed`` is of uploads. ``changes`` and ``failures``
    keep the first of each as evidence.
    """

    study = models.ForeignKey(
        Study, models.CASCADE, null=True, blank=True, related_name="rereads"
    )
    tool = models.SlugField(max_length=50, blank=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    cursor = models.PositiveBigIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    vanished = models.PositiveIntegerField(default=0)
    appeared = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    changes = models.JSONField(default=list)
    failures = models.JSONField(default=list)

    class Meta:
        indexes = [
            models.Index(
                fields=["id"],
                name="reread_unfinished",
                condition=models.Q(finished_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"reread {self.pk}"
