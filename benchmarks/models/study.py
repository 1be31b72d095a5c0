"""What is studied: studies, the machines, and the systems under test."""

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.platforms import NATIVE, unknown
from benchmarks.viewer import Viewer


def visible_studies(viewer: Viewer, prefix: str = "") -> Q:
    """Return the condition under which a study may be seen, without a join."""
    seen = Q(**{f"{prefix}visibility": Study.Visibility.PUBLIC})
    seen |= Q(**{f"{prefix}lab_id__in": viewer.lab_ids})
    if not viewer.lab_ids:
        return seen
    share = Study.shared_with.through
    shared = share._default_manager.filter(lab_id__in=viewer.lab_ids)
    return seen | Q(
        **{
            f"{prefix}visibility": Study.Visibility.SHARED,
            f"{prefix}id__in": shared.values("study_id"),
        }
    )


def hidden_quotes(
    links: type[models.Model], name: str, viewer: Viewer
) -> models.QuerySet[models.Model]:
    """Return links from the outer row (column ``name``) to studies that are hidden."""
    quoted = links._default_manager.filter(**{name: models.OuterRef("pk")})
    # Not by a join: row-level security would hide the rows looked for.
    seen = Study._default_manager.filter(visible_studies(viewer)).values("pk")
    return quoted.exclude(study__in=seen)


M = TypeVar("M", bound=models.Model)


class OfStudyQuerySet(models.QuerySet[M]):
    """Rows of studies, by ``study``."""

    def visible_to(self, viewer: Viewer) -> Self:
        return self.filter(visible_studies(viewer, "study__"))


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, viewer: Viewer) -> "StudyQuerySet":
        return self.filter(visible_studies(viewer))


EFFICIENCY_RULES = 5
"""Raised when cells are compared with others by other rules: `manage.py prepare` then
sets the cells of all studies against theirs once more."""


def efficiency_rules() -> int:
    return EFFICIENCY_RULES


class Study(models.Model):
    """A study of a lab: its systems, runs, text and visibility."""

    class Visibility(models.TextChoices):
        PRIVATE = "private"
        SHARED = "shared"
        PUBLIC = "public"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="studies")
    slug = models.SlugField(max_length=100)
    title = models.CharField(max_length=300)
    author = models.CharField(max_length=200, blank=True)
    institution = models.CharField(max_length=300, blank=True)
    published = models.CharField(max_length=20, blank=True)
    language = models.CharField(max_length=10, blank=True)
    note = models.TextField(blank=True)
    factors = models.JSONField(default=dict, blank=True)
    visibility = models.CharField(
        max_length=20, choices=Visibility, default=Visibility.PRIVATE
    )
    shared_with = models.ManyToManyField(Lab, related_name="+", blank=True)
    """The labs that see it while it is ``shared``."""
    data_licence = models.CharField(max_length=100, blank=True)
    """Under what others may use its data: an SPDX name, or words."""
    archived_at = models.DateTimeField(null=True, blank=True)
    """Since when nothing is added to it any more; null: open."""
    equivalence_margin_percent = models.FloatField(default=2.0)
    baseline_max_age_days = models.PositiveIntegerField(default=30)
    reference_system = models.ForeignKey(
        "System", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    efficiency_rules = models.PositiveSmallIntegerField(default=efficiency_rules)
    """Which rules its stored efficiencies are of."""
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """A tombstone: its data are gone, what was published of it is withdrawn."""

    objects = StudyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "slug"], name="study_slug_is_unique_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_public(self) -> bool:
        return self.visibility == self.Visibility.PUBLIC

    @property
    def is_private(self) -> bool:
        return self.visibility == self.Visibility.PRIVATE

    def may_rest_on(self, other: "Study") -> bool:
        """Whether all who see this study of a lab see that one of the same lab, too."""
        return self.is_private or other.is_public or other.pk == self.pk


