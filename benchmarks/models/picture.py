"""Charts that somebody asked for as files: drawn by a worker, kept for a while."""

from django.db import models

from benchmarks.models.version import Making


class Picture(Making):
    """A forest plot as a file.

    ``drawn`` is all that is drawn, ``stamp`` a digest of it and of the form: the same
    plot is drawn once, and only who may see these numbers can ask for it again.
    """

    stamp = models.CharField(max_length=64)
    form = models.CharField(max_length=10)
    drawn = models.JSONField()
    content = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["stamp"], name="picture_is_drawn_once")
        ]

    def __str__(self) -> str:
        return f"picture {self.pk}"
