"""Reports that people asked for: made once, kept as long as they would say the same."""

from django.conf import settings
from django.db import models

from benchmarks.models.job import Job
from benchmarks.models.study import Study


class Report(Job):
    """A study's report as a file, for one reader.

    ``stamp`` is a digest of all that it says and of whom it says it to: a study that
    changed has another one.
    """

    # Without a constraint in the database: to note one, PostgreSQL would wait for the
    # study's row, which the check of a wide study holds for a while.
    study = models.ForeignKey(
        Study, models.CASCADE, db_constraint=False, related_name="reports"
    )
    stamp = models.CharField(max_length=64)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "stamp"], name="report_is_made_once"
            )
        ]

    def __str__(self) -> str:
        return f"report {self.pk}"
