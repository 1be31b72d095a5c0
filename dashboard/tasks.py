"""What Celery runs for pages."""

from celery import shared_task

from benchmarks.publishing.jobs import PUBLISH_TASK
from dashboard.exports.report import building
from dashboard.pages.versions import files


@shared_task
def make_report(report_id: int) -> None:
    """Make a report that somebody waits for."""
    building.make_report(report_id)


# The core sends this one by its name, for it imports nothing of the dashboard.
@shared_task(name=PUBLISH_TASK)
def publish_version(job_id: int) -> None:
    """Publish a version that somebody asked for."""
    files.publish(job_id)
