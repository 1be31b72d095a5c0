"""Keep the runs of an upload true to what was read from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from benchmarks.models import Run
from benchmarks.sentences import stored
from benchmarks.uploads.results import Result
from benchmarks.uploads.samples import ReadSample

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

Samples = dict[Run, tuple[ReadSample, ...]]


def stored_runs(uploads: Sequence[Run]) -> list[Run]:
    """Return all runs that were read from these uploads, themselves among them."""
    return [*uploads, *Run.objects.filter(source__in=uploads).order_by("pk")]


def store_runs(read: Mapping[Run, Sequence[Result]], known: Iterable[Run]) -> Samples:
    """Give every result its run, new ones stored, and return each run's samples."""
    runs = {(run.source_id or run.pk, run.part): run for run in known}
    told = {
        (upload.pk, part): result
        for upload, results in read.items()
        for part, result in enumerate(results, start=1)
    }
    uploads = {upload.pk: upload for upload in read}
    new = [
        _further_run(uploads[pk], part) for pk, part in told if (pk, part) not in runs
    ]
    runs |= {
        (run.source_id or run.pk, run.part): run for run in Run.objects.bulk_create(new)
    }
    _note({runs[place]: result for place, result in told.items()})
    return {runs[place]: result.samples for place, result in told.items()}


def delete_vanished(known: Iterable[Run], kept: Iterable[Run]) -> None:
    """Delete the runs that a better reader no longer finds; their text is kept."""
    vanished = {run.pk for run in known} - {run.pk for run in kept}
    Run.objects.filter(pk__in=vanished).delete()


def _further_run(upload: Run, part: int) -> Run:
    stated = {name: getattr(upload, name) for name in INHERITED}
    return Run(source=upload, part=part, **stated)


def _note(told: Mapping[Run, Result]) -> None:
    """Store what reading came to; runs of a batch mostly come to the same."""
    alike: dict[bytes, tuple[dict[str, Any], list[int]]] = {}
    for run, result in told.items():
        changes = _changes(run, result)
        key = orjson.dumps(changes, option=orjson.OPT_SORT_KEYS)
        alike.setdefault(key, (changes, []))[1].append(run.pk)
    for changes, ids in alike.values():
        if changes:
            Run.objects.filter(pk__in=ids).update(**changes)


def _changes(run: Run, result: Result) -> dict[str, Any]:
    """Return what the result says anew; the run then says it too."""
    said = {
        "tool": result.tool,
        "tool_version": result.tool_version,
        "parser_version": result.parser_version,
        "status": Run.Status.REJECTED if result.reason else Run.Status.PARSED,
        "reason": result.reason,
        "warnings": [dict(warning) for warning in result.warnings],
        "facts": dict(result.facts),
        "first_line": result.first_line,
        "last_line": result.last_line,
        "sample_count": len(result.samples),
    }
    changes = {
        name: value
        for name, value in said.items()
        if _words(getattr(run, name)) != _words(value)
    }
    for name, value in changes.items():
        setattr(run, name, value)
    return changes


def _words(value: Any) -> Any:
    """Return a value as it is stored: the same English may have other words."""
    return stored(value) if isinstance(value, str) else value
