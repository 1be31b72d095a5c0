"""Runs as they came in, their raw uploads and their samples."""

from typing import Any, Final

from django.conf import settings
from django.contrib.postgres.aggregates.mixins import OrderableAggMixin
from django.db import models
from django.utils import timezone
from django.utils.functional import cached_property

from benchmarks.models.cell import Case, Cell
from benchmarks.models.job import Job
from benchmarks.models.lab import Agent, Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import CoRun, OfStudyQuerySet, Session, Study, System

SCENARIOS = (
    "single",
    "parallel",
    "under CPU load",
    "disk and network combined",
    "inter-vm",
    "same-host",
    "inter-host",
    "combined",
)
SINGLE, PARALLEL, UNDER_LOAD, COMBINED, INTER_VM = SCENARIOS[:5]
MIXED = "combined"
TOGETHER = (PARALLEL, UNDER_LOAD, COMBINED, INTER_VM, MIXED)
"""The scenarios in which several VMs do something at the same time."""
TOTALS = ("sum", "mean")
"""Slots that stand for all VMs of a co-run together."""


# Every index costs time with every run: no index repeats another's first columns, and
# rare columns have partial ones. Large tables have no foreign keys.
LOOSE: Final[dict[str, Any]] = {"db_index": False, "db_constraint": False}


class Run(models.Model):
    """One execution of one tool on one system.

    Runs of one upload share its key; all but the first have the first as ``source``.
    """

    class Status(models.TextChoices):
        RECEIVED = "received"
        PARSED = "parsed"
        REJECTED = "rejected"
        QUARANTINED = "quarantined"

    # Its study's lab: PostgreSQL looks for the study of each run, and not for both.
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="runs", **LOOSE)
    study = models.ForeignKey(
        Study, models.CASCADE, related_name="runs", db_index=False
    )
    system = models.ForeignKey(System, models.PROTECT, related_name="runs")
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="runs")
    key = models.UUIDField()
    digest = models.CharField(max_length=64)
    part = models.PositiveSmallIntegerField(default=1)
    source = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="others",
        db_index=False,
    )
    # What an earlier upload had said already: no cell counts it a second time.
    duplicate_of = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="duplicates",
        db_index=False,
    )
    tool = models.CharField(max_length=101, blank=True)
    tool_version = models.CharField(max_length=100, blank=True)
    parser_version = models.PositiveSmallIntegerField(null=True, blank=True)
    declared_version = models.PositiveSmallIntegerField(null=True, blank=True)
    """Which version of a lab's own tool its samples were read by."""
    scenario = models.CharField(max_length=50)
    vms = models.PositiveSmallIntegerField(null=True, blank=True)
    slot = models.CharField(max_length=20, blank=True)
    load = models.CharField(max_length=200, blank=True)
    corun = models.ForeignKey(
        CoRun,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="runs",
        db_index=False,
    )
    session = models.ForeignKey(
        Session,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="runs",
        db_index=False,
    )
    """What the uploader named."""
    sitting = models.ForeignKey(
        Session,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="sitting_runs",
        db_index=False,
    )
    """The session it counts in; null until a check, and where no time is stated."""
    clock = models.CharField(max_length=20, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField(default=timezone.now)
    document = models.CharField(max_length=300, blank=True)
    table = models.CharField(max_length=300, blank=True)
    note = models.TextField(blank=True)
    facts = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.RECEIVED)
    reason = SentenceField(blank=True)
    warnings = models.JSONField(default=list, blank=True)
    first_line = models.PositiveIntegerField(null=True, blank=True)
    last_line = models.PositiveIntegerField(null=True, blank=True)
    sample_count = models.PositiveIntegerField(default=0)
    derived_count = models.PositiveIntegerField(default=0)
    """How many of its samples, its last ones, nobody uploaded: made of the others."""

    objects = OfStudyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "agent", "key", "part"], name="run_is_uploaded_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["study", "system", "scenario"], name="run_by_cell_key"
            ),
            models.Index(fields=["tool"], name="run_by_tool"),
            models.Index(
                fields=["status"],
                name="run_by_odd_status",
                condition=~models.Q(status="parsed"),
            ),
            *(
                models.Index(
                    fields=[name],
                    name=f"run_by_{name}",
                    condition=models.Q((f"{name}__isnull", False)),
                )
                for name in ("source", "duplicate_of", "corun", "session", "sitting")
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.tool or 'an unknown tool'}"

    @cached_property
    def job(self) -> Job | None:
        """What is still to be done with it."""
        return Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id=self.pk).first()

    @cached_property
    def upload(self) -> "RunOutput":
        """What this run was read from, alone or with others."""
        return RunOutput.objects.get(lab=self.lab_id, run=self.source_id or self.pk)


