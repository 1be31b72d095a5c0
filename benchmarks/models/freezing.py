"""Campaigns that are to be frozen: each row is work left to do, like the outbox's."""

from django.conf import settings
from django.db import models

from benchmarks.models.made import Made
from benchmarks.models.sentence import SentenceField
from benchmarks.models.snapshot import Snapshot
from benchmarks.models.study import Campaign


class Freezing(Made):
    """A campaign somebody asked to be frozen, as it was when it was asked for.

    ``version`` is what the campaign was then: what changed since is not frozen
    unseen. ``attempts`` counts who began: a maker sees by it that another one has taken
    over. ``problem`` is why it failed.
    """

    # Without a constraint in the database, as reports: to ask must not wait for the
    # campaign's row, which the check of a wide campaign holds for a while.
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, db_constraint=False, related_name="freezings"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+"
    )
    licence = models.CharField(max_length=10, choices=Snapshot.Licence)
    licence_note = models.TextField(blank=True)
    version = models.TextField()
    attempts = models.PositiveSmallIntegerField(default=0)
    problem = SentenceField(blank=True)
    snapshot = models.OneToOneField(
        Snapshot, models.CASCADE, null=True, blank=True, related_name="freezing"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign"],
                condition=models.Q(stage__in=["waiting", "collecting", "typesetting"]),
                name="campaign_is_frozen_once_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"freezing {self.pk}"
