"""The web application for a production server: `gunicorn config.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

from benchmarks.rls import deny_by_default
from config.celery import app as celery_app
from config.middleware import limit_statement_time, replace_unknown_charsets

__all__ = ["application", "celery_app"]  # for tasks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

limit_statement_time()
deny_by_default()
application = replace_unknown_charsets(get_wsgi_application())
