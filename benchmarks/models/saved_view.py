"""Addresses that people keep under a name."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models.lab import Lab


class SavedView(models.Model):
    """A comparison, a study or evidence with its whole choice, under a name.

    Of one person, or shared with a ``lab``. It is an address and nothing else: whoever
    opens it sees there what they may see.
    """

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
