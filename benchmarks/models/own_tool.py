"""Benchmarks that a lab declared itself, and every version of what it declared."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Lab
from benchmarks.viewer import Viewer


class OwnToolQuerySet(models.QuerySet["OwnTool"]):
    def visible_to(self, viewer: Viewer) -> "OwnToolQuerySet":
        """Return those of the viewer's labs, and those that a visible cell is of."""
        measured = Cell.objects.visible_to(viewer).filter(
            case__tool=models.OuterRef("name"), n__gt=0
        )
        own = models.Q(lab_id__in=viewer.lab_ids)
        return self.filter(own | models.Exists(measured))


class OwnTool(models.Model):
    """A tool of one lab, called ``lab:slug``; its newest version counts."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="own_tools")
    slug = models.SlugField(max_length=50)
    name = models.CharField(max_length=101, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = OwnToolQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "slug"], name="own_tool_slug_is_unique_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.name


class OwnToolVersion(models.Model):
    """A lab's declaration of its tool (``own_tools.declaration``). Immutable.

    ``who`` outlives the account of a person, or names an agent.
    """

    tool = models.ForeignKey(OwnTool, models.CASCADE, related_name="versions")
    number = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=100)
    homepage = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    metrics = models.JSONField(default=list)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "number"], name="own_tool_version_is_numbered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool} version {self.number}"
