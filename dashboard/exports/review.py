"""The files of a review, written from its frozen numbers, and how it is cited."""

from django.urls import reverse

from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Record
from benchmarks.models import Review
from benchmarks.publishing.jobs import begin
from benchmarks.publishing.reviews import (
    note_review_failed,
    questions_of,
    store_review_files,
)
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from dashboard.exports.citation import Citation, bibtex
from dashboard.exports.evidence import EVIDENCE_FORMS, EvidenceSource, file_name
from dashboard.exports.pictures import PICTURE_FORMS, drawn_of, picture_of


@queue.job(Kind.REVIEW, failed=note_review_failed)
def write_review(jobs: Jobs) -> None:
    """Write the files of a review."""
    if review := begin(Review, jobs, ("lab",)):
        files = {**review_texts(review), **_plots(review)}
        store_review_files(review=review, files=files)


def review_texts(review: Review) -> dict[str, bytes]:
    """Return the files of a review that are texts, each with its address in it."""
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


def _plots(review: Review) -> dict[str, bytes]:
    return {
        f"{plot_name(record)}.{form}": picture_of(drawn_of(record), form)
        for record in questions_of(review)
        if record["units"]
        for form in PICTURE_FORMS
    }


def plot_name(record: Record) -> str:
    """Return what the plot of a question is called, without its ending."""
    return file_name(Question(record["hypervisor"], record["work_class"]))


def review_citation(review: Review) -> Citation:
    """Return a review as a publication: its address and day stay what they are."""
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