class RunOutput(models.Model):
    """The uploaded text of a run, unchanged; none for runs read from another's."""

    pk = models.CompositePrimaryKey("lab_id", "run_id")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **LOOSE)
    run = models.ForeignKey(Run, models.CASCADE, related_name="outputs", **LOOSE)
    text = models.TextField()

    def __str__(self) -> str:
        return f"upload of {self.run}"


class Sample(models.Model):
    """One measured number of a run, in the unit of its case's metric.

    Without constraints, for speed; the key begins with the lab, for partitioning.
    """

    pk = models.CompositePrimaryKey("lab_id", "run_id", "sequence")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **LOOSE)
    run = models.ForeignKey(Run, models.CASCADE, related_name="samples", **LOOSE)
    sequence = models.PositiveIntegerField()
    case = models.ForeignKey(Case, models.PROTECT, related_name="+", **LOOSE)
    repetition = models.PositiveIntegerField(default=1)
    value = models.FloatField()

    def __str__(self) -> str:
        return f"{self.value} ({self.run})"

    @property
    def is_derived(self) -> bool:
        """Whether it was made of the run's other samples, and never uploaded."""
        return self.sequence > self.run.sample_count - self.run.derived_count


# The last bits of a mean depend on the order of its samples.
MEAN_IN_ORDER = "avg(sample.value ORDER BY sample.sequence)"
# The order of runs everywhere: by start, runs without one last.
PLACE_OF_RUN = "run.started_at, run.id"
IN_ORDER_OF_RUNS = ("run__started_at", "run_id")
UPLOAD_OF_RUN = "coalesce(run.source_id, run.id)"


# Django's own mixin, as its own aggregates use it: the stubs give it another `as_sql`.
class MeanInOrder(OrderableAggMixin, models.Avg):  # type: ignore[misc]
    """`MEAN_IN_ORDER` for a query set of samples."""

    # Avg's own template leaves out the order.
    template = "%(function)s(%(distinct)s%(expressions)s %(order_by)s)"

    def __init__(self) -> None:
        super().__init__("value", order_by="sequence")


class RunMean(models.Model):
    """The mean of a run's samples of a case, in the unit of the case.

    ``decimals`` is the largest number of decimals of a sample.
    """

    pk = models.CompositePrimaryKey("lab_id", "run_id", "case_id")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **LOOSE)
    run = models.ForeignKey(Run, models.CASCADE, related_name="means", **LOOSE)
    case = models.ForeignKey(Case, models.PROTECT, related_name="+", **LOOSE)
    n = models.PositiveIntegerField()
    mean = models.FloatField()
    decimals = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return f"{self.mean} ({self.run})"


# As numeric a double has 15 digits at most: the decimals that were printed.
MEANS_OF_SAMPLES = f"""
    INSERT INTO {RunMean._meta.db_table} (lab_id, run_id, case_id, n, mean, decimals)
    SELECT sample.lab_id, sample.run_id, sample.case_id, count(*), {MEAN_IN_ORDER},
           max(scale(trim_scale(sample.value::numeric)))
    FROM {Sample._meta.db_table} AS sample
"""
# The runs that count: parsed, and not uploaded twice.
_COUNTS = f"run.duplicate_of_id IS NULL AND run.status = '{Run.Status.PARSED.value}'"
PLACE = ("study_id", "system_id", "scenario", "vms", "slot", "load")


def same_place(one: str, other: str) -> str:
    """Say that two rows are of one place."""
    return " AND ".join(
        f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}"
        if name == "vms"
        else f"{one}.{name} = {other}.{name}"
        for name in PLACE
    )


