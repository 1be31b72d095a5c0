"""What a stored upload says, and the runs and samples that are kept of it.

An upload brought its samples, or raw output that is read here. Read again it may say
something else: what is stored then follows it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from sys import float_info
from typing import Any, Final, NamedTuple

import orjson
from django.db.models import F

from benchmarks import fingerprints, tools, units
from benchmarks.errors import BenchmarksError
from benchmarks.models import Case, Run, Sample
from benchmarks.own_tools.lookup import DeclaredTool
from benchmarks.own_tools.samples import read_table
from benchmarks.parsing import reading
from benchmarks.parsing.cases import MeasuredSample, case_label, costs
from benchmarks.parsing.contract import LARGEST, Metric, Tool, check_value
from benchmarks.parsing.reading import ReadRun
from benchmarks.parsing.starts import placed
from benchmarks.sentences import stored
from benchmarks.uploads.storing import insert_samples, moment

INHERITED = (
    "lab_id",
    "agent_id",
    "key",
    "digest",
    "study_id",
    "system_id",
    "scenario",
    "vms",
    "slot",
    "load",
    "corun_id",
    "session_id",
    "clock",
    "started_at",
    "received_at",
    "document",
    "table",
    "note",
)


FILE_DATE: Final = "file date"
"""The fact that has when the uploaded file was last written."""
ZONE: Final = "time zone"
"""The fact that says in which time zone the printed times of a machine's clock are."""

LEAST: Final = float_info.min
"""From here a value in its metric's own unit is what it is; all else is looked at."""

# Agents measure the same cases over and over.
KINDS_REMEMBERED: Final = 8192


@dataclass(frozen=True, slots=True)
class SampleCase:
    """What a sample is of; the fingerprint says which row of the cases that is."""

    tool: Tool
    metric: Metric
    parameters: Mapping[str, str]
    fingerprint: str

    @property
    def row(self) -> Case:
        """The case, unsaved."""
        return Case(
            tool=self.tool.slug,
            metric=self.metric.name,
            parameters=self.parameters,
            unit=self.metric.unit,
            better=self.metric.better,
            component=self.metric.component,
            label=case_label(self.tool, self.metric, self.parameters),
            fingerprint=self.fingerprint,
        )


@dataclass(frozen=True, slots=True)
class ReadSample:
    """A sample in its metric's unit, with the case it belongs to."""

    case: SampleCase
    repetition: int
    value: float


class ReadSamples(NamedTuple):
    """Samples of a run by columns: an object for each takes longer than storing it."""

    cases: Sequence[SampleCase] = ()
    repetitions: Sequence[int] = ()
    values: Sequence[float] = ()

    @classmethod
    def of(cls, samples: Iterable[ReadSample]) -> "ReadSamples":
        rows = [(each.case, each.repetition, each.value) for each in samples]
        return cls(*zip(*rows, strict=True)) if rows else cls()

    def with_derived(self, tool: Tool) -> tuple["ReadSamples", int]:
        """Return the same with what is made of them at the end, and how many those
        are."""
        if not tool.costs:
            return self, 0
        made = ReadSamples.of(made_of(tool, list(map(ReadSample, *self))))
        samples = ReadSamples(
            [*self.cases, *made.cases],
            [*self.repetitions, *made.repetitions],
            [*self.values, *made.values],
        )
        return samples, len(made.values)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run of an upload: its samples, or the reason why there are none.

    ``parser_version`` and the lines are None if the upload brought its samples.
    ``declared_version`` is of a lab's own tool. ``derived`` samples were computed from
    ``samples``. ``started_at`` is stated by the uploader, else printed by the tool.
    """

    tool: str
    tool_version: str = ""
    parser_version: int | None = None
    declared_version: int | None = None
    samples: tuple[ReadSample, ...] = ()
    derived: tuple[ReadSample, ...] = ()
    warnings: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    first_line: int | None = None
    last_line: int | None = None
    reason: str = ""
    started_at: datetime | None = None


Samples = dict[Run, tuple[ReadSample, ...]]


def read_samples(tool: Tool, samples: Iterable[Mapping[str, Any]]) -> list[ReadSample]:
    """Return samples as they are sent; errors name the sample they are about."""
    # A lab's own tool may be declared anew under the same name.
    is_shared = tools.TOOLS.get(tool.slug) is tool
    read = []
    for index, sample in enumerate(samples):
        try:
            read.append((is_shared and _known(tool, sample)) or _read(tool, sample))
        except BenchmarksError as error:
            error.field = f"samples[{index}]"
            raise
    return read


def _read(tool: Tool, sample: Mapping[str, Any]) -> ReadSample:
    metric = tool.metric(sample["metric"])
    value = check_value(metric, sample["value"], sample["unit"])
    case = _case(tool, metric, tool.options.spelled(sample.get("parameters", {})))
    return ReadSample(case, sample.get("repetition", 1), value)


def _known(tool: Tool, sample: Mapping[str, Any]) -> ReadSample | None:
    """Return a sample such as was read before; None where it must be looked at."""
    try:
        stated = orjson.dumps(sample.get("parameters", {}))
        case = _remembered(tool.slug, sample["metric"], sample["unit"], stated)
    except (TypeError, BenchmarksError):
        return None
    value = sample["value"]
    if case is None or type(value) not in (float, int) or not LEAST <= value <= LARGEST:
        return None
    return ReadSample(case, sample.get("repetition", 1), float(value))


def known_case(
    tool: str, metric: str, unit: str, parameters: bytes
) -> SampleCase | None:
    """Return the case of such samples; None if they must be read in full.

    Their values from `LEAST` to `LARGEST` are stored as they were sent.
    """
    try:
        return _remembered(tools.get(tool).slug, metric, unit, parameters)
    except BenchmarksError:
        return None


@lru_cache(KINDS_REMEMBERED)
def _remembered(
    slug: str, metric_name: str, unit: str, parameters: bytes
) -> SampleCase | None:
    """Return the case of such samples; None if their values must be converted."""
    tool = tools.TOOLS[slug]
    metric = tool.metric(metric_name)
    sent, own = units.unit(unit), units.unit(metric.unit)
    if (sent.dimension, sent.factor) != (own.dimension, own.factor):
        return None
    return _case(tool, metric, tool.options.spelled(orjson.loads(parameters)))


def _case(tool: Tool, metric: Metric, stated: Mapping[str, Any]) -> SampleCase:
    """Return the case of a metric with its parameters."""
    return SampleCase(
        tool=tool,
        metric=metric,
        parameters=fingerprints.display_parameters(stated),
        fingerprint=fingerprints.case_fingerprint(tool.slug, metric.name, stated),
    )


def made_of(tool: Tool, samples: Sequence[ReadSample]) -> tuple[ReadSample, ...]:
    """Return what a run's data cost in CPU time, made of its samples."""
    if not tool.costs:
        return ()
    # What a run states itself is not made once more.
    stated = {sample.case.metric.name for sample in samples}
    measured = (
        MeasuredSample(
            sample.case.metric.name,
            sample.case.parameters,
            sample.repetition,
            sample.value,
        )
        for sample in samples
    )
    return tuple(
        ReadSample(
            _case(tool, tool.metric(cost.metric), cost.parameters),
            cost.repetition,
            cost.value,
        )
        for cost in costs(tool, measured)
        if cost.metric not in stated
    )


