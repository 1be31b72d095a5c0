"""Routes of the dashboard's pages, for tools that run outside Django."""

import os
from unittest.mock import patch

import django

# Nothing is connected to: the routes are read from the code.
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

BARE, DISKS, XEN = routes.BARE, routes.DISKS, routes.XEN
PAGES = {name: it.walked for name, it in ROUTES.items() if it.kind == "page"}
PERSONAL = {name for name in PAGES if ROUTES[name].nobody == 302}
