"""The web application for a production server: `gunicorn config.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

from benchmarks.sight import blind_outside_requests
from config.celery import app as celery_app
from config.middleware import bound_statements, charsets

__all__ = ["application", "celery_app"]  # tasks find their broker through the latter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

bound_statements()
blind_outside_requests()
application = charsets(get_wsgi_application())
