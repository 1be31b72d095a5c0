"""Studies published as the product does, with files of a few letters."""

from typing import Any

from benchmarks.models import Lab, PublishingJob, Review, Study, Version
from benchmarks.publishing.reviews import (
    publish_review,
    reviewable_questions,
    store_review_files,
)
from benchmarks.publishing.versions import Write, publish_version, request_version
from benchmarks.viewer import ANYONE
from dashboard.exports.publications import review_texts
from tests.jobs import taken


def requested(study: Study, person: Any, **changes: str) -> PublishingJob:
    """Ask for a study to be published."""
    given = {"site": "http://testserver", "licence": "free", "licence_note": ""}
    return request_version(study=study, person=person, **{**given, **changes})[0]


def two_forms(version: Version) -> dict[str, bytes]:
    """Return files of a few letters."""
    return {"csv": b"a,b\r\n", "bib": b"@misc{x}"}


def published(
    study: Study, person: Any, write: Write = two_forms, **changes: str
) -> Version:
    """Publish a study at once."""
    wanted = requested(study, person, **changes)
    return publish_version(job=taken(wanted), write=write)


def asked_for_review(lab: Lab, **changes: Any) -> Review:
    """Publish a review of all that is public; its files are still to be written."""
    given: dict[str, Any] = {
        "title": "A review",
        "authors": "Doe, Jane",
        "questions": reviewable_questions(ANYONE),
        "viewer": ANYONE,
    }
    return publish_review(
        lab=lab,
        who="keeper",
        person=None,
        site="http://testserver",
        **{**given, **changes},
    )[0]


def reviewed(lab: Lab, **changes: Any) -> Review:
    """Publish a review of all that is public, with files of a few letters."""
    review = asked_for_review(lab, **changes)
    if review.is_unfinished:
        begun = taken(review)
        store_review_files(review=begun, files=review_texts(begun))
    review.refresh_from_db()
    return review
