import json
from dataclasses import asdict, replace

from django.urls import reverse

from benchmarks.comparison.comparison_table import ComparisonTable, comparison_table
from benchmarks.comparison.row_queries import comparison_rows, study_facets
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.errors import BenchmarksError
from benchmarks.evidence.json_records import Record
from benchmarks.evidence.queries import Question
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import PublishingJob, Review, Version
from benchmarks.publishing.generation_requests import claim_request, set_stage
from benchmarks.publishing.published_reviews import (
    record_review_failure,
    review_questions,
    store_review_files,
)
from benchmarks.publishing.versions import publish_version, record_publishing_failure
from benchmarks.viewer import Viewer
from dashboard.exports.chart_files import (
    CHART_FILE_FORMATS,
    forest_plot_data,
    render_chart_data,
)
from dashboard.exports.citation import Citation, bibtex, citation_at
from dashboard.exports.comparison_records import comparison_records, table_csv
from dashboard.exports.evidence_files import (
    EVIDENCE_FORMATS,
    EvidenceSource,
    evidence_file_name,
)
from dashboard.exports.latex_tables import latex_tables
from dashboard.exports.report.builder import ReportImprint, build_report, render_pdf
from dashboard.exports.table_headings import ExportSource
from dashboard.wording import compared_with_text, system_names


@queue.job_handler(
    JobKind.PUBLISHING, max_tries=1, on_failure=record_publishing_failure
)
def generate_versions(jobs: Jobs) -> None:
    job = claim_request(PublishingJob, jobs)
    if job is None:
        return

    def write(version: Version) -> dict[str, bytes]:
        texts = version_files(version, job.site_url)
        lab = Viewer(frozenset({version.lab_id}))
        imprint = ReportImprint(
            version.published_at, version.product_version, version.published_by
        )
        citation = version_citation(version, job.site_url)
        document = build_report(lab, version.study, citation, imprint)
        set_stage(job, PublishingJob.Stage.TYPESETTING)
        return {**texts, "pdf": render_pdf(document, version.published_at)}

    try:
        publish_version(job=job, write=write)
    except BenchmarksError as error:
        set_stage(job, PublishingJob.Stage.FAILED, problem=error.sentence)


def version_files(version: Version, site: str) -> dict[str, bytes]:
    study = version.study
    verdicts = study_verdicts(study)
    systems = study_facets(study).systems
    rows = comparison_rows(
        study, systems=systems, filters={}, verdicts=verdicts, includes_failed=True
    )
    table = comparison_table(rows)
    citation = version_citation(version, site)
    source = ExportSource(
        title=version.title,
        slug=f"{study.slug}-{version.number}",
        url=citation.url,
        compared_with=compared_with_text(study.reference_system, system_names(systems)),
        created_on=version.published_at.date().isoformat(),
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested_count=verdicts.tested_count,
    )
    texts = {
        "csv": table_csv(table, asdict(source)),
        "json": _version_json(version, table, source),
        "tex": latex_tables(table, source),
        "bib": bibtex(citation),
    }
    return {form: text.encode() for form, text in texts.items()}


def version_citation(version: Version, site: str) -> Citation:
    study = version.study
    path = reverse("dashboard:version", args=[version.pk])
    name = f"{study.lab.slug}/{study.slug}"
    return replace(
        citation_at(site, study),
        key=f"{study.slug}-{version.number}",
        url=f"{site}{path}",
        note=f"Version {version.number} of {name}, Virtlab {version.product_version}",
        accessed_on=version.published_at.date(),
    )


def _version_json(
    version: Version, table: ComparisonTable, source: ExportSource
) -> str:
    study = version.study
    content = {
        "title": version.title,
        "study": f"{study.lab.slug}/{study.slug}",
        "version": version.number,
        "url": source.url,
        "compared_with": source.compared_with,
        "equivalence_margin_percent": source.equivalence_margin_percent,
        "tested_cells": source.tested_count,
        "published_at": version.published_at.isoformat(),
        "published_by": version.published_by,
        "product_version": version.product_version,
        "rule_set": version.rule_set,
        "level": version.assessed_level,
        "missing_facts": version.undisclosed,
        "custom_tools": version.custom_tools,
        "author": study.author,
        "institution": study.institution,
        "note": study.note,
        "cells": list(comparison_records(table)),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


@queue.job_handler(JobKind.REVIEW, on_failure=record_review_failure)
def generate_reviews(jobs: Jobs) -> None:
    if review := claim_request(Review, jobs, ("lab",)):
        plots = {
            f"{plot_file_name(record)}.{form}": render_chart_data(
                forest_plot_data(record), form
            )
            for record in review_questions(review)
            if record["units"]
            for form in CHART_FILE_FORMATS
        }
        store_review_files(review=review, files={**review_files(review), **plots})


def review_files(review: Review) -> dict[str, bytes]:
    citation = review_citation(review)
    source = EvidenceSource(
        title=review.title,
        name=f"review-{review.pk}",
        url=citation.url,
        created_on=citation.published,
        rule_set=review.rule_set,
        without_doubtful=review.excludes_doubtful,
        authors=review.authors,
        review_fields={
            "note": review.note,
            "lab": review.lab.slug,
            "published_by": review.published_by,
            "product_version": review.product_version,
        },
    )
    arguments = review_questions(review), review.content["studies"], source
    texts = {form: write(*arguments) for form, write in EVIDENCE_FORMATS.items()}
    texts["bib"] = bibtex(citation)
    return {f"review.{form}": text.encode() for form, text in texts.items()}


def plot_file_name(record: Record) -> str:
    return evidence_file_name(Question(record["hypervisor"], record["work_class"]))


def review_citation(review: Review) -> Citation:
    path = reverse("dashboard:review", args=[review.pk])
    day = review.requested_at.date()
    studies = len(review.content["studies"])
    return Citation(
        key=f"review-{review.pk}",
        title=review.title,
        author=review.authors,
        institution=review.lab.name,
        published=day.isoformat(),
        language="en",
        url=f"{review.site_url}{path}",
        note=f"Review {review.pk} of {studies} studies, rule set {review.rule_set}, "
        f"Virtlab {review.product_version}",
        accessed_on=day,
    )