def read_upload(text: str, own: DeclaredTool | None = None) -> tuple[Result, ...]:
    """Return every run of a stored upload, at least one.

    ``own`` is its tool, if a lab declared it. Unreadable output is a result with a
    reason, not an error.
    """
    document = orjson.loads(text)
    name, facts = document.get("tool", ""), document.get("facts", {})
    tool = own.tool if own else tools.get(name) if name else None
    stated = Result(
        tool=tool.slug if tool else "",
        declared_version=own.version if own else None,
        tool_version=document.get("tool_version", ""),
        facts=facts,
        started_at=moment(document.get("started_at")) or _file_date(document),
    )
    try:
        if tool and "output" not in document:
            samples = tuple(read_samples(tool, document["samples"]))
            return (replace(stated, samples=samples, derived=made_of(tool, samples)),)
        if own:
            return _table_results(stated, own, document)
        # The command that an agent says it started tells what a bare output may not.
        execution = facts.get("execution")
        argv = execution.get("argv") if isinstance(execution, dict) else None
        command = " ".join(map(str, argv)) if isinstance(argv, list) else ""
        runs = reading.read(
            document["output"], document.get("tool"), document.get("locale"), command
        )
    except BenchmarksError as error:
        return (replace(stated, reason=error.sentence),)
    return tuple(_result(run, document) for run in runs)


def _table_results(
    stated: Result, own: DeclaredTool, document: Mapping[str, Any]
) -> tuple[Result, ...]:
    """The runs of a file of samples: what one lab declared has no parser."""
    results = []
    for run in read_table(own.tool, document["output"], document.get("locale")):
        result = replace(stated, first_line=run.first_line, last_line=run.last_line)
        try:
            samples = read_samples(own.tool, run.samples)
            results.append(replace(result, samples=tuple(samples)))
        except BenchmarksError as error:
            results.append(replace(result, reason=error.sentence))
    return tuple(results)


def _result(run: ReadRun, document: Mapping[str, Any]) -> Result:
    """A run that was read; what the uploader stated stands before what was printed."""
    printed = [
        {
            "metric": reading.metric,
            "parameters": dict(reading.parameters),
            "value": reading.value,
            "unit": reading.unit,
            "repetition": reading.repetition,
        }
        for reading in run.readings
    ]
    samples: list[ReadSample] = []
    problem: BenchmarksError | None = run.problem
    if problem is None:
        try:
            samples = read_samples(tools.get(run.tool), printed)
        except BenchmarksError as error:
            problem = error
    command = {"command": run.command} if run.command else {}
    return Result(
        tool=run.tool,
        tool_version=document.get("tool_version") or run.tool_version,
        parser_version=run.parser_version,
        samples=tuple(samples),
        derived=made_of(tools.get(run.tool), samples) if samples else (),
        # In English, and beside it the words that it is said with in other languages.
        warnings=tuple(
            {
                "code": mark.code,
                "sentence": str(mark.sentence),
                "words": stored(mark.sentence),
            }
            for mark in run.warnings
        ),
        facts={**command, **run.facts, **document.get("facts", {})},
        first_line=run.first_line,
        last_line=run.last_line,
        reason=problem.sentence if problem else "",
        started_at=_start(run, document),
    )


