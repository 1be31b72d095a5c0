"""What Celery runs for pages."""

from celery import shared_task

from dashboard.pages.report import making
from dashboard.pages.versions import publishing


@shared_task
def make_report(report_id: int) -> None:
    """Make a report that somebody waits for."""
    making.make_report(report_id)


@shared_task
def publish_version(job_id: int) -> None:
    """Freeze a study that somebody asked for."""
    publishing.publish(job_id)
