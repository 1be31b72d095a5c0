from django.conf import settings
from django.db import models
from django.utils import timezone

from benchmarks.models.cell import Cell
from benchmarks.models.lab import Lab
from benchmarks.viewer import Viewer


class CustomToolQuerySet(models.QuerySet["CustomTool"]):
    def visible_to(self, viewer: Viewer) -> "CustomToolQuerySet":
        measured = Cell.objects.visible_to(viewer).filter(
            case__tool=models.OuterRef("name"), n__gt=0
        )
        of_own_labs = models.Q(lab_id__in=viewer.lab_ids)
        return self.filter(of_own_labs | models.Exists(measured))


class CustomTool(models.Model):
    """A tool that a lab declared, named ``lab:slug``. Its newest version is in
    effect.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="custom_tools")
    slug = models.SlugField(max_length=50)
    name = models.CharField(max_length=101, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = CustomToolQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "slug"], name="custom_tool_slug_is_unique_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.name


class CustomToolVersion(models.Model):
    """A version of a lab's declaration of its tool. Immutable."""

    tool = models.ForeignKey(CustomTool, models.CASCADE, related_name="versions")
    number = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=100)
    homepage = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    metrics = models.JSONField(default=list)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    declared_by = models.CharField(max_length=150)
    declared_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tool", "number"], name="custom_tool_version_is_numbered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.tool} version {self.number}"
