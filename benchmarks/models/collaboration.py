"""Collaboration: comments, events, feeds, webhooks, mail and saved views."""

from django.conf import settings
from django.db import models
from django.db.models import Exists, Q
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Agent, Invitation, Lab
from benchmarks.models.run import Run
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import (
    OfStudyQuerySet,
    Study,
    hidden_quotes,
    visible_studies,
)
from benchmarks.viewer import Viewer


class Comment(models.Model):
    """A comment on a study, or on a cell or run of it.

    ``lab`` is the study's; the writer may be of any lab that sees the study.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="comments")
    cell = models.ForeignKey(
        Cell, models.SET_NULL, null=True, blank=True, related_name="comments"
    )
    run = models.ForeignKey(
        Run, models.SET_NULL, null=True, blank=True, related_name="comments"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    who = models.CharField(max_length=150)
    """The name of the person or the agent; it outlives the account."""
    text = models.TextField(blank=True)
    """What it says now; empty once it was removed."""
    written_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_by = models.CharField(max_length=150, blank=True)

    objects = OfStudyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cell=None) | models.Q(run=None),
                name="comment_is_about_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"{self.who} on {self.study_id}"


class EarlierText(models.Model):
    """What a comment said before it was edited or removed. Never changed."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    comment = models.ForeignKey(Comment, models.CASCADE, related_name="earlier_texts")
    text = models.TextField()
    written_at = models.DateTimeField()
    replaced_at = models.DateTimeField(default=timezone.now)
    replaced_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.comment_id} before {self.replaced_at}"


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, viewer: Viewer) -> "EventQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(hidden_quotes(Event.quotes.through, "event_id", viewer))
        )


class Event(models.Model):
    """New runs, flags, verdicts or publications of a study.

    Visible only to viewers of all studies that it ``quotes``.
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


class Webhook(models.Model):
    """A lab's address for the events of its studies, or of one study.

    The secret is derived from ``salt`` and the server's key, and not stored.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="webhooks")
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="+")
    """The one study it is about, of any lab; null: all of the lab's own."""
    url = models.CharField(max_length=1_000)
    kinds = models.JSONField(default=list)
    salt = models.CharField(max_length=32)
    site = models.CharField(max_length=300)
    """Where this installation is reached, for links in what is told."""
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    made_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class Delivery(models.Model):
    """An event for one webhook: waits, is done, or failed for good."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, models.CASCADE, null=True, related_name="+")
    """Null: a test."""
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    next_at = models.DateTimeField(default=timezone.now)
    tried_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    """What the address answered, if it did."""
    problem = models.CharField(max_length=300, blank=True)
    took_ms = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "event"], name="event_is_delivered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.state} of {self.webhook_id}"


class Letter(models.Model):
    """An email: waiting, sent or failed. Its text is written when it is sent.

    ``sealed`` holds the secret of an invitation's link until then.
    """

    class Kind(models.TextChoices):
        INVITATION = "invitation"
        NEW_PASSWORD = "new_password"
        ADDRESS = "address"
        DIGEST = "digest"

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    kind = models.CharField(max_length=20, choices=Kind)
    address = models.CharField(max_length=254)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    invitation = models.ForeignKey(
        Invitation, models.CASCADE, null=True, related_name="+"
    )
    sealed = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    problem = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Digest(models.Model):
    """A person's digest by mail: of followed studies, and of their ``labs``."""

    class Every(models.TextChoices):
        DAY = "day"
        WEEK = "week"

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="digest"
    )
    every = models.CharField(max_length=10, choices=Every)
    labs = models.BooleanField(default=True)
    due_at = models.DateTimeField(db_index=True)
    told_until = models.BigIntegerField(default=0)
    """The id of the last event that was looked at."""

    def __str__(self) -> str:
        return f"{self.person} each {self.every}"


class Follow(models.Model):
    """A study that somebody is told about; they see no more of it than otherwise."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    study = models.ForeignKey(Study, models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "study"], name="study_is_followed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person} follows {self.study_id}"


class SavedView(models.Model):
    """The address of a comparison, study or evidence, saved by a person or a lab."""

    lab = models.ForeignKey(Lab, models.CASCADE, null=True, related_name="+")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    name = models.CharField(max_length=100)
    address = models.CharField(max_length=4_000)
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(
                fields=["person"], condition=Q(lab=None), name="own_views_of_a_person"
            )
        ]

    def __str__(self) -> str:
        return self.name
