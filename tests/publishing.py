"""Studies published as the product does, with files of a few letters."""

from typing import Any

from benchmarks.models import PublishingJob, Study, Version
from benchmarks.publishing.jobs import request_version, take_publishing_job
from benchmarks.publishing.versions import Write, publish_version


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
    taken = take_publishing_job(requested(study, person, **changes).pk)
    assert taken is not None
    return publish_version(job=taken, write=write)
