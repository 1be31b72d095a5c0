"""What Celery runs for pages."""

from celery import shared_task

from benchmarks.publishing.jobs import PUBLISH_TASK
from benchmarks.publishing.reviews import REVIEW_TASK
from dashboard.exports import pictures, review
from dashboard.exports.report import building
from dashboard.pages.versions import files


@shared_task
def make_report(report_id: int) -> None:
    """Make a report that somebody waits for."""
    building.make_report(report_id)


@shared_task
def draw_picture(picture_id: int) -> None:
    """Draw a chart that somebody waits for as a file."""
    pictures.draw_picture(picture_id)


# The core sends these two by their names, for it imports nothing of the dashboard.
@shared_task(name=PUBLISH_TASK)
def publish_version(job_id: int) -> None:
    """Publish a version that somebody asked for."""
    files.publish(job_id)


@shared_task(name=REVIEW_TASK)
def write_review(review_id: int) -> None:
    """Write the files of a review that somebody published."""
    review.write_review(review_id)
