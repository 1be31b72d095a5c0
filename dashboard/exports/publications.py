"""The files of versions and reviews, and the jobs that write them."""

import json
from dataclasses import asdict, replace

from django.urls import reverse

from benchmarks.comparing.rows import comparison_rows, facets
from benchmarks.comparing.table import ComparisonTable, comparison_table
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.errors import BenchmarksError
from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Record
from benchmarks.models import PublishingJob, Review, Version
from benchmarks.publishing.making import begin, note
from benchmarks.publishing.reviews import (
    note_review_failed,
    questions_of,
    store_review_files,
)
from benchmarks.publishing.versions import note_publishing_failed, publish_version
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.evidence import EVIDENCE_FORMS, EvidenceSource, file_name
from dashboard.exports.latex import latex
from dashboard.exports.pictures import PICTURE_FORMS, drawn_of, picture_of
from dashboard.exports.records import records, table_csv
from dashboard.exports.report.building import Imprint, pdf, report
from dashboard.exports.table_texts import Source
from dashboard.wording import against_text, system_names


@queue.job(Kind.PUBLISHING, tries=1, failed=note_publishing_failed)
def publish(jobs: Jobs) -> None:
    job = begin(PublishingJob, jobs)
    if job is None:
        return

    def write(version: Version) -> dict[str, bytes]:
        texts = version_texts(version, job.site)
        lab = Viewer(frozenset({version.lab_id}))
        imprint = Imprint(
            version.published_at, version.product_version, version.published_by
        )
        citation = version_citation(version, job.site)
        document = report(lab, version.study, citation, imprint)
        note(job, PublishingJob.Stage.TYPESETTING)
        return {**texts, "pdf": pdf(document, version.published_at)}

    try:
        publish_version(job=job, write=write)
    except BenchmarksError as error:
        note(job, PublishingJob.Stage.FAILED, problem=error.sentence)


def version_texts(version: Version, site: str) -> dict[str, bytes]:
    """Return the text files of a version, each with its address."""
    study = version.study
    verdicts = study_verdicts(study)
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
        "csv": table_csv(table, asdict(source)),
        "json": _json(version, table, source),
        "tex": latex(table, source),
        "bib": bibtex(citation),
    }
    return {form: text.encode() for form, text in texts.items()}


def version_citation(version: Version, site: str) -> Citation:
    """Return the citation of a version, with its permanent address and its day."""
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
    # NaN is not valid JSON: rather fail than write a file that programs refuse.
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


@queue.job(Kind.REVIEW, failed=note_review_failed)
def write_review(jobs: Jobs) -> None:
    if review := begin(Review, jobs, ("lab",)):
        plots = {
            f"{plot_name(record)}.{form}": picture_of(drawn_of(record), form)
            for record in questions_of(review)
            if record["units"]
            for form in PICTURE_FORMS
        }
        store_review_files(review=review, files={**review_texts(review), **plots})


def review_texts(review: Review) -> dict[str, bytes]:
    """Return the text files of a review, each with its address."""
    citation = review_citation(review)
    source = EvidenceSource(
        title=review.title,
        name=f"review-{review.pk}",
        address=citation.address,
        made_on=citation.published,
        rule_set=review.rule_set,
        with_flagged=review.content["with_flagged"],
        authors=review.authors,
        stated={
            "note": review.note,
            "lab": review.lab.slug,
            "published_by": review.published_by,
            "product_version": review.product_version,
        },
    )
    given = questions_of(review), review.content["studies"], source
    texts = {form: write(*given) for form, write in EVIDENCE_FORMS.items()}
    texts["bib"] = bibtex(citation)
    return {f"review.{form}": text.encode() for form, text in texts.items()}


def plot_name(record: Record) -> str:
    """Return the file name of a question's plot, without extension."""
    return file_name(Question(record["hypervisor"], record["work_class"]))


def review_citation(review: Review) -> Citation:
    """Return the citation of a review, with its permanent address and its day."""
    page = reverse("dashboard:review", args=[review.pk])
    day = review.requested_at.date()
    studies = len(review.content["studies"])
    return Citation(
        key=f"review-{review.pk}",
        title=review.title,
        author=review.authors,
        institution=review.lab.name,
        published=day.isoformat(),
        language="en",
        address=f"{review.site}{page}",
        note=f"Review {review.pk} of {studies} studies, rule set {review.rule_set}, "
        f"Virtlab {review.product_version}",
        read_on=day,
    )
