"""Export of a study as a study file (`docs/study-files.md`).

The file contains the stored uploads, which an import uploads again. It depends only on
the study: the export of an imported study is the same file.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

import orjson
from django.conf import settings
from django.db.models import Max, Min, Q

from benchmarks.custom_tools.declaration import LAB_SEPARATOR, DeclaredMetric
from benchmarks.custom_tools.lookup import declared_tools
from benchmarks.datasets.files import DataFile, limited_file
from benchmarks.models import (
    Case,
    Flag,
    Host,
    PowerChunk,
    Run,
    RunEnergy,
    RunOutput,
    RunWindow,
    Sample,
    Session,
    Study,
    System,
)
from benchmarks.parsing.study_file import FORMAT, GZIP_WINDOW, VERSION
from benchmarks.parsing.tool import STANDARD_DEVIATION, SUMMARIZED_RUNS
from benchmarks.viewer import Viewer

MEDIA_TYPE: Final = "application/gzip"
BATCH: Final = 500
# Never change it: parts of an upload get the same key in each export.
NAMESPACE: Final = UUID("e0a3a2b6-9d55-4d0b-8a35-6f5b1c1c7b52")
STUDY_FIELDS: Final = (
    *("slug", "title", "author", "institution", "published", "language", "note"),
    *("data_licence", "sources", "factors"),
    *("equivalence_margin_percent", "baseline_max_age_days"),
)
HOST_FIELDS: Final = ("slug", "title", "facts")
SYSTEM_FIELDS: Final = (*System.STATED_FIELDS, "options")
METRIC_REQUIRED: Final = ("name", "unit", "better", "component")
RAW_FIELDS: Final = ("output", "locale", "part")
MAX_FAILURE: Final = 300
EMPTY: Final[tuple[Any, ...]] = ("", None, {}, [])

Document = dict[str, Any]


def write_study_file(
    study: Study,
    viewer: Viewer,
    folder: Path,
    *,
    with_output: bool = True,
    with_power: bool = False,
    is_cancelled: Callable[[], bool] = bool,
) -> DataFile:
    """Write what a viewer may see of a study to a temporary file.

    Only members of the lab get power logs. Raises the errors of `write_table`.
    """
    packer = zlib.compressobj(wbits=GZIP_WINDOW)
    with limited_file(folder, is_cancelled) as target:
        export = _StudyExport(study, viewer, with_output, with_power)
        for text in _object(export.members()):
            target.write(packer.compress(text))
            target.check()
        target.write(packer.flush())
    return target.done()


def _object(members: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """Yield a JSON object with a line for each member and each entry of a list."""
    separator = b"{\n"
    for name, value in members:
        yield separator + orjson.dumps(name) + b": "
        if isinstance(value, Iterator):
            start = b"[\n"
            for entries in value:
                for entry in entries:
                    yield start + orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)
                    start = b",\n"
            yield b"\n]" if start == b",\n" else b"[]"
        else:
            yield orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        separator = b",\n"
    yield b"\n}\n"


class _StudyExport:
    def __init__(
        self, study: Study, viewer: Viewer, with_output: bool, with_power: bool
    ) -> None:
        self.study, self.viewer, self.with_output = study, viewer, with_output
        self.with_power = with_power and study.lab_id in viewer.lab_ids
        measured = study.runs.order_by().values("system")
        systems = System.objects.filter(
            Q(pk__in=measured) | Q(pk__in=study.reference_ids), lab=study.lab_id
        )
        self.systems = {system.pk: system for system in systems.select_related("host")}

    def members(self) -> Iterator[tuple[str, Any]]:
        study = self.study
        yield "format", FORMAT
        yield "version", VERSION
        yield "producer", f"Virtlab {settings.VERSION}"
        if left_out := list(self._left_out()):
            yield "left_out", left_out
        yield "study", _stated(study, STUDY_FIELDS)
        yield "tools", iter([self._tools()])
        yield "hosts", iter([self._hosts()])
        if study.reference_system_id:
            yield "reference_system", self._system(study.reference_system_id)
        if study.system_references:
            yield "system_references", iter([self._references()])
        if self.with_power:
            yield "power", self._power()
        yield "runs", self._runs()

    def _left_out(self) -> Iterator[str]:
        study = self.study
        flags = Flag.objects.visible_to(self.viewer).filter(study=study)
        if decided := flags.exclude(status=Flag.Status.OPEN).count():
            yield f"Decisions about flags: {decided}"
        corrected = study.sessions.filter(origin=Session.Origin.CORRECTED).count()
        if corrected:
            yield f"Corrected sessions: {corrected}"
        energies = RunEnergy.objects.filter(run__study=study)
        if not self.with_power and (runs := energies.values("run").distinct().count()):
            yield f"Power logs, from which the energy of runs was computed: {runs} runs"
        if not self.with_output:
            unread = study.runs.filter(sample_count=0).count()
            if unread:
                yield f"Uploads without readable results: {unread}"

    def _system(self, system_id: int) -> Document:
        system = self.systems[system_id]
        return {"host": system.host.slug, **_stated(system, SYSTEM_FIELDS)}

    def _references(self) -> Iterator[Document]:
        for system, reference in self.study.system_references.items():
            if {int(system), reference} <= self.systems.keys():
                yield {
                    "system": self._system(int(system)),
                    "reference": self._system(reference),
                }

    def _hosts(self) -> list[Document]:
        used = {system.host_id for system in self.systems.values()}
        hosts = Host.objects.filter(pk__in=used).order_by("slug")
        return [_stated(host, HOST_FIELDS) for host in hosts]

    def _tools(self) -> Iterator[Document]:
        names = self.study.runs.filter(tool__contains=LAB_SEPARATOR)
        used = set(names.order_by().values_list("tool", flat=True))
        declared = declared_tools(self.study.lab.slug) if used else {}
        for name in sorted(used & declared.keys()):
            declaration = declared[name].declaration
            texts = _stated(declaration, ("title", "homepage", "description"))
            metrics = list(map(_metric, declaration.metrics))
            yield {"slug": _tool_slug(name), **texts, "metrics": metrics}

    def _power(self) -> Iterator[Iterator[Document]]:
        """Yield the logs of the meters of the study's hosts during its runs."""
        spans = (
            RunWindow.objects.filter(run__study=self.study)
            .exclude(Q(started_at=None) | Q(ended_at=None))
            .order_by()
            .values("host")
            .annotate(begin=Min("started_at"), end=Max("ended_at"))
        )
        logs: set[UUID] = set()
        for span in spans:
            chunks = PowerChunk.objects.filter(
                meter__host=span["host"],
                first_at__lte=span["end"],
                last_at__gte=span["begin"],
            )
            logs.update(chunks.values_list("log", flat=True))
        chunks = PowerChunk.objects.filter(lab=self.study.lab_id, log__in=logs)
        texts = chunks.order_by("pk").values_list("text", flat=True)
        yield map(orjson.loads, texts.iterator(BATCH))

    def _runs(self) -> Iterator[Iterator[Document]]:
        after = 0
        while uploads := self._next_uploads(after):
            after = uploads[-1].pk
            yield self._documents(uploads)

    def _next_uploads(self, after: int) -> list[Run]:
        uploads = Run.objects.filter(study=self.study, first_run=None, pk__gt=after)
        return list(uploads.order_by("pk")[:BATCH])

    def _documents(self, uploads: list[Run]) -> Iterator[Document]:
        ids = [upload.pk for upload in uploads]
        outputs = RunOutput.objects.filter(lab=self.study.lab_id, run__in=ids)
        texts = dict(outputs.values_list("run_id", "text"))
        documents = {pk: orjson.loads(text) for pk, text in texts.items()}
        read = {} if self.with_output else self._read_runs(documents)
        for upload in uploads:
            document = self._document(upload, documents[upload.pk])
            if self.with_output or "output" not in document:
                yield document
                continue
            for run, samples in read.get(upload.pk, ()):
                yield _without_output(document, run, samples)

    def _document(self, upload: Run, document: Document) -> Document:
        del document["study"]
        if not isinstance(document["system"], dict):
            document["system"] = self._system(upload.system_id)
        if LAB_SEPARATOR in upload.tool:
            document["tool"] = _tool_slug(upload.tool)
        return document

    def _read_runs(
        self, documents: Mapping[int, Document]
    ) -> Mapping[int, list[tuple[Run, list[Document]]]]:
        """Return the runs with their samples by upload."""
        parsed = [pk for pk, document in documents.items() if "output" in document]
        of_uploads = Q(pk__in=parsed) | Q(first_run__in=parsed)
        runs = {run.pk: run for run in Run.objects.filter(of_uploads).order_by("pk")}
        stored = Sample.objects.filter(lab=self.study.lab_id, run__in=runs)
        samples: dict[int, list[Sample]] = {}
        for row in stored.order_by("run_id", "sequence"):
            samples.setdefault(row.run_id, []).append(row)
        cases = Case.objects.in_bulk(
            {row.case_id for rows in samples.values() for row in rows}
        )
        read: dict[int, list[tuple[Run, list[Document]]]] = {}
        for pk, rows in samples.items():
            run = runs[pk]
            stated = rows[: run.sample_count - run.derived_count]
            values = [sample_document(row, cases[row.case_id]) for row in stated]
            read.setdefault(run.first_run_id or pk, []).append((run, values))
        return read


