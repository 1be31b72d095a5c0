"""Runs with their uploaded text, samples and means, and SQL to relate them to cells."""

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
from benchmarks.models.study import CoRun, Session, Study, StudyScopedQuerySet, System

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
SINGLE, PARALLEL, UNDER_LOAD, DISK_AND_NETWORK, INTER_VM = SCENARIOS[:5]
COMBINED_SCENARIO = "combined"
CONCURRENT_SCENARIOS = (
    PARALLEL,
    UNDER_LOAD,
    DISK_AND_NETWORK,
    INTER_VM,
    COMBINED_SCENARIO,
)
AGGREGATE_SLOTS = ("sum", "mean")

# Every index slows inserts down. Large tables have no foreign keys.
WITHOUT_CONSTRAINT: Final[dict[str, Any]] = {"db_index": False, "db_constraint": False}


class RunQuerySet(StudyScopedQuerySet["Run"]):
    def counted(self) -> "RunQuerySet":
        return self.filter(counted_runs())

    def failed(self) -> "RunQuerySet":
        return self.filter(FAILED_RUNS)


def counted_runs(prefix: str = "") -> models.Q:
    """Return the condition that results count a run; ``prefix`` leads to the run.

    `COUNTED_RUN_SQL` is the same in SQL. Runs that were not parsed, repeat an earlier
    run, or whose work failed do not count.
    """
    is_valid = models.Q((f"{prefix}failure", "")) | models.Q(
        (f"{prefix}failure_dismissed", True)
    )
    return is_valid & models.Q(
        (f"{prefix}status", Run.Status.PARSED), (f"{prefix}duplicate_of", None)
    )


class Run(models.Model):
    """One execution of a tool on a system.

    An upload may contain several runs: they share its ``key``, and ``first_run`` refers
    to the first of them (for which it is null). ``first_line`` and ``last_line`` are
    lines of the uploaded text, null if samples were uploaded.
    """

    class Status(models.TextChoices):
        RECEIVED = "received"
        PARSED = "parsed"
        REJECTED = "rejected"
        QUARANTINED = "quarantined"

    # The constraint of the study is enough: it belongs to the lab.
    lab = models.ForeignKey(
        Lab, models.CASCADE, related_name="runs", **WITHOUT_CONSTRAINT
    )
    study = models.ForeignKey(
        Study, models.CASCADE, related_name="runs", db_index=False
    )
    system = models.ForeignKey(System, models.PROTECT, related_name="runs")
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="runs")
    key = models.UUIDField()
    digest = models.CharField(max_length=64)
    upload_position = models.PositiveSmallIntegerField(default=1)
    first_run = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="sibling_runs",
        db_index=False,
    )
    # A run of an earlier upload with the same content; duplicates do not count.
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
    custom_tool_version = models.PositiveSmallIntegerField(null=True, blank=True)
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
    declared_session = models.ForeignKey(
        Session,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="declared_runs",
        db_index=False,
    )
    session = models.ForeignKey(
        Session,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="session_runs",
        db_index=False,
    )
    """The session assigned by the study check; null before the check or for an unknown
    time."""
    clock = models.CharField(max_length=20, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    received_at = models.DateTimeField(default=timezone.now)
    document = models.CharField(max_length=300, blank=True)
    table = models.CharField(max_length=300, blank=True)
    note = models.TextField(blank=True)
    facts = models.JSONField(default=dict, blank=True)
    # Stated by the uploader and never derived from the text.
    stated_failure = models.TextField(blank=True)
    failure = SentenceField(blank=True)
    """Why the work of the run failed, stated by the uploader or found; otherwise empty.
    A failed run does not count, unless its flag was dismissed."""
    failure_dismissed = models.BooleanField(default=False)
    errors = models.PositiveBigIntegerField(null=True, blank=True)
    """How many of the ``operations`` failed; both are null if unknown."""
    operations = models.PositiveBigIntegerField(null=True, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.RECEIVED)
    reason = SentenceField(blank=True)
    warnings = models.JSONField(default=list, blank=True)
    first_line = models.PositiveIntegerField(null=True, blank=True)
    last_line = models.PositiveIntegerField(null=True, blank=True)
    sample_count = models.PositiveIntegerField(default=0)
    derived_count = models.PositiveIntegerField(default=0)
    """How many of the samples were computed from the others. They come last."""

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["lab", "agent", "key", "upload_position"],
                name="run_is_uploaded_once",
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
            models.Index(
                fields=["study"],
                name="run_by_failure",
                condition=~models.Q(failure=""),
            ),
            *(
                models.Index(
                    fields=[name],
                    name=f"run_by_{name}",
                    condition=models.Q((f"{name}__isnull", False)),
                )
                for name in (
                    *("first_run", "duplicate_of", "corun"),
                    *("declared_session", "session"),
                )
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.tool or 'an unknown tool'}"

    @property
    def is_failed(self) -> bool:
        return bool(self.failure) and not self.failure_dismissed

    @cached_property
    def job(self) -> Job | None:
        return Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id=self.pk).first()

    @cached_property
    def upload(self) -> "RunOutput":
        return RunOutput.objects.get(lab=self.lab_id, run=self.first_run_id or self.pk)


