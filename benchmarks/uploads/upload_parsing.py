"""Parsing of stored uploads into runs and samples.

Reading an upload again with newer parsers may give other results.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from sys import float_info
from typing import Any, Final, NamedTuple

import orjson

from benchmarks import fingerprints, tools, units
from benchmarks.custom_tools.lookup import DeclaredTool
from benchmarks.custom_tools.sample_tables import read_sample_file
from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.models import Case, Run
from benchmarks.parsing import run_extraction
from benchmarks.parsing.case_labels import case_label
from benchmarks.parsing.cpu_costs import MeasuredSample, derive_costs
from benchmarks.parsing.failed_work import NO_FAILURE, Failure, find_failure
from benchmarks.parsing.run_extraction import ExtractedRun
from benchmarks.parsing.start_times import in_time_zone
from benchmarks.parsing.tool import (
    MAX_SAMPLE_VALUE,
    STANDARD_DEVIATION,
    SUMMARIZED_RUNS,
    Metric,
    Tool,
    check_value,
)
from benchmarks.sentences import serialize
from benchmarks.uploads.run_storage import parse_timestamp

UPLOAD_FIELDS = (
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
    "declared_session_id",
    "clock",
    "started_at",
    "received_at",
    "document",
    "table",
    "note",
    "stated_failure",
)


FILE_DATE: Final = "file date"
"""The name of the fact with the modification time of the uploaded file."""
ZONE: Final = "time zone"
"""The name of the fact with the time zone of times printed in the output."""

MIN_NORMAL_FLOAT: Final = float_info.min
"""Smaller values than this one are validated even in the metric's unit."""

# Agents measure the same cases again and again.
SAMPLE_CASE_CACHE_SIZE: Final = 8192


@dataclass(frozen=True, slots=True)
class SampleCase:
    """A case that may be unsaved; ``fingerprint`` identifies the stored `Case`."""

    tool: Tool
    metric: Metric
    parameters: Mapping[str, str]
    fingerprint: str

    @property
    def unsaved_case(self) -> Case:
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
class CaseSample:
    """A sample in the unit of its metric."""

    case: SampleCase
    repetition: int
    value: float
    summarized_runs: int | None = None
    standard_deviation: float | None = None


class SampleColumns(NamedTuple):
    """Samples of a run by column.

    Creating an object per sample would take longer than storing the samples.
    """

    cases: Sequence[SampleCase] = ()
    repetitions: Sequence[int] = ()
    values: Sequence[float] = ()

    @classmethod
    def from_samples(cls, samples: Iterable[CaseSample]) -> "SampleColumns":
        rows = [(sample.case, sample.repetition, sample.value) for sample in samples]
        return cls(*zip(*rows, strict=True)) if rows else cls()

    @property
    def metric_values(self) -> Iterator[tuple[str, float]]:
        for case, value in zip(self.cases, self.values, strict=True):
            yield case.metric.name, value

    def with_derived(self, tool: Tool) -> tuple["SampleColumns", int]:
        """Return the samples followed by derived ones, and the number of these."""
        if not tool.derived_costs:
            return self, 0
        derived = SampleColumns.from_samples(
            derived_samples(tool, list(map(CaseSample, *self)))
        )
        samples = SampleColumns(
            [*self.cases, *derived.cases],
            [*self.repetitions, *derived.repetitions],
            [*self.values, *derived.values],
        )
        return samples, len(derived.values)


@dataclass(frozen=True, kw_only=True)
class UploadedRun:
    """A run of an upload: its samples, or the reason why there are none.

    ``parser_version``, ``first_line`` and ``last_line`` are None if samples were
    uploaded. ``derived`` samples were computed from ``samples``.
    """

    tool: str
    tool_version: str = ""
    parser_version: int | None = None
    custom_tool_version: int | None = None
    samples: tuple[CaseSample, ...] = ()
    derived: tuple[CaseSample, ...] = ()
    warnings: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    first_line: int | None = None
    last_line: int | None = None
    reason: str = ""
    failure: Failure = NO_FAILURE
    started_at: datetime | None = None


SamplesByRun = dict[Run, tuple[CaseSample, ...]]


def parse_samples(tool: Tool, samples: Iterable[Mapping[str, Any]]) -> list[CaseSample]:
    """Errors name the invalid sample."""
    # The declaration of a custom tool may change, so its cases are not cached.
    is_shared = tools.TOOLS.get(tool.slug) is tool
    parsed = []
    for index, sample in enumerate(samples):
        try:
            parsed.append(
                (is_shared and _read_cached(tool, sample)) or _read(tool, sample)
            )
        except BenchmarksError as error:
            error.field = f"samples[{index}]"
            raise
    _refuse_mixed_summaries(parsed)
    return parsed


