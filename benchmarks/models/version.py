"""Versions: what a study said on a day, frozen so that it can be cited for ever."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.study import Study, visible_studies
from benchmarks.viewer import Viewer


class VersionQuerySet(models.QuerySet["Version"]):
    """Versions, scoped: they are seen by whoever sees their study."""

    def visible_to(self, viewer: Viewer) -> "VersionQuerySet":
        return self.filter(visible_studies(viewer, "study__"))


class Version(models.Model):
    """A study as it was: its files never change, its address never goes.

    ``judged`` is the level the rules gave it (``rule_set``), ``digest`` a SHA-256 over
    the digests of its files, ``product_version`` the product that wrote them.
    ``licence`` keeps what was answered about licences that restrict publishing. One
    that turned out wrong is withdrawn with a reason; it is not deleted.
    """

    class Licence(models.TextChoices):
        FREE = "free"
        PERMITTED = "permitted"

    lab = models.ForeignKey(Lab, models.PROTECT, related_name="versions")
    study = models.ForeignKey(Study, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    product_version = models.CharField(max_length=50)
    rule_set = models.PositiveSmallIntegerField()
    judged = models.CharField(max_length=10)
    undisclosed = models.JSONField(default=dict)
    licence = models.CharField(max_length=10, choices=Licence)
    licence_note = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawn_reason = models.TextField(blank=True)

    objects = VersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "number"], name="version_number_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | ~Q(withdrawn_reason=""),
                name="version_is_withdrawn_with_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.number}"

    @property
    def level(self) -> str:
        """Its level: a lab's becomes verified when a reviewer of another lab signs."""
        is_signed = self.judged == "lab" and bool(self.signatures.all())
        return "verified" if is_signed else self.judged


class VersionFile(models.Model):
    """One form of a version. A trigger of the database refuses to change it."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="files")
    form = models.CharField(max_length=10)
    content = models.BinaryField()
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "form"], name="version_has_each_form_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.version} {self.form}"


class Signature(models.Model):
    """A reviewer of another lab stands for a version, and says what was looked at."""

    version = models.ForeignKey(Version, models.CASCADE, related_name="signatures")
    lab = models.ForeignKey(Lab, models.PROTECT, related_name="signatures")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    who = models.CharField(max_length=150)
    note = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["version", "lab"], name="lab_signs_a_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.who} for {self.version}"
