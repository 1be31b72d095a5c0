"""Studies published as the product does, with very small files."""

from typing import Any

from benchmarks.models import Lab, PublishingJob, Review, Study, Version
from benchmarks.publishing.published_reviews import (
    publish_review,
    reviewable_questions,
    store_review_files,
)
from benchmarks.publishing.versions import WriteFiles, publish_version, request_version
from benchmarks.viewer import ANYONE
from dashboard.exports.version_and_review_files import review_files
from tests.job_queue import claim


def requested(study: Study, person: Any, **changes: str) -> PublishingJob:
    fields = {
        "site_url": "http://testserver",
        "publishing_permission": "unrestricted",
        "permission_note": "",
    }
    return request_version(study=study, person=person, **{**fields, **changes})[0]


def small_files(version: Version) -> dict[str, bytes]:
    return {"csv": b"a,b\r\n", "bib": b"@misc{x}"}


def published(
    study: Study, person: Any, write: WriteFiles = small_files, **changes: str
) -> Version:
    """Publish a study immediately."""
    request = requested(study, person, **changes)
    return publish_version(job=claim(request), write=write)


def requested_review(lab: Lab, **changes: Any) -> Review:
    """Publish a review of all public data, whose files are not yet written."""
    fields: dict[str, Any] = {
        "title": "A review",
        "authors": "Doe, Jane",
        "questions": reviewable_questions(ANYONE),
        "viewer": ANYONE,
    }
    return publish_review(
        lab=lab,
        actor="keeper",
        person=None,
        site_url="http://testserver",
        **{**fields, **changes},
    )[0]


def reviewed(lab: Lab, **changes: Any) -> Review:
    """Publish a review of all public data, with very small files."""
    review = requested_review(lab, **changes)
    if review.is_unfinished:
        begun = claim(review)
        store_review_files(review=begun, files=review_files(begun))
    review.refresh_from_db()
    return review
