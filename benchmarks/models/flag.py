"""Plausibility flags, and what people decided about them."""

from django.conf import settings
from django.db import models
from django.db.models import Exists
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Lab
from benchmarks.models.run import Run
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, hidden_quotes, visible_studies
from benchmarks.viewer import Viewer


class FlagQuerySet(models.QuerySet["Flag"]):
    def visible_to(self, viewer: Viewer) -> "FlagQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(hidden_quotes(Flag.quotes.through, "flag_id", viewer))
        )

    def current(self) -> "FlagQuerySet":
        """Return those that still hold: found by the last check."""
        return self.filter(gone_at=None)

    def withholding(self) -> "FlagQuerySet":
        """Return those that keep a verdict from their cells."""
        doubted = self.current().filter(severity__in=Flag.SEVERE)
        return doubted.exclude(status=Flag.Status.DISMISSED)

    def withheld_cells(self) -> frozenset[int]:
        """Return the ids of cells that get no verdict because of these flags."""
        found = self.withholding().filter(cells__isnull=False)
        return frozenset(found.values_list("cells", flat=True))


class Flag(models.Model):
    """A finding about a study; open until a person confirms or dismisses it.

    Its ``fingerprint`` identifies finding and values. ``gone_at``: a later check did
    not find it again; kept only if it was decided. Visible only to viewers of all
    studies that it ``quotes``.
    """

    SEVERE = ("impossible", "implausible")

    class Status(models.TextChoices):
        OPEN = "open"
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="flags")
    rule = models.SlugField(max_length=50)
    severity = models.CharField(max_length=12)
    sentence = SentenceField()
    fingerprint = models.CharField(max_length=64)
    evidence = models.JSONField(default=dict)
    subjects = models.JSONField(default=list)
    cells = models.ManyToManyField(Cell, related_name="flags")
    runs = models.ManyToManyField(Run, related_name="flags")
    quotes = models.ManyToManyField(Study, related_name="+")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.OPEN, db_index=True
    )
    found_at = models.DateTimeField(default=timezone.now)
    gone_at = models.DateTimeField(null=True, blank=True)

    objects = FlagQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "fingerprint"], name="finding_is_flagged_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


class Decision(models.Model):
    """What somebody decided about a flag, and why. Never changed, never deleted."""

    flag = models.ForeignKey(Flag, models.CASCADE, related_name="decisions")
    status = models.CharField(max_length=10, choices=Flag.Status)
    note = models.TextField()
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.who}: {self.status}"
