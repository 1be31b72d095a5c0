"""What a stored upload says: its samples as sent, or its raw output read by us."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from benchmarks import tools
from benchmarks.errors import BenchmarksError
from benchmarks.parsing import reading
from benchmarks.parsing.drafts import Mark
from benchmarks.parsing.reading import ReadRun
from benchmarks.sentences import stored
from benchmarks.uploads.samples import ReadSample, read_samples


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
