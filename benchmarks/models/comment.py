"""What people write about studies, cells and runs."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Agent, Lab
from benchmarks.models.run import Run
from benchmarks.models.study import Study, visible_studies
from benchmarks.viewer import Viewer


class CommentQuerySet(models.QuerySet["Comment"]):
    def visible_to(self, viewer: Viewer) -> "CommentQuerySet":
        return self.filter(visible_studies(viewer, "study__"))


class Comment(models.Model):
    """What somebody wrote about a study, or a cell or a run of it.

    ``lab`` is the study's; who writes may be of any lab that sees it. A cell or a run
    that a better reader no longer finds leaves its comments to the study.
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

    objects = CommentQuerySet.as_manager()

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
