"""Tables and columns of the published data sets."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from django.db.models import BooleanField, ExpressionWrapper, F, Q, Value, When
from django.db.models import Case as Choice
from django.db.models.expressions import Combinable

from benchmarks.models.run import FAILED_RUNS
from benchmarks.models.study import visible_studies
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

ColumnType = Literal["string", "integer", "number", "boolean", "datetime", "object"]
VIEWER_DEPENDENT = "viewer"
"""``source`` of a column whose value depends on the viewer."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``source`` is a Django lookup path or an expression; by default, ``name``. A number
    has a ``unit``, or ``unit_column`` names the column that contains its unit.
    """

    name: str
    type: ColumnType
    description: str
    source: str | Combinable = ""
    unit: str = ""
    unit_column: str = ""

    def expression_for(self, viewer: Viewer) -> Any:
        if self.source == VIEWER_DEPENDENT:
            return _BY_VIEWER[self.name](viewer)
        return (
            F(self.source or self.name) if isinstance(self.source, str) else self.source
        )


@dataclass(frozen=True)
class Table:
    """A table; ``key`` lists the columns that identify a row.

    ``links`` lists columns that refer to rows of a table, with that table's key.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    links: tuple[tuple[str, str, str], ...] = ()


def _text(name: str, description: str, source: str | Combinable = "") -> Column:
    return Column(name, "string", description, source)


def _integer(name: str, description: str, source: str = "", unit: str = "") -> Column:
    return Column(name, "integer", description, source, unit)


def _time(name: str, description: str, source: str = "") -> Column:
    return Column(name, "datetime", description, source)


def _object(name: str, description: str, source: str = "") -> Column:
    return Column(name, "object", description, source)


def _boolean(name: str, description: str, claim: Q | str) -> Column:
    if isinstance(claim, str):
        return Column(name, "boolean", description, claim)
    source = ExpressionWrapper(claim, output_field=BooleanField())
    return Column(name, "boolean", description, source)


def _baseline(viewer: Viewer, path: str, **more: str) -> Combinable:
    """Return an expression for ``path``, a value of the baseline.

    It is null if the viewer cannot see the baseline's study, or ``more`` does not hold.
    """
    visible = visible_studies(viewer, "efficiency__baseline__study__")
    return Choice(When(visible & Q(**more), then=F(path)), default=Value(None))


_BY_VIEWER: Final = {
    "baseline_cell_id": lambda viewer: _baseline(viewer, "efficiency__baseline_id"),
    "baseline_n": lambda viewer: _baseline(viewer, "efficiency__baseline_n"),
    # No single ratio if a single mean does not describe the runs.
    "relative_performance": lambda viewer: _baseline(
        viewer,
        "efficiency__ratio",
        shape_codes="",
        efficiency__baseline__shape_codes="",
    ),
}

_ID = _integer("id", Sentence("The ID on this server."))
_LAB = Sentence("The lab's short name.")
_STUDY = Sentence("The study's short name, unique in its lab.")
_PARAMETERS = Sentence("The parameters of the benchmark and their values.")
_UNIT = Sentence("The unit, as listed in docs/tools.md; empty for a plain number.")
_FACTS = Sentence("Reported or detected facts, named as in docs/agents.md.")


def _system_columns(path: str) -> tuple[Column, ...]:
    texts = {
        "hypervisor": Sentence('The hypervisor, or "native" for the machine itself.'),
        "hypervisor_version": Sentence("The version; empty if not reported."),
        "virtualization": Sentence(
            "full, paravirtual, container, ...; empty if not reported."
        ),
        "guest_os": Sentence("The operating system that the tool ran on."),
    }
    return (
        _text("host", Sentence("The machine's short name."), f"{path}host__slug"),
        *(_text(name, text, path + name) for name, text in texts.items()),
        _integer(
            "guest_bits",
            Sentence("The bits of the guest OS: 32 or 64."),
            f"{path}guest_bits",
        ),
        _integer("vcpus", Sentence("The number of virtual CPUs."), f"{path}vcpus"),
        _integer(
            "memory_bytes",
            Sentence("The memory of the guest or of the machine."),
            f"{path}memory_bytes",
            unit="B",
        ),
    )


_CIRCUMSTANCES = (
    _text("scenario", Sentence("The scenario: single, parallel, under load, ...")),
    _integer("vms", Sentence("The number of VMs that ran; null if not reported.")),
    _text("slot", Sentence("The VM slot: 1, 2, ..., or sum, mean, all, host.")),
    _text("load", Sentence("The other load on the machine.")),
)
_SOURCE = (
    _text("document", Sentence("The source document.")),
    _text("table", Sentence("The table or page in the source document.")),
)


def _benchmark_columns(path: str) -> tuple[Column, ...]:
    return (
        _integer(
            "case_id", Sentence("The benchmark: a metric with parameters."), "case_id"
        ),
        _text(
            "tool",
            Sentence("The tool; `lab:slug` is a lab's custom tool."),
            f"{path}tool",
        ),
        _text("metric", Sentence("The metric that was measured."), f"{path}metric"),
        _object("parameters", _PARAMETERS, f"{path}parameters"),
        _text("unit", _UNIT, f"{path}unit"),
    )


