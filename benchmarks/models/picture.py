"""Charts that somebody asked for as files: drawn by a worker, kept for a while."""

from django.db import models

from benchmarks.models.version import Making


class Picture(Making):
    """A forest plot as a file; ``stamp`` is a digest of ``drawn`` and ``form``."""

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
