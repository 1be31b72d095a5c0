"""The domain as Django sees it."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Registers the models."""

    name = "benchmarks"
