"""Registers what workers do for pages (`benchmarks.unattended.queue`)."""

from dashboard.exports import pictures, review
from dashboard.exports.report import building
from dashboard.pages.versions import files

__all__ = ["building", "files", "pictures", "review"]
