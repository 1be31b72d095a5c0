"""Registration of the job handlers for pages (`benchmarks.jobs.queue`)."""

from dashboard.exports import chart_files, version_and_review_files
from dashboard.exports.report import builder

__all__ = ["builder", "chart_files", "version_and_review_files"]
