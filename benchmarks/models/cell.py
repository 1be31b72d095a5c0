"""Cases, cells (summaries of runs) and the efficiencies of cells."""

from typing import Any, Final

from django.db import models
from django.utils import timezone

from benchmarks import tools
from benchmarks.analysis.cell_statistics import resolution
from benchmarks.analysis.comparability import efficiency
from benchmarks.analysis.nearest_case import MeasuredCase
from benchmarks.errors import InvalidError
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Session, Study, StudyScopedQuerySet, System
from benchmarks.parsing.tool import Better
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


class CaseQuerySet(models.QuerySet["Case"]):
    def visible_to(self, viewer: Viewer, **cells: Any) -> "CaseQuerySet":
        measured = Cell.objects.visible_to(viewer).filter(
            SHOWN_CELLS, case_id=models.OuterRef("pk"), **cells
        )
        return self.filter(models.Exists(measured))


class Case(models.Model):
    """A metric of a tool with its parameters (a benchmark), shared by all labs."""

    tool = models.CharField(max_length=101, db_index=True)
    """``lab:slug`` for a custom tool."""
    metric = models.CharField(max_length=100)
    parameters = models.JSONField(default=dict)
    unit = models.CharField(max_length=20, blank=True)
    better = models.CharField(max_length=10)
    component = models.CharField(max_length=20, db_index=True)
    label = models.CharField(max_length=300)
    fingerprint = models.CharField(max_length=64, unique=True)

    objects = CaseQuerySet.as_manager()

    def __str__(self) -> str:
        return self.label

    @property
    def measured_case(self) -> MeasuredCase:
        tool = tools.TOOLS.get(self.tool)
        return MeasuredCase(
            tool=self.tool,
            metric=self.metric,
            equivalent_metrics=tool.equivalent_metrics(self.metric)
            if tool
            else frozenset(),
            unit=self.unit,
            better=self.better,
            component=self.component,
            parameters=canonical_parameters(self.parameters),
            display_parameters=self.parameters,
        )


SHOWN_CELLS: Final = models.Q(n__gt=0) | models.Q(failed_runs__gt=0)
"""Results with counted runs, and those without statistics whose runs all failed."""