class HostQuerySet(models.QuerySet["Host"]):
    def visible_to(self, viewer: Viewer) -> "HostQuerySet":
        seen = System.objects.visible_to(viewer).values("host_id")
        return self.filter(Q(lab_id__in=viewer.lab_ids) | Q(id__in=seen))


class Host(models.Model):
    """A physical machine and its facts."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="hosts")
    slug = models.SlugField(max_length=100)
    title = models.CharField(max_length=300, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = HostQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "slug"], name="host_slug_is_unique_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.slug


class SystemQuerySet(models.QuerySet["System"]):
    """Systems, scoped: a lab's own, and those a visible study measured."""

    def visible_to(self, viewer: Viewer) -> "SystemQuerySet":
        # Here, for cell.py imports this module.
        from benchmarks.models.cell import Cell

        # Exists: a join would give a system once for each of its cells.
        measured = Cell.objects.filter(
            visible_studies(viewer, "study__"), system_id=models.OuterRef("id")
        )
        return self.filter(Q(lab_id__in=viewer.lab_ids) | models.Exists(measured))


class System(models.Model):
    """The system under test: host, platform, guest and options."""

    STATED = (
        *("hypervisor", "hypervisor_version", "virtualization"),
        *("guest_os", "guest_bits", "vcpus", "memory_bytes"),
    )

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="systems")
    host = models.ForeignKey(Host, models.PROTECT, related_name="systems")
    hypervisor = models.CharField(max_length=100)
    hypervisor_version = models.CharField(max_length=100, blank=True)
    virtualization = models.CharField(max_length=50, blank=True)
    guest_os = models.CharField(max_length=200, blank=True)
    guest_bits = models.PositiveSmallIntegerField(null=True, blank=True)
    vcpus = models.PositiveIntegerField(null=True, blank=True)
    memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    options = models.JSONField(default=dict, blank=True)
    fingerprint = models.CharField(max_length=64)
    # A program emulates its processor: so it was stated, or an agent detected there.
    is_emulated = models.BooleanField(default=False)
    # Its Windows ran above its own hypervisor (VBS or the Hyper-V role), as agents saw.
    is_above_hypervisor = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = SystemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "fingerprint"], name="system_is_stored_once_in_a_lab"
            )
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def is_native(self) -> bool:
        """No hypervisor: the machine itself."""
        return self.hypervisor == NATIVE

    @property
    def is_native_above_hypervisor(self) -> bool:
        return self.is_native and self.is_above_hypervisor

    @property
    def platform_note(self) -> str:
        """That its hypervisor is none of the known ones; empty if it is."""
        return unknown(self.hypervisor)

    @property
    def stated(self) -> dict[str, Any]:
        """What was stated of it, by name, beside its host and its options."""
        return {name: getattr(self, name) for name in self.STATED}

    @property
    def platform(self) -> str:
        """The hypervisor, its version and the type of virtualization."""
        parts = (self.hypervisor, self.hypervisor_version, self.virtualization)
        return " ".join(filter(None, parts))

    @property
    def label(self) -> str:
        """A name for people, from what was stated."""
        bits = f"{self.guest_bits}-bit" if self.guest_bits else ""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        parts = [
            self.platform,
            self.guest_os,
            bits,
            f"({options})" if options else "",
        ]
        return " ".join(part for part in parts if part)


class Session(models.Model):
    """Runs made in one sitting: one day, kernel, firmware and microcode.

    ``host`` is the machine of a derived session; a named one may have several.
    """

    class Origin(models.TextChoices):
        NAMED = "named"
        DERIVED = "derived"
        CORRECTED = "corrected"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="sessions")
    name = models.CharField(max_length=200)
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.NAMED)
    reason = SentenceField(blank=True)
    host = models.ForeignKey(
        Host, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = OfStudyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="session_name_is_unique_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return self.name


class CoRun(models.Model):
    """The group of runs that ran together; a run's slot is its place in it."""

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="coruns")
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="corun_name_is_unique_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return self.name
