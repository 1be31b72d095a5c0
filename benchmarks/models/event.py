"""What happened in studies, and who is told."""

from django.conf import settings
from django.db import models
from django.db.models import Exists
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, hidden_quotes, visible_studies
from benchmarks.viewer import Viewer


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, viewer: Viewer) -> "EventQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(hidden_quotes(Event.quotes.through, "event_id", viewer))
        )


class Event(models.Model):
    """Something that happened in a study: new runs, flags, verdicts, publications.

    One about flags is told to whoever sees the studies that they ``quote``, as the
    flags are.
    """

    class Kind(models.TextChoices):
        RUNS = "runs"
        FLAGS = "flags"
        VERDICTS = "verdicts"
        PUBLISHED = "published"
        WITHDRAWN = "withdrawn"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=12, choices=Kind)
    sentence = SentenceField()
    content = models.JSONField(default=dict)
    """For programs: how many, and the ids of the first of them."""
    quotes = models.ManyToManyField(Study, related_name="+")
    at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = EventQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} of {self.study_id}"


class StudyNews(models.Model):
    """What was last told of a study, to find what is new."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.OneToOneField(Study, models.CASCADE, related_name="+")
    runs = models.PositiveIntegerField(default=0)
    flags = models.JSONField(default=list)
    verdicts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"news of {self.study_id}"


class FeedToken(models.Model):
    """The secret in the address of somebody's feed. Only its SHA-256 is stored."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"vf_{self.prefix}_..."
