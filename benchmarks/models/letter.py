"""Letters that go out by mail, and what somebody is told by them."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Invitation
from benchmarks.models.study import Study


class Letter(models.Model):
    """One letter: waits, was sent, or failed for good. It is written when it is sent.

    ``sealed`` holds what the link of an invitation needs, until it is sent.
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
    """What somebody wants to be told by mail, and how often.

    ``labs``: all studies of their labs, beside those that they follow.
    """

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
