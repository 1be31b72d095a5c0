"""Studies, machines, systems under test, sessions and co-runs."""

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.hypervisor_names import NATIVE, unknown_hypervisor_reason
from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.study_sources import DESCRIBED, Source, sources_from_json
from benchmarks.viewer import Viewer


def visible_studies(viewer: Viewer, prefix: str = "") -> Q:
    """Return the condition that a study is visible to the viewer.

    ``prefix`` is the path to the study in the query, such as ``study__``. The condition
    does not join the labs that the study is shared with, so rows are not repeated.
    """
    visible = Q(**{f"{prefix}visibility": Study.Visibility.PUBLIC})
    visible |= Q(**{f"{prefix}lab_id__in": viewer.lab_ids})
    if not viewer.lab_ids:
        return visible
    links = Study.shared_with.through
    shared = links._default_manager.filter(lab_id__in=viewer.lab_ids)
    return visible | Q(
        **{
            f"{prefix}visibility": Study.Visibility.SHARED,
            f"{prefix}id__in": shared.values("study_id"),
        }
    )


def links_to_hidden_studies(
    links: type[models.Model], name: str, viewer: Viewer
) -> models.QuerySet[models.Model]:
    """Return links of the outer row to studies that the viewer cannot see.

    ``links`` is the table of links, ``name`` its column for the outer row.
    """
    quoted = links._default_manager.filter(**{name: models.OuterRef("pk")})
    # Not a join: row-level security would remove the hidden rows.
    visible = Study._default_manager.filter(visible_studies(viewer)).values("pk")
    return quoted.exclude(study__in=visible)


M = TypeVar("M", bound=models.Model)


class StudyScopedQuerySet(models.QuerySet[M]):
    def visible_to(self, viewer: Viewer) -> Self:
        return self.filter(visible_studies(viewer, "study__"))


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, viewer: Viewer) -> "StudyQuerySet":
        return self.filter(visible_studies(viewer))


CURRENT_EFFICIENCY_RULES = 6
"""The version of the rules that choose baselines. If it is increased, `manage.py
prepare` recomputes all efficiencies and reads uploads again that may have failed or
have derived costs."""


def current_efficiency_rules() -> int:
    return CURRENT_EFFICIENCY_RULES


class Study(models.Model):
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
    """Labs whose members can see the study if its visibility is ``shared``."""
    data_licence = models.CharField(max_length=100, blank=True)
    """An SPDX identifier or free text."""
    sources = models.JSONField(default=list, blank=True)
    """Published works that the numbers come from: `benchmarks/study_sources.py`."""
    archived_at = models.DateTimeField(null=True, blank=True)
    """Archived studies accept no uploads."""
    comments_closed = models.BooleanField(default=False)
    """Whether only members of the study's lab can comment."""
    equivalence_margin_percent = models.FloatField(default=2.0)
    baseline_max_age_days = models.PositiveIntegerField(default=30)
    reference_system = models.ForeignKey(
        "System", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    system_references = models.JSONField(default=dict, blank=True)
    """Systems that replace ``reference_system`` for some systems: id by id."""
    efficiency_rules = models.PositiveSmallIntegerField(
        default=current_efficiency_rules
    )
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)
    """Set if the data were deleted and the publications withdrawn. The row remains
    because the publications refer to it."""

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

    @property
    def original_works(self) -> tuple[Source, ...]:
        return sources_from_json(self.sources)

    @property
    def main_source(self) -> Source | None:
        """The first work that has the numbers of the study."""
        works = self.original_works
        return next((work for work in works if work.relation != DESCRIBED), None)

    def reference_for(self, system_id: int) -> int | None:
        """Return the id of the system that replaces a native baseline, or None."""
        own: int | None = self.system_references.get(str(system_id))
        return own or self.reference_system_id

    @property
    def reference_ids(self) -> set[int]:
        ids = {self.reference_system_id, *self.system_references.values()}
        return {pk for pk in ids if pk is not None}

    def may_use_baselines_of(self, other: "Study") -> bool:
        """Return whether viewers of this study can see ``other``, of the same lab."""
        return self.is_private or other.is_public or other.pk == self.pk


class HostQuerySet(models.QuerySet["Host"]):
    def visible_to(self, viewer: Viewer) -> "HostQuerySet":
        visible = System.objects.visible_to(viewer).values("host_id")
        return self.filter(Q(lab_id__in=viewer.lab_ids) | Q(id__in=visible))


class Host(models.Model):
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
    """Systems, visible to members of their lab and to viewers of studies with them."""

    def visible_to(self, viewer: Viewer) -> "SystemQuerySet":
        from benchmarks.models.cell import Cell

        # A join would repeat a system for each cell.
        measured = Cell.objects.filter(
            visible_studies(viewer, "study__"), system_id=models.OuterRef("id")
        )
        return self.filter(Q(lab_id__in=viewer.lab_ids) | models.Exists(measured))


class System(models.Model):
    """A system under test: host, platform, guest and options.

    A field is null or empty if it was not stated.
    """

    STATED_FIELDS = (
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
    # Whether the processor is emulated, as stated or as detected by an agent.
    is_emulated = models.BooleanField(default=False)
    # Windows itself ran on Hyper-V (VBS or the Hyper-V role).
    is_nested = models.BooleanField(default=False)
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
        return self.hypervisor == NATIVE

    @property
    def is_native_nested(self) -> bool:
        return self.is_native and self.is_nested

    @property
    def platform_warning(self) -> str:
        return unknown_hypervisor_reason(self.hypervisor)

    @property
    def stated_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.STATED_FIELDS}

    @property
    def distinctive_facts(self) -> dict[str, str]:
        """The facts in which configurations of a hypervisor may differ, by name."""
        stated = {
            **self.options,
            "virtualization": self.virtualization,
            "version": self.hypervisor_version,
            "guest": self.guest_os,
            "bits": self.guest_bits,
            "vCPUs": self.vcpus,
        }
        return {name: str(value) for name, value in stated.items() if value}

    @property
    def platform(self) -> str:
        parts = (self.hypervisor, self.hypervisor_version, self.virtualization)
        return " ".join(filter(None, parts))

    @property
    def label(self) -> str:
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
    """A group of a study's runs that were measured together.

    See docs/method.md, Sessions. Named sessions may have several hosts. Statistics
    count a session as part of the session ``counted_with``, for ``counted_reason``.
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
    counted_with = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="counted_sessions"
    )
    counted_reason = SentenceField(blank=True)

    objects = StudyScopedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="session_name_is_unique_in_a_study"
            )
        ]

    def __str__(self) -> str:
        return self.name


class CoRun(models.Model):
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
