"""Read the samples of a stored upload and write them as rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import F

from benchmarks import fingerprints, tools
from benchmarks.errors import BenchmarksError
from benchmarks.models import Case, Run, Sample
from benchmarks.parsing.labels import case_label
from benchmarks.parsing.values import check_value

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
