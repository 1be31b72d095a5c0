"""The tables that leave an installation: their columns, and what each means."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from django.db.models import BooleanField, ExpressionWrapper, F, Q, Value, When
from django.db.models import Case as Choice
from django.db.models.expressions import Combinable

from benchmarks.models.study import visible_studies
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer

Kind = Literal["string", "integer", "number", "boolean", "datetime", "object"]
VIEWER = "viewer"
"""In place of a path: what is shown depends on who asks (`value_of`)."""


@dataclass(frozen=True)
class Column:
    """A column: ``source`` is a path of Django's from the row, ``unit`` of a number.

    ``unit_column`` names the column of the same row that has the unit.
    """

    name: str
    kind: Kind
    meaning: str
    source: str | Combinable = ""
    unit: str = ""
    unit_column: str = ""

    def value_of(self, viewer: Viewer) -> Any:
        """Return what Django selects for it."""
        if self.source == VIEWER:
            return _BY_VIEWER[self.name](viewer)
        return (
            F(self.source or self.name) if isinstance(self.source, str) else self.source
        )


@dataclass(frozen=True)
class Table:
    """A table; ``key`` identifies a row, ``links`` are columns that name other rows."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    links: tuple[tuple[str, str, str], ...] = ()


def _claim(claim: Q) -> Combinable:
    return ExpressionWrapper(claim, output_field=BooleanField())


def _baseline(viewer: Viewer, path: str, **more: str) -> Combinable:
    """Return what is said of a cell's baseline, if the viewer sees its study."""
    seen = visible_studies(viewer, "efficiency__baseline__study__")
    return Choice(When(seen & Q(**more), then=F(path)), default=Value(None))


_BY_VIEWER: Final = {
    "baseline_cell_id": lambda viewer: _baseline(viewer, "efficiency__baseline_id"),
    "baseline_n": lambda viewer: _baseline(viewer, "efficiency__baseline_n"),
    # No single figure of what a single figure does not describe.
    "relative_performance": lambda viewer: _baseline(
        viewer,
        "efficiency__ratio",
        shape_codes="",
        efficiency__baseline__shape_codes="",
    ),
}

_LAB = Sentence("The lab's short name.")
_STUDY = Sentence("The study's short name, unique in its lab.")
_PARAMETERS = Sentence("Parameters of the benchmark by their names.")
_UNIT = Sentence("The unit, by the table in docs/tools.md; empty: a plain number.")
_FACTS = Sentence("What was stated or detected, by the names of docs/agents.md.")


def _system_of(path: str) -> tuple[Column, ...]:
    """Return what a row says of its system."""
    texts = {
        "hypervisor": Sentence('The hypervisor; "native" is the machine itself.'),
        "hypervisor_version": Sentence("Its version; empty: not stated."),
        "virtualization": Sentence(
            "full, paravirtual, container, ...; empty: not stated."
        ),
        "guest_os": Sentence("The operating system that the tool ran on."),
    }
    return (
        Column(
            "host", "string", Sentence("The machine's short name."), f"{path}host__slug"
        ),
        *(Column(name, "string", it, path + name) for name, it in texts.items()),
        Column("guest_bits", "integer", Sentence("32 or 64."), f"{path}guest_bits"),
        Column("vcpus", "integer", Sentence("Virtual processors."), f"{path}vcpus"),
        Column(
            "memory_bytes",
            "integer",
            Sentence("Memory of the guest, or of the machine."),
            f"{path}memory_bytes",
            unit="B",
        ),
    )


_CIRCUMSTANCES = (
    Column(
        "scenario", "string", Sentence("single, parallel, under load, combined, ...")
    ),
    Column("vms", "integer", Sentence("How many VMs ran; null: not stated.")),
    Column(
        "slot", "string", Sentence("Which of them: 1, 2, ..., or sum, mean, all, host.")
    ),
    Column("load", "string", Sentence("What else kept the machine busy.")),
)
_SOURCE = (
    Column("document", "string", Sentence("The document that printed it.")),
    Column("table", "string", Sentence("The table or page of that document.")),
)


def _benchmark_of(path: str) -> tuple[Column, ...]:
    """Return what a row says of its benchmark."""
    return (
        Column(
            "case_id",
            "integer",
            Sentence("The benchmark: a metric with parameters."),
            "case_id",
        ),
        Column(
            "tool",
            "string",
            Sentence("The tool; `lab:slug` is a lab's own."),
            f"{path}tool",
        ),
        Column("metric", "string", Sentence("What was measured."), f"{path}metric"),
        Column("parameters", "object", _PARAMETERS, f"{path}parameters"),
        Column("unit", "string", _UNIT, f"{path}unit"),
    )


