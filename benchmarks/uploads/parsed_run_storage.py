"""Storage of parsed runs, their cases and their samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from django.db.models import F

from benchmarks.models import Case, Run, Sample
from benchmarks.sentences import serialize
from benchmarks.uploads.run_storage import insert_samples
from benchmarks.uploads.upload_parsing import (
    UPLOAD_FIELDS,
    SampleCase,
    SamplesByRun,
    UploadedRun,
)


def store_runs(
    results_by_run: Mapping[Run, Sequence[UploadedRun]], existing_runs: Iterable[Run]
) -> SamplesByRun:
    """Create or update the run of each result; return the samples by run."""
    runs = {
        (run.first_run_id or run.pk, run.upload_position): run for run in existing_runs
    }
    results: dict[tuple[int, int], UploadedRun] = {}
    new_runs = []
    for upload, parts in results_by_run.items():
        for part, result in enumerate(parts, start=1):
            results[upload.pk, part] = result
            if (upload.pk, part) not in runs:
                stated = {name: getattr(upload, name) for name in UPLOAD_FIELDS}
                new_runs.append(Run(first_run=upload, upload_position=part, **stated))
    for run in Run.objects.bulk_create(new_runs):
        runs[run.first_run_id or run.pk, run.upload_position] = run
    # Most runs of a batch have the same changes: one UPDATE for all of them.
    runs_by_changes: dict[bytes, tuple[dict[str, Any], list[int]]] = {}
    for run_key, result in results.items():
        changes = _changed_fields(runs[run_key], result)
        key = orjson.dumps(changes, option=orjson.OPT_SORT_KEYS)
        runs_by_changes.setdefault(key, (changes, []))[1].append(runs[run_key].pk)
    for changes, ids in runs_by_changes.values():
        # Each written row invalidates cached pages.
        if changes:
            Run.objects.filter(pk__in=ids).update(**changes)
    return {
        runs[run_key]: (*result.samples, *result.derived)
        for run_key, result in results.items()
    }


def _changed_fields(run: Run, result: UploadedRun) -> dict[str, Any]:
    """Return the fields of the result that differ, and set them on the run."""
    fields = {
        "tool": result.tool,
        "tool_version": result.tool_version,
        "parser_version": result.parser_version,
        "custom_tool_version": result.custom_tool_version,
        "status": Run.Status.REJECTED if result.reason else Run.Status.PARSED,
        "reason": result.reason,
        "failure": result.failure.reason,
        "errors": result.failure.work.errors if result.failure.work else None,
        "operations": result.failure.work.operations if result.failure.work else None,
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
            # Equal English texts may have different templates.
            serialize(text) if isinstance(text, str) else text
            for text in (getattr(run, name), value)
        )
        if old != new:
            changes[name] = value
            setattr(run, name, value)
    return changes


def store_cases(cases: Iterable[SampleCase]) -> dict[str, int]:
    """Return the ids of all cases by fingerprint."""
    by_fingerprint = {case.fingerprint: case for case in cases}
    rows = Case.objects.filter(fingerprint__in=by_fingerprint).values_list(
        "fingerprint", "pk"
    )
    ids = dict(rows)
    if new := [
        by_fingerprint[key].unsaved_case
        for key in sorted(by_fingerprint.keys() - ids.keys())
    ]:
        # Another worker may store the same cases, so read the ids afterwards.
        Case.objects.bulk_create(new, ignore_conflicts=True)
        ids = dict(rows.all())
    return ids


def replace_samples(samples: SamplesByRun, cases: Mapping[str, int]) -> None:
    """Repeating is safe."""
    labs = {run.lab_id for run in samples}
    if Sample.objects.filter(lab__in=labs, run__in=samples).delete()[0]:
        # Data versions and caches notice changed samples by the rows of their runs.
        changed_runs = Run.objects.filter(pk__in=[run.pk for run in samples])
        changed_runs.update(sample_count=F("sample_count"))
    insert_samples(
        (
            *(run.lab_id, run.pk, sequence),
            *(cases[row.case.fingerprint], row.repetition, row.value),
            *(row.summarized_runs, row.standard_deviation),
        )
        for run, rows in samples.items()
        for sequence, row in enumerate(rows, start=1)
    )
