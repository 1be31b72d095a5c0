"""Power meters, their logs, and the energy of runs."""

from django.db import models
from django.utils import timezone

from benchmarks.analysis.energy_ratio import (
    MIN_COVERAGE,
    EnergyPerWork,
    MeterFacts,
    per_work,
)
from benchmarks.models.lab import Agent, Lab
from benchmarks.models.run import Run
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Host, visible_studies
from benchmarks.viewer import Viewer


class Meter(models.Model):
    """A power meter of a machine.

    ``gain_error`` is the largest relative error common to all its readings (0.015 for
    1.5 %).
    """

    class Kind(models.TextChoices):
        WATTS_UP = "watts-up", "Watts up?"
        IPMI_DCMI = "ipmi-dcmi", "IPMI DCMI"
        RAPL = "rapl", "RAPL"
        CSV = "csv", "CSV"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    host = models.ForeignKey(Host, models.CASCADE, related_name="meters")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind)
    gain_error = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host", "name"], name="meter_name_is_unique_at_a_host"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_cpu_only(self) -> bool:
        """Whether the meter measures only the processor, without power supply, disk and
        fan."""
        return self.kind == self.Kind.RAPL

    @property
    def comparison_facts(self) -> MeterFacts:
        # A meter moved between machines keeps its name.
        name = f"{self.name} of lab {self.lab_id}"
        return MeterFacts(name, self.gain_error, self.is_cpu_only)


class PowerChunk(models.Model):
    """An uploaded part of a power log, unchanged.

    ``first_at`` and ``last_at`` are the times of its samples by the time server's
    clock. They are null until a stamp relates the clock of the log to the server's
    clock.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    meter = models.ForeignKey(Meter, models.CASCADE, related_name="chunks")
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+")
    key = models.UUIDField()
    digest = models.CharField(max_length=64)
    log = models.UUIDField(db_index=True)
    chunk_number = models.PositiveIntegerField()
    text = models.TextField()
    clock_stamps = models.JSONField(default=list)
    sample_count = models.PositiveIntegerField()
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "agent", "key"], name="power_chunk_is_uploaded_once"
            )
        ]
        indexes = [
            models.Index(fields=["meter", "first_at"], name="power_chunk_by_time")
        ]

    def __str__(self) -> str:
        return f"chunk {self.chunk_number} of {self.log}"


class RunWindow(models.Model):
    """The start, end and machine of a run.

    If ``is_external_clock``, the times come from the stamps of a time server.
    """

    run = models.OneToOneField(
        Run, models.CASCADE, primary_key=True, related_name="window"
    )
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    is_external_clock = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["host", "started_at"], name="run_window_by_time")
        ]

    def __str__(self) -> str:
        return f"window of {self.run_id}"


class RunEnergyQuerySet(models.QuerySet["RunEnergy"]):
    def visible_to(self, viewer: Viewer) -> "RunEnergyQuerySet":
        return self.filter(visible_studies(viewer, "run__study__"))


class RunEnergy(models.Model):
    """The energy of one run, measured by one meter.

    Overlapping runs have the same energy (that of all together) and the same
    ``lead_run``. ``duration_s`` is the duration of the work, ``measured_s`` the part
    with readings; ``mean_w`` is null without any.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="energies")
    meter = models.ForeignKey(Meter, models.CASCADE, related_name="energies")
    lead_run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    overlapping_runs = models.PositiveSmallIntegerField(default=1)
    is_external_clock = models.BooleanField(default=False)
    duration_s = models.FloatField()
    measured_s = models.FloatField(default=0.0)
    mean_w = models.FloatField(null=True)
    idle_w = models.FloatField(null=True)
    sample_count = models.PositiveIntegerField(default=0)
    interval_s = models.FloatField(null=True)
    edge_error_j = models.FloatField(null=True)
    clock_error_s = models.FloatField(null=True)
    operations = models.FloatField(null=True)
    reason = SentenceField(blank=True)

    objects = RunEnergyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "meter"], name="run_has_one_energy_of_a_meter"
            )
        ]
        verbose_name_plural = "run energies"

    def __str__(self) -> str:
        return f"energy of {self.run}"

    @property
    def coverage(self) -> float:
        return self.measured_s / self.duration_s

    @property
    def is_covered(self) -> bool:
        return self.mean_w is not None and self.coverage >= MIN_COVERAGE

    @property
    def is_shared(self) -> bool:
        return self.overlapping_runs > 1

    @property
    def energy_j(self) -> float | None:
        """Mean power times duration; None if too little of the duration was
        measured.
        """
        if self.mean_w is None or not self.is_covered:
            return None
        return self.mean_w * self.duration_s

    @property
    def above_idle_j(self) -> float | None:
        if self.energy_j is None or self.idle_w is None:
            return None
        return self.energy_j - self.idle_w * self.duration_s

    @property
    def per_work(self) -> EnergyPerWork | None:
        if not self.energy_j:
            return None
        return per_work(self.energy_j, self.duration_s, self.operations)
