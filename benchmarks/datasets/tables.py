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
    """A column; ``source`` is a path of Django's from the row, or an expression.

    ``unit`` is that of a number; ``unit_column`` names the column of the same row that
    has the unit.
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


def _text(name: str, meaning: str, source: str | Combinable = "") -> Column:
    return Column(name, "string", meaning, source)


def _integer(name: str, meaning: str, source: str = "", unit: str = "") -> Column:
    return Column(name, "integer", meaning, source, unit)


def _time(name: str, meaning: str, source: str = "") -> Column:
    return Column(name, "datetime", meaning, source)


def _object(name: str, meaning: str, source: str = "") -> Column:
    return Column(name, "object", meaning, source)


def _claim(name: str, meaning: str, claim: Q | str) -> Column:
    if isinstance(claim, str):
        return Column(name, "boolean", meaning, claim)
    source = ExpressionWrapper(claim, output_field=BooleanField())
    return Column(name, "boolean", meaning, source)


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

_ID = _integer("id", Sentence("Of this installation."))
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
        _text("host", Sentence("The machine's short name."), f"{path}host__slug"),
        *(_text(name, text, path + name) for name, text in texts.items()),
        _integer("guest_bits", Sentence("32 or 64."), f"{path}guest_bits"),
        _integer("vcpus", Sentence("Virtual processors."), f"{path}vcpus"),
        _integer(
            "memory_bytes",
            Sentence("Memory of the guest, or of the machine."),
            f"{path}memory_bytes",
            unit="B",
        ),
    )


_CIRCUMSTANCES = (
    _text("scenario", Sentence("single, parallel, under load, combined, ...")),
    _integer("vms", Sentence("How many VMs ran; null: not stated.")),
    _text("slot", Sentence("Which of them: 1, 2, ..., or sum, mean, all, host.")),
    _text("load", Sentence("What else kept the machine busy.")),
)
_SOURCE = (
    _text("document", Sentence("The document that printed it.")),
    _text("table", Sentence("The table or page of that document.")),
)


def _benchmark_of(path: str) -> tuple[Column, ...]:
    """Return what a row says of its benchmark."""
    return (
        _integer(
            "case_id", Sentence("The benchmark: a metric with parameters."), "case_id"
        ),
        _text("tool", Sentence("The tool; `lab:slug` is a lab's own."), f"{path}tool"),
        _text("metric", Sentence("What was measured."), f"{path}metric"),
        _object("parameters", _PARAMETERS, f"{path}parameters"),
        _text("unit", _UNIT, f"{path}unit"),
    )


def _statistic(name: str, meaning: str, source: str | Combinable = "") -> Column:
    return Column(name, "number", meaning, source, unit_column="unit")


STUDIES = Table(
    "studies",
    Sentence("A lab's measurements with a purpose."),
    (
        _ID,
        _text("lab", _LAB, "lab__slug"),
        _text("study", _STUDY, "slug"),
        _text("title", Sentence("Its title.")),
        _text("author", Sentence("Who measured.")),
        _text("institution", Sentence("Where.")),
        _text("published", Sentence("When it was published: 2010-07-29 or less.")),
        _text("language", Sentence("The language of its documents.")),
        _text("visibility", Sentence("private, shared or public.")),
        _text("data_licence", Sentence("The licence of its data.")),
        _object("factors", Sentence("What it varied: values by factor.")),
        Column(
            "equivalence_margin_percent",
            "number",
            Sentence("Differences below this do not matter."),
            unit="%",
        ),
        _integer(
            "baseline_max_age_days",
            Sentence("A native run farther away in time is stale."),
            unit="d",
        ),
        _time("created_at", Sentence("When it was created here.")),
        _time("archived_at", Sentence("Since when nothing is added; null: open.")),
    ),
)
SYSTEMS = Table(
    "systems",
    Sentence("A host with a platform, a guest and options: what was measured on."),
    (
        _ID,
        _text("lab", _LAB, "lab__slug"),
        *_system_of(""),
        _object("options", Sentence("Settings such as hw_virt, swap, scheduler.")),
        _claim(
            "emulated", Sentence("A program emulates its processor."), "is_emulated"
        ),
        _claim(
            "above_hypervisor",
            Sentence("Its Windows ran above its own hypervisor (VBS)."),
            "is_above_hypervisor",
        ),
        _object("host_facts", _FACTS, "host__facts"),
        _time("created_at", Sentence("When it was created here.")),
    ),
)
CELLS = Table(
    "cells",
    Sentence("The runs of one benchmark on one system, summarised over run means."),
    (
        _ID,
        _text("lab", _LAB, "study__lab__slug"),
        _text("study", _STUDY, "study__slug"),
        _integer("system_id", Sentence("The system."), "system_id"),
        *_system_of("system__"),
        *_benchmark_of("case__"),
        _text("better", Sentence("higher, lower or neither."), "case__better"),
        _text("component", Sentence("cpu, memory, disk, ..."), "case__component"),
        *_CIRCUMSTANCES,
        _integer("n", Sentence("Runs that count.")),
        _statistic(
            "mean",
            Sentence(
                "Mean of the run means; null where no single figure describes them."
            ),
            Choice(When(shape_codes="", then=F("mean")), default=Value(None)),
        ),
        _text(
            "doubts",
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
        _integer("sample_count", Sentence("Samples behind it.")),
        _time("first_at", Sentence("Start of its first run; null: not stated.")),
        _time("last_at", Sentence("Start of its last run; null: not stated.")),
        _text("clock", Sentence("Whose clock timed it.")),
        _text("clock_trust", Sentence("The worst known of its clocks.")),
        *_SOURCE,
        _text(
            "baseline_state",
            Sentence(
                "How it was paired with its baseline: paired, stale, missing, ..."
            ),
            "efficiency__state",
        ),
        _integer(
            "baseline_cell_id", Sentence("The result it is compared with."), VIEWER
        ),
        _integer("baseline_n", Sentence("Runs of that one."), VIEWER),
        Column(
            "relative_performance",
            "number",
            Sentence(
                "Relative performance, native = 1; more is better. A ratio of means,"
                " without its interval: verdicts are in /api/v1/comparisons/."
            ),
            VIEWER,
        ),
        _time("updated_at", Sentence("When it was last summarised.")),
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
        *_system_of("system__"),
        _text("tool", Sentence("The tool; `lab:slug` is a lab's own.")),
        _text("tool_version", Sentence("Its version; empty: not stated.")),
        *_CIRCUMSTANCES,
        _text("corun", Sentence("Shared by runs that ran together."), "corun__name"),
        _text("session", Sentence("What its uploader named."), "session__name"),
        _text("sitting", Sentence("The session it counts in."), "sitting__name"),
        _text("clock", Sentence("Whose clock timed it.")),
        _time("started_at", Sentence("When it began; null: not stated.")),
        _time("received_at", Sentence("When it was uploaded.")),
        _text("status", Sentence("received, parsed, rejected or quarantined.")),
        _claim(
            "duplicate",
            Sentence("An earlier run said all this before: no result counts it again."),
            Q(duplicate_of__isnull=False),
        ),
        _integer("sample_count", Sentence("Its samples.")),
        *_SOURCE,
        _text("note", Sentence("What its uploader noted.")),
        _object("facts", _FACTS),
    ),
    links=(("system_id", "systems", "id"),),
)
SAMPLES = Table(
    "samples",
    Sentence("One measured number of a run that was read."),
    (
        _text("lab", _LAB, "run__study__lab__slug"),
        _text("study", _STUDY, "run__study__slug"),
        _integer("system_id", Sentence("The system."), "run__system_id"),
        _integer("run_id", Sentence("The run."), "run_id"),
        _time("started_at", Sentence("When the run began."), "run__started_at"),
        *_benchmark_of("case__"),
        _integer("sequence", Sentence("Its place in the run, from 1.")),
        _integer("repetition", Sentence("Which repetition within the run.")),
        _statistic("value", Sentence("The number.")),
        _claim(
            "derived",
            Sentence("Derived from the run's other samples, not uploaded."),
            Q(sequence__gt=F("run__sample_count") - F("run__derived_count")),
        ),
        _claim(
            "duplicate",
            Sentence("Its run was uploaded before: no result counts it again."),
            Q(run__duplicate_of__isnull=False),
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
