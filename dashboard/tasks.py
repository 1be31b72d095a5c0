"""Registers what workers do for pages (`benchmarks.unattended.queue`)."""

from dashboard.exports import pictures, publications
from dashboard.exports.report import building

__all__ = ["building", "pictures", "publications"]
