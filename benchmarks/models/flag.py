from django.conf import settings
from django.db import models
from django.db.models import Exists
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Lab
from benchmarks.models.run import Run
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, links_to_hidden_studies, visible_studies
from benchmarks.viewer import Viewer


class FlagQuerySet(models.QuerySet["Flag"]):
    def visible_to(self, viewer: Viewer) -> "FlagQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(
                links_to_hidden_studies(Flag.quoted_studies.through, "flag_id", viewer)
            )
        )

    def current(self) -> "FlagQuerySet":
        return self.filter(resolved_at=None)

    def withholding_verdicts(self) -> "FlagQuerySet":
        severe = self.current().filter(severity__in=Flag.WITHHOLDING_SEVERITIES)
        return severe.exclude(status=Flag.Status.DISMISSED)

    def cells_without_verdict(self) -> frozenset[int]:
        flags = self.withholding_verdicts().filter(cells__isnull=False)
        return frozenset(flags.values_list("cells", flat=True))


class Flag(models.Model):
    """A finding about a study; open until a person confirms or dismisses it.

    ``fingerprint`` identifies the finding and its values (`RuleFinding.fingerprint`).
    ``resolved_at`` is set when a later check no longer finds it; undecided flags are
    deleted then. Only viewers who can see all ``quoted_studies`` can see the flag.
    """

    WITHHOLDING_SEVERITIES = ("impossible", "implausible")

    class Status(models.TextChoices):
        OPEN = "open"
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="flags")
    rule = models.SlugField(max_length=50)
    severity = models.CharField(max_length=12)
    message = SentenceField()
    fingerprint = models.CharField(max_length=64)
    evidence = models.JSONField(default=dict)
    subjects = models.JSONField(default=list)
    cells = models.ManyToManyField(Cell, related_name="flags")
    runs = models.ManyToManyField(Run, related_name="flags")
    quoted_studies = models.ManyToManyField(Study, related_name="+")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.OPEN, db_index=True
    )
    detected_at = models.DateTimeField(default=timezone.now)
    resolved_at = models.DateTimeField(null=True, blank=True)

    objects = FlagQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "fingerprint"], name="finding_is_flagged_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


class FlagDecision(models.Model):
    """A decision about a flag. Never changed or deleted."""

    flag = models.ForeignKey(Flag, models.CASCADE, related_name="decisions")
    status = models.CharField(max_length=10, choices=Flag.Status)
    note = models.TextField()
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.decided_by}: {self.status}"
