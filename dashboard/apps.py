"""App configuration of the dashboard."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registration of templates and static files."""

    name = "dashboard"