def cells_of(which: str) -> str:
    """Begin a statement about the cells of some runs; continue with `CELLS_OF_RUNS`."""
    place = ", ".join(f"run.{name}" for name in PLACE)
    return f"""
    WITH placed AS MATERIALIZED (
        SELECT run.id, run.key, run.lab_id, {place}
        FROM {Run._meta.db_table} AS run WHERE {which} AND {_COUNTS}
    ), said AS MATERIALIZED (
        SELECT run.key, run.lab_id, {place}, mean.case_id
        FROM placed AS run JOIN {RunMean._meta.db_table} AS mean
          ON mean.lab_id = run.lab_id AND mean.run_id = run.id
    )
    """


CELLS_OF_RUNS = f"""
    FROM said JOIN {Cell._meta.db_table} AS cell
      ON {same_place("said", "cell")} AND cell.case_id = said.case_id
"""


def of_cells(which: str, *more: str) -> str:
    """Begin a statement about the runs of many cells; continue with `RUNS_OF_CELLS`.

    One row per run of each cell, with ``more`` columns of the run. Materialized steps
    force the join order: with outdated statistics plans took 15 s for 2,000 cells.
    """
    place = ", ".join(PLACE)
    columns = "".join(f", run.{name}" for name in (*_OF_EVERY_RUN, *more))
    names = "".join(f", run.{name.split()[-1]}" for name in (*_OF_EVERY_RUN, *more))
    return f"""
    WITH place AS MATERIALIZED (
        SELECT {place}, array_agg(case_id ORDER BY case_id) AS cases,
               array_agg(id ORDER BY case_id) AS cells
        FROM {Cell._meta.db_table} AS cell WHERE {which} GROUP BY {place}
    ), placed AS MATERIALIZED (
        SELECT place.cases, place.cells{columns}
        FROM place JOIN {Run._meta.db_table} AS run
          ON {same_place("run", "place")} AND {_COUNTS}
    ), run_of_cell AS MATERIALIZED (
        SELECT {CELL_OF_PLACED.format("said")} AS cell_id, said.case_id,
               said.n, said.mean, said.decimals{names}
        FROM placed AS run JOIN {RunMean._meta.db_table} AS said
          ON said.lab_id = run.lab_id AND said.run_id = run.id
         AND {OF_PLACED.format("said")}
    )
    """


_OF_EVERY_RUN = ("id", "lab_id", "source_id", "started_at", "sitting_id")
# By bisection: `= ANY` would compare each with all cases. The range uses the primary
# key.
OF_PLACED = """
    run.cases[width_bucket({0}.case_id, run.cases)] = {0}.case_id
    AND ({0}.lab_id, {0}.run_id, {0}.case_id) >= (run.lab_id, run.id, run.cases[1])
    AND ({0}.lab_id, {0}.run_id, {0}.case_id)
        <= (run.lab_id, run.id, run.cases[cardinality(run.cases)])
"""
CELL_OF_PLACED = "run.cells[width_bucket({}.case_id, run.cases)]"
RUNS_OF_CELLS = "FROM run_of_cell AS run"
# Instead of it: a row for each of their samples, run by run.
SAMPLES_OF_CELLS = f"""
    FROM placed AS run JOIN {Sample._meta.db_table} AS sample
      ON sample.lab_id = run.lab_id AND sample.run_id = run.id
     AND {OF_PLACED.format("sample")}
"""
CELL_OF_SAMPLE = CELL_OF_PLACED.format("sample")


class Reread(models.Model):
    """Reading old uploads with today's parsers, in resumable steps.

    ``cursor`` is the last upload done; three counts are of samples, ``failed`` of
    uploads; ``changes`` and ``failures`` keep the first of each.
    """

    study = models.ForeignKey(
        Study, models.CASCADE, null=True, blank=True, related_name="rereads"
    )
    tool = models.CharField(max_length=101, blank=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    cursor = models.PositiveBigIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    vanished = models.PositiveIntegerField(default=0)
    appeared = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    changes = models.JSONField(default=list)
    failures = models.JSONField(default=list)

    class Meta:
        # The sweeper asks every second, and nearly all are finished.
        indexes = [
            models.Index(
                fields=["id"],
                name="reread_unfinished",
                condition=models.Q(finished_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"reread {self.pk}"