def _statistic(name: str, meaning: str, source: str | Combinable = "") -> Column:
    return Column(name, "number", meaning, source, unit_column="unit")


STUDIES = Table(
    "studies",
    Sentence("A lab's measurements with a purpose."),
    (
        Column("id", "integer", Sentence("Of this installation.")),
        Column("lab", "string", _LAB, "lab__slug"),
        Column("study", "string", _STUDY, "slug"),
        Column("title", "string", Sentence("Its title.")),
        Column("author", "string", Sentence("Who measured.")),
        Column("institution", "string", Sentence("Where.")),
        Column(
            "published",
            "string",
            Sentence("When it was published: 2010-07-29 or less."),
        ),
        Column("language", "string", Sentence("The language of its documents.")),
        Column("visibility", "string", Sentence("private, shared or public.")),
        Column("data_licence", "string", Sentence("The licence of its data.")),
        Column("factors", "object", Sentence("What it varied: values by factor.")),
        Column(
            "equivalence_margin_percent",
            "number",
            Sentence("Differences below this do not matter."),
            unit="%",
        ),
        Column(
            "baseline_max_age_days",
            "integer",
            Sentence("A native run farther away in time is stale."),
            unit="d",
        ),
        Column("created_at", "datetime", Sentence("When it was created here.")),
        Column(
            "archived_at",
            "datetime",
            Sentence("Since when nothing is added; null: open."),
        ),
    ),
)
SYSTEMS = Table(
    "systems",
    Sentence("A host with a platform, a guest and options: what was measured on."),
    (
        Column("id", "integer", Sentence("Of this installation.")),
        Column("lab", "string", _LAB, "lab__slug"),
        *_system_of(""),
        Column(
            "options", "object", Sentence("Settings such as hw_virt, swap, scheduler.")
        ),
        Column(
            "emulated",
            "boolean",
            Sentence("A program emulates its processor."),
            "is_emulated",
        ),
        Column(
            "above_hypervisor",
            "boolean",
            Sentence("Its Windows ran above its own hypervisor (VBS)."),
            "is_above_hypervisor",
        ),
        Column("host_facts", "object", _FACTS, "host__facts"),
        Column("created_at", "datetime", Sentence("When it was created here.")),
    ),
)
CELLS = Table(
    "cells",
    Sentence("The runs of one benchmark on one system, summarised over run means."),
    (
        Column("id", "integer", Sentence("Of this installation.")),
        Column("lab", "string", _LAB, "study__lab__slug"),
        Column("study", "string", _STUDY, "study__slug"),
        Column("system_id", "integer", Sentence("The system."), "system_id"),
        *_system_of("system__"),
        *_benchmark_of("case__"),
        Column(
            "better", "string", Sentence("higher, lower or neither."), "case__better"
        ),
        Column(
            "component", "string", Sentence("cpu, memory, disk, ..."), "case__component"
        ),
        *_CIRCUMSTANCES,
        Column("n", "integer", Sentence("Runs that count.")),
        _statistic(
            "mean",
            Sentence(
                "Mean of the run means; null where no single figure describes them."
            ),
            Choice(When(shape_codes="", then=F("mean")), default=Value(None)),
        ),
        Column(
            "doubts",
            "string",
            Sentence("Why there is no mean: codes with commas; empty: none."),
            "shape_codes",
        ),
        Column(
            "m2",
            "number",
            Sentence(
                "Sum of squared deviations from the mean: the variance is m2 / (n - 1)."
            ),
        ),
        _statistic("minimum", Sentence("The least run mean.")),
        _statistic("q1", Sentence("The lower quartile.")),
        _statistic("median", Sentence("The median.")),
        _statistic("q3", Sentence("The upper quartile.")),
        _statistic("maximum", Sentence("The greatest run mean.")),
        Column("sample_count", "integer", Sentence("Samples behind it.")),
        Column(
            "first_at",
            "datetime",
            Sentence("Start of its first run; null: not stated."),
        ),
        Column(
            "last_at", "datetime", Sentence("Start of its last run; null: not stated.")
        ),
        Column("clock", "string", Sentence("Whose clock timed it.")),
        Column("clock_trust", "string", Sentence("The worst known of its clocks.")),
        *_SOURCE,
        Column(
            "baseline_state",
            "string",
            Sentence(
                "How it was paired with its baseline: paired, stale, missing, ..."
            ),
            "efficiency__state",
        ),
        Column(
            "baseline_cell_id",
            "integer",
            Sentence("The result it is compared with."),
            VIEWER,
        ),
        Column("baseline_n", "integer", Sentence("Runs of that one."), VIEWER),
        Column(
            "relative_performance",
            "number",
            Sentence(
                "Relative performance, native = 1; more is better. A ratio of means,"
                " without its interval: verdicts are in /api/v1/comparisons/."
            ),
            VIEWER,
        ),
        Column("updated_at", "datetime", Sentence("When it was last summarised.")),
    ),
    links=(("system_id", "systems", "id"), ("baseline_cell_id", "cells", "id")),
)
RUNS = Table(
    "runs",
    Sentence("One execution of one tool on one system."),
    (
        Column("id", "integer", Sentence("Of this installation.")),
        Column("lab", "string", _LAB, "study__lab__slug"),
        Column("study", "string", _STUDY, "study__slug"),
        Column("system_id", "integer", Sentence("The system."), "system_id"),
        *_system_of("system__"),
        Column("tool", "string", Sentence("The tool; `lab:slug` is a lab's own.")),
        Column("tool_version", "string", Sentence("Its version; empty: not stated.")),
        *_CIRCUMSTANCES,
        Column(
            "corun",
            "string",
            Sentence("Shared by runs that ran together."),
            "corun__name",
        ),
        Column(
            "session", "string", Sentence("What its uploader named."), "session__name"
        ),
        Column(
            "sitting", "string", Sentence("The session it counts in."), "sitting__name"
        ),
        Column("clock", "string", Sentence("Whose clock timed it.")),
        Column("started_at", "datetime", Sentence("When it began; null: not stated.")),
        Column("received_at", "datetime", Sentence("When it was uploaded.")),
        Column(
            "status", "string", Sentence("received, parsed, rejected or quarantined.")
        ),
        Column(
            "duplicate",
            "boolean",
            Sentence("An earlier run said all this before: no result counts it again."),
            _claim(Q(duplicate_of__isnull=False)),
        ),
        Column("sample_count", "integer", Sentence("Its samples.")),
        *_SOURCE,
        Column("note", "string", Sentence("What its uploader noted.")),
        Column("facts", "object", _FACTS),
    ),
    links=(("system_id", "systems", "id"),),
)
SAMPLES = Table(
    "samples",
    Sentence("One measured number of a run that was read."),
    (
        Column("lab", "string", _LAB, "run__study__lab__slug"),
        Column("study", "string", _STUDY, "run__study__slug"),
        Column("system_id", "integer", Sentence("The system."), "run__system_id"),
        Column("run_id", "integer", Sentence("The run."), "run_id"),
        Column(
            "started_at", "datetime", Sentence("When the run began."), "run__started_at"
        ),
        *_benchmark_of("case__"),
        Column("sequence", "integer", Sentence("Its place in the run, from 1.")),
        Column("repetition", "integer", Sentence("Which repetition within the run.")),
        _statistic("value", Sentence("The number.")),
        Column(
            "derived",
            "boolean",
            Sentence("Derived from the run's other samples, not uploaded."),
            _claim(Q(sequence__gt=F("run__sample_count") - F("run__derived_count"))),
        ),
        Column(
            "duplicate",
            "boolean",
            Sentence("Its run was uploaded before: no result counts it again."),
            _claim(Q(run__duplicate_of__isnull=False)),
        ),
    ),
    key=("run_id", "sequence"),
    links=(("run_id", "runs", "id"), ("system_id", "systems", "id")),
)
TABLES: Final = MappingProxyType(
    {table.name: table for table in (STUDIES, SYSTEMS, CELLS, RUNS, SAMPLES)}
)


def description(table: Table) -> dict[str, Any]:
    """Return a table as Frictionless' Table Schema: names, types, units, meanings.

    https://specs.frictionlessdata.io/table-schema/; ``unit`` and ``unitField`` (the
    column that has the unit) are ours.
    """
    fields = []
    for column in table.columns:
        field = {"name": column.name, "type": column.kind}
        if column.kind == "datetime":
            field["format"] = "default"
        if column.unit:
            field["unit"] = column.unit
        if column.unit_column:
            field["unitField"] = column.unit_column
        fields.append(field | {"description": str(column.meaning)})
    links = [
        {"fields": name, "reference": {"resource": other, "fields": theirs}}
        for name, other, theirs in table.links
    ]
    return {
        "description": str(table.meaning),
        "fields": fields,
        "primaryKey": list(table.key),
        "foreignKeys": links,
        "missingValues": [""],
    }
