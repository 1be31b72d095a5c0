"""Cases, the cells that summarise their runs, and how cells compare to native."""

from typing import Any

from django.db import models
from django.utils import timezone

from benchmarks import tools
from benchmarks.analysis.comparability import MeasuredCase, efficiency
from benchmarks.errors import InvalidError
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models.lab import Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import OfStudyQuerySet, Session, Study, System
from benchmarks.parsing.contract import Better
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer


class CaseQuerySet(models.QuerySet["Case"]):
    def measured_for(self, viewer: Viewer, **cells: Any) -> "CaseQuerySet":
        """Return those that a visible cell has a value of; ``cells`` narrows which."""
        measured = Cell.objects.visible_to(viewer).filter(
            case_id=models.OuterRef("pk"), n__gt=0, **cells
        )
        return self.filter(models.Exists(measured))


class Case(models.Model):
    """A metric with its parameters: one row of a comparison, shared by all labs."""

    tool = models.CharField(max_length=101, db_index=True)
    """A tool's slug; ``lab:slug`` for one that a lab declared itself."""
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
    def measured(self) -> MeasuredCase:
        """What tells it from cases that are nearly the same."""
        tool = tools.TOOLS.get(self.tool)  # none: a lab's own, which implies nothing
        return MeasuredCase(
            tool=self.tool,
            metric=self.metric,
            same_work=tool.same_work(self.metric) if tool else frozenset(),
            unit=self.unit,
            better=self.better,
            component=self.component,
            parameters=canonical_parameters(self.parameters),
            shown=self.parameters,
        )


class Cell(models.Model):
    """Summary of the runs of a system x case x scenario x slot in a study.

    Statistics are over run means in the unit of the case; ``m2`` is the sum of squares.
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

    decimals = models.PositiveSmallIntegerField(null=True)
    """How many decimals the most precise of its samples has: what rounding hides."""

    setting = models.JSONField(default=dict)
    """What all its runs state of ``host_kernel``, ``host_firmware`` and ``meter``."""

    shape = models.JSONField(null=True)
    """Two speeds, order, outliers, as found in the samples of ``shaped_at``."""
    shape_codes = models.CharField(max_length=100, blank=True)
    shape_moves = models.FloatField(null=True)
    """By which part of itself the order of the runs moves the mean; null: unknown."""
    shaped_at = models.DateTimeField(null=True)

    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="+")
    """What the uploader named, if it is one of all its runs."""
    clock = models.CharField(max_length=50, blank=True)
    clock_trust = models.CharField(max_length=10, blank=True)
    """The worst that is known of its runs' clocks, as found at ``shaped_at``."""
    document = models.TextField(blank=True)
    table = models.TextField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = OfStudyQuerySet.as_manager()

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
                # `vms` is null where nobody stated it: that, too, is one cell.
                nulls_distinct=False,
                name="cell_is_summarised_once",
            )
        ]
        # Baselines, and what leans on them, are looked for within a lab's case.
        indexes = [models.Index(fields=["lab", "case"], name="cell_by_lab_and_case")]

    def __str__(self) -> str:
        return f"{self.case} on {self.system}"

    @property
    def resolution(self) -> float | None:
        """The last printed digit's worth, in the unit of the case."""
        return None if self.decimals is None else 10.0**-self.decimals


def ratio_of_means(
    mean: float | None, baseline_mean: float | None, better: Better
) -> tuple[float | None, str]:
    """Return the efficiency of one mean against another, or None and why not."""
    if mean is None or baseline_mean is None:
        return None, Sentence("One side has no runs.")
    try:
        return efficiency(mean, baseline_mean, better), ""
    except InvalidError as error:
        return None, error.sentence


class CellSession(models.Model):
    """Statistics of a cell's runs of one session; null session: unknown time.

    ``rho`` is the lag-1 autocorrelation, null if unknown. ``first`` is the first run's
    mean if it differs; ``rho`` excludes it. Written by the study's check.
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
    first = models.FloatField(null=True)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)

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


class Efficiency(models.Model):
    """How a cell stands to its baseline, and which baseline that was."""

    class State(models.TextChoices):
        NATIVE = "native"
        PAIRED = "paired"
        OTHER_SESSION = "other_session"
        STALE = "stale"
        AMBIGUOUS = "ambiguous"
        MISSING = "missing"
        RELATIVE = "relative"
        REFERENCE = "reference"
        UNDIRECTED = "undirected"
        SCALING = "scaling"
        OTHER_PARAMETERS = "other_parameters"
        UNIT_MISMATCH = "unit_mismatch"
        OTHER_HOST = "other_host"
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