class Cell(models.Model):
    """A result: the runs of one system and case in a study, under the same conditions.

    The conditions are scenario, number of VMs, slot and load. Statistics are over the
    means of the runs, in the unit of the case; ``m2`` is the sum of squared deviations
    from the mean. If runs are known only from summaries, there are no quantiles, and
    ``m2`` is null if a standard deviation is not stated.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    study = models.ForeignKey(Study, models.CASCADE, related_name="cells")
    system = models.ForeignKey(System, models.PROTECT, related_name="cells")
    case = models.ForeignKey(Case, models.PROTECT, related_name="cells")
    scenario = models.CharField(max_length=50)
    vms = models.PositiveSmallIntegerField(null=True, blank=True)
    slot = models.CharField(max_length=20, blank=True)
    load = models.CharField(max_length=200, blank=True)

    n = models.PositiveIntegerField(default=0)
    mean = models.FloatField(null=True)
    m2 = models.FloatField(null=True)
    minimum = models.FloatField(null=True)
    maximum = models.FloatField(null=True)
    median = models.FloatField(null=True)
    q1 = models.FloatField(null=True)
    q3 = models.FloatField(null=True)
    sample_count = models.PositiveIntegerField(default=0)
    summarized_runs = models.PositiveIntegerField(default=0)
    """How many of the ``n`` runs are known only from means and deviations."""

    failed_runs = models.PositiveIntegerField(default=0)
    """How many runs failed; they do not count. A cell whose runs all failed has no
    statistics (``n`` is 0)."""
    failure = SentenceField(blank=True)
    """Why most of them failed."""

    decimals = models.PositiveSmallIntegerField(null=True)
    """The number of decimals of the most precise sample."""

    common_facts = models.JSONField(default=dict)
    """``host_kernel``, ``host_firmware`` and ``meter``, if all runs agree."""

    shape = models.JSONField(null=True)
    """The distribution of the runs (several modes, effects of their order, outliers),
    as of ``shaped_at``."""
    shape_codes = models.CharField(max_length=100, blank=True)
    order_shift = models.FloatField(null=True)
    """How much the order of the runs may change the mean, relative to it."""
    is_dependent = models.BooleanField(default=False)
    """Whether a test has shown that each run depends on the previous one."""
    outlier_runs = models.PositiveSmallIntegerField(default=0)
    """The number of runs that carry most of the variance, 0 if they are over 10 %."""
    display_step = models.FloatField(null=True)
    """The largest step of which all run means are multiples, if it is coarser than the
    last decimal."""
    shaped_at = models.DateTimeField(null=True)

    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    declared_session = models.ForeignKey(
        Session, models.SET_NULL, null=True, related_name="+"
    )
    """The session named by the uploader, if it is the same for all runs."""
    clock = models.CharField(max_length=50, blank=True)
    clock_trust = models.CharField(max_length=10, blank=True)
    """The trust in the least trustworthy clock of its runs."""
    document = models.TextField(blank=True)
    table = models.TextField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)
    original = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="copies", db_index=False
    )
    """The cell of another study or host that has the same runs and was uploaded first,
    as of the last study check."""

    objects = StudyScopedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "study",
                    "system",
                    "case",
                    "scenario",
                    "vms",
                    "slot",
                    "load",
                ],
                nulls_distinct=False,
                name="cell_is_summarised_once",
            )
        ]
        indexes = [
            models.Index(fields=["lab", "case"], name="cell_by_lab_and_case"),
            models.Index(
                fields=["original"],
                name="cell_by_original",
                condition=models.Q(original__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.case} on {self.system}"

    @property
    def is_empty(self) -> bool:
        return not self.n and not self.failed_runs

    @property
    def resolution(self) -> float | None:
        """The step of the display that printed the runs, None if it is unknown."""
        return resolution(self.decimals, self.display_step)


def ratio_of_means(
    mean: float | None, baseline_mean: float | None, better: Better
) -> tuple[float | None, str]:
    """Return the relative performance and "", or None and why there is none."""
    if mean is None or baseline_mean is None:
        return None, Sentence("One side has no runs.")
    try:
        return efficiency(mean, baseline_mean, better), ""
    except InvalidError as error:
        return None, error.sentence


class CellSession(models.Model):
    """Statistics of the runs of a cell in one session, written by the study check.

    ``session`` is null for runs of unknown time. ``rho`` is the correlation of
    successive runs (lag 1); if the first run is an outlier, it is left out, and its
    mean is ``first_mean``.

    ``run_means`` and ``run_starts`` (seconds since 1970, NaN if unknown) are the runs
    in order of their starts, as eight-byte floats in network byte order.
    """

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    cell = models.ForeignKey(Cell, models.CASCADE, related_name="sessions")
    session = models.ForeignKey(Session, models.CASCADE, null=True, related_name="+")
    n = models.PositiveIntegerField()
    mean = models.FloatField()
    m2 = models.FloatField()
    minimum = models.FloatField()
    maximum = models.FloatField()
    rho = models.FloatField(null=True)
    first_mean = models.FloatField(null=True)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    run_means = models.BinaryField(default=b"")
    run_starts = models.BinaryField(default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cell", "session"],
                nulls_distinct=False,
                name="cell_has_a_session_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.cell} in {self.session or 'a session of unknown time'}"


class RunFingerprint(models.Model):
    """A hash of a pattern in the runs of a cell, by which the check finds copies."""

    cell = models.ForeignKey(
        Cell, models.CASCADE, related_name="fingerprints", db_index=False
    )
    pattern = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cell", "pattern"], name="cell_has_a_pattern_once"
            )
        ]
        indexes = [models.Index(fields=["pattern"], name="fingerprint_by_pattern")]

    def __str__(self) -> str:
        return f"a pattern of {self.cell_id}"


class Efficiency(models.Model):
    """The relative performance of a cell: its ratio to the baseline cell."""

    class State(models.TextChoices):
        NATIVE = "native"
        PAIRED = "paired"
        OTHER_SESSION = "other_session"
        STALE = "stale"
        AMBIGUOUS = "ambiguous"
        MISSING = "missing"
        AGAINST_REFERENCE = "relative"
        REFERENCE = "reference"
        UNDIRECTED = "undirected"
        SCALING = "scaling"
        OTHER_PARAMETERS = "other_parameters"
        UNIT_MISMATCH = "unit_mismatch"
        OTHER_HOST = "other_host"
        SAME_MODEL = "same_model"
        SAME_CPU = "same_cpu"
        SLOWDOWN = "slowdown"
        NO_SPEED = "no_speed"

    cell = models.OneToOneField(
        Cell, models.CASCADE, primary_key=True, related_name="efficiency"
    )
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+")
    baseline = models.ForeignKey(Cell, models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=20, choices=State)
    ratio = models.FloatField(null=True)
    baseline_mean = models.FloatField(null=True)
    baseline_n = models.PositiveIntegerField(null=True)
    reason = SentenceField(blank=True)

    class Meta:
        verbose_name_plural = "efficiencies"

    def __str__(self) -> str:
        return f"{self.cell}: {self.state}"
