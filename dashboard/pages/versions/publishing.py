"""The job of a study: who asked for it reads how far it is."""

from django.db import InterfaceError, OperationalError

from benchmarks.errors import BenchmarksError
from benchmarks.models import PublishingJob, Version
from benchmarks.publishing.jobs import (
    held,
    note_failure,
    note_stage,
    take_publishing_job,
)
from benchmarks.publishing.versions import publish_version
from benchmarks.sentences import Sentence
from dashboard.exports.report.typesetting import pdf
from dashboard.pages.versions.files import version_report, version_texts

BROKEN = Sentence("The files could not be written. See the log of the workers.")


def publish(job_id: int) -> None:
    """Freeze a study that somebody asked for, unless another worker does."""
    with held(PublishingJob, job_id) as is_mine:
        asked = take_publishing_job(job_id) if is_mine else None
        if asked is not None:
            _publish(asked)


def _publish(asked: PublishingJob) -> None:
    try:
        publish_version(job=asked, write=lambda version: _files(asked, version))
    except BenchmarksError as error:
        note_failure(job=asked, problem=error.sentence)
    except (OperationalError, InterfaceError):
        raise  # the database went away: the sweeper sends it once more
    except Exception:  # whatever it is: who waits is told, the log has the rest
        note_failure(job=asked, problem=BROKEN)
        raise


def _files(asked: PublishingJob, version: Version) -> dict[str, bytes]:
    """Return every form of a version, the longest work last."""
    texts = version_texts(version, asked.site)
    document = version_report(version, asked.site)
    note_stage(job=asked, stage=PublishingJob.Stage.TYPESETTING)
    return {**texts, "pdf": pdf(document, version.created_at)}
