"""The pages: overview, study, compare, runs."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registers the templates and static files."""

    name = "dashboard"
