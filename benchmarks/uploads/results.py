"""What a stored upload says: its samples as sent, or its raw output read by us."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from django.db import connection
from django.db.models import F

from benchmarks import fingerprints, tools
from benchmarks.errors import BenchmarksError
from benchmarks.models import Case, Run, Sample
from benchmarks.parsing import reading
from benchmarks.parsing.contract import check_value
from benchmarks.parsing.drafts import Mark
from benchmarks.parsing.labels import case_label
from benchmarks.parsing.reading import ReadRun
from benchmarks.sentences import stored

COPY = (
    f"COPY {Sample._meta.db_table} "
    "(lab_id, run_id, sequence, case_id, repetition, value) FROM STDIN"
)


@dataclass(frozen=True)
class ReadSample:
    """A sample in its metric's unit, with the case it belongs to."""

    case: Case
    repetition: int
    value: float


def read_samples(tool_name: str, samples: Iterable[dict[str, Any]]) -> list[ReadSample]:
    """Return samples as they are sent; errors name the sample they are about.

    The cases are unsaved: their fingerprint says which row they are.
    """
    tool = tools.get(tool_name)
    read = []
    for index, sample in enumerate(samples):
        try:
            read.append(_read_sample(tool, sample))
        except BenchmarksError as error:
            error.field = f"samples[{index}]"
            raise
    return read


def _read_sample(tool: tools.Tool, sample: dict[str, Any]) -> ReadSample:
    metric = tool.metric(sample["metric"])
    value = check_value(metric, sample["value"], sample["unit"])
    parameters = sample.get("parameters", {})
    case = Case(
        tool=tool.slug,
        metric=metric.name,
        parameters=fingerprints.display_parameters(parameters),
        unit=metric.unit,
        better=metric.better,
        component=metric.component,
        label=case_label(tool, metric, parameters),
        fingerprint=fingerprints.case_fingerprint(tool.slug, metric.name, parameters),
    )
    return ReadSample(case, sample.get("repetition", 1), value)


def store_cases(samples: Iterable[ReadSample]) -> dict[str, Case]:
    """Store the cases not yet known; return all by fingerprint."""
    wanted = {sample.case.fingerprint: sample.case for sample in samples}
    found = _cases_by_fingerprint(wanted)
    new = [wanted[key] for key in sorted(wanted.keys() - found.keys())]
    if not new:
        return found
    Case.objects.bulk_create(new, ignore_conflicts=True)
    return _cases_by_fingerprint(wanted)


def _cases_by_fingerprint(keys: Iterable[str]) -> dict[str, Case]:
    cases = Case.objects.filter(fingerprint__in=keys)
    return {case.fingerprint: case for case in cases}


def replace_samples(
    samples: Mapping[Run, Sequence[ReadSample]], cases: dict[str, Case]
) -> None:
    """Write the samples of these runs, and only them: twice is the same as once."""
    if Sample.objects.filter(run__in=samples).delete()[0]:
        _mark(samples)
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for run, rows in samples.items():
            for sequence, row in enumerate(rows, start=1):
                case = cases[row.case.fingerprint]
                copy.write_row(
                    (run.lab_id, run.pk, sequence, case.pk, row.repetition, row.value)
                )


def _mark(runs: Iterable[Run]) -> None:
    """Write runs that were read again: other samples are another version of a run."""
    again = Run.objects.filter(pk__in=[run.pk for run in runs])
    again.update(sample_count=F("sample_count"))


@dataclass(frozen=True, kw_only=True)
class Result:
    """One run of an upload: its samples, or the reason why there are none.

    ``parser_version`` and the lines are None for an upload that brought its samples:
    nothing was parsed.
    """

    tool: str
    tool_version: str = ""
    parser_version: int | None = None
    samples: tuple[ReadSample, ...] = ()
    warnings: tuple[Mapping[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    first_line: int | None = None
    last_line: int | None = None
    reason: str = ""


def read_upload(text: str) -> tuple[Result, ...]:
    """Return every run of an upload as it was kept, at least one.

    What cannot be read is a result with a reason, never an error.
    """
    document = orjson.loads(text)
    return _read_output(document) if "output" in document else _as_sent(document)


def _as_sent(document: Mapping[str, Any]) -> tuple[Result, ...]:
    sent = _stated(document)
    try:
        samples = tuple(read_samples(document["tool"], document["samples"]))
    except BenchmarksError as error:
        return (replace(sent, reason=error.sentence),)
    return (replace(sent, samples=samples),)


def _stated(document: Mapping[str, Any]) -> Result:
    """What the uploader said of the run, before anything is read."""
    name = document.get("tool", "")
    return Result(
        tool=tools.get(name).slug if name else "",
        tool_version=document.get("tool_version", ""),
        facts=document.get("facts", {}),
    )


def _read_output(document: Mapping[str, Any]) -> tuple[Result, ...]:
    try:
        found = reading.read(
            document["output"],
            document.get("tool"),
            document.get("locale"),
            _command(document.get("facts", {})),
        )
    except BenchmarksError as error:
        return (replace(_stated(document), reason=error.sentence),)
    return tuple(_result(run, document) for run in found)


def _command(facts: Mapping[str, Any]) -> str:
    """The command that an agent says it started; empty if there is none."""
    execution = facts.get("execution")
    argv = execution.get("argv") if isinstance(execution, dict) else None
    return " ".join(map(str, argv)) if isinstance(argv, list) else ""


def _result(run: ReadRun, document: Mapping[str, Any]) -> Result:
    """A run that was read; what the uploader stated stands before what was printed."""
    command = {"command": run.command} if run.command else {}
    samples, reason = _samples(run)
    return Result(
        tool=run.tool,
        tool_version=document.get("tool_version") or run.tool_version,
        parser_version=run.parser_version,
        samples=samples,
        warnings=tuple(map(_kept, run.warnings)),
        facts={**command, **run.facts, **document.get("facts", {})},
        first_line=run.first_line,
        last_line=run.last_line,
        reason=reason,
    )


def _kept(mark: Mark) -> Mapping[str, str]:
    """A mark in English, and beside it the words that it is said with otherwise."""
    english = str(mark.sentence)
    return {"code": mark.code, "sentence": english, "words": stored(mark.sentence)}


def _samples(run: ReadRun) -> tuple[tuple[ReadSample, ...], str]:
    if run.problem:
        return (), run.problem.sentence
    sent = [
        {
            "metric": reading.metric,
            "parameters": dict(reading.parameters),
            "value": reading.value,
            "unit": reading.unit,
            "repetition": reading.repetition,
        }
        for reading in run.readings
    ]
    try:
        return tuple(read_samples(run.tool, sent)), ""
    except BenchmarksError as error:
        return (), error.sentence
