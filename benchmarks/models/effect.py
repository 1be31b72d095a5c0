"""What each study's check found of a cell's cost: what pages over all studies read."""

from django.db import models

from benchmarks.models.cell import Case, Cell
from benchmarks.models.lab import Lab
from benchmarks.models.study import Host, OfStudyQuerySet, Study, System


class Effect(models.Model):
    """A cell of one machine alone against native: ln ratio, variance, interval.

    One for each cell of a virtual system that stands for its test and has a direction.
    Written by the check of its study. ``log_ratio`` is null where there is nothing to
    compare with, ``variance`` where nobody knows it (single runs), ``log_low`` and
    ``log_high`` where there is no interval. ``obstacle`` says why it goes into no pool,
    empty if it does.
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
    """What a system of a study kept at a class of work: its effects, counted.

    Written with them, so that a page over hundreds of systems reads a row for each and
    not one for each cell. ``ratios`` of the ``cells`` have one to native that counts
    (`Effect.UNUSABLE` do not); ``low`` and ``high`` are the extremes of their natural
    logarithms, ``total`` is their sum, ``fewest`` and ``most`` are their runs.
    ``impossible`` more have one that cannot be, says a flag: they are in nothing else.
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
    """What the first page says of a study, counted: true while its version is.

    ``version`` is of the notes of the rows that it was counted from
    (`studies.data_versions`), ``leant_on`` are the studies that have them, the study
    itself among these. ``counts`` are its numbers and names, ``bins`` how many pairs
    lie at which ratio. Renewed by the sweeper; where it is not, the rows are counted.
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
    """What all public studies together say of a hypervisor and a class of work.

    Kept so that the matrix costs the same however many studies there are. Written with
    whatever changes it (`evidence.pools`). ``without`` and ``with_flagged`` are stored
    summaries: without what a flag doubts, and with it.
    """

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