def has_summaries(samples: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a sample is the mean of several runs."""
    return any(SUMMARIZED_RUNS in sample for sample in samples)


def _refuse_mixed_summaries(samples: Sequence[CaseSample]) -> None:
    if all(sample.summarized_runs is None for sample in samples):
        return
    count = Counter(sample.case.fingerprint for sample in samples)
    for index, sample in enumerate(samples):
        if sample.summarized_runs is not None and count[sample.case.fingerprint] > 1:
            raise InvalidError(
                "summary_not_alone",
                "This is a mean of several runs, but the same benchmark has other "
                "samples in this upload. Send each mean as an upload of its own.",
            ).for_field(f"samples[{index}]")


def _read(tool: Tool, sample: Mapping[str, Any]) -> CaseSample:
    metric = tool.metric(sample["metric"])
    value = check_value(metric, sample["value"], sample["unit"])
    case = _case(tool, metric, tool.options.normalize(sample.get("parameters", {})))
    return CaseSample(
        case, sample.get("repetition", 1), value, *_summary(metric, sample)
    )


def _summary(
    metric: Metric, sample: Mapping[str, Any]
) -> tuple[int | None, float | None]:
    """Return the number of summarized runs, and their deviation in the metric's unit.

    A value of one run is a measured value.
    """
    runs, deviation = sample.get(SUMMARIZED_RUNS), sample.get(STANDARD_DEVIATION)
    if deviation is None:
        return None if runs == 1 else runs, None
    if runs is None or runs < 2:
        raise InvalidError(
            "deviation_without_runs",
            "A standard deviation needs at least two runs. State their number as runs, "
            "or leave out standard_deviation.",
        )
    converted = units.convert(float(deviation), sample["unit"], metric.unit)
    if not 0 <= converted <= MAX_SAMPLE_VALUE:
        raise InvalidError(
            "deviation_rejected",
            '"{value}" is not a standard deviation. Send a number of 0 or more, in the '
            "unit of the sample.",
            value=deviation,
        )
    return runs, converted


def _read_cached(tool: Tool, sample: Mapping[str, Any]) -> CaseSample | None:
    """Return None if the sample needs validation."""
    if SUMMARIZED_RUNS in sample or STANDARD_DEVIATION in sample:
        return None
    try:
        parameters = orjson.dumps(sample.get("parameters", {}))
        case = _cached_case(tool.slug, sample["metric"], sample["unit"], parameters)
    except (TypeError, BenchmarksError):
        return None
    value = sample["value"]
    if (
        case is None
        or type(value) not in (float, int)
        or not MIN_NORMAL_FLOAT <= value <= MAX_SAMPLE_VALUE
    ):
        return None
    return CaseSample(case, sample.get("repetition", 1), float(value))


def cached_case(
    tool: str, metric: str, unit: str, parameters: bytes
) -> SampleCase | None:
    """Return the case of a metric with parameters; None if its samples need validation.

    Otherwise values from `MIN_NORMAL_FLOAT` to `MAX_SAMPLE_VALUE` can be stored
    unchanged.
    """
    try:
        return _cached_case(tools.get(tool).slug, metric, unit, parameters)
    except BenchmarksError:
        return None


@lru_cache(SAMPLE_CASE_CACHE_SIZE)
def _cached_case(
    slug: str, metric_name: str, unit: str, parameters: bytes
) -> SampleCase | None:
    """Return the case; None if values must be converted from ``unit``."""
    tool = tools.TOOLS[slug]
    metric = tool.metric(metric_name)
    uploaded_unit, metric_unit = units.get_unit(unit), units.get_unit(metric.unit)
    if (uploaded_unit.dimension, uploaded_unit.factor) != (
        metric_unit.dimension,
        metric_unit.factor,
    ):
        return None
    return _case(tool, metric, tool.options.normalize(orjson.loads(parameters)))


def _case(tool: Tool, metric: Metric, parameters: Mapping[str, Any]) -> SampleCase:
    return SampleCase(
        tool=tool,
        metric=metric,
        parameters=fingerprints.display_parameters(parameters),
        fingerprint=fingerprints.case_fingerprint(tool.slug, metric.name, parameters),
    )


def derived_samples(
    tool: Tool, samples: Sequence[CaseSample]
) -> tuple[CaseSample, ...]:
    """Return costs in CPU time, computed from the samples of a run that has none.

    A cost of means is not the mean of the costs, so summaries have none.
    """
    if not tool.derived_costs or any(sample.summarized_runs for sample in samples):
        return ()
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
        CaseSample(
            _case(tool, tool.metric(cost.metric), cost.parameters),
            cost.repetition,
            cost.value,
        )
        for cost in derive_costs(tool, measured)
        if cost.metric not in stated
    )


def parse_stored_upload(
    text: str, custom_tool: DeclaredTool | None = None, stated_failure: str = ""
) -> tuple[UploadedRun, ...]:
    """Return at least one run: unreadable output gives a run with a reason."""
    document = orjson.loads(text)
    runs = _parse_document(document, custom_tool)
    return tuple(_with_failure(run, document, stated_failure) for run in runs)


def _with_failure(
    run: UploadedRun, document: Mapping[str, Any], stated: str
) -> UploadedRun:
    failure = find_failure(
        document,
        stated=stated,
        parsed=run.failure,
        tool=tools.TOOLS.get(run.tool),
        values=((row.case.metric.name, row.value) for row in run.samples),
    )
    return run if failure == run.failure else replace(run, failure=failure)


def _parse_document(
    document: Mapping[str, Any], custom_tool: DeclaredTool | None
) -> tuple[UploadedRun, ...]:
    name, facts = document.get("tool", ""), document.get("facts", {})
    tool = custom_tool.tool if custom_tool else tools.get(name) if name else None
    stated = UploadedRun(
        tool=tool.slug if tool else "",
        custom_tool_version=custom_tool.version if custom_tool else None,
        tool_version=document.get("tool_version", ""),
        facts=facts,
        started_at=parse_timestamp(document.get("started_at")) or _file_date(document),
    )
    try:
        if tool and "output" not in document:
            samples = tuple(parse_samples(tool, document["samples"]))
            return (
                replace(
                    stated, samples=samples, derived=derived_samples(tool, samples)
                ),
            )
        if custom_tool:
            return _table_results(stated, custom_tool, document)
        # The command of the agent may have parameters that the output does not print.
        execution = facts.get("execution")
        argv = execution.get("argv") if isinstance(execution, dict) else None
        command = " ".join(map(str, argv)) if isinstance(argv, list) else ""
        runs = run_extraction.extract_runs(
            document["output"],
            document.get("tool"),
            document.get("locale"),
            command,
            document.get("part", ""),
        )
    except BenchmarksError as error:
        return (replace(stated, reason=error.sentence),)
    return tuple(_result(run, document) for run in runs)


def _table_results(
    stated_result: UploadedRun, custom_tool: DeclaredTool, document: Mapping[str, Any]
) -> tuple[UploadedRun, ...]:
    results = []
    for run in read_sample_file(
        custom_tool.tool, document["output"], document.get("locale")
    ):
        result = replace(
            stated_result, first_line=run.first_line, last_line=run.last_line
        )
        try:
            samples = parse_samples(custom_tool.tool, run.samples)
            results.append(replace(result, samples=tuple(samples)))
        except BenchmarksError as error:
            results.append(replace(result, reason=error.sentence))
    return tuple(results)


def _result(run: ExtractedRun, document: Mapping[str, Any]) -> UploadedRun:
    """Return an extracted run; what the uploader stated overrides printed values."""
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
    samples: list[CaseSample] = []
    problem: BenchmarksError | None = run.problem
    if problem is None:
        try:
            samples = parse_samples(tools.get(run.tool), printed)
        except BenchmarksError as error:
            problem = error
    stated = {"command": run.command, "part": run.part}
    sources = {name: text for name, text in stated.items() if text}
    return UploadedRun(
        tool=run.tool,
        tool_version=document.get("tool_version") or run.tool_version,
        parser_version=run.parser_version,
        samples=tuple(samples),
        derived=derived_samples(tools.get(run.tool), samples) if samples else (),
        # "words" holds the template and values, for translation.
        warnings=tuple(
            {
                "code": warning.code,
                "sentence": str(warning.message),
                "words": serialize(warning.message),
            }
            for warning in run.warnings
        ),
        facts={**sources, **run.facts, **document.get("facts", {})},
        first_line=run.first_line,
        last_line=run.last_line,
        reason=problem.sentence if problem else "",
        failure=run.failure,
        started_at=_start(run, document),
    )


def _start(run: ExtractedRun, document: Mapping[str, Any]) -> datetime | None:
    zone = document.get("facts", {}).get(ZONE)
    printed = in_time_zone(run.printed_start, zone if isinstance(zone, str) else "")
    return (
        parse_timestamp(document.get("started_at")) or printed or _file_date(document)
    )


def _file_date(document: Mapping[str, Any]) -> datetime | None:
    """Return None unless the uploader chose to use the file's date."""
    stated = document.get("facts", {}).get(FILE_DATE)
    try:
        date = datetime.fromisoformat(stated) if isinstance(stated, str) else None
    except ValueError:
        return None
    return date if date and date.tzinfo else None
