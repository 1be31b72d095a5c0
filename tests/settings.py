"""The product's settings, made faster where this hides no fault."""

import os

os.environ.setdefault("SECRET_KEY", "only-for-the-tests-of-this-tree")
# tests/conftest.py first starts the real servers and sets their addresses; tools that
# only read the settings (mypy) connect to nothing.
os.environ.setdefault("DATABASE_URL", "postgresql:///unused")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")

from config import env
from config.celery import app as celery_app
from config.settings import *  # noqa: F403 - all settings of the product

__all__ = ["celery_app"]

# Each process of `make test` has its own database, in PostgreSQL and in Valkey.
if process := os.environ.get("PYTEST_XDIST_WORKER"):
    REDIS_URL = f"{env.text('REDIS_URL')}?db={int(process.removeprefix('gw')) + 1}"
    CELERY_BROKER_URL = env.broker_url(REDIS_URL)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Hundreds of tests preview uploads from one network.
PREVIEWS_PER_MINUTE = 0
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