FAILED_RUNS: Final = ~models.Q(failure="") & models.Q(failure_dismissed=False)


class RunOutput(models.Model):
    """The uploaded text, unchanged, stored with the first run of the upload."""

    pk = models.CompositePrimaryKey("lab_id", "run_id")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **WITHOUT_CONSTRAINT)
    run = models.ForeignKey(
        Run, models.CASCADE, related_name="outputs", **WITHOUT_CONSTRAINT
    )
    text = models.TextField()

    def __str__(self) -> str:
        return f"upload of {self.run}"


class Sample(models.Model):
    """One measured value of a run, in the unit of the case.

    The table has no constraints, for speed. Its key begins with the lab, so that the
    table can be distributed by lab.
    """

    pk = models.CompositePrimaryKey("lab_id", "run_id", "sequence")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **WITHOUT_CONSTRAINT)
    run = models.ForeignKey(
        Run, models.CASCADE, related_name="samples", **WITHOUT_CONSTRAINT
    )
    sequence = models.PositiveIntegerField()
    case = models.ForeignKey(
        Case, models.PROTECT, related_name="+", **WITHOUT_CONSTRAINT
    )
    repetition = models.PositiveIntegerField(default=1)
    value = models.FloatField()
    summarized_runs = models.PositiveIntegerField(null=True)
    """The number of runs whose mean the value is; null for a measured value."""
    standard_deviation = models.FloatField(null=True)
    """The standard deviation of the summarized runs; null if it is not stated."""

    def __str__(self) -> str:
        return f"{self.value} ({self.run})"

    @property
    def is_derived(self) -> bool:
        return self.sequence > self.run.sample_count - self.run.derived_count


# The last bits of a mean depend on the order of its samples.
ORDERED_MEAN_SQL = "avg(sample.value ORDER BY sample.sequence)"
# Unknown times last.
RUN_ORDER_SQL = "run.started_at, run.id"
RUN_ORDERING = ("run__started_at", "run_id")
UPLOAD_ID_SQL = "coalesce(run.first_run_id, run.id)"


# The type stubs differ in `as_sql`.
class OrderedMean(OrderableAggMixin, models.Avg):  # type: ignore[misc]
    template = "%(function)s(%(distinct)s%(expressions)s %(order_by)s)"

    def __init__(self) -> None:
        super().__init__("value", order_by="sequence")


class RunMean(models.Model):
    """The mean of the samples of a run in a case."""

    pk = models.CompositePrimaryKey("lab_id", "run_id", "case_id")
    lab = models.ForeignKey(Lab, models.CASCADE, related_name="+", **WITHOUT_CONSTRAINT)
    run = models.ForeignKey(
        Run, models.CASCADE, related_name="means", **WITHOUT_CONSTRAINT
    )
    case = models.ForeignKey(
        Case, models.PROTECT, related_name="+", **WITHOUT_CONSTRAINT
    )
    n = models.PositiveIntegerField()
    mean = models.FloatField()
    decimals = models.PositiveSmallIntegerField()
    summarized_runs = models.PositiveIntegerField(null=True)
    standard_deviation = models.FloatField(null=True)

    def __str__(self) -> str:
        return f"{self.mean} ({self.run})"


# A double cast to numeric has at most 15 digits, which are the printed decimals.
INSERT_RUN_MEANS_SQL = f"""
    INSERT INTO {RunMean._meta.db_table} (lab_id, run_id, case_id, n, mean, decimals,
                                          summarized_runs, standard_deviation)
    SELECT sample.lab_id, sample.run_id, sample.case_id, count(*), {ORDERED_MEAN_SQL},
           max(scale(trim_scale(sample.value::numeric))),
           max(sample.summarized_runs), max(sample.standard_deviation)
    FROM {Sample._meta.db_table} AS sample
"""
_MEASURED_RUN_SQL = (
    f"run.duplicate_of_id IS NULL AND run.status = '{Run.Status.PARSED.value}'"
)
COUNTED_RUN_SQL = f"{_MEASURED_RUN_SQL} AND (run.failure = '' OR run.failure_dismissed)"
FAILED_RUN_SQL = (
    f"{_MEASURED_RUN_SQL} AND run.failure <> '' AND NOT run.failure_dismissed"
)
CELL_KEY_COLUMNS = ("study_id", "system_id", "scenario", "vms", "slot", "load")


def same_cell_key_sql(left: str, right: str) -> str:
    """Return the condition that two rows belong to cells with the same key, except the
    case."""
    return " AND ".join(
        f"{left}.{name} IS NOT DISTINCT FROM {right}.{name}"
        if name == "vms"
        else f"{left}.{name} = {right}.{name}"
        for name in CELL_KEY_COLUMNS
    )


