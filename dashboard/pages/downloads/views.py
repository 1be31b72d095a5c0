import json
from collections.abc import Callable, Iterator
from dataclasses import asdict

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.errors import ParseError
from benchmarks.models import Study, System
from benchmarks.parsing.archives import MIB
from benchmarks.studies.plausibility_facts import NO_RUNS, run_means
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import Citation, bibtex, citation_of, csl_json
from dashboard.exports.comparison_records import comparison_records, table_csv
from dashboard.exports.latex_tables import latex_tables
from dashboard.exports.phoronix import ExportedCell, ExportedSystem, composite_xml
from dashboard.exports.table_headings import ExportSource, export_source
from dashboard.kit.comparison_form import RELATIVE_PERFORMANCE
from dashboard.kit.comparison_from_url import AssessedTable, assessed_table
from dashboard.kit.routes import page
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import query_params, study_or_404, viewer_of


def _csv(assessed: AssessedTable, source: ExportSource) -> str:
    return table_csv(assessed.table, asdict(source))


def _json(assessed: AssessedTable, source: ExportSource) -> str:
    document = {
        "title": source.title,
        "url": source.url,
        "filters": assessed.active_filters,
        "view": source.quantity,
        "compared_with": source.compared_with,
        "created_on": source.created_on,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested_cells": source.tested_count,
        "cells": list(comparison_records(assessed.table)),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


PHORONIX = "xml"
"""composite.xml of the Phoronix Test Suite."""
COMPARISON_FORMATS: dict[str, Callable[[AssessedTable, ExportSource], str]] = {
    "csv": _csv,
    "json": _json,
    "tex": lambda assessed, source: latex_tables(assessed.table, source),
}
CITATION_FORMATS: dict[str, Callable[[Citation], str]] = {
    "bib": bibtex,
    "csl.json": csl_json,
}


def export_comparison(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    if form not in (*COMPARISON_FORMATS, PHORONIX):
        raise Http404("Unknown file format.")
    study = study_or_404(viewer_of(request), lab, slug)
    assessed = assessed_table(study, query_params(request))
    if form == PHORONIX:
        return _phoronix_file(request, study, assessed)
    source = export_source(request, study, assessed)
    suffix = (
        "" if assessed.quantity == RELATIVE_PERFORMANCE else f"-{assessed.quantity}"
    )
    text = COMPARISON_FORMATS[form](assessed, source)
    return _file(text, f"{study.slug}{suffix}", form)


def _phoronix_file(
    request: HttpRequest, study: Study, assessed: AssessedTable
) -> HttpResponse:
    source, runs = export_source(request, study, assessed), run_means(study)
    rows = list(assessed.table.cells)
    systems = {row.system.pk: row.system for row in rows}
    cells = [
        ExportedCell(
            system=row.system.pk,
            tool=row.case.tool,
            tool_title=row.tool_title,
            metric=row.case.metric,
            unit=row.case.unit,
            better=row.case.better,
            parameters=row.case.parameters,
            conditions=", ".join(_conditions(row)),
            runs=values,
        )
        for row in rows
        if (values := runs.get(row.id, NO_RUNS).means)
    ]
    moment = f"{timezone.now():%Y-%m-%d %H:%M:%S}"
    try:
        text = composite_xml(
            study.title,
            source.url,
            study.lab.slug,
            moment,
            [_exported_system(system) for system in systems.values()],
            cells,
        )
    except ParseError as error:
        raise Http404(str(error)) from None
    return _file(text, f"{study.slug}-composite", PHORONIX)


def _conditions(row: ComparisonRow) -> Iterator[str]:
    if row.scenario != "single":
        yield row.scenario
    facts = {"VMs": row.vms, "VM": row.slot, "load": row.load}
    yield from (f"{name}: {value}" for name, value in facts.items() if value)


def _exported_system(system: System) -> ExportedSystem:
    facts, memory = system.host.facts, system.memory_bytes
    platform = " ".join(filter(None, [system.hypervisor, system.hypervisor_version]))
    return ExportedSystem(
        id=system.pk,
        label=system.label,
        processor=str(facts.get("cpu model") or facts.get("cpu") or system.host.slug),
        memory=f"{memory // MIB} MiB" if memory else "",
        guest_os=system.guest_os,
        platform="" if system.is_native else platform,
    )


def export_citation(
    request: HttpRequest, lab: str, slug: str, form: str
) -> HttpResponse:
    if form not in CITATION_FORMATS:
        raise Http404("Unknown file format.")
    study = study_or_404(viewer_of(request), lab, slug)
    text = CITATION_FORMATS[form](citation_of(request, study))
    return _file(text, study.slug, form)


def _file(text: str, name: str, form: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return HttpResponse(text, content_type=MEDIA_TYPES[form], headers=headers)


urlpatterns = [
    page(
        f"{STUDY_PATH}compare.<str:form>",
        export_comparison,
        "comparison-file",
        kind="file",
        query_count_urls=(
            "compare.csv",
            "compare.csv?show=energy",
            "compare.json",
            "compare.tex",
            "compare.xml",
        ),
    ),
    page(
        f"{STUDY_PATH}cite.<str:form>",
        export_citation,
        "citation-file",
        kind="file",
        query_count_urls=("cite.bib",),
    ),
]
