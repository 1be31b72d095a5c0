"""Django app of models and domain logic."""

from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    name = "benchmarks"