def cells_of_runs_sql(condition: str) -> str:
    """Return a WITH clause that finds the cells of runs; append `CELLS_OF_RUNS_SQL`.

    ``condition`` selects rows of ``run``.
    """
    key_columns = ", ".join(f"run.{name}" for name in CELL_KEY_COLUMNS)
    return f"""
    WITH counted_run AS MATERIALIZED (
        SELECT run.id, run.key, run.lab_id, {key_columns}
        FROM {Run._meta.db_table} AS run WHERE {condition} AND {COUNTED_RUN_SQL}
    ), run_case AS MATERIALIZED (
        SELECT run.key, run.lab_id, {key_columns}, mean.case_id
        FROM counted_run AS run JOIN {RunMean._meta.db_table} AS mean
          ON mean.lab_id = run.lab_id AND mean.run_id = run.id
    )
    """


CELLS_OF_RUNS_SQL = f"""
    FROM run_case JOIN {Cell._meta.db_table} AS cell
      ON {same_cell_key_sql("run_case", "cell")} AND cell.case_id = run_case.case_id
"""


def runs_of_cells_sql(
    condition: str, *columns: str, which_runs: str = COUNTED_RUN_SQL
) -> str:
    """Return a WITH clause that finds the runs of cells; append `RUNS_OF_CELLS_SQL`.

    ``condition`` selects rows of ``cell``; ``columns`` are further columns of the run.
    Materialized CTEs force the join order: with outdated statistics, plans took 15 s
    for 2,000 cells.
    """
    key_columns = ", ".join(CELL_KEY_COLUMNS)
    selected = "".join(f", run.{name}" for name in (*_RUN_COLUMNS, *columns))
    aliases = "".join(f", run.{name.split()[-1]}" for name in (*_RUN_COLUMNS, *columns))
    return f"""
    WITH cell_key AS MATERIALIZED (
        SELECT {key_columns}, array_agg(case_id ORDER BY case_id) AS cases,
               array_agg(id ORDER BY case_id) AS cells
        FROM {Cell._meta.db_table} AS cell WHERE {condition} GROUP BY {key_columns}
    ), keyed_run AS MATERIALIZED (
        SELECT cell_key.cases, cell_key.cells{selected},
               {COUNTED_SESSION_SQL} AS session_id
        FROM cell_key JOIN {Run._meta.db_table} AS run
          ON {same_cell_key_sql("run", "cell_key")} AND {which_runs}
    ), run_of_cell AS MATERIALIZED (
        SELECT {CELL_ID_SQL.format("run_mean")} AS cell_id, run_mean.case_id,
               run_mean.n, run_mean.mean, run_mean.decimals, run_mean.summarized_runs,
               run_mean.standard_deviation{aliases}, run.session_id
        FROM keyed_run AS run JOIN {RunMean._meta.db_table} AS run_mean
          ON run_mean.lab_id = run.lab_id AND run_mean.run_id = run.id
         AND {IS_CASE_OF_RUN_SQL.format("run_mean")}
    )
    """


_RUN_COLUMNS = ("id", "lab_id", "first_run_id", "started_at")
# The session as which the session of a run counts.
COUNTED_SESSION_SQL = f"""(
    SELECT COALESCE(session.counted_with_id, session.id)
    FROM {Session._meta.db_table} AS session WHERE session.id = run.session_id)"""
# Bisection: `= ANY` would compare each row with all cases.
IS_CASE_OF_RUN_SQL = """
    run.cases[width_bucket({0}.case_id, run.cases)] = {0}.case_id
    AND ({0}.lab_id, {0}.run_id, {0}.case_id) >= (run.lab_id, run.id, run.cases[1])
    AND ({0}.lab_id, {0}.run_id, {0}.case_id)
        <= (run.lab_id, run.id, run.cases[cardinality(run.cases)])
"""
CELL_ID_SQL = "run.cells[width_bucket({}.case_id, run.cases)]"
RUNS_OF_CELLS_SQL = "FROM run_of_cell AS run"
SAMPLES_OF_CELLS_SQL = f"""
    FROM keyed_run AS run JOIN {Sample._meta.db_table} AS sample
      ON sample.lab_id = run.lab_id AND sample.run_id = run.id
     AND {IS_CASE_OF_RUN_SQL.format("sample")}
"""
CELL_ID_OF_SAMPLE_SQL = CELL_ID_SQL.format("sample")


class Reparse(models.Model):
    """A request to parse stored uploads again with the current parsers, in resumable
    steps.

    ``cursor`` is the id of the last finished upload. ``total``, ``done`` and ``failed``
    count uploads; ``changed``, ``vanished`` and ``appeared`` count samples.
    """

    study = models.ForeignKey(
        Study, models.CASCADE, null=True, blank=True, related_name="reparses"
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
        # The sweeper queries every second, and nearly all rows are finished.
        indexes = [
            models.Index(
                fields=["id"],
                name="reparse_unfinished",
                condition=models.Q(finished_at=None),
            )
        ]

    def __str__(self) -> str:
        return f"reparse {self.pk}"
