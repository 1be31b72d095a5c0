"""The benchmarks domain: models, services and selectors."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Registers the models."""

    name = "benchmarks"
