"""What each study's check found of a cell's cost: what pages over all studies read."""

from django.db import models

from benchmarks.models.cell import Case, Cell
from benchmarks.models.lab import Lab
from benchmarks.models.study import Host, OfStudyQuerySet, Study, System


class Effect(models.Model):
    """The ln ratio of a cell of one virtual machine to native, with its interval.

    One per primary, directed cell of a virtual system; written by the study's check.
    ``log_ratio`` is null without a baseline, ``variance`` for single runs, ``log_low``
    and ``log_high`` without an interval. ``obstacle`` says why it is not pooled.
    """

    class Obstacle(models.TextChoices):
        """In the order of their weight: the first that holds is named."""

        NO_NATIVE = "no_native"
        RELATIVE = "relative"
        OTHER_HOST = "other_host"
        OTHER_PARAMETERS = "other_parameters"
        UNIT_MISMATCH = "unit_mismatch"
        AMBIGUOUS = "ambiguous_baseline"
        ZERO = "zero"
        EMULATION = "emulation"
        FLAGGED = "flagged"
        CLOCK_SUSPECT = "clock_suspect"
        NOISY_BASELINE = "noisy_baseline"
        NO_STEADY_STATE = "no_steady_state"
        SINGLE_RUN = "single_run"
        NO_SPREAD = "no_spread"

    cell = models.OneToOneField(
        Cell, models.CASCADE, primary_key=True, related_name="effect"
    )
    # Found by their study or their question only.
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", db_index=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="effects")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+", db_index=False)
    system = models.ForeignKey(System, models.CASCADE, related_name="+", db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="+", db_index=False)
    hypervisor = models.CharField(max_length=100)
    virtualization = models.CharField(max_length=50, blank=True)
    work = models.CharField(max_length=50, blank=True)
    """A slug of the work classes; empty where the case is of none."""

    log_ratio = models.FloatField(null=True)
    log_low = models.FloatField(null=True)
    log_high = models.FloatField(null=True)
    variance = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    """Runs of the side that has fewer."""
    verdict = models.PositiveSmallIntegerField()
    """Of `analysis.verdicts.Verdict`."""
    obstacle = models.CharField(max_length=20, choices=Obstacle, blank=True)

    UNUSABLE = (Obstacle.RELATIVE, Obstacle.EMULATION, Obstacle.NO_STEADY_STATE)
    """Whose ratio is none to the own native, of no real machine, or no single one."""

    objects = OfStudyQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["hypervisor", "work"], name="effect_by_question")
        ]

    def __str__(self) -> str:
        return f"effect of {self.cell_id}"


class EffectSummary(models.Model):
    """Effects of a system of a study in a class of work, counted.

    ``ratios`` of the ``cells`` count (not `Effect.UNUSABLE`); ``low`` and ``high`` are
    their extreme logarithms, ``total`` the sum, ``fewest`` and ``most`` their runs.
    ``impossible`` ones, by a flag, are in no other number.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="+", db_index=False)
    system = models.ForeignKey(System, models.CASCADE, related_name="+")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+")
    work = models.CharField(max_length=50, blank=True)
    cells = models.PositiveIntegerField()
    ratios = models.PositiveIntegerField()
    low = models.FloatField(default=0.0)
    high = models.FloatField(default=0.0)
    total = models.FloatField(default=0.0)
    fewest = models.PositiveIntegerField(default=0)
    most = models.PositiveIntegerField(default=0)
    flagged = models.PositiveIntegerField(default=0)
    impossible = models.PositiveIntegerField(default=0)

    objects = OfStudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "effect summaries"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "system", "work"], name="effects_are_counted_once"
            )
        ]

    def __str__(self) -> str:
        return f"effects of system {self.system_id} at {self.work}"


class StudyRollup(models.Model):
    """Numbers of a study for the first page, valid for ``version`` (`data_versions`).

    ``leant_on`` are the studies whose rows were counted, ``bins`` how many pairs lie at
    which ratio. Renewed by the sweeper.
    """

    study = models.OneToOneField(
        Study, models.CASCADE, primary_key=True, related_name="+"
    )
    version = models.TextField()
    leant_on = models.JSONField()
    counts = models.JSONField()
    bins = models.JSONField()

    def __str__(self) -> str:
        return f"rollup of study {self.study_id}"


class PublicEvidence(models.Model):
    """Stored summaries of all public studies for a hypervisor and a class of work."""

    hypervisor = models.CharField(max_length=100)
    work = models.CharField(max_length=50)
    without = models.JSONField(default=dict)
    with_flagged = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "public evidence"
        constraints = [
            models.UniqueConstraint(
                fields=["hypervisor", "work"], name="question_is_answered_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hypervisor}, {self.work}"
