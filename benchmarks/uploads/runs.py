"""Keep the runs of an upload true to what was read from it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from django.db.models import Q, QuerySet

from benchmarks.errors import NotFoundError
from benchmarks.models import Case, Run, Sample
from benchmarks.sentences import Sentence, stored
from benchmarks.uploads.results import ReadSample, Result
from benchmarks.viewer import Viewer

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


SHOWN_INLINE = 100


def visible_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    """Return the runs a viewer may see, with all that belongs to them."""
    related = ("study__lab", "system__host", "agent", "corun", "session")
    return listed_runs(viewer, **filters).select_related(*related)


def listed_runs(viewer: Viewer, **filters: Any) -> QuerySet[Run]:
    """Return the runs a viewer may see, with what a page's list of them shows.

    PostgreSQL plans a join of eight tables for longer than it runs it.
    """
    runs = Run.objects.visible_to(viewer).filter(**filters)
    return runs.select_related("system").order_by("pk")


def find_run(viewer: Viewer, run_id: int) -> Run:
    """Return one run with its upload, or raise NotFoundError."""
    runs = visible_runs(viewer, pk=run_id).select_related("output", "source__output")
    run = runs.first()
    if run is None:
        raise NotFoundError(Sentence("run"), run_id)
    return run


def runs_of_upload(run: Run) -> QuerySet[Run]:
    """Return the other runs that were read from the same upload, in its order."""
    first = run.source_id or run.pk
    same = Run.objects.filter(Q(pk=first) | Q(source=first))
    return same.exclude(pk=run.pk).order_by("part")


def samples_of(run: Run) -> QuerySet[Sample]:
    """Return a run's samples in the order they were measured, with their cases."""
    samples = Sample.objects.filter(lab_id=run.lab_id, run=run)
    return samples.select_related("case").order_by("sequence")


def samples_inline(runs: Sequence[Run]) -> Mapping[int, list[Sample]]:
    """Return the samples of those runs that have few enough to show in a list."""
    few = [run.pk for run in runs if run.sample_count <= SHOWN_INLINE]
    samples: dict[int, list[Sample]] = {run_id: [] for run_id in few}
    rows = Sample.objects.filter(run__in=few).order_by("run_id", "sequence")
    cases = Case.objects.in_bulk({row.case_id for row in rows})
    for row in rows:
        row.case = cases[row.case_id]
        samples[row.run_id].append(row)
    return samples
