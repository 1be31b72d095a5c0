"""The files of a version, and the job that writes them."""

import json
from dataclasses import replace
from functools import partial

from django.db import InterfaceError, OperationalError
from django.urls import reverse

from benchmarks.comparing.rows import comparison_rows, facets
from benchmarks.comparing.table import ComparisonTable, comparison_table
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.errors import BenchmarksError
from benchmarks.models import PublishingJob, Version
from benchmarks.publishing.jobs import (
    held,
    note_broken,
    note_failure,
    note_stage,
    take_publishing_job,
)
from benchmarks.publishing.versions import publish_version
from benchmarks.sentences import Sentence
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.latex import latex
from dashboard.exports.records import records, table_csv
from dashboard.exports.report.building import Imprint, report
from dashboard.exports.report.typesetting import pdf
from dashboard.exports.table_texts import Source
from dashboard.kit.document import Document
from dashboard.wording import against_text, system_names

BROKEN = Sentence("The files could not be written. See the log of the workers.")


def publish(job_id: int) -> None:
    """Publish the version that a job asks for, unless another worker does."""
    with held(PublishingJob, job_id) as is_mine:
        job = take_publishing_job(job_id) if is_mine else None
        if job is None:
            return
        try:
            publish_version(job=job, write=partial(_files, job))
        except BenchmarksError as error:
            note_failure(job=job, problem=error.sentence)
        except (OperationalError, InterfaceError):
            raise  # the database went away: the sweeper sends it once more
        except Exception as error:  # whatever it is: the reader is told
            text = f"{type(error).__name__}: {error}"
            note_broken(job=job, problem=BROKEN, error=text)
            raise


def _files(job: PublishingJob, version: Version) -> dict[str, bytes]:
    """Return every form of a version, the longest work last."""
    texts = version_texts(version, job.site)
    document = version_report(version, job.site)
    note_stage(job=job, stage=PublishingJob.Stage.TYPESETTING)
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
