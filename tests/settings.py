"""The product's own settings, faster where that hides nothing."""

import os

os.environ.setdefault("SECRET_KEY", "only-for-the-tests-of-this-tree")
# tests/conftest.py starts the real servers and puts their addresses here first;
# tools that only read the settings (mypy) connect to nothing.
os.environ.setdefault("DATABASE_URL", "postgresql:///unused")
os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:1/0")

from config import env
from config.celery import app as celery_app
from config.settings import *  # noqa: F403 - the product's own, all of them

__all__ = ["celery_app"]

# Each process of `make test` has a database of its own, and one of Valkey's, too.
if process := os.environ.get("PYTEST_XDIST_WORKER"):
    REDIS_URL = f"{env.text('REDIS_URL')}?db={int(process.removeprefix('gw')) + 1}"
    CELERY_BROKER_URL = env.broker_url(REDIS_URL)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Hundreds of tests preview from one network.
PREVIEWS_PER_MINUTE = 0
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
