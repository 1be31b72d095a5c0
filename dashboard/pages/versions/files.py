"""The files of a version, and the job that writes them."""

import json
from dataclasses import replace
from functools import partial

from django.urls import reverse

from benchmarks.comparing.rows import comparison_rows, facets
from benchmarks.comparing.table import ComparisonTable, comparison_table
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.errors import BenchmarksError
from benchmarks.models import PublishingJob, Version
from benchmarks.publishing.jobs import begin, note, note_publishing_failed
from benchmarks.publishing.versions import publish_version
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.latex import latex
from dashboard.exports.records import records, table_csv
from dashboard.exports.report.building import Imprint, report
from dashboard.exports.report.typesetting import pdf
from dashboard.exports.table_texts import Source
from dashboard.kit.document import Document
from dashboard.wording import against_text, system_names


@queue.job(Kind.PUBLISHING, tries=1, failed=note_publishing_failed)
def publish(jobs: Jobs) -> None:
    """Publish the version that somebody asked for."""
    if wanted := begin(PublishingJob, jobs):
        try:
            publish_version(job=wanted, write=partial(_files, wanted))
        except BenchmarksError as error:
            note(wanted, PublishingJob.Stage.FAILED, problem=error.sentence)


def _files(job: PublishingJob, version: Version) -> dict[str, bytes]:
    """Return every form of a version, the longest work last."""
    texts = version_texts(version, job.site)
    document = version_report(version, job.site)
    note(job, PublishingJob.Stage.TYPESETTING)
    return {**texts, "pdf": pdf(document, version.published_at)}


def version_texts(version: Version, site: str) -> dict[str, bytes]:
    """Return the forms of a version that are texts, each with its address in it."""
    study = version.study
    verdicts = study_verdicts(study)
    # All cells of the study, in every scenario.
    systems = facets(study).systems
    rows = comparison_rows(study, systems=systems, filters={}, verdicts=verdicts)
    table = comparison_table(rows)
    citation = version_citation(version, site)
    source = Source(
        title=version.title,
        slug=f"{study.slug}-{version.number}",
        address=citation.address,
        against=against_text(study.reference_system, system_names(systems)),
        made_on=version.published_at.date().isoformat(),
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested=verdicts.tested,
    )
    texts = {
        "csv": table_csv(
            table,
            against=source.against,
            address=source.address,
            made_on=source.made_on,
        ),
        "json": _json(version, table, source),
        "tex": latex(table, source),
        "bib": bibtex(citation),
    }
    return {form: text.encode() for form, text in texts.items()}


def version_report(version: Version, site: str) -> Document:
    """Return the report that a version keeps as a PDF, still to be typeset."""
    lab = Viewer(frozenset({version.lab_id}))
    imprint = Imprint(
        version.published_at, version.product_version, version.published_by
    )
    citation = version_citation(version, site)
    return report(lab, version.study, citation, imprint)


def version_citation(version: Version, site: str) -> Citation:
    """Return a version as a publication: its address and day stay what they are."""
    study = version.study
    page = reverse("dashboard:version", args=[version.pk])
    name = f"{study.lab.slug}/{study.slug}"
    return replace(
        citation_at(site, study),
        key=f"{study.slug}-{version.number}",
        address=f"{site}{page}",
        note=f"Version {version.number} of {name}, Virtlab {version.product_version}",
        read_on=version.published_at.date(),
    )


def _json(version: Version, table: ComparisonTable, source: Source) -> str:
    study = version.study
    content = {
        "title": version.title,
        "study": f"{study.lab.slug}/{study.slug}",
        "version": version.number,
        "address": source.address,
        "against": source.against,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested": source.tested,
        "published_at": version.published_at.isoformat(),
        "published_by": version.published_by,
        "product_version": version.product_version,
        "rule_set": version.rule_set,
        "level": version.judged,
        "undisclosed": version.undisclosed,
        "declarations": version.declarations,
        "author": study.author,
        "institution": study.institution,
        "note": study.note,
        "cells": list(records(table)),
    }
    # NaN is no JSON: no file is better than one that programs refuse.
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