def _stated(row: Any, names: Iterable[str]) -> Document:
    values = {name: getattr(row, name) for name in names}
    return {name: value for name, value in values.items() if value not in EMPTY}


def _tool_slug(name: str) -> str:
    return name.rpartition(LAB_SEPARATOR)[2]


def _metric(metric: DeclaredMetric) -> Document:
    return {
        name: value
        for name, value in asdict(metric).items()
        if name in METRIC_REQUIRED or value not in (*EMPTY, False)
    }


def sample_document(sample: Sample, case: Case) -> Document:
    published = {
        SUMMARIZED_RUNS: sample.summarized_runs,
        STANDARD_DEVIATION: sample.standard_deviation,
    }
    return {
        "metric": case.metric,
        "parameters": case.parameters,
        "value": sample.value,
        "unit": case.unit,
        "repetition": sample.repetition,
        **{name: value for name, value in published.items() if value is not None},
    }


def _without_output(upload: Document, run: Run, samples: list[Document]) -> Document:
    """Return a run that was read from an output as an upload of its samples."""
    key = upload["key"]
    if run.upload_position > 1:
        key = str(uuid5(NAMESPACE, f"{key} {run.upload_position}"))
    read = {
        "tool": _tool_slug(run.tool),
        "tool_version": run.tool_version,
        "started_at": run.started_at and run.started_at.isoformat(),
        "facts": run.facts,
        "failed": run.stated_failure or str(run.failure)[:MAX_FAILURE],
    }
    if run.operations:
        read |= {"errors": run.errors, "operations": run.operations}
    kept = {name: value for name, value in upload.items() if name not in RAW_FIELDS}
    return {
        **kept,
        **{name: value for name, value in read.items() if value not in EMPTY},
        "key": key,
        "samples": samples,
    }
