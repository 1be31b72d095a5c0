"""Reports that people asked for: made once, kept as long as they would say the same."""

from django.conf import settings
from django.db import models

from benchmarks.models.made import Made
from benchmarks.models.study import Campaign


class Report(Made):
    """A campaign's report as a file, for one reader.

    ``stamp`` is a digest of all that it says and of whom it says it to: a campaign that
    changed has another one.
    """

    # Without a constraint in the database: to note one, PostgreSQL would wait for the
    # campaign's row, which the check of a wide campaign holds for a while.
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, db_constraint=False, related_name="reports"
    )
    stamp = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "stamp"], name="report_is_made_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"
