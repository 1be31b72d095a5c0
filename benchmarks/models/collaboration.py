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
    Study,
    StudyScopedQuerySet,
    links_to_hidden_studies,
    visible_studies,
)
from benchmarks.viewer import Viewer


class Comment(models.Model):
    """A comment on a study, or on one of its cells or runs.

    The author may belong to any lab that can see the study.
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
    author = models.CharField(max_length=150)
    """The author's name, which remains after the account is deleted."""
    is_from_other_lab = models.BooleanField(default=False)
    """Whether the author was no member of the study's lab."""
    text = models.TextField(blank=True)
    """Empty if the comment was removed."""
    written_at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    removed_by = models.CharField(max_length=150, blank=True)

    objects = StudyScopedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cell=None) | models.Q(run=None),
                name="comment_is_about_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"{self.author} on {self.study_id}"


class CommentRevision(models.Model):
    """The text of a comment before an edit or removal. Immutable."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    comment = models.ForeignKey(Comment, models.CASCADE, related_name="revisions")
    text = models.TextField()
    written_at = models.DateTimeField()
    replaced_at = models.DateTimeField(default=timezone.now)
    replaced_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"{self.comment_id} before {self.replaced_at}"


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, viewer: Viewer) -> "EventQuerySet":
        return self.filter(visible_studies(viewer, "study__")).exclude(
            Exists(
                links_to_hidden_studies(
                    Event.quoted_studies.through, "event_id", viewer
                )
            )
        )


class Event(models.Model):
    """Something new in a study: runs, flags, verdicts or publications.

    Only viewers who can see all ``quoted_studies`` can see the event.
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
    message = SentenceField()
    content = models.JSONField(default=dict)
    """The number and the first ids of what is new."""
    quoted_studies = models.ManyToManyField(Study, related_name="+")
    occurred_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = EventQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} of {self.study_id}"


class StudyEventState(models.Model):
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.OneToOneField(Study, models.CASCADE, related_name="+")
    runs = models.PositiveIntegerField(default=0)
    flags = models.JSONField(default=list)
    verdicts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"event state of {self.study_id}"


class FeedToken(models.Model):
    """The secret in the URL of a person's feed. Only its SHA-256 is stored."""

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
    """A URL to which events of a lab's studies, or of one study, are sent.

    The secret that signs the requests is derived from ``salt`` and the server's key.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="webhooks")
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="+")
    """Null for all studies of the lab."""
    target_url = models.CharField(max_length=1_000)
    kinds = models.JSONField(default=list)
    salt = models.CharField(max_length=32)
    site_url = models.CharField(max_length=300)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class Delivery(models.Model):
    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, models.CASCADE, null=True, related_name="+")
    """Null for a test delivery."""
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    attempted_at = models.DateTimeField(null=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    problem = models.CharField(max_length=300, blank=True)
    duration_ms = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "event"], name="event_is_delivered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.state} of {self.webhook_id}"


class OutgoingEmail(models.Model):
    """An email to send. Its text is rendered when it is sent.

    ``encrypted_secret`` is the secret of an invitation link.
    """

    class Kind(models.TextChoices):
        INVITATION = "invitation"
        PASSWORD_RESET = "password_reset"
        ADDRESS_CONFIRMATION = "address_confirmation"
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
    encrypted_secret = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    problem = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Digest(models.Model):
    """A person's regular email about followed studies and, optionally, those of their
    labs."""

    class Frequency(models.TextChoices):
        DAY = "day"
        WEEK = "week"

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="digest"
    )
    frequency = models.CharField(max_length=10, choices=Frequency)
    includes_own_labs = models.BooleanField(default=True)
    due_at = models.DateTimeField(db_index=True)
    last_event_id = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.person} each {self.frequency}"


class Follow(models.Model):
    """A study that a person follows. This gives no access to the study."""

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
    """A page that a person saved with its settings; members of ``lab`` can see it
    too.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, null=True, related_name="+")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    saved_by = models.CharField(max_length=150)
    name = models.CharField(max_length=100)
    path = models.CharField(max_length=4_000)
    saved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(
                fields=["person"], condition=Q(lab=None), name="saved_view_by_person"
            )
        ]

    def __str__(self) -> str:
        return self.name


class SearchMiss(models.Model):
    """Words that people searched for without a result, and how often."""

    words = models.CharField(max_length=100, unique=True)
    count = models.PositiveIntegerField(default=1)
    last_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.words
