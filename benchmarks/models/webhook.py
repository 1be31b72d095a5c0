"""Addresses that are told what happens, and what became of each telling."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.event import Event
from benchmarks.models.lab import Lab
from benchmarks.models.study import Study


class Webhook(models.Model):
    """An address that a lab has told of events: of its studies, or of one study.

    Its secret is stored nowhere: it is made of ``salt`` and the server's own key.
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
