"""The routes of the dashboard, for tools that run without a configured Django."""

import os
from unittest.mock import patch

import django

# Values that satisfy the settings; no connection is opened.
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "SECRET_KEY": "unused",
    "DATABASE_URL": "postgresql:///unused",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}
with patch.dict(os.environ, SETTINGS):
    django.setup()
    from dashboard.kit import routes

    ROUTES = routes.routes()

BARE, DISKS, XEN = routes.EMPTY_STUDY, routes.DISK_STUDY, routes.XEN_STUDY
PAGES = {
    name: route.example_urls for name, route in ROUTES.items() if route.kind == "page"
}
PERSONAL = {name for name in PAGES if ROUTES[name].anonymous_status == 302}