def _start(run: ReadRun, document: Mapping[str, Any]) -> datetime | None:
    zone = document.get("facts", {}).get(ZONE)
    printed = placed(run.printed_start, zone if isinstance(zone, str) else "")
    return moment(document.get("started_at")) or printed or _file_date(document)


def _file_date(document: Mapping[str, Any]) -> datetime | None:
    """The date of the file that was uploaded, where its uploader stands by it."""
    stated = document.get("facts", {}).get(FILE_DATE)
    try:
        date = datetime.fromisoformat(stated) if isinstance(stated, str) else None
    except ValueError:
        return None
    return date if date and date.tzinfo else None


def store_runs(read: Mapping[Run, Sequence[Result]], known: Iterable[Run]) -> Samples:
    """Give every result its run, new ones stored, and return each run's samples."""
    # The first run of an upload is the upload itself and has no source.
    runs = {(run.source_id or run.pk, run.part): run for run in known}
    results: dict[tuple[int, int], Result] = {}
    further = []
    for upload, parts in read.items():
        for part, result in enumerate(parts, start=1):
            results[upload.pk, part] = result
            if (upload.pk, part) not in runs:
                stated = {name: getattr(upload, name) for name in INHERITED}
                further.append(Run(source=upload, part=part, **stated))
    for run in Run.objects.bulk_create(further):
        runs[run.source_id or run.pk, run.part] = run
    # Runs of a batch mostly come to the same: one UPDATE for all of them.
    alike: dict[bytes, tuple[dict[str, Any], list[int]]] = {}
    for place, result in results.items():
        changes = _changes(runs[place], result)
        key = orjson.dumps(changes, option=orjson.OPT_SORT_KEYS)
        alike.setdefault(key, (changes, []))[1].append(runs[place].pk)
    for changes, ids in alike.values():
        # A row that is written again is another version to whoever keeps pages of it.
        if changes:
            Run.objects.filter(pk__in=ids).update(**changes)
    return {
        runs[place]: (*result.samples, *result.derived)
        for place, result in results.items()
    }


def _changes(run: Run, result: Result) -> dict[str, Any]:
    """Return what the result says anew; the run then says it too."""
    fields = {
        "tool": result.tool,
        "tool_version": result.tool_version,
        "parser_version": result.parser_version,
        "declared_version": result.declared_version,
        "status": Run.Status.REJECTED if result.reason else Run.Status.PARSED,
        "reason": result.reason,
        "warnings": [dict(warning) for warning in result.warnings],
        "facts": dict(result.facts),
        "first_line": result.first_line,
        "last_line": result.last_line,
        "sample_count": len(result.samples) + len(result.derived),
        "derived_count": len(result.derived),
        "started_at": result.started_at,
    }
    changes = {}
    for name, value in fields.items():
        old, new = (
            # As it is stored: the same English may have other words.
            stored(text) if isinstance(text, str) else text
            for text in (getattr(run, name), value)
        )
        if old != new:
            changes[name] = value
            setattr(run, name, value)
    return changes


def store_cases(cases: Iterable[SampleCase]) -> dict[str, int]:
    """Store the cases not yet known; return the ids of all by fingerprint."""
    wanted = {case.fingerprint: case for case in cases}
    rows = Case.objects.filter(fingerprint__in=wanted).values_list("fingerprint", "pk")
    ids = dict(rows)
    if new := [wanted[key].row for key in sorted(wanted.keys() - ids.keys())]:
        # Another worker may store the same ones: whose they are is read afterwards.
        Case.objects.bulk_create(new, ignore_conflicts=True)
        # all() asks once more; `rows` itself would answer what it found before.
        ids = dict(rows.all())
    return ids


def replace_samples(samples: Samples, cases: Mapping[str, int]) -> None:
    """Write the samples of these runs, and only them: twice is the same as once."""
    labs = {run.lab_id for run in samples}
    if Sample.objects.filter(lab__in=labs, run__in=samples).delete()[0]:
        # Other samples are another version of a run: its row is written again.
        again = Run.objects.filter(pk__in=[run.pk for run in samples])
        again.update(sample_count=F("sample_count"))
    insert_samples(
        (
            *(run.lab_id, run.pk, sequence),
            *(cases[row.case.fingerprint], row.repetition, row.value),
        )
        for run, rows in samples.items()
        for sequence, row in enumerate(rows, start=1)
    )