def _statistic(name: str, description: str, source: str | Combinable = "") -> Column:
    return Column(name, "number", description, source, unit_column="unit")


STUDIES = Table(
    "studies",
    Sentence("One lab's measurements for one purpose."),
    (
        _ID,
        _text("lab", _LAB, "lab__slug"),
        _text("study", _STUDY, "slug"),
        _text("title", Sentence("The title.")),
        _text("author", Sentence("The author.")),
        _text("institution", Sentence("The institution.")),
        _text(
            "published",
            Sentence(
                "The publication date; the day or month may be "
                "missing: 2010-07-29, 2010-07, 2010."
            ),
        ),
        _text("language", Sentence("The language of the study's documents.")),
        _text("visibility", Sentence("The visibility: private, shared or public.")),
        _text("data_licence", Sentence("The license of the data.")),
        _object("factors", Sentence("The studied factors and their values.")),
        Column(
            "equivalence_margin_percent",
            "number",
            Sentence(
                "The equivalence margin: smaller differences do not matter in practice."
            ),
            unit="%",
        ),
        _integer(
            "baseline_max_age_days",
            Sentence(
                "A native run that is further away in time than this is outdated."
            ),
            unit="d",
        ),
        _time("created_at", Sentence("The time of creation on this server.")),
        _time(
            "archived_at",
            Sentence(
                "The time of archiving; null while the study is "
                "open. Archived studies accept no additions."
            ),
        ),
    ),
)
SYSTEMS = Table(
    "systems",
    Sentence("A system under test: a host with a platform, a guest and options."),
    (
        _ID,
        _text("lab", _LAB, "lab__slug"),
        *_system_columns(""),
        _object("options", Sentence("Settings such as hw_virt, swap, scheduler.")),
        _boolean(
            "is_emulated", Sentence("Whether the processor is emulated."), "is_emulated"
        ),
        _boolean(
            "is_nested",
            Sentence("Whether Windows ran on its own hypervisor (VBS)."),
            "is_nested",
        ),
        _object("host_facts", _FACTS, "host__facts"),
        _time("created_at", Sentence("The time of creation on this server.")),
    ),
)
CELLS = Table(
    "cells",
    Sentence("The runs of one benchmark on one system, summarized over run means."),
    (
        _ID,
        _text("lab", _LAB, "study__lab__slug"),
        _text("study", _STUDY, "study__slug"),
        _integer("system_id", Sentence("The system."), "system_id"),
        *_system_columns("system__"),
        *_benchmark_columns("case__"),
        _text(
            "better",
            Sentence("Which values are better: higher, lower or neither."),
            "case__better",
        ),
        _text(
            "component",
            Sentence("The component that is measured: cpu, memory, disk, ..."),
            "case__component",
        ),
        *_CIRCUMSTANCES,
        _integer("n", Sentence("The number of runs included.")),
        _integer(
            "summarized_runs",
            Sentence("How many of them are known only from means and deviations."),
        ),
        _integer(
            "failed_runs",
            Sentence("The number of runs that failed, which are not included."),
        ),
        _text("failure", Sentence("Why most of them failed; empty if none did.")),
        _statistic(
            "mean",
            Sentence("Mean of the run means; null if no single value describes them."),
            Choice(When(shape_codes="", then=F("mean")), default=Value(None)),
        ),
        _text(
            "shape_codes",
            Sentence(
                "Reason codes for a missing mean, separated by commas; empty "
                "if there is a mean."
            ),
            "shape_codes",
        ),
        Column(
            "m2",
            "number",
            Sentence(
                "Sum of squared deviations from the mean: the variance is m2 / (n - 1)."
            ),
        ),
        _statistic("minimum", Sentence("The smallest run mean.")),
        _statistic("q1", Sentence("The lower quartile.")),
        _statistic("median", Sentence("The median.")),
        _statistic("q3", Sentence("The upper quartile.")),
        _statistic("maximum", Sentence("The largest run mean.")),
        _integer("sample_count", Sentence("The number of samples.")),
        _time("first_at", Sentence("Start of the first run; null if not reported.")),
        _time("last_at", Sentence("Start of the last run; null if not reported.")),
        _text("clock", Sentence("The clock that timed the run.")),
        _text(
            "clock_trust", Sentence("The lowest trust level of the clocks of the runs.")
        ),
        *_SOURCE,
        _text(
            "baseline_state",
            Sentence("The state of the baseline: paired, stale, missing, ..."),
            "efficiency__state",
        ),
        _integer(
            "baseline_cell_id",
            Sentence("The baseline result."),
            VIEWER_DEPENDENT,
        ),
        _integer(
            "baseline_n",
            Sentence("The number of runs of the baseline result."),
            VIEWER_DEPENDENT,
        ),
        Column(
            "relative_performance",
            "number",
            Sentence(
                "Relative performance (native = 1, higher is better). It is a "
                "ratio of means without a confidence interval; verdicts are in "
                "/api/v1/comparisons/."
            ),
            VIEWER_DEPENDENT,
        ),
        _time("updated_at", Sentence("When the summary was last updated.")),
    ),
    links=(("system_id", "systems", "id"), ("baseline_cell_id", "cells", "id")),
)
RUNS = Table(
    "runs",
    Sentence("One execution of one tool on one system."),
    (
        _ID,
        _text("lab", _LAB, "study__lab__slug"),
        _text("study", _STUDY, "study__slug"),
        _integer("system_id", Sentence("The system."), "system_id"),
        *_system_columns("system__"),
        _text("tool", Sentence("The tool; `lab:slug` is a lab's custom tool.")),
        _text("tool_version", Sentence("The version; empty if not reported.")),
        *_CIRCUMSTANCES,
        _text(
            "corun",
            Sentence("The name of the co-run, shared by all runs that ran together."),
            "corun__name",
        ),
        _text(
            "declared_session",
            Sentence("The session name declared by the uploader."),
            "declared_session__name",
        ),
        _text(
            "session", Sentence("The session that the run belongs to."), "session__name"
        ),
        _text("clock", Sentence("The clock that timed the run.")),
        _time(
            "started_at", Sentence("The start time of the run; null if not reported.")
        ),
        _time("received_at", Sentence("The time of the upload.")),
        _text(
            "status", Sentence("The status: received, parsed, rejected or quarantined.")
        ),
        _boolean(
            "is_duplicate",
            Sentence(
                "Whether the run repeats an earlier run; results do not count it again."
            ),
            Q(duplicate_of__isnull=False),
        ),
        _boolean(
            "is_failed",
            Sentence("Whether the work of the run failed; results do not count it."),
            FAILED_RUNS,
        ),
        _text("failure", Sentence("Why its work failed; empty if it did not.")),
        _integer("errors", Sentence("Failed operations; null if unknown.")),
        _integer("operations", Sentence("Attempted operations; null if unknown.")),
        _integer("sample_count", Sentence("The number of samples.")),
        *_SOURCE,
        _text("note", Sentence("The uploader's note.")),
        _object("facts", _FACTS),
    ),
    links=(("system_id", "systems", "id"),),
)
SAMPLES = Table(
    "samples",
    Sentence("One measured value of a parsed run."),
    (
        _text("lab", _LAB, "run__study__lab__slug"),
        _text("study", _STUDY, "run__study__slug"),
        _integer("system_id", Sentence("The system."), "run__system_id"),
        _integer("run_id", Sentence("The run."), "run_id"),
        _time("started_at", Sentence("When the run began."), "run__started_at"),
        *_benchmark_columns("case__"),
        _integer("sequence", Sentence("Its position in the run, from 1.")),
        _integer(
            "repetition", Sentence("The number of the repetition within the run.")
        ),
        _statistic("value", Sentence("The measured value.")),
        _integer(
            "summarized_runs",
            Sentence(
                "The number of runs whose mean the value is; null for a measured value."
            ),
        ),
        _statistic(
            "standard_deviation",
            Sentence("The standard deviation of these runs; null if not stated."),
        ),
        _boolean(
            "is_derived",
            Sentence(
                "Whether the sample was derived from other samples of the run instead "
                "of uploaded."
            ),
            Q(sequence__gt=F("run__sample_count") - F("run__derived_count")),
        ),
        _boolean(
            "is_duplicate",
            Sentence(
                "Whether the run repeats an earlier run; results do not count it again."
            ),
            Q(run__duplicate_of__isnull=False),
        ),
        _boolean(
            "is_failed",
            Sentence("Whether the work of the run failed; results do not count it."),
            ~Q(run__failure="") & Q(run__failure_dismissed=False),
        ),
    ),
    key=("run_id", "sequence"),
    links=(("run_id", "runs", "id"), ("system_id", "systems", "id")),
)
TABLES: Final = MappingProxyType(
    {table.name: table for table in (STUDIES, SYSTEMS, CELLS, RUNS, SAMPLES)}
)


def table_schema(table: Table) -> dict[str, Any]:
    """Return a Frictionless Table Schema.

    See https://specs.frictionlessdata.io/table-schema/. It does not define ``unit`` and
    ``unitField`` (the name of the column with the unit), which we add.
    """
    fields = []
    for column in table.columns:
        field = {"name": column.name, "type": column.type}
        if column.type == "datetime":
            field["format"] = "default"
        if column.unit:
            field["unit"] = column.unit
        if column.unit_column:
            field["unitField"] = column.unit_column
        fields.append(field | {"description": str(column.description)})
    links = [
        {"fields": name, "reference": {"resource": target, "fields": target_columns}}
        for name, target, target_columns in table.links
    ]
    return {
        "description": str(table.description),
        "fields": fields,
        "primaryKey": list(table.key),
        "foreignKeys": links,
        "missingValues": [""],
    }
