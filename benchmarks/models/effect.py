"""Ratios of virtual machines to native for pooling, and their summaries."""

from django.db import models

from benchmarks.models.cell import Case, Cell
from benchmarks.models.lab import Lab
from benchmarks.models.study import Host, Study, StudyScopedQuerySet, System


class Effect(models.Model):
    """The log ratio of a cell of a single VM to native, with its confidence interval.

    The study check writes effects of primary metrics in which higher or lower is
    better. ``variance``, which decides the weight in a pool, is null for single runs.
    It has no allowance for dependent runs (the interval has), but it includes doubts.
    """

    class Exclusion(models.TextChoices):
        """Why an effect is not pooled; of several reasons, the first one counts."""

        NO_NATIVE = "no_native"
        AGAINST_REFERENCE = "relative"
        OTHER_HOST = "other_host"
        OTHER_PARAMETERS = "other_parameters"
        UNIT_MISMATCH = "unit_mismatch"
        ZERO = "zero"
        EMULATION = "emulation"
        COPY = "copy"
        IMPOSSIBLE = "impossible"
        CLOCK_SUSPECT = "clock_suspect"
        UNTIMED = "untimed"
        NO_INTERVAL = "no_interval"
        PLACEMENT = "placement"
        SINGLE_RUN = "single_run"
        NO_SPREAD = "no_spread"

    class Doubt(models.TextChoices):
        """Why a pooled effect has a larger variance; the first reason counts."""

        BASELINES_DISAGREE = "baselines_disagree"
        FLAGGED = "flagged"
        STALE = "stale_baseline"
        OTHER_SESSION = "other_session"
        NO_STEADY_STATE = "no_steady_state"
        ORDER = "order"
        NOISY = "noisy"

    cell = models.OneToOneField(
        Cell, models.CASCADE, primary_key=True, related_name="effect"
    )
    # Few indexes: queries filter by study, or by hypervisor and work class.
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", db_index=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="effects")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+", db_index=False)
    machine_id = models.BigIntegerField()
    """The host, or the host from which the native runs were copied."""
    system = models.ForeignKey(System, models.CASCADE, related_name="+", db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="+", db_index=False)
    hypervisor = models.CharField(max_length=100)
    virtualization = models.CharField(max_length=50, blank=True)
    work_class = models.CharField(max_length=50, blank=True)
    log_ratio = models.FloatField(null=True)
    log_low = models.FloatField(null=True)
    log_high = models.FloatField(null=True)
    variance = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    """The number of runs of the cell or of its baseline, whichever is smaller."""
    verdict = models.PositiveSmallIntegerField()
    """A value of `analysis.verdicts.Verdict`."""
    exclusion = models.CharField(max_length=20, choices=Exclusion, blank=True)
    doubt = models.CharField(max_length=20, choices=Doubt, blank=True)
    machine_model = models.CharField(max_length=200, blank=True)
    """The model of the machines, if the native runs are of other machines of it."""
    provider = models.CharField(max_length=200, blank=True)
    """Who runs machines of a ``machine_model``."""

    UNUSABLE_EXCLUSIONS = (
        Exclusion.AGAINST_REFERENCE,
        Exclusion.EMULATION,
        Exclusion.COPY,
    )
    """Not relative to native, of an emulated CPU, or counted elsewhere."""
    FLAG_DOUBTS = (Doubt.BASELINES_DISAGREE, Doubt.FLAGGED)
    SCREENED = (Exclusion.IMPOSSIBLE, Exclusion.CLOCK_SUSPECT)
    """Exclusions of effects that have a ratio, with which a pool can be compared."""

    objects = StudyScopedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["hypervisor", "work_class"], name="effect_by_question")
        ]

    def __str__(self) -> str:
        return f"effect of {self.cell_id}"


class EffectSummary(models.Model):
    """A summary of the effects of one system of a study in one work class.

    ``ratio_count`` is the number of cells with a usable ratio (not one of
    `Effect.UNUSABLE_EXCLUSIONS`), and ``doubtful_count`` how many of them are in doubt.
    Fields that begin with ``sure`` leave these out. Screened cells (`Effect.SCREENED`)
    count only in fields that begin with ``screened``.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="+", db_index=False)
    system = models.ForeignKey(System, models.CASCADE, related_name="+")
    host = models.ForeignKey(Host, models.CASCADE, related_name="+")
    work_class = models.CharField(max_length=50, blank=True)
    cell_count = models.PositiveIntegerField()
    ratio_count = models.PositiveIntegerField()
    min_log_ratio = models.FloatField(default=0.0)
    max_log_ratio = models.FloatField(default=0.0)
    log_ratio_sum = models.FloatField(default=0.0)
    min_runs = models.PositiveIntegerField(default=0)
    max_runs = models.PositiveIntegerField(default=0)
    doubtful_count = models.PositiveIntegerField(default=0)
    sure_min_log_ratio = models.FloatField(default=0.0)
    sure_max_log_ratio = models.FloatField(default=0.0)
    sure_log_ratio_sum = models.FloatField(default=0.0)
    screened_count = models.PositiveIntegerField(default=0)
    screened_min_log_ratio = models.FloatField(default=0.0)
    screened_max_log_ratio = models.FloatField(default=0.0)
    screened_log_ratio_sum = models.FloatField(default=0.0)

    objects = StudyScopedQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "effect summaries"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "system", "work_class"],
                name="effects_are_counted_once",
            )
        ]

    def __str__(self) -> str:
        return f"effects of system {self.system_id} at {self.work_class}"


class StudyRollup(models.Model):
    """Counts of a study's results for the start page.

    They are valid while ``data_version``, which covers this study and
    ``baseline_studies``, is unchanged. ``bins`` is a histogram of the ratios.
    """

    study = models.OneToOneField(
        Study, models.CASCADE, primary_key=True, related_name="+"
    )
    data_version = models.TextField()
    baseline_studies = models.JSONField()
    counts = models.JSONField()
    bins = models.JSONField()

    def __str__(self) -> str:
        return f"rollup of study {self.study_id}"


class PublicEvidence(models.Model):
    """The pooled effects of a hypervisor in a work class, over all public studies.

    ``pools`` are the pools by screening (`evidence.synthesis.Screening`).
    """

    hypervisor = models.CharField(max_length=100)
    work_class = models.CharField(max_length=50)
    pools = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "public evidence"
        constraints = [
            models.UniqueConstraint(
                fields=["hypervisor", "work_class"], name="question_is_stored_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.hypervisor}, {self.work_class}"
